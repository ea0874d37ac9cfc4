package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"pawl/app"
	"pawl/board"
	"pawl/forms"
	"pawl/store"
	"pawl/task"
)

// Look finds out what the workers of a database do.
func Look(ctx context.Context, ws *app.Workspace, c *Client) (forms.FleetForm, error) {
	s := forms.FleetForm{Workers: []forms.WorkerForm{}, Tasks: []forms.HeldForm{}}
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
		h := forms.HeldForm{ID: sum.ID, Title: sum.Title, Status: sum.Status, Queue: QueueOf(sum.Labels)}
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
		d, err := c.describe(ctx, q)
		if err != nil {
			return s, err
		}
		for _, p := range d.GetPollers() {
			if _, works, err := ws.Owner(ctx, workerLease(p.GetIdentity())); err != nil {
				return s, err
			} else if !works { // Temporal remembers who has asked it for minutes
				continue
			}
			w := forms.WorkerForm{Name: p.GetIdentity(), Queue: q, Seen: p.GetLastAccessTime().AsTime()}
			for _, h := range s.Tasks {
				if h.By == w.Name {
					w.Holds++
				}
			}
			s.Workers = append(s.Workers, w)
		}
	}
	for _, h := range s.Tasks {
		taken := slices.ContainsFunc(s.Workers, func(w forms.WorkerForm) bool { return w.Queue == h.Queue })
		if !taken && !slices.Contains(s.Unattended, h.Queue) {
			s.Unattended = append(s.Unattended, h.Queue)
		}
	}
	return s, nil
}

// by names a process.
func by(o store.Owner) string { return (&store.OwnedError{PID: o.PID, Host: o.Host}).By() }

// describeTime is how long Temporal may take to say who works on a queue.
const describeTime = 5 * time.Second

func (c *Client) describe(ctx context.Context, queue string) (*workflowservice.DescribeTaskQueueResponse, error) {
	asking, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	d, err := c.DescribeTaskQueue(asking, queue, enums.TASK_QUEUE_TYPE_ACTIVITY)
	if err != nil && asking.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it does not answer within %v", describeTime)
	}
	if err != nil {
		return nil, fmt.Errorf("Temporal does not say who works on the queue %s: %w", queue, err)
	}
	return d, nil
}
