package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/golden"
	"pawl/run"
)

// An act is a use of the store.
type act struct {
	name string
	do   func(ctx context.Context, s *fileStore) (found any, err error)
}

// acts are uses of a store that [withTask] has made, those that only look first.
var acts = []act{
	{"Run", func(ctx context.Context, s *fileStore) (any, error) { sum, err := s.Run(ctx, "r"); return sum.Seq, err }},
	{"Runs", func(ctx context.Context, s *fileStore) (any, error) { all, err := s.Runs(ctx, 0); return len(all), err }},
	{"Children", func(ctx context.Context, s *fileStore) (any, error) {
		all, err := s.Children(ctx, "r")
		return len(all), err
	}},
	{"Conversation", func(ctx context.Context, s *fileStore) (any, error) {
		all, err := s.Conversation(ctx, "r")
		return len(all), err
	}},
	{"Said", func(ctx context.Context, s *fileStore) (any, error) {
		all, err := s.Said(ctx, "r")
		return len(all), err
	}},
	{"Events", func(ctx context.Context, s *fileStore) (any, error) {
		n := 0
		for _, err := range s.Events(ctx, "r", 0) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}},
	{"Verify", func(ctx context.Context, s *fileStore) (any, error) { return "", s.Verify(ctx, "r") }},
	{"Owner", func(ctx context.Context, s *fileStore) (any, error) {
		_, owned, err := s.Owner(ctx, "r")
		return owned, err
	}},
	{"Owned", func(ctx context.Context, s *fileStore) (any, error) { all, err := s.Owned(ctx); return len(all), err }},
	{"Live", func(ctx context.Context, s *fileStore) (any, error) {
		exists, live, err := s.Live(ctx, "r")
		return fmt.Sprint(exists, live), err
	}},
	{"Inbox", func(ctx context.Context, s *fileStore) (any, error) {
		all, err := s.Inbox(ctx, "r")
		return len(all), err
	}},
	{"Inboxes", func(ctx context.Context, s *fileStore) (any, error) { all, err := s.Inboxes(ctx); return len(all), err }},
	{"Answer", func(ctx context.Context, s *fileStore) (any, error) {
		_, taken, err := s.Answer(ctx, "r", "k0")
		return taken, err
	}},
	{"Usage", func(ctx context.Context, s *fileStore) (any, error) {
		u, err := s.Usage(ctx)
		return fmt.Sprint(u.Log > 0, u.Locks > 0), err
	}},
	{"UsageOf", func(ctx context.Context, s *fileStore) (any, error) {
		u, err := s.UsageOf(ctx, "r")
		return err == nil && u.Log > 0, err // before an error a part of it is counted
	}},
	{"Task", func(ctx context.Context, s *fileStore) (any, error) {
		row, err := s.Task(ctx, "t1")
		return row.Labels, err
	}},
	{"Tasks", func(ctx context.Context, s *fileStore) (any, error) {
		rows, _, err := s.Tasks(ctx, TaskQuery{})
		return len(rows), err
	}},
	{"Tasks with a label", func(ctx context.Context, s *fileStore) (any, error) {
		rows, _, err := s.Tasks(ctx, TaskQuery{Label: "l"})
		return len(rows), err
	}},
	{"TaskCounts", func(ctx context.Context, s *fileStore) (any, error) { return s.TaskCounts(ctx) }},
	{"TaskEvents", func(ctx context.Context, s *fileStore) (any, error) {
		n := 0
		for _, err := range s.TaskEvents(ctx, "t1", 0) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}},
	{"TaskFeed", func(ctx context.Context, s *fileStore) (any, error) {
		feed, err := s.TaskFeed(ctx, 0, 10)
		return len(feed), err
	}},
	{"TaskFeedEnd", func(ctx context.Context, s *fileStore) (any, error) { return s.TaskFeedEnd(ctx) }},
	{"TaskOf", func(ctx context.Context, s *fileStore) (any, error) { return s.TaskOf(ctx, "r") }},
	{"Submitted", func(ctx context.Context, s *fileStore) (any, error) {
		_, ok, err := s.Submitted(ctx, "r", "x", 1)
		return ok, err
	}},
	{"Submitted last", func(ctx context.Context, s *fileStore) (any, error) {
		sub, ok, err := s.Submitted(ctx, "r", "x", 0)
		return fmt.Sprint(ok, sub.Assignment), err
	}},
	{"Removable", func(ctx context.Context, s *fileStore) (any, error) { return s.Removable(ctx, "r") }},
	{"Prune, dry", func(ctx context.Context, s *fileStore) (any, error) {
		return s.Prune(ctx, time.Hour, testTime.Add(24*time.Hour), true)
	}},

	{"Own", func(ctx context.Context, s *fileStore) (any, error) {
		l, err := s.Own(ctx, "other", "")
		if err != nil {
			return "", err
		}
		return "", l.Release()
	}},
	{"Put", func(ctx context.Context, s *fileStore) (any, error) {
		return "", s.Put(ctx, "r", Row{Key: "k", Kind: "x", Payload: "{}", At: testTime})
	}},
	{"Append", func(ctx context.Context, s *fileStore) (any, error) {
		return "", s.Append(ctx, "r", 5, []run.Event{{At: testTime, Payload: run.Synthesized{Text: "five"}}})
	}},
	{"Append, takes", func(ctx context.Context, s *fileStore) (any, error) {
		return "", s.Append(ctx, "r", 6, []run.Event{{At: testTime, Payload: run.Synthesized{Text: "six"}}}, Taken{ID: 1, Answer: "yes"})
	}},
	{"Append, out of order", func(ctx context.Context, s *fileStore) (any, error) {
		return "", s.Append(ctx, "r", 5, []run.Event{{At: testTime, Payload: run.Synthesized{Text: "six"}}})
	}},
	{"AppendTask", func(ctx context.Context, s *fileStore) (any, error) {
		return "", s.AppendTask(ctx, TaskAppend{Task: "t1", After: 2, Events: []TaskEvent{{At: testTime, Type: "x", Version: 1, Data: "{}"}},
			Row: TaskRow{Status: "waiting", Run: "r", Labels: []string{"l", "m"}}, Runs: []run.ID{"c"},
			Check: func(row func(string) (TaskRow, error)) error { _, err := row("t1"); return err }})
	}},
	{"AppendTask, out of order", func(ctx context.Context, s *fileStore) (any, error) {
		return "", s.AppendTask(ctx, TaskAppend{Task: "t1", After: 2, Events: []TaskEvent{{At: testTime, Type: "x", Version: 1, Data: "{}"}}})
	}},
	{"AppendWithTask", func(ctx context.Context, s *fileStore) (any, error) {
		return "", s.AppendWithTask(ctx, "r", 7, []run.Event{{At: testTime, Payload: run.Synthesized{Text: "seven"}}}, TaskAppend{Task: "t1", After: 3,
			Events: []TaskEvent{{At: testTime, Type: "y", Version: 1, Data: "{}"}}, Row: TaskRow{Status: "failed"}, Submission: &Submission{Run: "r", Tool: "x", Assignment: 2, Task: "t1", At: testTime}})
	}},
	{"AppendTask, submitted already", func(ctx context.Context, s *fileStore) (any, error) {
		return "", s.AppendTask(ctx, TaskAppend{Task: "t1", After: 4, Events: []TaskEvent{{At: testTime, Type: "y", Version: 1, Data: "{}"}},
			Submission: &Submission{Run: "r", Tool: "x", Assignment: 2, At: testTime}})
	}},
	{"SetServed", func(ctx context.Context, s *fileStore) (any, error) { return "", s.SetServed(ctx, "r", "here") }},
	{"Served", func(ctx context.Context, s *fileStore) (any, error) { return s.Served(ctx) }},
	{"SetServed to none", func(ctx context.Context, s *fileStore) (any, error) { return "", s.SetServed(ctx, "r", "") }},
	{"SetServed of none", func(ctx context.Context, s *fileStore) (any, error) { return "", s.SetServed(ctx, "none", "here") }},
	{"Tidy", func(ctx context.Context, s *fileStore) (any, error) {
		freed, err := s.Tidy(ctx, 0, time.Now())
		return freed > 0, err
	}},
	{"Compact", func(ctx context.Context, s *fileStore) (any, error) { return "", s.Compact(ctx) }},
	{"Prune", func(ctx context.Context, s *fileStore) (any, error) {
		return s.Prune(ctx, time.Hour, testTime.Add(24*time.Hour), false)
	}},
	{"Remove", func(ctx context.Context, s *fileStore) (any, error) { return s.Remove(ctx, "r") }},
	{"RemoveTask", func(ctx context.Context, s *fileStore) (any, error) { return "", s.RemoveTask(ctx, "t1") }},
	{"RemoveTask again", func(ctx context.Context, s *fileStore) (any, error) { return "", s.RemoveTask(ctx, "t1") }},
	{"Run of none", func(ctx context.Context, s *fileStore) (any, error) {
		sum, err := s.Run(ctx, "none")
		return sum.Seq, err
	}},
	{"Events of none", func(ctx context.Context, s *fileStore) (any, error) {
		for _, err := range s.Events(ctx, "none", 0) {
			return "", err
		}
		return 0, nil
	}},
	{"Task of none", func(ctx context.Context, s *fileStore) (any, error) {
		row, err := s.Task(ctx, "none")
		return row.ID, err
	}},
	{"TaskEvents of none", func(ctx context.Context, s *fileStore) (any, error) {
		for _, err := range s.TaskEvents(ctx, "none", 0) {
			return "", err
		}
		return 0, nil
	}},
	{"Remove of none", func(ctx context.Context, s *fileStore) (any, error) { return s.Remove(ctx, "none") }},
}

// Each use of a store that is whole, that has lost a table, refuses a change or has a word where a
// number should be, that is closed, and whose caller has gone: what cannot be done is an error, and never an empty answer. Of each store but the first only what differs from it.
func TestWhatALostTableTakesAway(t *testing.T) {
	t.Parallel()
	var tables []string
	for _, match := range regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`).FindAllStringSubmatch(schema, -1) {
		tables = append(tables, match[1])
	}
	found := map[string]string{}
	tell := func(ctx context.Context, s *fileStore) string {
		var b strings.Builder
		for _, a := range acts {
			got, err := a.do(ctx, s)
			text := fmt.Sprint(got)
			if err != nil {
				text = "error: " + err.Error()
				if got == true {
					t.Errorf("%s found something beside an error: %v", a.name, err)
				}
			}
			text = strings.ReplaceAll(strings.ReplaceAll(text, s.dir, "DIR"), "\n", " ")
			fmt.Fprintf(&b, "\t%s: %s\n", a.name, strings.TrimSpace(text))
		}
		return b.String()
	}
	prepared := func() *fileStore {
		s := withTask(t)
		if err := s.Put(t.Context(), "r", Row{Key: "k0", Kind: "x", Payload: "{}", At: testTime}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	found[" whole"] = tell(t.Context(), prepared())
	for _, table := range tables {
		s := prepared()
		tamper(t, s, "DROP TABLE "+table)
		found["without "+table] = tell(t.Context(), s)
	}
	for _, refused := range []string{"INSERT ON events", "INSERT ON runs", "UPDATE ON inbox", "INSERT ON task_runs", "INSERT ON task_labels", "DELETE ON task_labels", "INSERT ON submissions",
		"INSERT ON inbox", "DELETE ON runs", "DELETE ON events", "DELETE ON tasks", "INSERT ON task_events", "DELETE ON task_events"} {
		s := prepared()
		tamper(t, s, "CREATE TRIGGER refuses BEFORE "+refused+" BEGIN SELECT RAISE(ABORT, 'refused'); END")
		found["that refuses "+refused] = tell(t.Context(), s)
	}
	for _, number := range []string{"runs.created", "runs.updated", "events.at", "inbox.at", "tasks.priority", "tasks.created", "task_events.version", "submissions.assignment"} {
		table, column, _ := strings.Cut(number, ".")
		s := prepared()
		tamper(t, s, "UPDATE "+table+" SET "+column+" = 'x'")
		found["with a word for "+column+" of "+table] = tell(t.Context(), s)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	found["without its caller"] = tell(gone, prepared())
	s := prepared()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found["closed"] = tell(t.Context(), s)
	var b strings.Builder
	whole := strings.Split(found[" whole"], "\n")
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, "A store %s:\n", strings.TrimSpace(name))
		for i, line := range strings.Split(found[name], "\n") {
			if name == " whole" || line != whole[i] {
				fmt.Fprintln(&b, line)
			}
		}
	}
	golden.Compare(t, "tables.golden", []byte(b.String()))
}

func TestTheSpaceOfAFolder(t *testing.T) {
	t.Parallel()
	free, err := FreeSpace(t.TempDir())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("needs a system that says how much space is free")
	}
	if err != nil || free == 0 {
		t.Errorf("%d bytes are free: %v", free, err)
	}
	if _, err := FreeSpace(t.TempDir() + "/gone"); err == nil {
		t.Error("a folder that is not there has space")
	}
	if got := Version(run.Ended{}); got != 1 {
		t.Errorf("the version of an end is %d", got)
	}
	if got := Version(nil); got != 0 {
		t.Errorf("the version of nothing is %d", got)
	}
}

func TestOwnedRunsAreListed(t *testing.T) {
	t.Parallel()
	s := withRun(t, Options{})
	other := openTest(t, s.dir, Options{})
	if ids, err := other.Owned(t.Context()); err != nil || len(ids) != 0 {
		t.Errorf("at first %v are owned: %v", ids, err)
	}
	var leases []Lease
	for _, id := range []run.ID{"r", "made"} {
		l, err := s.Own(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, l)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "locks", "Not ours.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ids, err := other.Owned(t.Context())
	if err != nil || !slices.Contains(ids, "r") {
		t.Errorf("%v are owned: %v", ids, err)
	}
	for _, l := range leases {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
	if ids, err := other.Owned(t.Context()); err != nil || len(ids) != 0 {
		t.Errorf("after their release %v are owned: %v", ids, err)
	}
}
