// Package tooltest checks that a tool keeps what [tool.Tool] promises, whatever
// it does: that every provider takes its schema, that looking changes nothing,
// that a result is bounded and true.
package tooltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
	"pawl/tool"
)

// A Case is one call in a workspace of its own.
type Case struct {
	Name  string
	Files map[string]string // in the workspace, by path
	Args  string
	// Setup does to the workspace what Files cannot; may be nil.
	Setup func(t *testing.T, env tool.Env)
	// Want is what the result's text has in it; Wrong says that it is an error.
	Want  []string
	Wrong bool
	// Check looks at what else came of it; may be nil.
	Check func(t *testing.T, env tool.Env, r tool.Result)
}

// NewEnv returns an empty workspace and state folder for a test.
func NewEnv(t testing.TB, files map[string]string) tool.Env {
	t.Helper()
	// The workspace of an Env has no links in its path; a temporary folder may.
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := tool.Env{
		Workspace: filepath.Join(dir, "workspace"),
		StateDir:  filepath.Join(dir, "state"),
		Run:       "r_1",
		Session:   &tool.Session{},
	}
	for _, d := range []string{env.Workspace, env.StateDir} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(env.Session.Close)
	for name, content := range files {
		WriteFile(t, env, name, content)
	}
	return env
}

// WriteFile puts a file into the workspace, behind the tools' back.
func WriteFile(t testing.TB, env tool.Env, name, content string) {
	t.Helper()
	path := filepath.Join(env.Workspace, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Args returns arguments as a call has them.
func Args(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Run checks a tool on each case.
func Run(t *testing.T, tl tool.Tool, cases ...Case) {
	t.Helper()
	t.Run("schema is portable", func(t *testing.T) {
		t.Parallel()
		spec := tl.Spec()
		if strings.TrimSpace(spec.Description) != spec.Description || spec.Description == "" {
			t.Errorf("the description is empty or has blanks around it: %q", spec.Description)
		}
		for _, problem := range PortableSchema(spec.Schema, spec.Description) {
			t.Error(problem)
		}
	})
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.run(t, tl)
		})
	}
}

func (c Case) run(t *testing.T, tl tool.Tool) {
	env := NewEnv(t, c.Files)
	if c.Setup != nil {
		c.Setup(t, env)
	}
	args := json.RawMessage(c.Args)
	call := tool.Call{Run: env.Run, ID: "c_1", Args: args}
	name := tl.Spec().Name
	if err := tool.NewRegistry(tl).Validate(name, args); err != nil {
		if !c.Wrong {
			t.Fatalf("the arguments do not fit the schema: %v", err)
		}
		checkText(t, c, err.Error())
		return
	}

	before := snapshot(t, env)
	intent, err := tl.Inspect(env, args)
	if diff := cmp.Diff(before, snapshot(t, env)); diff != "" {
		t.Fatalf("Inspect changed something (-before +after):\n%s", diff)
	}
	if err != nil {
		if !c.Wrong {
			t.Fatalf("Inspect: %v", err)
		}
		checkText(t, c, err.Error())
	} else if intent.Class == "" || intent.Title == "" || strings.Contains(intent.Title, "\n") {
		t.Errorf("the intent has no class or no title of one line: %+v", intent)
	}
	if intent.Question {
		return
	}

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := tl.Run(cancelled, env, call); err == nil && !r.IsError {
		t.Errorf("Run with a context that is done reports success: %q", run.PlainText(r.Content))
	}
	if diff := cmp.Diff(before, snapshot(t, env)); diff != "" {
		t.Fatalf("Run with a context that is done changed something (-before +after):\n%s", diff)
	}

	r, err := tl.Run(t.Context(), env, call)
	if err != nil {
		r = tool.ErrorResult(err.Error())
	}
	text := run.PlainText(r.Content)
	if r.IsError != c.Wrong {
		t.Errorf("IsError = %v, want %v: %s", r.IsError, c.Wrong, text)
	}
	checkText(t, c, text)
	if n := utf8.RuneCountInString(text); n > 32_768 {
		t.Errorf("the result has %d characters: more than reach a model whole", n)
	}
	if !utf8.ValidString(text) {
		t.Error("the result is not valid UTF-8")
	}
	if intent.Class == run.Reads || r.IsError {
		if diff := cmp.Diff(before, snapshot(t, env)); diff != "" {
			t.Errorf("a call that reads or failed changed something (-before +after):\n%s", diff)
		}
		if r.Change != run.NoChange || len(r.Files) > 0 {
			t.Errorf("a call that reads or failed reports changes: %+v", r)
		}
	}
	for _, f := range r.Files {
		if now := HashFile(t, env, f.Path); now != f.After {
			t.Errorf("%s is said to be %.8s and is %.8s", f.Path, f.After, now)
		}
	}
	if c.Check != nil {
		c.Check(t, env, r)
	}
}

func checkText(t *testing.T, c Case, text string) {
	t.Helper()
	for _, want := range c.Want {
		if !strings.Contains(text, want) {
			t.Errorf("the result lacks %q:\n%s", want, text)
		}
	}
}

// snapshot describes everything in the workspace: kinds, permission bits,
// contents, and when each file was written.
func snapshot(t *testing.T, env tool.Env) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(env.Workspace, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s := info.Mode().String()
		switch {
		case d.Type().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s += fmt.Sprintf(" %v %q", info.ModTime(), content)
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			s += " -> " + target
		}
		all[path] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
