package wire_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"pawl/llm"
	"pawl/llm/llmtest"
	"pawl/llm/wire"
	"pawl/run"
)

// words is an answer of ten events; each of them is a word.
type words struct {
	say   func(llm.Delta) error
	count int
}

func (w *words) Take(_ string, data []byte) error {
	w.count++
	return w.say(llm.Delta{Text: string(data)})
}
func (w *words) Done() bool          { return w.count == 10 }
func (w *words) Whole() bool         { return false }
func (w *words) Answer() *llm.Answer { return &llm.Answer{} }

// listen streams an answer whose words come with a pause before each, to a viewer who
// takes a time for each, and gives up after a minute without progress.
func listen(t *testing.T, pause, view time.Duration) error {
	c := wire.New(wire.Options{BaseURL: "http://server", IdleTimeout: time.Minute,
		HTTPClient: llmtest.Serve(t, llmtest.Repeat("data: word\n\n", pause))})
	send := func(ctx context.Context) (*http.Response, error) { return c.Post(ctx, "/", nil, nil) }
	for _, err := range c.Stream(t.Context(), send, func(say func(llm.Delta) error) wire.Assembler { return &words{say: say} }) {
		if err != nil {
			return err
		}
		time.Sleep(view)
	}
	return nil
}

func TestAnAnswerIsGivenUpForItsLongestPauseAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pause, view time.Duration
		timeout     bool
	}{
		"slow but steady": {pause: 59 * time.Second},
		"a slow viewer":   {pause: time.Second, view: time.Hour},
		"both":            {pause: 59 * time.Second, view: time.Hour},
		"too slow":        {pause: 61 * time.Second, timeout: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				err := listen(t, c.pause, c.view)
				if got := err != nil && llm.AsError(t.Context(), err).Kind == run.ErrTimeout; got != c.timeout {
					t.Errorf("%v, want a timeout: %v", err, c.timeout)
				}
			})
		})
	}
}
