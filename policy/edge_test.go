package policy_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
	"pawl/policy"
	"pawl/run"
)

func TestFoldersThatAreNoneAreSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := filepath.Join(filepath.Dir(r.config), "file")
	r.write(file, "x")
	for name, c := range map[string]struct {
		change func(*policy.Options)
		says   string
	}{
		"a relative workspace":   {func(o *policy.Options) { o.Workspace = "w" }, `the workspace "w" is not an absolute path`},
		"relative configuration": {func(o *policy.Options) { o.ConfigDir = "" }, `the configuration folder "" is not an absolute path`},
		"a relative state":       {func(o *policy.Options) { o.StateDir = "../s" }, `the state folder "../s" is not an absolute path`},
		"no workspace":           {func(o *policy.Options) { o.Workspace += "/gone" }, "the workspace cannot be opened"},
		"a file":                 {func(o *policy.Options) { o.Workspace = file }, "the workspace cannot be opened"},
	} {
		o := r.options()
		c.change(&o)
		p, err := policy.Open(o)
		if p != nil {
			t.Errorf("%s is opened", name)
		}
		r.has(err, c.says)
	}
	p := r.open()
	if err := os.Remove(r.workspace); err != nil {
		t.Fatal(err)
	}
	_, err := p.Pending()
	_, inFolder := p.ConfigFiles(".pawl")
	_, here := p.TrustForThisRun()
	_, _, why := p.WorkspaceConfig()
	for _, err := range []error{err, inFolder, here, errors.New(why), p.Check(), p.Trust(nil), p.ReplaceFile(".pawl/x", []byte("x")),
		p.Add(rule(t, permission.Deny, "shell(x)", permission.FromRepository), "")} {
		r.has(err, "the workspace cannot be opened")
	}
	if files, not := p.TrustedFiles(".pawl/commands"); files != nil || not != nil || trusted(p) {
		t.Errorf("without a workspace there are %v and %v", files, not)
	}
	r.expect(p, "without a workspace", map[string]permission.Verdict{"ls": permission.Ask})
}

// In a folder that cannot be made nothing is stored, and the person hears of it.
func TestRulesThatCannotBeStored(t *testing.T) {
	t.Parallel()
	loops := "links lead to themselves"
	for name, spoil := range map[string]func(r *rig) error{
		"a file is where the folders would be": func(r *rig) error {
			r.write(r.config, "x")
			r.write(r.state, "x")
			return nil
		},
		"folders are where the files would be": func(r *rig) error {
			return errors.Join(os.MkdirAll(r.config+"/permissions.json", 0o700), os.MkdirAll(r.state+"/permissions.json", 0o700),
				os.MkdirAll(r.state+"/rules/r1.json", 0o700), os.MkdirAll(r.config+"/trust.json", 0o700))
		},
		loops: func(r *rig) error {
			return errors.Join(os.MkdirAll(r.config, 0o700), os.MkdirAll(r.state, 0o700), os.Symlink("permissions.json", r.config+"/permissions.json"),
				os.Symlink("permissions.json", r.state+"/permissions.json"), os.Symlink("rules", r.state+"/rules"), os.Symlink("trust.json", r.config+"/trust.json"))
		},
		"the lock is a link to elsewhere, and the record no record": func(r *rig) error {
			r.write(r.config+"/trust.json", "[]")
			return errors.Join(os.MkdirAll(r.state, 0o700), os.Symlink("/dev/null", r.config+"/permissions.lock"), os.Symlink("/dev/null", r.state+"/permissions.lock"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.t = t
			r.write(".pawl/x", "x")
			p := r.open()
			if err := spoil(r); err != nil {
				t.Skipf("needs a file system that can do this: %v", err)
			}
			for _, scope := range []permission.Scope{permission.ForUser, permission.ForWorkspace, permission.ForRun, permission.FromRepository} {
				q := rule(t, permission.Deny, "shell(rm *)", scope)
				if err := p.Add(q, "r1"); err == nil {
					t.Errorf("a rule was stored for the %s", scope)
				}
				if err := p.Remove(q, "r1"); err == nil || errors.Is(err, policy.ErrNoRule) {
					t.Errorf("removing a rule of the %s: %v", scope, err)
				}
			}
			if name == loops {
				r.has(p.Check(), "permissions.json", "make it readable, or remove it")
			}
			if err := p.AddRules("r1", permission.Rules{rule(t, permission.Deny, "shell(rm *)", "")}); err == nil {
				t.Error("a decision was stored")
			}
			if err := p.ReplaceFile(".pawl/agents/a.md", []byte("A.")); err == nil {
				t.Error("a file was written")
			}
			if err := p.Trust([]policy.Change{{File: ".pawl/x", Now: []byte("x")}}); err == nil {
				t.Error("trust was stored")
			}
			if trusted(p) {
				t.Error("it is trusted")
			}
			if _, err := p.Records(); err == nil && strings.HasPrefix(name, "folders") {
				t.Error("a record that cannot be read is shown as no trust")
			}
			_, err := p.Revoke()
			if _, none := p.Records(); err == nil && none != nil {
				t.Errorf("trust that cannot be read was taken back: %v", none)
			}
			r.expect(p, name, map[string]permission.Verdict{"ls": permission.Ask})
		})
	}
}

func TestWhatIsWrongWithTheRecordOfTrustIsSaid(t *testing.T) {
	t.Parallel()
	for content, says := range map[string]string{
		"{\"trusted\": []}\n{}":                     "trust.json: there is text after the end of the object; repair it",
		"{\"trusted\": 7}":                          "trust.json: json: cannot unmarshal number",
		"{\"trusted\": [], \"all\": true}":          `trust.json: json: unknown field "all"`,
		"{\"trusted\": [{\n\"everything\": true}]}": `trust.json: json: unknown field "everything"`,
		"{\n\"trusted\": [x]}":                      "trust.json:2: invalid character 'x'",
		"{\"trusted\": []\n\n":                      "trust.json: unexpected EOF",
	} {
		r := newRig(t)
		r.write(".pawl/config.toml", "model = \"x\"\n")
		r.write(r.config+"/trust.json", content)
		p := r.open()
		_, pending := p.Pending()
		_, records := p.Records()
		_, revoked := p.Revoke()
		_, reviewed := p.Unreviewed(r.workspace, r.workspace, []string{".pawl"})
		_, config, why := p.WorkspaceConfig()
		for _, err := range []error{pending, records, revoked, reviewed, p.Check(), errors.New(why), p.Trust(nil)} {
			r.has(err, says)
		}
		if config || trusted(p) {
			t.Errorf("%q: it is trusted", content)
		}
		if files, not := p.TrustedFiles(".pawl"); len(files) != 0 || !slices.Equal(not, []string{".pawl/config.toml"}) {
			t.Errorf("%q: trusted are %v, and not %v", content, files, not)
		}
	}
	r := newRig(t)
	r.write(r.config+"/trust.json", " \n")
	if records, err := r.open().Records(); err != nil || len(records) != 0 {
		t.Errorf("an empty file has %v: %v", records, err)
	}
}

// A skill counts where it is, and not where a link leads to one: neither its file nor a folder on the way may be a link.
func TestASkillBehindALinkIsNotTrusted(t *testing.T) {
	t.Parallel()
	for link, to := range map[string]string{".agents": "real", ".agents/skills": "../real/skills", ".agents/skills/x": "../../real/skills/x", ".agents/skills/x/SKILL.md": "../../../real/skills/x/SKILL.md"} {
		r := newRig(t)
		r.write("real/skills/x/SKILL.md", "X.")
		r.write(".agents/skills/x/SKILL.md", "X.")
		r.trust(r.open())
		if files, _ := r.open().TrustedFiles(".agents/skills"); len(files) != 1 {
			t.Fatalf("without a link trusted are %v", files)
		}
		at := filepath.Join(r.workspace, link)
		if err := errors.Join(os.RemoveAll(at), os.Symlink(to, at)); err != nil {
			t.Fatal(err)
		}
		if files, _ := r.open().TrustedFiles(".agents/skills"); len(files) != 0 {
			t.Errorf("behind the link %s trusted are %v", link, files)
		}
	}
}

// Of a skill its SKILL.md is looked at; but all of a folder that a program obeys which is installed.
func TestAllOfAFolderThatAProgramObeysIsLookedAt(t *testing.T) {
	t.Parallel()
	for also, want := range map[string]int{"": 2, ".gemini": 3, ".opencode": 3} {
		r := newRig(t)
		for _, name := range []string{".gemini/skills/x/SKILL.md", ".gemini/skills/x/run.sh", ".opencode/skills/x/SKILL.md", ".opencode/skills/x/run.sh"} {
			r.write(name, "X.")
		}
		o := r.options()
		if also != "" {
			o.Also = []string{also}
		}
		p, err := policy.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if changes, err := p.Pending(); err != nil || len(changes) != want {
			t.Errorf("with %q %d files are looked at: %v", also, len(changes), err)
		}
	}
}

// Skills are found in folders of folders, to a depth that is told, and beside as many files as the bound says, which is
// told too.
func TestSkillsAreLookedForWithinBounds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(".agents/skills/of/a/team/x/SKILL.md", "X.")
	r.write(".agents/skills/a/b/c/d/e/f/g/h/i/SKILL.md", "Deep.")
	for i := range 5_000 {
		r.write(fmt.Sprintf(".claude/skills/%d", i), "")
		r.write(fmt.Sprintf(".agents/skills/many/%d", i), "")
	}
	r.write(".agents/skills/many/x/SKILL.md", "One too many.")
	changes, err := r.open().Pending()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, c.File+": "+string(c.Now)+c.Problem)
	}
	for _, want := range []string{".agents/skills/of/a/team/x/SKILL.md: X.", "folders deep", ".agents/skills/many: .agents/skills/many has more than 5000 files"} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("there is no %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if strings.Contains(strings.Join(got, "\n"), "Deep.") || strings.Contains(strings.Join(got, "\n"), ".claude") {
		t.Errorf("found were\n%s", strings.Join(got, "\n"))
	}
}

func TestFilesOfAFolderCountWhenTheyAreTrusted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(".pawl/commands/b.md", "B.")
	r.write(".pawl/commands/a.md", "A.")
	r.write(".pawl/commandsx", "no folder of that name")
	r.trust(r.open())
	r.write(".pawl/commands/c.md", "C.")
	if err := os.Symlink("a.md", filepath.Join(r.workspace, ".pawl/commands/link.md")); err != nil {
		t.Fatal(err)
	}
	expect := func(p *policy.Policy, when, trusted, not string) {
		t.Helper()
		files, others := p.TrustedFiles(".pawl/commands")
		var names []string
		for _, f := range files {
			names = append(names, strings.TrimPrefix(f.Name, ".pawl/commands/")+" "+string(f.Content))
		}
		if got := strings.Join(names, " "); got != trusted || strings.Join(others, " ") != not {
			t.Errorf("%s: trusted are %s, and not %s", when, got, others)
		}
	}
	p := r.open()
	expect(p, "at first", "a.md A. b.md B.", ".pawl/commands/c.md .pawl/commands/link.md")
	if _, err := p.TrustForThisRun(); err != nil {
		t.Fatal(err)
	}
	expect(p, "trusted for the run", "a.md A. b.md B. c.md C.", ".pawl/commands/link.md")
	files, err := p.ConfigFiles(".pawl/commands")
	if err != nil || len(files) != 4 || !files[2].Trusted || files[3].Trusted {
		t.Errorf("%+v, %v", files, err)
	}
	if was, err := p.Revoke(); !was || err != nil {
		t.Fatalf("%t, %v", was, err)
	}
	expect(p, "taken back", "", ".pawl/commands/a.md .pawl/commands/b.md .pawl/commands/c.md .pawl/commands/link.md")
}

func TestACopyOfAWorkspaceIsReviewedWithIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	also := []string{".claude", ".mcp.json", "gone"}
	copied := *r
	copied.workspace = r.workspace + "-copy"
	unreviewed := func(p *policy.Policy, dir string) string {
		t.Helper()
		names, err := p.Unreviewed(dir, r.workspace, also)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, " ")
	}
	p := r.open()
	if got := unreviewed(p, r.workspace+"-copy"); got != "" {
		t.Errorf("where nothing is: %s", got)
	}
	for _, one := range []*rig{r, &copied} {
		one.write(".claude/settings.json", "{}")
		one.write(".mcp.json", `{"mcpServers": {}}`)
	}
	const all = ".claude/settings.json .mcp.json"
	o := r.options()
	o.Also = []string{".claude"}
	p, err := policy.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{r.workspace, copied.workspace} {
		if got := unreviewed(p, dir); got != all {
			t.Errorf("before a look, in %s: %s", dir, got)
		}
	}
	if _, err := p.TrustForThisRun(); err != nil {
		t.Fatal(err)
	}
	if got := unreviewed(p, copied.workspace); got != "" {
		t.Errorf("trusted for this run: %s", got)
	}
	if names, err := p.Unreviewed(copied.workspace, copied.workspace, also); err != nil || strings.Join(names, " ") != all {
		t.Errorf("as a workspace of its own: %v, %v", names, err)
	}
	r.trust(p)
	other, err := policy.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := other.Pending()
	if err == nil {
		err = other.Trust(changes)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := unreviewed(r.open(), copied.workspace); got != "" {
		t.Errorf("trusted: %s", got)
	}
	copied.write(".mcp.json", `{"mcpServers": {"x": {}}}`)
	if got := unreviewed(other, copied.workspace); got != ".mcp.json" {
		t.Errorf("changed in the copy: %s", got)
	}
	if err := errors.Join(os.Remove(copied.workspace+"/.mcp.json"), os.Symlink("x", copied.workspace+"/.mcp.json")); err != nil {
		t.Fatal(err)
	}
	if got := unreviewed(other, copied.workspace); got != ".mcp.json" {
		t.Errorf("a link in the copy: %s", got)
	}
	if _, err := p.Unreviewed(r.workspace+"/.mcp.json", r.workspace, []string{"."}); err == nil {
		t.Error("a file was reviewed as a workspace")
	}
}

func TestTheBoundsOfAFolder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	for i := range 500 {
		r.write(fmt.Sprintf(".pawl/agents/a%03d.md", i), "x")
	}
	if files, err := p.ConfigFiles(".pawl/agents"); err != nil || len(files) != 500 {
		t.Errorf("%d files: %v", len(files), err)
	}
	if changes, err := p.Pending(); err != nil || len(changes) != 500 || changes[499].Problem != "" {
		t.Errorf("%d changes: %v", len(changes), err)
	}
	r.write(".pawl/agents/one more.md", "x")
	_, err := p.ConfigFiles(".pawl/agents")
	r.has(err, ".pawl/agents has more than 500 files")
	if changes, err := p.Pending(); err != nil || len(changes) != 501 {
		t.Errorf("%d changes: %v", len(changes), err)
	}

	r = newRig(t)
	p = r.open()
	whole := strings.Repeat("x", 1<<20)
	for i := range 8 {
		r.write(fmt.Sprintf(".pawl/agents/a%d.md", i), whole)
	}
	if files, err := p.ConfigFiles(".pawl/agents"); err != nil || len(files) != 8 || files[0].Problem != "" {
		t.Errorf("8 MB: %d files, %v", len(files), err)
	}
	if changes, err := p.Pending(); err != nil || len(changes) != 8 {
		t.Errorf("8 MB: %d changes, %v", len(changes), err)
	}
	r.write(".pawl/agents/b.md", "x")
	_, err = p.ConfigFiles(".pawl/agents")
	r.has(err, ".pawl/agents has more than 8 MB")
	changes, err := p.Pending()
	if err != nil || len(changes) != 9 || !strings.Contains(changes[0].Problem, ".pawl has more than 500 files or 8 MB") {
		t.Errorf("more than 8 MB: %d changes, %v", len(changes), err)
	}

	r = newRig(t)
	r.write(".pawl/"+strings.Repeat("d/", 7)+"x", "deep enough")
	if changes, err := r.open().Pending(); err != nil || len(changes) != 1 || changes[0].Problem != "" {
		t.Errorf("eight folders: %+v, %v", changes, err)
	}
	r.write(".pawl/"+strings.Repeat("d/", 8)+"x", "too deep")
	if changes, err := r.open().Pending(); err != nil || len(changes) != 2 || !strings.HasSuffix(changes[0].Problem, "is more than 8 folders deep") {
		t.Errorf("nine folders: %+v, %v", changes, err)
	}
}

func TestWhatStandsInTheWayOfAFolder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	if err := os.MkdirAll(filepath.Join(r.workspace, ".pawl/empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if files, err := p.ConfigFiles(".pawl/empty"); files != nil || err != nil {
		t.Errorf("of an empty folder: %v, %v", files, err)
	}
	r.write(".pawl/agents", "a file")
	if files, err := p.ConfigFiles(".pawl/agents"); files != nil || err != nil {
		t.Errorf("of a file: %v, %v", files, err)
	}
	if files, err := p.ConfigFiles(".pawl/agents/deeper"); files != nil || err != nil {
		t.Errorf("below a file: %v, %v", files, err)
	}
	r.has(p.ReplaceFile(".pawl/agents/a.md", []byte("A.")), "agents is something else and no folder")
	if err := os.Symlink("loop", filepath.Join(r.workspace, ".pawl/loop")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ConfigFiles(".pawl/loop"); err == nil {
		t.Error("a link to itself is a folder")
	}
	r.has(p.ReplaceFile(".pawl/loop", []byte("A.")), r.workspace+": .pawl/loop is a link and no file; remove it")
	r.has(p.ReplaceFile(".pawl/a", []byte("\x00\x01\x02")), ".pawl/a: it is not text that could be shown")
	long := strings.Repeat("n", 300)
	r.has(p.ReplaceFile(".pawl/"+long, []byte("A.")), "name too long; remove it")
	r.has(p.ReplaceFile(".pawl/"+long+"/x", []byte("A.")), "name too long; remove it")
	r.write(".pawl/mine", "M.")
	if err := os.Chmod(filepath.Join(r.workspace, ".pawl/mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	changes, err := p.Pending()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Trust(slices.DeleteFunc(changes, func(c policy.Change) bool { return c.File != ".pawl/mine" })); err != nil {
		t.Fatal(err)
	}
	if err := p.ReplaceFile(".pawl/mine", []byte("N.")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(r.workspace, ".pawl/mine")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("written over, it has the mode %v: %v", info.Mode(), err)
	}
	err = p.ReplaceFile(".pawl/"+strings.Repeat("n", 250), []byte("A.")) // its copy has a longer name
	if r.has(err, "n could not be changed: "); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("the error does not say why: %v", err)
	}
	if left, err := filepath.Glob(r.workspace + "/.pawl/.*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWhatIsNoFileIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for path, says := range map[string]string{"/dev/null": "is a device and no file", "/": "is a folder and no file"} {
		o := r.options()
		o.Managed, o.AdminUID = path, 0
		p, err := policy.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		r.has(p.Check(), path+" "+says+"; remove it")
	}
	if err := os.MkdirAll(r.config, 0o700); err != nil {
		t.Fatal(err)
	}
	r.write(r.config+"/permissions.json", `{"rules": []}`+strings.Repeat(" ", 1<<20-13))
	if err := r.open().Check(); err != nil {
		t.Errorf("a file of exactly a megabyte: %v", err)
	}
	r.write(r.config+"/permissions.json", `{"rules": []}`+strings.Repeat(" ", 1<<20-12))
	r.has(r.open().Check(), "has more than 1048576 bytes, which no configuration file needs; shorten it")
}

func TestTheFilesOfRules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const name = "permissions.json"
	p := r.open()
	if err := p.Add(rule(t, permission.Deny, "shell(rm *)", permission.ForUser), ""); err != nil {
		t.Fatal(err)
	}
	if err := p.Add(rule(t, permission.Allow, "shell(ls)", permission.ForUser), ""); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(r.config + "/" + name)
	const want = `{"rules": [
  {"rule":"shell(rm *)","effect":"deny","by":"ann","when":"2026-11-20T12:00:00Z"},
  {"rule":"shell(ls)","effect":"allow","by":"ann","when":"2026-11-20T12:00:00Z"}
]}
`
	if diff := cmp.Diff(want, string(content)); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	other := rule(t, permission.Deny, "shell(ls)", permission.ForUser)
	if err := p.Remove(other, ""); !errors.Is(err, policy.ErrNoRule) || !strings.Contains(err.Error(), "deny shell(ls) in "+r.config+"/"+name) {
		t.Errorf("a rule with another effect: %v", err)
	}
	for i, left := range []string{"\n  {\"rule\":\"shell(rm *)\",\"effect\":\"deny\",\"by\":\"ann\",\"when\":\"2026-11-20T12:00:00Z\"}\n", ""} {
		if err := p.Remove(p.List()[1-i].Rule, ""); err != nil {
			t.Fatal(err)
		}
		if content, err := os.ReadFile(r.config + "/" + name); err != nil || string(content) != "{\"rules\": ["+left+"]}\n" {
			t.Errorf("with a rule less: %q, %v", content, err)
		}
	}
	r.write(r.config+"/"+name, " \n")
	r.has(p.Check(), name, "ends too early")
	if err := p.Add(other, ""); err != nil {
		t.Errorf("an empty file takes no rule: %v", err)
	}
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}

// A rule that is wrong and could only have allowed something is set aside; another keeps
// everything from being allowed.
func TestWhichWrongRulesAreSetAside(t *testing.T) {
	t.Parallel()
	for text, aside := range map[string]bool{
		`{"rule": "shell(", "effect": "allow"}`:                        true,
		`{"effect": "allow", "rule": 7}`:                               true,
		`{"rule": "shell(", "effect": "deny"}`:                         false,
		`{"rule": "shell(", "effect": "ask"}`:                          false,
		`{"rule": "shell("}`:                                           false,
		`{"rule": "shell(x)", " Effect ": "deny", "effect": "allow"}`:  false,
		`{"rule": "shell(x)", " Effect ": "allow", "effect": "allow"}`: false,
		`{"rule": "shell(x)", "effect": "allow", "more": {"a": [1]}}`:  true,
		`{"rule": "shell(x)", "effect": ["allow"]}`:                    false,
		`7`:                 false,
		`["allow"]`:         false,
		`"effect": "allow"`: false,
	} {
		r := newRig(t)
		r.write(r.config+"/permissions.json", "{\"rules\": [\n  {\"rule\": \"shell(make)\", \"effect\": \"allow\"},\n  "+text+"]}")
		p := r.open()
		err := p.Check()
		if (err == nil) != aside || (len(p.Notes()) == 1) != aside {
			t.Errorf("%s: set aside: %t, want %t: %v, %v", text, err == nil, aside, err, p.Notes())
		}
		want := permission.Ask
		if aside {
			want = permission.Allow
		}
		r.expect(p, text, map[string]permission.Verdict{"make": want})
	}
}

func TestTheRulesOfARunGoWithIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	if ids, err := policy.RunsWithRules(r.state); ids != nil || err != nil {
		t.Errorf("at first there are %v: %v", ids, err)
	}
	if err := policy.RemoveRun(r.state, "r1"); err != nil {
		t.Errorf("without rules: %v", err)
	}
	for _, id := range []run.ID{"r2", "r1"} {
		if err := p.Add(rule(t, permission.Deny, "shell(rm *)", permission.ForRun), id); err != nil {
			t.Fatal(err)
		}
	}
	r.write(r.state+"/rules/.r3.json.tmp", "{}")
	r.write(r.state+"/rules/.r4.json", "{}")
	r.write(r.state+"/rules/readme", "{}")
	if ids, err := policy.RunsWithRules(r.state); err != nil || !slices.Equal(ids, []run.ID{"r1", "r2"}) {
		t.Errorf("there are %v: %v", ids, err)
	}
	if err := policy.RemoveRun(r.state, "r1"); err != nil {
		t.Fatal(err)
	}
	r.expect(p, "removed", map[string]permission.Verdict{"rm x": permission.Ask})
	if ids, err := policy.RunsWithRules(r.state); err != nil || !slices.Equal(ids, []run.ID{"r2"}) {
		t.Errorf("there are %v: %v", ids, err)
	}
	if err := os.MkdirAll(r.state+"/rules/r5.json/x", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := policy.RemoveRun(r.state, "r5"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was removed: %v", err)
	}
	if err := errors.Join(os.RemoveAll(r.state+"/rules"), os.Symlink("/", r.state+"/rules")); err != nil {
		t.Fatal(err)
	}
	if ids, err := policy.RunsWithRules(r.state); err == nil {
		t.Errorf("outside there are %v", ids)
	}
}

// Decisions may be kept for as long as the version of the rules of their run is the same.
func TestTheVersionOfTheRulesChangesWithThem(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.open()
	versions := func() [2]string {
		t.Helper()
		v := p.Versions("r1", "r2", "..")
		if len(v) != 3 {
			t.Fatalf("%d versions of 3 runs", len(v))
		}
		return [2]string{v[0], v[1]}
	}
	first := versions()
	if versions() != first {
		t.Error("nothing has changed, and the version has")
	}
	if err := p.Add(rule(t, permission.Deny, "shell(rm *)", permission.ForRun), "r1"); err != nil {
		t.Fatal(err)
	}
	second := versions()
	if second[0] == first[0] || second[1] != first[1] {
		t.Error("a rule of one run changes the version of that run alone")
	}
	if err := p.Add(rule(t, permission.Deny, "shell(mv *)", permission.ForUser), ""); err != nil {
		t.Fatal(err)
	}
	third := versions()
	if third[0] == second[0] || third[1] == second[1] {
		t.Error("a rule of the user changes the version of every run")
	}
	r.write(r.state+"/rules/r2.json", "{")
	fourth := versions()
	if fourth[0] != third[0] || fourth[1] == third[1] {
		t.Error("rules of a run that cannot be read change its version")
	}
	r.write(r.config+"/permissions.json", "{")
	if last := versions(); last[0] == fourth[0] || last[1] == fourth[1] {
		t.Error("rules that cannot be read change the version of every run")
	}
}

func TestRulesThatCannotBeReadProposeNothingAndAreListedAsIdle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules(r.config+"/permissions.json", "deny shell(rm *)")
	r.rules(rulesFile, "allow shell(make)", "deny shell(mv *)")
	p := r.open()
	p.SetRules(permission.Rules{rule(t, permission.Ask, "shell(ls)", "")})
	p.SetHistory(func() []permission.Allowed { return nil })
	list := func() string {
		var lines []string
		for _, l := range p.List() {
			line := fmt.Sprintf("%s %s: %s", l.Effect, l.Rule, l.Idle)
			lines = append(lines, strings.TrimSuffix(line, ": "))
		}
		return strings.Join(lines, ", ")
	}
	if got := list(); got != "deny shell(rm *), deny shell(mv *), allow shell(make): not trusted, ask shell(ls)" {
		t.Errorf("listed are %s", got)
	}
	call := permission.Request{Tool: "shell", Command: "frob", Class: run.Writes, Workspace: "/work"}
	if got := p.Propose("r1", permission.Default, call); len(got.Rules) == 0 {
		t.Errorf("nothing is proposed: %+v", got)
	}
	r.write(r.config+"/permissions.json", "{")
	if got := list(); !strings.HasPrefix(got, "deny shell(rm *): its file cannot be read now, ") {
		t.Errorf("listed are %s", got)
	}
	if got := p.Propose("r1", permission.Default, call); len(got.Rules) != 0 || !strings.Contains(got.Reason, "the rules that are there cannot all be read") {
		t.Errorf("proposed is %+v", got)
	}
	if _, err := p.Explain("r1", permission.Default, call); err == nil {
		t.Error("it is not said that rules cannot be read")
	}
	d := decide(p, "ls")
	if d.Verdict != permission.Ask || d.Source != "policy" || !strings.Contains(d.Reason, "one that forbids this may be missing: ") {
		t.Errorf("%+v", d)
	}
	if d := decide(p, "rm x"); d.Verdict != permission.Deny || d.Source != "user" {
		t.Errorf("what was forbidden: %+v", d)
	}
}

func TestWhichSettingsAWorkspaceMayMake(t *testing.T) {
	t.Parallel()
	for _, name := range strings.Fields("model fallback_model effort mode allow ask deny on_ask window control parallel " +
		"max_steps max_calls max_tokens max_cost timeout idle_timeout") {
		if !policy.Settable(name) {
			t.Errorf("%s cannot be set", name)
		}
	}
	for setting, want := range map[string]string{
		"fallback_model script/x": "a workspace cannot bring its own model (script/…)",
		"fallback_model a/b":      "",
		"effort script/x":         "",
		"ask shell(make *)":       "",
		"ask shell(":              "shell(",
		"allow shell(":            "shell(",
		"deny shell(":             "shell(",
		"key x":                   "key is never taken from a workspace, trusted or not: set it in your own configuration",
	} {
		name, value, _ := strings.Cut(setting, " ")
		err := policy.CheckSetting(name, value)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
	}
}

func TestContentThatCannotBeKeptIsNotTrusted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(".pawl/x", "x")
	p := r.open()
	changes, err := p.Pending()
	if err != nil || len(changes) != 1 {
		t.Fatal(changes, err)
	}
	if err := os.MkdirAll(r.config+"/trust/"+changes[0].Sum+"/in the way", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.Trust(changes); err == nil || trusted(p) {
		t.Errorf("it is trusted: %v", err)
	}
	if left, err := filepath.Glob(r.config + "/trust/.*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := errors.Join(os.MkdirAll(r.state, 0o700), os.Symlink("gone", r.state+"/rules")); err != nil {
		t.Fatal(err)
	}
	r.has(p.Add(rule(t, permission.Deny, "shell(rm *)", permission.ForRun), "r1"), "the rule could not be stored: ")
}

func TestFurtherFilesThatNeedTrust(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.options()
	o.Also = []string{"local.json", "tools", "gone", "local.json/below a file"}
	p, err := policy.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	r.write("local.json", "{}")
	r.write("tools/b/c", "c")
	r.write("tools/a", "a")
	r.write("other/a", "a")
	if diff := cmp.Diff([]string{"new local.json", "new tools/a", "new tools/b/c"}, pending(t, p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := os.MkdirAll(r.workspace+"/.mcp.json", 0o755); err != nil {
		t.Fatal(err)
	}
	changes, err := p.Pending()
	var problems []string
	for _, c := range changes {
		if c.Problem != "" {
			problems = append(problems, c.Problem)
		}
	}
	if diff := cmp.Diff([]string{".mcp.json is a folder and no file"}, problems); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestAFileOfAnotherUserIsNotMine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rules(r.config+"/permissions.json", "allow shell(make)")
	if err := os.Chown(r.config+"/permissions.json", 12345, -1); err != nil {
		t.Skipf("needs root, to give a file to another user: %v", err)
	}
	p := r.open()
	r.has(p.Check(), "permissions.json belongs to user 12345 and not to you, so its rules are not yours: take it with chown, or remove it")
	r.expect(p, "another's", map[string]permission.Verdict{"make": permission.Ask})
}
