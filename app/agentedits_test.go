//go:build unix

package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl/external"
	"pawl/run"
	"pawl/worker"
)

// What the tools of an external agent change is seen when they have ended: not what lies outside of the workspace, is no
// file, was not changed, or is of a use that failed.
func TestEditsOfAnAgentAreSeen(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	w := &Workspace{State: t.TempDir(), Dir: dir}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old, added, same, outside, pipe, link := filepath.Join(dir, "old"), filepath.Join(dir, "new \"x\""), filepath.Join(dir, "same"), filepath.Join(other, "out"), filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	for _, path := range []string{old, same, outside} {
		write(path, "one\ntwo\n")
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	state := run.State{Created: run.Created{Workspace: dir}}
	args, err := json.Marshal(map[string]any{"file_paths": []string{old, added, same, outside, pipe, link}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.keepEdited("r", state, external.Asked{Tool: "Edit", Input: args}); err != nil {
		t.Fatal(err)
	}
	if err := w.keepEdited("r", state, external.Asked{Tool: "Bash", Input: json.RawMessage(`{"command":"x"}`)}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{old, added, outside} {
		write(path, "one\n2\nthree\n")
	}
	uses := map[run.CallID]string{}
	seen := func(id run.CallID, failed bool) *run.Result {
		parts := []run.Part{{Type: run.CallPart, Call: &run.Call{ID: id, Arguments: string(args)}}, {Type: run.ResultPart, Result: &run.Result{Call: id, IsError: failed}}}
		w.addEdits(worker.AgentTurn{Run: "r", Workspace: dir}, uses, parts)
		return parts[1].Result
	}
	if r := seen("failed", true); len(r.Files) > 0 || r.Diff != "" {
		t.Errorf("of one that failed: %+v", r)
	}
	r := seen("done", false)
	counts := map[string][2]int{}
	for _, f := range r.Files {
		counts[f.Path] = [2]int{f.Added, f.Removed}
	}
	if want := map[string][2]int{"old": {2, 1}, "new \"x\"": {3, 0}}; len(counts) != 2 || counts["old"] != want["old"] || counts["new \"x\""] != want["new \"x\""] {
		t.Errorf("changed were %v", r.Files)
	}
	if !strings.Contains(r.Diff, "diff --git a/old b/old\n--- a/old\n+++ b/old\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three") || len(uses) > 0 {
		t.Errorf("the difference is %s; %d uses are open", r.Diff, len(uses))
	}
	if r := seen("again", false); len(r.Files) > 0 {
		t.Errorf("it is seen twice: %+v", r.Files)
	}
}
