package fleet

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"pawl/board"
	"pawl/task"
)

// carried runs the workflow of a task against drives that leave the task as rests says, with signals at the times of
// wakes, and returns how often it was driven and how the workflow ended.
func carried(t *testing.T, rests []board.Rest, wakes map[time.Duration]wake) (drives int, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflowWithOptions(carry, workflow.RegisterOptions{Name: workflowName})
	env.RegisterActivityWithOptions(func(context.Context, task.ID) (board.Rest, error) {
		rest := rests[min(drives, len(rests)-1)]
		drives++
		return rest, nil
	}, activity.RegisterOptions{Name: activityName})
	for after, w := range wakes {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(wakeSignal, w) }, after)
	}
	env.ExecuteWorkflow(workflowName, task.ID("t-1"))
	if !env.IsWorkflowCompleted() {
		t.Fatal("the workflow has not ended")
	}
	return drives, env.GetWorkflowError()
}

func TestATaskIsDrivenOnceForEachChange(t *testing.T) {
	t.Parallel()
	done, parked := board.Rest{Seq: 9}, board.Rest{Seq: 5, Parked: true}
	for name, c := range map[string]struct {
		rests []board.Rest
		wakes map[time.Duration]wake
		want  int
	}{
		"nothing is left":               {[]board.Rest{done}, nil, 1},
		"it began with the signal":      {[]board.Rest{done}, map[time.Duration]wake{0: {Seq: 9}}, 1},
		"it changed while it was left":  {[]board.Rest{{Seq: 4}, done}, map[time.Duration]wake{0: {Seq: 5}}, 2},
		"a person answers":              {[]board.Rest{parked, done}, map[time.Duration]wake{time.Hour: {}}, 2},
		"a person says something":       {[]board.Rest{parked, done}, map[time.Duration]wake{time.Hour: {Seq: 6}}, 2},
		"old news wake nobody":          {[]board.Rest{parked, done}, map[time.Duration]wake{time.Hour: {Seq: 5}, 2 * time.Hour: {Seq: 3}, 3 * time.Hour: {Seq: 6}}, 2},
		"two answers":                   {[]board.Rest{parked, parked, done}, map[time.Duration]wake{time.Hour: {}, 2 * time.Hour: {}}, 3},
		"answered before it was parked": {[]board.Rest{parked, done}, map[time.Duration]wake{0: {}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drives, err := carried(t, c.rests, c.wakes)
			if err != nil || drives != c.want {
				t.Errorf("it was driven %d times, want %d: %v", drives, c.want, err)
			}
		})
	}
}

// The history of a task that is answered for years stays short.
func TestAfterManyDrivesTheWorkflowBeginsAnew(t *testing.T) {
	t.Parallel()
	wakes := map[time.Duration]wake{}
	for i := range 2 * manyDrives {
		wakes[time.Duration(i+1)*time.Hour] = wake{}
	}
	drives, err := carried(t, []board.Rest{{Seq: 5, Parked: true}}, wakes)
	if anew := new(workflow.ContinueAsNewError); !errors.As(err, &anew) || drives != manyDrives {
		t.Errorf("after %d drives: %v", drives, err)
	}
}

func TestTheQueueOfATaskIsThatOfItsLabel(t *testing.T) {
	t.Parallel()
	got := []string{QueueOf(nil), QueueOf([]string{"bug"}), QueueOf([]string{"bug", "queue:gpu", "queue:mac"}), QueueOf([]string{"queue:"})}
	if diff := cmp.Diff([]string{"pawl", "pawl", "gpu", "pawl"}, got); diff != "" {
		t.Error(diff)
	}
}

// Workflows that began with an older pawl go on with this one: it does the same with each history that one of them has
// left. testdata has one for each version of carry; the first is of a task that was answered twice, the
// second of one that can be searched.
func TestWorkflowsOfOlderVersionsGoOn(t *testing.T) {
	t.Parallel()
	histories, err := filepath.Glob("testdata/carry_*.json")
	if err != nil || len(histories) == 0 {
		t.Fatalf("there are no histories: %v", err)
	}
	for _, file := range histories {
		replayer := worker.NewWorkflowReplayer()
		replayer.RegisterWorkflowWithOptions(carry, workflow.RegisterOptions{Name: workflowName})
		if err := replayer.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
