package anthropic_test

import (
	"testing"

	"pawl/llm"
	"pawl/llm/anthropic"
	"pawl/llm/llmtest"
)

func TestTheWireDoesWhatEveryProviderDoes(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, llmtest.Wire{EarlyUsage: true, Open: func(at llmtest.Endpoint) llm.Provider {
		return anthropic.New(anthropic.Options{BaseURL: at.BaseURL, Key: at.Key, HTTPClient: at.Client, IdleTimeout: at.Idle})
	}})
}
