package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/config"
	"pawl/llm/anthropic"
	"pawl/llm/chat"
	"pawl/llm/gemini"
	"pawl/llm/responses"
	"pawl/permission"
)

// flagValues are the values of flags that are not settings, by name, or by command and name
// where the name alone has others, unless [CompleteFlag] gave them. The help of each flag lists
// them too.
var flagValues = map[string][]string{
	"demo control":     {"native", "controller"},
	"runs list status": RunStates,
	"task list status": {"pending", "planning", "awaiting_input", "planned", "active", "waiting", "completed", "failed"},

	"effect":   {"allow", "ask", "deny"},
	"format":   {"json", "markdown", "html", "script"},
	"output":   {"text", "json", "stream-json"},
	"provider": strings.Split(SchemaProviders, ", "),
	"sandbox":  {"network", "none"},
	"scope":    permission.StoredScopes(),
	"wire":     StreamFormats,
}

// ValuesOf returns the values that a flag can have; nil: they are no list.
func ValuesOf(cmd *cobra.Command, f *pflag.Flag) []string {
	if own := flagValues[strings.TrimPrefix(cmd.CommandPath(), "pawl ")+" "+f.Name]; own != nil {
		return own
	}
	for _, k := range config.Keys() {
		if k.Flag() == f.Name && k.Values != nil {
			return k.Values
		}
	}
	return flagValues[f.Name]
}

// StreamFormats are the wire formats that come as streams.
var StreamFormats = []string{anthropic.Wire, responses.Wire, chat.Wire, gemini.Wire}

const SchemaProviders = "anthropic, openai, compatible, gemini"
