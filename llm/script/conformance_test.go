package script_test

import (
	"testing"
	"time"

	"pawl/llm"
	"pawl/llm/llmtest"
	"pawl/llm/script"
)

func TestTheScriptedModelDoesWhatEveryProviderDoes(t *testing.T) {
	t.Parallel()
	llmtest.Run(t, llmtest.Wire{EarlyUsage: true, Direct: func(s script.Script, idle time.Duration) llm.Provider { return script.New(s, idle) }})
}
