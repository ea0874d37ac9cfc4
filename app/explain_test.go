package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/permission"
	"pawl/run"
)

// What explain says of a call is what a run decides: the request that rules decide on is the
// same in every field, and so is the decision.
func TestExplainJudgesACallAsARunDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, key, what string }{
		{"shell", "command", "touch a; cat sub/b.txt; git commit -m x"},
		{"shell", "command", "tool.sh > link/x"},
		{"write", "path", "sub/new.txt"},
		{"write", "path", ".vscode/tasks.json"},
		{"fetch", "url", "http://127.0.0.1:1/"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			args := map[string]any{c.key: c.what}
			if c.tool == "write" {
				args["content"] = "x"
			}
			text, err := json.Marshal(map[string]any{"calls": []any{map[string]any{"tool": c.tool, "args": args}}})
			ok(t, err)
			p := newPlace(t, string(text)+"\n{\"text\":\"Done.\"}\n")
			for name, content := range map[string]string{"sub/b.txt": "b\n", ".git/config": "[core]\n\tfsmonitor = x\n", ".git/HEAD": "ref: refs/heads/main\n", "tool.sh": "#!/bin/sh\n"} {
				path := filepath.Join(p.dir, name)
				ok(t, os.MkdirAll(filepath.Dir(path), 0o755))
				ok(t, os.WriteFile(path, []byte(content), 0o755))
			}
			ok(t, os.Symlink("..", filepath.Join(p.dir, "link")))
			ok(t, os.Mkdir(p.dir+"-more", 0o755))
			ws := p.open(map[string][]string{"add_dirs": {p.dir + "-more"}})
			s := p.start(ws)
			ok(t, s.Prompt(t.Context(), run.Text("go")))
			rest(t, s)
			waiting, err := s.Approvals()
			ok(t, err)
			if len(waiting) != 1 {
				t.Fatalf("%d calls wait", len(waiting))
			}
			got, err := ws.Explain(t.Context(), s.ID(), permission.Default, c.tool, c.what, run.Confined)
			ok(t, err)
			if diff := cmp.Diff(waiting[0].Explanation.String(), got.String()); diff != "" {
				t.Errorf("explain (-run +explain):\n%s", diff)
			}
			judged, err := ws.Judgements(run.State{})
			ok(t, err)
			given, err := json.Marshal(args)
			ok(t, err)
			if diff := cmp.Diff(waiting[0].Request, judged(nil, "", permission.Default, c.tool, run.Writes, string(given)).Request); diff != "" {
				t.Errorf("the request (-run +explain):\n%s", diff)
			}
		})
	}
}
