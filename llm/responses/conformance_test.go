package responses_test

import (
	"testing"
	"time"

	"pawl/llm"
	"pawl/llm/llmtest"
	"pawl/llm/responses"
)

func TestTheWireDoesWhatEveryProviderDoes(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, llmtest.Wire{Open: func(baseURL, key string, idle time.Duration) llm.Provider {
		return responses.New(responses.Options{BaseURL: baseURL, Key: key, IdleTimeout: idle})
	}})
}
