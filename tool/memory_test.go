package tool_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pawl/memory"
	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

func TestTheMemoryToolHasAPortableSchemaAndFewWords(t *testing.T) {
	t.Parallel()
	s := tool.Memory().Spec()
	for _, problem := range tooltest.PortableSchema(s.Schema, s.Description) {
		t.Error(problem)
	}
	if n := len(s.Name) + len(s.Description) + len(s.Schema); n > 800 {
		t.Errorf("it has %d bytes in each request", n)
	}
}

func TestOfAKilledNoteIsKnownWhetherItIsThere(t *testing.T) {
	t.Parallel()
	env := tool.Env{StateDir: t.TempDir(), Session: &tool.Session{}}
	note := tool.Memory()
	call := func(args string) tool.Call { return tool.Call{Run: "r", ID: "c_1", Args: json.RawMessage(args)} }
	add, correct := call(`{"note":"one"}`), call(`{"note":"two","replaces":"one"}`)
	becomes := func(c tool.Call, want string) {
		t.Helper()
		r, known := note.(tool.Reconciler).Reconcile(env, c)
		if got := run.PlainText(r.Content); !known || !strings.Contains(got, want) {
			t.Errorf("of %s is known %v: %s", c.Args, known, got)
		}
	}
	for _, c := range []tool.Call{add, correct} {
		becomes(c, "the call may be made again")
		in, err := note.Inspect(env, c.Args)
		if err != nil || in.Class != run.Writes || len(in.Paths) > 0 {
			t.Fatalf("%+v, %v", in, err)
		}
		r, err := note.Run(t.Context(), env, c)
		if err != nil || r.IsError || r.Change != run.Changed || !r.Kept || !strings.Contains(run.PlainText(r.Content), "\n@@ ") {
			t.Fatalf("%+v, %v", r, err)
		}
		becomes(c, "was changed")
	}
	if _, err := note.Inspect(env, correct.Args); err == nil {
		t.Error("a person is asked about a change that cannot be made")
	}
	if err := os.WriteFile(memory.Path(env.StateDir), []byte{0}, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, known := note.(tool.Reconciler).Reconcile(env, add); known {
		t.Error("of a file that cannot be read it is known whether a note is in it")
	}
}
