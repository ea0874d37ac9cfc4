package wire

import (
	"strings"
	"testing"

	"pawl/llm"
	"pawl/run"
)

func TestAStreamWithEveryEventTwiceIsBroken(t *testing.T) {
	t.Parallel()
	for events, want := range map[string]bool{
		"a a b b c c d d": true,
		"a a a a b b":     true,
		"p p p p p p p p": false, // keep-alives
		"a b b c c d d":   false,
		"a a b b c d d":   false,
		"a a b b":         false,
	} {
		var d Doubled
		var err error
		for _, e := range strings.Fields(events) {
			if err == nil {
				err = d.Check([]byte(e))
			}
		}
		if (err != nil) != want || want && llm.AsError(t.Context(), err).Kind != run.ErrBrokenStream {
			t.Errorf("%s: %v, want an error: %v", events, err, want)
		}
	}
}
