package api_test

import (
	"sync"
	"testing"

	"pawl/api"
)

// A script starts the server in the background and asks for its token.
func TestAllWhoMakeTheFirstTokenGetTheSame(t *testing.T) {
	t.Parallel()
	for range 50 {
		state := t.TempDir()
		tokens := make([]string, 16)
		var makers sync.WaitGroup
		for i := range tokens {
			makers.Go(func() {
				var err error
				if tokens[i], err = api.LoadToken(state); err != nil {
					t.Error(err)
				}
			})
		}
		makers.Wait()
		for _, token := range tokens {
			if token != tokens[0] {
				t.Fatalf("the tokens differ: %q", tokens)
			}
		}
	}
}
