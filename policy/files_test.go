package policy_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/permission"
)

func TestFilesOfAFolderAreReadWithWhatAPersonThinksOfThem(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	if files, err := p.ConfigFiles(".pawl/agents"); err != nil || files != nil {
		t.Errorf("of a folder that is not there: %v, %v", files, err)
	}
	r.write(".pawl/agents/a.md", "A.")
	r.trust(p)
	r.write(".pawl/agents/b.md", "B.")
	r.write(".pawl/agents/.hidden.md", "H.")
	r.write(".pawl/agents/deeper/c.md", "C.")
	if err := os.Symlink("/etc/passwd", filepath.Join(r.workspace, ".pawl/agents/link.md")); err != nil {
		t.Fatal(err)
	}
	files, err := p.ConfigFiles(".pawl/agents")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		line := f.Name + " " + string(f.Content)
		if f.Trusted {
			line += " trusted"
		}
		if f.Problem != "" {
			line += " unusable"
		}
		got = append(got, line)
	}
	if want := ".pawl/agents/a.md A. trusted, .pawl/agents/b.md B., .pawl/agents/deeper/c.md C., .pawl/agents/link.md  unusable"; strings.Join(got, ", ") != want {
		t.Errorf("%q", got)
	}
}

// Folders in folders without end are not gone through, also if they have no files.
func TestFoldersInAFolderAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 600 {
		if err := os.MkdirAll(filepath.Join(r.workspace, fmt.Sprintf(".claude/agents/%d/%d", i/30, i%30)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.open().ConfigFiles(".claude/agents")
	r.has(err, ".claude/agents has more than 500 files or folders")
}

func TestAFileThatAPersonWritesIsTrusted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	const name = ".pawl/agents/a.md"
	for _, text := range []string{"One.", "Two."} {
		if err := p.ReplaceFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if files, err := r.open().ConfigFiles(".pawl/agents"); err != nil || len(files) != 1 || !files[0].Trusted || string(files[0].Content) != text {
			t.Errorf("%+v, %v", files, err)
		}
	}
	r.write(name, "Changed by a pull.")
	for _, content := range [][]byte{[]byte("Three."), nil} {
		r.has(p.ReplaceFile(name, content), "is not trusted as it is")
	}
	r.trust(p)
	if err := p.ReplaceFile(name, nil); err != nil {
		t.Fatal(err)
	}
	if changes, err := p.Pending(); err != nil || len(changes) != 0 {
		t.Errorf("removed, and %v is to be looked at: %v", changes, err)
	}
	if err := p.ReplaceFile(name, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed twice: %v", err)
	}
	for _, other := range []string{".pawl/permissions.json", "README.md", ".pawl/../README.md", "../x"} {
		if err := p.ReplaceFile(other, []byte("x")); err == nil {
			t.Errorf("%s was written", other)
		}
	}
}

func TestAChildRunInheritsWhatForbidsOrAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	for _, one := range []permission.Rule{
		rule(t, permission.Deny, "shell(rm *)", permission.ForRun), rule(t, permission.Ask, "shell(make *)", permission.ForRun), rule(t, permission.Allow, "shell(frob *)", permission.ForRun),
	} {
		if err := p.Add(one, "parent"); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Inherit("parent", "child"); err != nil {
		t.Fatal(err)
	}
	rules, err := r.open().Rules("child")
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]permission.Verdict{"rm x": permission.Deny, "make x": permission.Ask, "frob x": permission.Ask} {
		if d := rules.Decide(permission.Request{Tool: "shell", Class: "writes", Command: command}, permission.Default); d.Verdict != want {
			t.Errorf("%s: %+v", command, d)
		}
	}
	r.write(r.state+"/rules/parent.json", "{")
	if err := p.Inherit("parent", "second"); err == nil {
		t.Error("rules that cannot be read were inherited")
	}
}
