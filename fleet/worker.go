package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"pawl/app"
	"pawl/board"
	"pawl/store"
	"pawl/task"
)

// stopPatience is how long what works may take to stop when a worker is drained. Programs that do not stop are killed
// before.
const stopPatience = time.Minute

// Work carries tasks of a queue, as many at once as opt.Runs says, until ctx is done. Then it takes no more, runs are interrupted as
// by a shutdown, and another worker continues them. ready is called when it takes tasks; failed is told why it could not carry one,
// which Temporal then gives to a worker again. The error is [ErrDrained] if another process has drained this one.
func Work(ctx context.Context, ws *app.Workspace, c *Client, queue string, opt board.Options, ready func(), failed func(task.ID, error)) error {
	ended := make(chan error, 1)
	w := worker.New(c.Client, queue, worker.Options{
		MaxConcurrentActivityExecutionSize: max(opt.Runs, 1),
		DisableEagerActivities:             true,        // a worker with a free place is found by the server
		StickyScheduleToStartTimeout:       time.Second, // what waits for a worker that died is given to another
		WorkerStopTimeout:                  stopPatience,
		OnFatalError:                       func(err error) { ended <- err },
	})
	w.RegisterWorkflowWithOptions(carry, workflow.RegisterOptions{Name: workflowName})
	works, drain := context.WithCancel(ctx)
	defer drain()
	d := &driving{board.NewDriver(ws, opt), works, failed}
	w.RegisterActivityWithOptions(d.drive, activity.RegisterOptions{Name: activityName})
	if err := w.Start(); err != nil {
		return fmt.Errorf("the queue %s cannot be worked on: %w", queue, err)
	}
	attending, end := context.WithCancel(context.WithoutCancel(ctx))
	attended, err := attend(attending, ws, drain)
	if err != nil {
		end()
		return err
	}
	defer func() { end(); <-attended }() // who drains it waits for that
	defer w.Stop()
	ready()
	select {
	case <-works.Done():
		if ctx.Err() == nil {
			return ErrDrained
		}
		return nil
	case err := <-ended:
		return fmt.Errorf("the worker has failed: %w", err)
	}
}

// driving performs the activity of a worker.
type driving struct {
	driver *board.Driver
	works  context.Context // done when the worker is drained
	failed func(task.ID, error)
}

// errDrained makes Temporal give the task to another worker at once.
var errDrained = temporal.NewApplicationErrorWithOptions("the worker was stopped", "drained", temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond})

func (d *driving) drive(ctx context.Context, id task.ID) (board.Rest, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(d.works, stop)()
	go beat(ctx)
	rest, err := d.driver.Carry(ctx, id)
	switch {
	case err == nil:
	case d.works.Err() != nil:
		err = errDrained
	case ctx.Err() != nil: // the worker was thought dead
	case errors.Is(err, store.ErrNoTask):
		// It was removed, or the queue is shared with another database.
		err = temporal.NewNonRetryableApplicationError(fmt.Sprintf("task %s is not in the database of this worker", id), "no task", err)
		fallthrough
	default:
		d.failed(id, err)
	}
	return rest, err
}

// beat tells Temporal that this worker is alive until ctx is done.
func beat(ctx context.Context) {
	tick := time.NewTicker(heartbeat / 5)
	defer tick.Stop()
	for {
		activity.RecordHeartbeat(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
