package chat_test

import (
	"testing"
	"time"

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
	for name, dialect := range map[string]chat.Dialect{"unknown": unknown, "openai": chat.Find("openai", ""), "openrouter": openRouter, "mistral": mistral, "deepseek": deepSeek} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialect.Path = "" // the fake server has the usual one
			llmtest.Run(t, llmtest.Wire{Open: func(baseURL, key string, idle time.Duration) llm.Provider {
				idle = max(idle, time.Second) // five suites at once are slow to say their first word
				return chat.New(chat.Options{BaseURL: baseURL, Key: key, IdleTimeout: idle, Dialect: &dialect})
			}})
		})
	}
}
