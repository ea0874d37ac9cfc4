package fleet

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"pawl/board"
	"pawl/task"
)

// The names and forms of what Temporal keeps. Workflows that began with an older pawl go on with a newer one: a change to
// what carry does is made with workflow.GetVersion, and testdata has a history of each version.
const (
	workflowName = "carry-task"
	activityName = "drive-task"
	wakeSignal   = "wake"
)

// A wake says that a task has something to be done.
type wake struct {
	// Seq is the number of the task's last event then; 0: something was said to its run.
	Seq int64
}

const (
	// heartbeat is after how long without a sign of life a worker counts as dead. The lease of the task ends 10 s after
	// it died, so that another worker goes on within some 12 s.
	heartbeat = 5 * time.Second
	// longestDrive bounds the activity, which Temporal demands; what bounds a task are the limits of its runs.
	longestDrive = 365 * 24 * time.Hour
	// manyDrives is after how many activities the workflow begins anew, so that its history stays short.
	manyDrives = 200
)

// carry has a task driven until it has nothing left to be done. While a run of it waits for a person no worker
// holds it.
func carry(ctx workflow.Context, id task.ID) error {
	wakes := workflow.GetSignalChannel(ctx, wakeSignal)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: longestDrive, HeartbeatTimeout: heartbeat, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1.5, MaximumInterval: 10 * time.Second},
	})
	for drives := 1; ; drives++ {
		var rest board.Rest
		if err := workflow.ExecuteActivity(ctx, activityName, id).Get(ctx, &rest); err != nil {
			return err
		}
		if changed, err := awaken(ctx, wakes, rest); err != nil || !changed {
			return err
		}
		if drives == manyDrives {
			return workflow.NewContinueAsNewError(ctx, workflowName, id)
		}
	}
}

// awaken returns true when the task has changed since it was left, and false if it is not waited for that.
func awaken(ctx workflow.Context, wakes workflow.ReceiveChannel, rest board.Rest) (changed bool, err error) {
	news := func(w wake) bool { return w.Seq == 0 || w.Seq > rest.Seq }
	var w wake
	for wakes.ReceiveAsync(&w) {
		changed = changed || news(w)
		w = wake{}
	}
	if changed || !rest.Parked {
		return changed, nil
	}
	if err := show(ctx, waiting); err != nil {
		return false, err
	}
	for !changed {
		w = wake{}
		wakes.Receive(ctx, &w)
		changed = news(w)
	}
	return true, show(ctx, working)
}
