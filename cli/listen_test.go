package cli

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"pawl/run"
	"pawl/worker"
)

// A second SIGTERM or SIGHUP, as timeout(1) and a closed terminal send, does not cut an orderly
// exit short. Ctrl-C does, also after an earlier one.
func TestATerminationThatIsSentTwiceIsOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		signals []os.Signal // the last one ends the process
		cause   run.Cause
		code    int
	}{
		{"terminations and Ctrl-C", []os.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGHUP, os.Interrupt}, run.ByShutdown, exitInterrupted},
		{"Ctrl-C twice", []os.Signal{os.Interrupt, os.Interrupt}, run.ByPerson, exitInterrupted},
		{"Ctrl-C and a termination", []os.Signal{os.Interrupt, syscall.SIGTERM}, run.ByPerson, exitTerminated},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			signals, codes := make(chan os.Signal), make(chan int, len(c.signals))
			inv := &invocation{Process: Process{Signals: signals, Exit: func(code int) { codes <- code }}}
			inv.driving.Store(true)
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				inv.listen(t.Context().Done(), cancel)
			}()
			for _, s := range c.signals {
				select {
				case signals <- s:
				case <-ended:
					t.Fatalf("the process ended before %s", s)
				}
			}
			<-ended
			if code := <-codes; code != c.code || len(codes) != 0 {
				t.Errorf("it ended with %d, and %d times more; want %d, once", code, len(codes), c.code)
			}
			if stop, ok := errors.AsType[worker.Stop](context.Cause(ctx)); !ok || stop.Interrupted.Cause != c.cause {
				t.Errorf("the turn was ended by %v, want %s", context.Cause(ctx), c.cause)
			}
		})
	}
}
