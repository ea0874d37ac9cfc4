package retention_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/diskuse"
	"pawl/output"
	"pawl/policy"
	"pawl/run"
	"pawl/sandbox"
	"pawl/store"
	"pawl/tool/journal"
	"pawl/worker/retention"
)

const day = 24 * time.Hour

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func newState(t *testing.T) retention.State {
	t.Helper()
	top := t.TempDir()
	s := retention.State{
		Dir: filepath.Join(top, "state", "workspaces", "w"), StateDir: filepath.Join(top, "state"), Workspace: filepath.Join(top, "w"),
	}
	if err := os.Mkdir(s.Workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(s.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	s.Store, s.Outputs = st, output.NewStore(filepath.Join(s.Dir, "outputs"))
	return s
}

// text returns text of a size that compresses to about a third, different for each seed.
func text(seed string, size int) []byte {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%s %x\n", seed, journal.Hash(fmt.Append(nil, seed, i)))
	}
	return []byte(b.String())
}

// leave appends a run and leaves all that a run leaves.
func leave(t *testing.T, s retention.State, c run.Created, at time.Time, end run.End) {
	t.Helper()
	events := []run.Event{{At: at, Payload: c}, {At: at, Payload: run.Prompted{Parts: []run.Part{run.Text("do it")}}}}
	if end != "" {
		events = append(events, run.Event{At: at, Payload: run.Ended{End: end}})
	}
	if err := s.Store.Append(t.Context(), c.Run, 0, events); err != nil {
		t.Fatal(err)
	}
	w, err := s.Outputs.Create(output.Key{Conversation: c.Conversation(), Run: c.Run, Call: "c_1"}, "shell", "m")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text(string(c.Run), 30_000)); err != nil {
		t.Fatal(err)
	}
	o, err := w.Commit(true)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	for call, content := range map[string][]byte{"c_2": text(string(c.Run), 40_000), "c_3": text("of all", 40_000)} {
		if _, err := journal.In(s.Dir).Record(c.Run, call, journal.Entry{Path: call}, content); err != nil {
			t.Fatal(err)
		}
	}
	rules := filepath.Join(s.Dir, "rules", string(c.Run)+".json")
	if err := os.MkdirAll(filepath.Dir(rules), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rules, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// traces returns the runs that anything is left of, with the parts.
func traces(t *testing.T, s retention.State) map[run.ID]string {
	t.Helper()
	found := map[run.ID]string{}
	err := filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == s.Dir {
			return err
		}
		rel, err := filepath.Rel(s.Dir, path)
		part, rest, _ := strings.Cut(rel, string(filepath.Separator))
		id, _, _ := strings.Cut(filepath.Base(rest), ".")
		switch {
		case part == "locks" && rest != "", part == "rules" && rest != "",
			part == "journal" && rest != "" && d.IsDir(), part == "outputs" && d.IsDir() && strings.Contains(rest, string(filepath.Separator)):
			found[run.ID(id)] += part + " "
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Store.Runs(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range all {
		found[sum.ID] += "log"
	}
	return found
}

const whole = "journal locks outputs rules log" // in the order of traces

func wantRuns(t *testing.T, what string, s retention.State, ids ...run.ID) {
	t.Helper()
	found := traces(t, s)
	for _, id := range ids {
		if found[id] != whole {
			t.Errorf("%s: of run %s there is %q, want all of it: %q", what, id, found[id], whole)
		}
		delete(found, id)
	}
	if len(found) > 0 {
		t.Errorf("%s: there is also %v", what, found)
	}
}

func TestRemovingARunFreesWhatWasAnnounced(t *testing.T) {
	t.Parallel()
	s := newState(t)
	for _, id := range []run.ID{"a", "b"} {
		leave(t, s, run.Created{Run: id}, now, run.Completed)
	}
	before, err := s.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	would, err := s.Remove(t.Context(), "a", true)
	if err != nil {
		t.Fatal(err)
	}
	wantRuns(t, "after a dry run", s, "a", "b")
	did, err := s.Remove(t.Context(), "a", false)
	if err != nil {
		t.Fatal(err)
	}
	wantRuns(t, "after", s, "b")
	if !slices.Equal(would.Runs, did.Runs) || would.Freed != did.Freed {
		t.Errorf("announced was %+v, done %+v", would, did)
	}
	after, err := s.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The folder of the run's outputs is inside that of the conversation, which is freed too.
	freed := did.Freed
	if got := before.Outputs - after.Outputs; freed.Outputs == 0 || got < freed.Outputs || got > freed.Outputs+4096 {
		t.Errorf("outputs: %d bytes were freed, announced %d", got, freed.Outputs)
	}
	if before.Journal-after.Journal != freed.Journal || before.Contents-after.Contents != freed.Contents || freed.Contents == 0 {
		t.Errorf("freed were %d and %d bytes, announced %+v", before.Journal-after.Journal, before.Contents-after.Contents, freed)
	}
	if total := after.Total(); total != diskuse.Tree(s.Dir)-diskuse.Tree(filepath.Join(s.Dir, "rules"))-diskuse.File(s.Dir) {
		t.Errorf("the total is %d: %+v; the folder has %d", total, after, diskuse.Tree(s.Dir))
	}
	// What both runs refer to is still there for the other.
	if got, err := journal.In(s.Dir).Content(journal.Hash(text("of all", 40_000))); err != nil || len(got) == 0 {
		t.Errorf("a content of both runs: %v", err)
	}
	if _, err := s.Remove(t.Context(), "a", false); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("again: got error %v", err)
	}
}

func TestARunInUseIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := newState(t)
	leave(t, s, run.Created{Run: "a"}, now.Add(-99*day), run.Completed)
	lease, err := s.Store.Own(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		if _, err := s.Remove(t.Context(), "a", dry); !errors.As(err, new(*store.OwnedError)) {
			t.Errorf("dry %v: got error %v", dry, err)
		}
		if r, err := s.Prune(t.Context(), day, now, dry); len(r.Runs) != 0 || err != nil {
			t.Errorf("dry %v: pruned %v, %v", dry, r.Runs, err)
		}
	}
	wantRuns(t, "after", s, "a")
	if !s.LiveOutputs(t.Context())(output.Meta{Run: "a", Conversation: "a"}) {
		t.Error("its outputs may be pruned")
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if s.LiveOutputs(t.Context())(output.Meta{Run: "a", Conversation: "a"}) {
		t.Error("after its end its outputs may not be pruned")
	}
}

func TestPruneRemovesOldRunsAndWhatAKilledRemovalLeft(t *testing.T) {
	t.Parallel()
	s := newState(t)
	leave(t, s, run.Created{Run: "old"}, now.Add(-40*day), run.Completed)
	leave(t, s, run.Created{Run: "killed"}, now.Add(-day), run.Completed)
	leave(t, s, run.Created{Run: "open"}, now.Add(-40*day), "")
	leave(t, s, run.Created{Run: "new"}, now.Add(-day), run.Completed)
	if _, err := s.Store.Remove(t.Context(), "killed"); err != nil { // and here the process died
		t.Fatal(err)
	}
	would, err := s.Prune(t.Context(), 30*day, now, true)
	if err != nil || !slices.Equal(would.Runs, []run.ID{"old"}) || would.Freed.Outputs == 0 || would.Freed.Contents == 0 {
		t.Errorf("it would remove %+v, %v", would, err)
	}
	before := diskuse.Tree(s.Dir)
	did, err := s.Prune(t.Context(), 0, now, false)
	if err != nil || len(did.Runs) != 0 {
		t.Errorf("without an age it removed %+v, %v", did, err)
	}
	wantRuns(t, "without an age", s, "new", "old", "open")
	did, err = s.Prune(t.Context(), 30*day, now, false)
	if err != nil || !slices.Equal(did.Runs, []run.ID{"old"}) {
		t.Errorf("it removed %+v, %v", did, err)
	}
	wantRuns(t, "after", s, "new", "open")
	if after := diskuse.Tree(s.Dir); before-after < would.Freed.Outputs+would.Freed.Journal+would.Freed.Contents {
		t.Errorf("%d bytes were freed, announced %+v", before-after, would.Freed)
	}
	if ids, err := policy.RunsWithRules(s.Dir); err != nil || len(ids) != 2 {
		t.Errorf("there are rules of %v, %v", ids, err)
	}
}

// A run has rules before it is in the log: those of its agent, or of its parent.
func TestTheRulesOfARunThatBeginsStay(t *testing.T) {
	t.Parallel()
	s := newState(t)
	leave(t, s, run.Created{Run: "begins"}, now, run.Completed)
	if _, err := s.Store.Remove(t.Context(), "begins"); err != nil { // but for its rules
		t.Fatal(err)
	}
	lease, err := s.Store.Own(t.Context(), "begins", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if _, err := s.Prune(t.Context(), 0, now, false); err != nil {
			t.Fatal(err)
		}
		if ids, err := policy.RunsWithRules(s.Dir); err != nil || len(ids) != want {
			t.Errorf("there are rules of %v, %v", ids, err)
		}
		if want == 1 {
			if err := lease.Release(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestRunsArePrunedBySeveralProcessesAtOnce(t *testing.T) {
	t.Parallel()
	s := newState(t)
	var want []run.ID
	for n := range 12 {
		id := run.ID(fmt.Sprintf("old%02d", n))
		leave(t, s, run.Created{Run: id}, now.Add(-40*day), run.Completed)
		want = append(want, id)
	}
	leave(t, s, run.Created{Run: "new"}, now.Add(-day), run.Completed)
	var all sync.WaitGroup
	var mu sync.Mutex
	var removed []run.ID
	for range 3 {
		other := s
		st, err := store.Open(s.Dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		other.Store = st
		all.Go(func() {
			did, err := other.Prune(t.Context(), 30*day, now, false)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			removed = append(removed, did.Runs...)
		})
	}
	all.Wait()
	slices.Sort(removed)
	if !slices.Equal(removed, want) {
		t.Errorf("removed %v, want each of %v once", removed, want)
	}
	wantRuns(t, "after", s, "new")
}

// temporary leaves what a command has left in its temporary folder, which it returns.
func temporary(t *testing.T, s retention.State) string {
	t.Helper()
	p, err := sandbox.For(s.Workspace, sandbox.Options{StateDir: s.StateDir, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	dir := filepath.Join(p.Temp, "mod", "read-only")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 100_000), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	return p.Temp
}

func TestTidyLeavesTemporaryFilesOfARunThatIsDriven(t *testing.T) {
	t.Parallel()
	s := newState(t)
	leave(t, s, run.Created{Run: "a"}, now, "")
	if freed, err := s.Tidy(t.Context(), 0, time.Now().Add(day)); freed != 0 || err != nil {
		t.Errorf("with nothing to do: %d, %v", freed, err)
	}
	temp := temporary(t, s)
	lease, err := s.Store.Own(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	if freed, err := s.Tidy(t.Context(), time.Hour, time.Now().Add(day)); freed != 0 || err != nil {
		t.Errorf("with an owner: %d, %v", freed, err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if used, err := s.Usage(t.Context()); err != nil || used.Temp < 100_000 {
		t.Errorf("it occupies %+v, %v", used, err)
	}
	if freed, err := s.Tidy(t.Context(), time.Hour, time.Now()); freed != 0 || err != nil {
		t.Errorf("what is younger: %d, %v", freed, err)
	}
	freed, err := s.Tidy(t.Context(), time.Hour, time.Now().Add(day))
	if left, rerr := os.ReadDir(temp); freed < 100_000 || len(left) != 0 || err != nil || rerr != nil {
		t.Errorf("%d bytes were freed, %v is left, %v, %v", freed, left, err, rerr)
	}
	wantRuns(t, "after", s, "a")
}

// A run that is imported has its outputs before it is in the log. It is owned meanwhile.
func TestTheOutputsOfARunThatIsImportedAreNotRemoved(t *testing.T) {
	t.Parallel()
	s := newState(t)
	lease, err := s.Store.Own(t.Context(), "r", "")
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Outputs.Create(output.Key{Conversation: "r", Run: "r", Call: "c_1"}, "shell", "m")
	if err != nil {
		t.Fatal(err)
	}
	if o, err := w.Commit(true); err != nil || o.Close() != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if _, err := s.Prune(t.Context(), day, now, false); err != nil {
			t.Fatal(err)
		}
		if stored, err := s.Outputs.Stored("r", "r"); len(stored) != want || err != nil {
			t.Errorf("there are %d outputs, want %d: %v", len(stored), want, err)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
}
