//go:build unix

package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pawl/external"
	"pawl/run"
	"pawl/tool/changes"
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
	if err := w.keepEdited(t.Context(), "r", state, external.Asked{Tool: "Edit", Input: args}); err != nil {
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

// What a command of an agent has changed is seen when it has ended, although it has failed: nothing that was changed before or since.
// A command of which only the hook knows changes nothing that is known; one that the agent was stopped in, and one that was cut off by
// a kill, what was changed until then.
func TestCommandsOfAnAgentAreSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ends func(w *Workspace, turn worker.AgentTurn, uses map[run.CallID]string, parts []run.Part)
		want []string
	}{
		"ended": {func(w *Workspace, turn worker.AgentTurn, uses map[run.CallID]string, parts []run.Part) {
			w.addEdits(turn, uses, parts)
		}, []string{"f", "made"}},
		"stopped": {func(w *Workspace, turn worker.AgentTurn, uses map[run.CallID]string, parts []run.Part) {
			w.addEdits(turn, uses, parts[:1])
			w.endUses(turn, uses)
		}, []string{"f", "made"}},
		"not seen": {func(w *Workspace, turn worker.AgentTurn, uses map[run.CallID]string, parts []run.Part) {
			w.endUses(turn, uses)
		}, nil},
		"killed": {func(*Workspace, worker.AgentTurn, map[run.CallID]string, []run.Part) {}, []string{"f", "made"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w := &Workspace{State: t.TempDir(), Dir: dir}
			write := func(name, text string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("f", "1\n")
			write("mine", "1\n")
			args := `{"command":"echo 2 >f >made; false"}`
			asked := external.Asked{Tool: "Bash", Input: json.RawMessage(args), ID: "toolu_1"}
			state := run.State{Created: run.Created{Workspace: dir}}
			for range 2 { // the hook, and then the question
				if err := w.keepEdited(t.Context(), "r", state, asked); err != nil {
					t.Fatal(err)
				}
			}
			write("f", "2\n")
			write("made", "2\n")
			parts := []run.Part{{Type: run.CallPart, Call: &run.Call{ID: "c", Arguments: args}}, {Type: run.ResultPart, Result: &run.Result{Call: "c", IsError: true}}}
			c.ends(w, worker.AgentTurn{Run: "r", Workspace: dir}, map[run.CallID]string{}, parts)
			if name != "killed" {
				write("mine", "2\n")
			}
			var got []string
			for _, f := range changes.By(w.State, "r", []run.Event{{Seq: 1, Payload: run.Observed{Parts: parts}}}, 0, true).Files {
				got = append(got, f.Path)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("changed were %q, want %q", got, c.want)
			}
		})
	}
}

// Of two commands that run at once, one of which stands in the other, each result is that of its own.
func TestCommandsOfAnAgentAtOnceAreToldApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := &Workspace{State: t.TempDir(), Dir: dir}
	turn, open := worker.AgentTurn{Run: "r", Workspace: dir}, map[run.CallID]string{}
	short, long := `{"command":"touch a"}`, `{"command":"touch a && touch b"}`
	for id, args := range map[string]string{"short": short, "long": long} {
		asked := external.Asked{Tool: "Bash", Input: json.RawMessage(args), ID: id}
		if err := w.keepEdited(t.Context(), "r", run.State{Created: run.Created{Workspace: dir}}, asked); err != nil {
			t.Fatal(err)
		}
		w.addEdits(turn, open, []run.Part{{Type: run.CallPart, Call: &run.Call{ID: run.CallID(id), Arguments: args}}})
	}
	ended := func(id run.CallID, name string) (paths []string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		parts := []run.Part{{Type: run.ResultPart, Result: &run.Result{Call: id}}}
		w.addEdits(turn, open, parts)
		for _, f := range parts[0].Result.Files {
			paths = append(paths, f.Path)
		}
		return paths
	}
	if got := ended("long", "b"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("the long one has changed %q", got)
	}
	if got := ended("short", "a"); !slices.Contains(got, "a") {
		t.Errorf("the short one has changed %q", got)
	}
}
