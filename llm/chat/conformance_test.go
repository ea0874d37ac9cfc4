package chat_test

import (
	"testing"

	"pawl/llm"
	"pawl/llm/chat"
	"pawl/llm/llmtest"
)

func TestTheWireDoesWhatEveryProviderDoes(t *testing.T) {
	t.Parallel()
	unknown := chat.Dialect{Output: chat.SchemaOutput} // the suite asks for an answer by schema
	openRouter := chat.Find("openrouter", "")
	openRouter.Output = chat.StrictOutput
	mistral := chat.Find("mistral", "")
	deepSeek := chat.Find("deepseek", "")
	deepSeek.Output = chat.SchemaOutput
	keepAlives := []string{`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"}
	for name, dialect := range map[string]chat.Dialect{"unknown": unknown, "openai": chat.Find("openai", ""), "openrouter": openRouter, "mistral": mistral, "deepseek": deepSeek} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialect.Path = "" // the fake server has the usual one
			llmtest.Run(t, llmtest.Wire{KeepAlives: keepAlives, Open: func(at llmtest.Endpoint) llm.Provider {
				return chat.New(chat.Options{BaseURL: at.BaseURL, Key: at.Key, HTTPClient: at.Client, IdleTimeout: at.Idle, Dialect: &dialect})
			}})
		})
	}
}
