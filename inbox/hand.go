package inbox

import (
	"context"
	"fmt"
	"time"

	"pawl/request"
	"pawl/run"
	"pawl/store"
)

// Hand puts a request into the inbox of a run and waits until its owner, or that of the run above which
// waits for it, has taken it. taken is false if no process drives them: it is taken when the run is
// resumed. An error is a [*RefusedError] if it meant nothing, and a [*NotTakenError] if it still waits.
func Hand(ctx context.Context, s store.Store, of run.ID, key string, r request.Request) (taken bool, err error) {
	if err := Put(ctx, s, of, key, r); err != nil {
		return false, err
	}
	return Await(ctx, s, of, key)
}

// Await waits until a request that was put into the inbox of a run has been taken; see [Hand].
func Await(ctx context.Context, s store.Store, of run.ID, key string) (taken bool, err error) {
	for deadline := time.Now().Add(handPatience); ; {
		owner, driven, err := Driver(ctx, s, of) // first: one that has gone has taken what it has taken
		if err != nil {
			return false, err
		}
		result, taken, err := Result(ctx, s, of, key)
		switch {
		case err != nil:
			return false, err
		case result.Refused != "":
			return true, &RefusedError{result.Refused}
		case taken || !driven:
			return taken, nil
		case time.Now().After(deadline):
			return false, &NotTakenError{fmt.Sprintf("process %d has not taken what was said to run %s for %s; it stays in the inbox: see `pawl runs why %s`", owner.PID, of, handPatience, of)}
		}
		select {
		case <-time.After(Poll):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// Poll is how often the store is read while another process is to act.
const Poll = 50 * time.Millisecond

// handPatience is how long the owner of a run may take to take a request. It is woken, so a longer wait
// has another cause.
const handPatience = 5 * time.Second

// A RefusedError says why a request to a run means nothing in its state.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// A NotTakenError says that the process which drives a run has not taken a request in time.
type NotTakenError struct{ What string }

func (e *NotTakenError) Error() string { return e.What }
