package worker

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl/inbox"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/task"
	"pawl/tasklog"
)

var errBroken = errors.New("the disk is broken")

// A brokenStore is a store of which one operation fails.
type brokenStore struct {
	store.Store
	op string
}

func (s brokenStore) fails(op string) error {
	if s.op == op {
		return errBroken
	}
	return nil
}

func (s brokenStore) Events(ctx context.Context, id run.ID, after int64) iter.Seq2[run.Event, error] {
	if err := s.fails("Events"); err != nil {
		return func(yield func(run.Event, error) bool) { yield(run.Event{}, err) }
	}
	return s.Store.Events(ctx, id, after)
}

func (s brokenStore) TaskEvents(ctx context.Context, id string, after int64) iter.Seq2[store.TaskEvent, error] {
	if err := s.fails("TaskEvents"); err != nil {
		return func(yield func(store.TaskEvent, error) bool) { yield(store.TaskEvent{}, err) }
	}
	return s.Store.TaskEvents(ctx, id, after)
}

func (s brokenStore) Own(ctx context.Context, id run.ID, socket string) (store.Lease, error) {
	if err := s.fails("Own"); err != nil {
		return nil, err
	}
	return s.Store.Own(ctx, id, socket)
}

func (s brokenStore) Owner(ctx context.Context, id run.ID) (store.Owner, bool, error) {
	if err := s.fails("Owner"); err != nil {
		return store.Owner{}, false, err
	}
	return s.Store.Owner(ctx, id)
}

func (s brokenStore) Append(ctx context.Context, id run.ID, after int64, events []run.Event, taken ...store.Taken) error {
	if err := s.fails("Append"); err != nil {
		return err
	}
	return s.Store.Append(ctx, id, after, events, taken...)
}

func (s brokenStore) AppendTask(ctx context.Context, t store.TaskAppend) error {
	if err := s.fails("AppendTask"); err != nil {
		return err
	}
	return s.Store.AppendTask(ctx, t)
}

func (s brokenStore) AppendWithTask(ctx context.Context, id run.ID, after int64, events []run.Event, t store.TaskAppend, taken ...store.Taken) error {
	if err := s.fails("AppendWithTask"); err != nil {
		return err
	}
	return s.Store.AppendWithTask(ctx, id, after, events, t, taken...)
}

func (s brokenStore) Put(ctx context.Context, id run.ID, row store.Row) error {
	if err := s.fails("Put"); err != nil {
		return err
	}
	return s.Store.Put(ctx, id, row)
}

func (s brokenStore) Answer(ctx context.Context, id run.ID, key string) (string, bool, error) {
	if err := s.fails("Answer"); err != nil {
		return "", false, err
	}
	return s.Store.Answer(ctx, id, key)
}

func (s brokenStore) TaskOf(ctx context.Context, id run.ID) (string, error) {
	if err := s.fails("TaskOf"); err != nil {
		return "", err
	}
	return s.Store.TaskOf(ctx, id)
}

func (s brokenStore) TaskFeed(ctx context.Context, after int64, limit int) ([]store.FeedEntry, error) {
	if err := s.fails("TaskFeed"); err != nil {
		return nil, err
	}
	return s.Store.TaskFeed(ctx, after, limit)
}

func (s brokenStore) Submitted(ctx context.Context, id run.ID, tool string, assignment int) (store.Submission, bool, error) {
	if err := s.fails("Submitted"); err != nil {
		return store.Submission{}, false, err
	}
	return s.Store.Submitted(ctx, id, tool, assignment)
}

// Nothing that the store cannot do counts as done.
func TestWhatTheStoreCannotDoIsAnError(t *testing.T) {
	t.Parallel()
	uses := map[string]func(ctx context.Context, w *Worker) error{
		"open": func(ctx context.Context, w *Worker) error {
			d, err := w.Open(ctx, "r", nil)
			if err != nil {
				return err
			}
			return d.Close()
		},
		"drive": func(ctx context.Context, w *Worker) error {
			d, err := w.Open(ctx, "r", nil)
			if err != nil {
				return err
			}
			_, err = d.Run(ctx, prompt("Go on."))
			return errors.Join(err, d.Close())
		},
		"create": func(ctx context.Context, w *Worker) error {
			d, err := w.Create(ctx, run.Created{Run: "new", Workspace: "/w", Config: run.Config{Model: "m/m"}}, nil)
			if err != nil {
				return err
			}
			_, err = d.Run(ctx, prompt("Go."))
			return errors.Join(err, d.Close())
		},
		"submit": func(ctx context.Context, w *Worker) error {
			_, err := (&tasklog.Tasks{Store: w.Store}).Submit(ctx, tasklog.Request{Task: "t1", Run: "r", Tool: task.PlannerOutputTool, Key: "k", Payload: json.RawMessage(goodPlan)})
			return err
		},
		"call": func(ctx context.Context, w *Worker) error {
			_, err := inbox.Call(ctx, w.Store, "r", request.Call{Key: "k2", Tool: "read", Arguments: "{}"})
			return err
		},
		"do": func(ctx context.Context, w *Worker) error {
			_, err := tasklog.Do(ctx, w.Store, "t1", "anna", task.Say{ID: "m1", Text: "x"})
			return err
		},
		"load": func(ctx context.Context, w *Worker) error { _, err := tasklog.Load(ctx, w.Store, "t1"); return err },
		"events": func(ctx context.Context, w *Worker) error {
			_, err := tasklog.Events(ctx, w.Store, "t1", 0, 0)
			return err
		},
		"feed": func(ctx context.Context, w *Worker) error { _, err := tasklog.Feed(ctx, w.Store, 0, 10); return err },
		"follow": func(ctx context.Context, w *Worker) error {
			for _, err := range Follow(ctx, w.Store, "r", 0) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	for op, fail := range map[string]string{ // the uses that fail with the operation
		"Events":         "drive follow open",
		"TaskEvents":     "do drive events load open submit",
		"Own":            "create drive open",
		"Owner":          "follow",
		"Append":         "create drive",
		"AppendTask":     "do",
		"AppendWithTask": "drive",
		"Put":            "call",
		"Answer":         "call",
		"TaskOf":         "create drive open submit",
		"TaskFeed":       "feed",
		"Submitted":      "submit",
		"":               "",
	} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			for name, use := range uses {
				synctest.Test(t, func(t *testing.T) {
					r := taskRig(t, `
{"when":{"contains":"Plan it."},"calls":[{"tool":"planner-output","args":`+goodPlan+`}]}
{"text":"Yes.","repeat":true}`)
					d := r.createPlanner()
					assign(d, 1, "Plan it.")
					r.run(d)
					r.wantTask(task.Planned)
					c := r.w.Config
					c.Store = brokenStore{r.mem, op}
					c.TaskOf = taskOf(&tasklog.Tasks{Store: c.Store})
					w, err := New(c)
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					err = use(ctx, w)
					if want := slices.Contains(strings.Fields(fail), name); errors.Is(err, errBroken) != want {
						t.Errorf("%s: %v, want it to fail: %t", name, err, want)
					}
					if _, owned, err := r.mem.Owner(t.Context(), "r"); owned || err != nil {
						t.Errorf("%s: the run is owned afterwards: %v", name, err)
					}
				})
			}
		})
	}
}
