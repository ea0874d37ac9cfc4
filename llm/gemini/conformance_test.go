package gemini_test

import (
	"testing"

	"pawl/llm"
	"pawl/llm/gemini"
	"pawl/llm/llmtest"
)

func TestTheWireDoesWhatEveryProviderDoes(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, llmtest.Wire{KeepAlives: []string{`data: {"candidates":[{"content":{"parts":[{"text":""}]}}],"usageMetadata":{"promptTokenCount":9}}` + "\n\n"}, NoCacheWrite: true, Open: func(at llmtest.Endpoint) llm.Provider {
		return gemini.New(gemini.Options{BaseURL: at.BaseURL, Key: at.Key, HTTPClient: at.Client, IdleTimeout: at.Idle})
	}})
}
