package board

import (
	"slices"
	"testing"
	"time"

	"pawl/app"
	"pawl/run"
	"pawl/task"
)

// A backlog reads all tasks once, and then those that have changed.
func TestABacklogReadsWhatHasChanged(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HOME": t.TempDir(), "PAWL_STATE_DIR": t.TempDir()}
	ws, err := app.Open(app.Options{Dir: t.TempDir(), Drives: true, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(err)
	t.Cleanup(func() { ws.Close() })
	add := func(plans bool, priority int) task.ID {
		t.Helper()
		s, err := Of(ws).Add(t.Context(), "anna", task.Created{Description: "count", Priority: priority})
		ok(err)
		if plans {
			_, err = Of(ws).Do(t.Context(), s.Created.Task, "anna", task.StartPlanning{Run: run.ID("plan-" + string(s.Created.Task)), Agent: PlannerAgent})
			ok(err)
		}
		return s.Created.Task
	}
	first, urgent, idle := add(true, 0), add(true, 5), add(false, 0)

	driven := map[task.ID]bool{}
	b := &backlog{board: Of(ws)}
	read := func(ended ...task.ID) []task.ID {
		t.Helper()
		changed, err := b.read(t.Context(), time.Now(), ended, func(id task.ID) bool { return driven[id] })
		ok(err)
		return changed
	}
	is := func(when string, want ...task.ID) {
		t.Helper()
		var got []task.ID
		for _, sum := range b.sorted() {
			got = append(got, sum.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s %v owe something, want %v", when, got, want)
		}
	}
	changed := func(when string, got []task.ID, want ...task.ID) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s %v have changed, want %v", when, got, want)
		}
	}

	changed("at first", read())
	is("at first", urgent, first)
	changed("when nothing has happened", read())

	driven[first], driven[urgent] = true, true
	clear(b.owing)
	_, err = Of(ws).Do(t.Context(), idle, "anna", task.StartPlanning{Run: run.ID("plan-" + string(idle)), Agent: PlannerAgent})
	ok(err)
	_, err = Of(ws).Do(t.Context(), first, "anna", task.Say{ID: NewMessageID(), Text: "be quick"})
	ok(err)
	changed("after two changes", read(), idle, first)
	is("while the others are driven", idle)

	delete(driven, urgent)
	changed("when one is not driven any more", read(urgent))
	is("when one is not driven any more", urgent, idle)

	for _, a := range []task.Action{task.Move{On: task.OnPause}, task.End{Run: mustWork(t, ws, idle), Begun: false}} {
		_, err = Of(ws).Do(t.Context(), idle, "anna", a)
		ok(err)
	}
	changed("after a pause", read(), idle)
	is("after a pause", urgent)

	one := &backlog{board: Of(ws), only: []task.ID{first}}
	_, err = one.read(t.Context(), time.Now(), nil, func(task.ID) bool { return false })
	ok(err)
	b = one
	is("of one task alone", first)
}

// mustWork returns the run that a task is about.
func mustWork(t *testing.T, ws *app.Workspace, id task.ID) (r run.ID) {
	t.Helper()
	s, err := Of(ws).Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	w := s.Status
	return w.Run
}
