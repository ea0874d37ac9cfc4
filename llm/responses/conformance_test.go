package responses_test

import (
	"testing"

	"pawl/llm"
	"pawl/llm/llmtest"
	"pawl/llm/responses"
)

func TestTheWireDoesWhatEveryProviderDoes(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, llmtest.Wire{KeepAlives: []string{`data: {"type":"keepalive"}` + "\n\n", `data: {"type":"response.in_progress","response":{"model":"m"}}` + "\n\n"}, Open: func(at llmtest.Endpoint) llm.Provider {
		return responses.New(responses.Options{BaseURL: at.BaseURL, Key: at.Key, HTTPClient: at.Client, IdleTimeout: at.Idle})
	}})
}
