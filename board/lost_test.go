package board

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pawl/run"
	"pawl/store"
	"pawl/task"
)

// ended is a lease that has ended.
type ended struct{}

func (ended) Wait(string) error                  { return nil }
func (ended) Held(context.Context) (bool, error) { return false, nil }
func (ended) Lost() <-chan struct{}              { return nil }
func (ended) Release() error                     { return nil }

// A driver that was thought dead records nothing, not even that its run has failed: the board, which has no workspace, is
// never asked.
func TestADriverWhoseLeaseHasEndedRecordsNothing(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]func(*card){
		"that the run could not go on": func(c *card) {
			c.end(t.Context(), task.State{}, "r", true, run.Ended{End: run.EndInterrupted, Reason: "storage"})
		},
		"how a turn has ended": func(c *card) { c.record(t.Context(), task.State{}, "r", run.State{}) },
	} {
		c := &card{Driver: &Driver{}, lease: ended{}}
		if records(c); !c.lost {
			t.Errorf("%s: it still drives the task", name)
		}
	}
}

// A database that restarts fails no task: nothing is recorded, and the run continues when it answers.
func TestADatabaseThatIsAwayFailsNoTask(t *testing.T) {
	t.Parallel()
	c := &card{Driver: &Driver{}, lease: ended{}}
	c.fail(t.Context(), task.State{}, "r", &store.FileError{Kind: store.ErrAway, Path: "postgres://db", Err: errors.New("connection refused")})
	if c.lost {
		t.Error("that the run could not go on is recorded")
	}
}

// A task that a newer worker has written to is left to one of those.
func TestATaskOfANewerPawlIsLeft(t *testing.T) {
	t.Parallel()
	for _, why := range []error{fmt.Errorf("task t: %w", store.ErrNewer), &store.UnreadableError{Run: "r", Seq: 3}} {
		c := &card{Driver: &Driver{}, lease: ended{}, letsGo: true}
		c.fail(t.Context(), task.State{}, "r", why)
		if c.lost || !errors.Is(c.newer, why) {
			t.Errorf("after %v that the run could not go on is recorded", why)
		}
	}
}

// While the disk of a shared database is full a task waits, but not for ever: what is recorded then may cost.
func TestADiskThatIsFullFailsNoTaskAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &card{Driver: &Driver{}, lease: ended{}, letsGo: true}
		began := time.Now()
		for tries := 0; !c.lost; tries++ {
			if tries > manyFull {
				t.Fatal("it is never recorded")
			}
			c.fail(t.Context(), task.State{}, "r", &store.FileError{Kind: store.ErrDiskFull, Path: "postgres://db", Err: errors.New("no space")})
		}
		if waited := time.Since(began); waited < 10*time.Minute || waited > 20*time.Minute {
			t.Errorf("it was waited for %s", waited)
		}
	})
}
