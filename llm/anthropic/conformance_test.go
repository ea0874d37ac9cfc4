package anthropic_test

import (
	"testing"
	"time"

	"pawl/llm"
	"pawl/llm/anthropic"
	"pawl/llm/llmtest"
)

func TestTheWireDoesWhatEveryProviderDoes(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, llmtest.Wire{EarlyUsage: true, Open: func(baseURL, key string, idle time.Duration) llm.Provider {
		return anthropic.New(anthropic.Options{BaseURL: baseURL, Key: key, IdleTimeout: idle})
	}})
}
