package gemini_test

import (
	"testing"
	"time"

	"pawl/llm"
	"pawl/llm/gemini"
	"pawl/llm/llmtest"
)

func TestTheWireDoesWhatEveryProviderDoes(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, llmtest.Wire{NoCacheWrite: true, Open: func(baseURL, key string, idle time.Duration) llm.Provider {
		return gemini.New(gemini.Options{BaseURL: baseURL, Key: key, IdleTimeout: idle})
	}})
}
