package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl/app"
	"pawl/run"
)

// Text that streams is drawn a frame's time after the frame before it; a dialog at once.
func TestADialogDoesNotWaitForTheNextFrame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration // of the frames
		var last frame
		p := newProgram(newModel(Options{Getenv: func(string) string { return "" }}), &desk{}, func(f frame) error {
			at, last = append(at, time.Since(began)), f
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.run(ctx, notice{"first"}, make(chan message)) }()
		synctest.Wait()
		p.mail.put(notice{"second"})
		time.Sleep(frameTime + time.Millisecond)
		synctest.Wait()
		p.mail.put(approvals{calls: []app.Approval{{Call: run.Call{ID: "c", Tool: "shell", Arguments: `{"command":"make"}`}}}})
		synctest.Wait()
		if want := []time.Duration{0, frameTime, frameTime + time.Millisecond}; !slices.Equal(at, want) {
			t.Errorf("frames were drawn at %v, not at %v", at, want)
		}
		if live := strings.Join(last.live, "\n"); !strings.Contains(live, "Allow this time") {
			t.Errorf("there is no dialog in\n%s", live)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
