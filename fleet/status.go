package fleet

import (
	"context"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"pawl/app"
	"pawl/board"
	"pawl/store"
	"pawl/task"
)

// A Status is what the workers of a database do, as JSON.
type Status struct {
	Watcher string   `json:"watcher,omitempty"` // the process that tells Temporal of tasks; left out: none does
	Workers []Worker `json:"workers"`
	Tasks   []Held   `json:"tasks"` // that have something to be done, or whose run waits for a person
}

// A Worker is a process that takes tasks of a queue.
type Worker struct {
	Name  string    `json:"name"` // its process and machine
	Queue string    `json:"queue"`
	Seen  time.Time `json:"seen_at"` // when it asked for tasks last
}

// A Held is a task that has something to be done.
type Held struct {
	ID     task.ID         `json:"id"`
	Title  string          `json:"title"`
	Status task.StatusName `json:"status"`
	Queue  string          `json:"queue"`
	By     string          `json:"by,omitempty"` // the process that drives it; left out: none, it waits for a worker or a person
}

// Look finds out what the workers of a database do.
func Look(ctx context.Context, ws *app.Workspace, c *Client) (Status, error) {
	s := Status{Workers: []Worker{}, Tasks: []Held{}}
	b := board.Of(ws)
	watcher, watched, err := b.Owner(ctx)
	if err != nil {
		return s, err
	}
	if watched {
		s.Watcher = by(watcher)
	}
	owing, _, err := b.List(ctx, board.Query{Owes: true})
	if err != nil {
		return s, err
	}
	begins, _, err := b.List(ctx, board.Query{Status: []string{string(task.Pending), string(task.Planned)}})
	if err != nil {
		return s, err
	}
	for _, sum := range begins {
		if sum.Starts {
			owing = append(owing, sum)
		}
	}
	queues := []string{DefaultQueue}
	for _, sum := range owing {
		h := Held{ID: sum.ID, Title: sum.Title, Status: sum.Status, Queue: QueueOf(sum.Labels)}
		owner, owned, err := ws.Owner(ctx, store.TaskLease(string(sum.ID)))
		if err != nil {
			return s, err
		}
		if owned {
			h.By = by(owner)
		}
		s.Tasks = append(s.Tasks, h)
		queues = append(queues, h.Queue)
	}
	slices.Sort(queues)
	for _, q := range slices.Compact(queues) {
		d, err := c.DescribeTaskQueue(ctx, q, enums.TASK_QUEUE_TYPE_ACTIVITY)
		if err != nil {
			return s, err
		}
		for _, p := range d.GetPollers() {
			if _, works, err := ws.Owner(ctx, workerLease(p.GetIdentity())); err != nil {
				return s, err
			} else if !works { // Temporal remembers who has asked it for minutes
				continue
			}
			s.Workers = append(s.Workers, Worker{p.GetIdentity(), q, p.GetLastAccessTime().AsTime()})
		}
	}
	return s, nil
}

// by names a process.
func by(o store.Owner) string { return (&store.OwnedError{PID: o.PID, Host: o.Host}).By() }

// Unattended returns the queues of tasks that no worker takes.
func (s Status) Unattended() (queues []string) {
	for _, h := range s.Tasks {
		taken := slices.ContainsFunc(s.Workers, func(w Worker) bool { return w.Queue == h.Queue })
		if !taken && !slices.Contains(queues, h.Queue) {
			queues = append(queues, h.Queue)
		}
	}
	return queues
}
