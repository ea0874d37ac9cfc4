package chat

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"pawl/llm/wire"
)

// A Dialect is how requests to one server differ. The zero value is for an unknown server:
// what nearly all accept, and nothing that some refuse.
type Dialect struct {
	Name    string // of the preset; empty: an unknown server
	BaseURL string // the server's address, if there is only one
	Path    string // of the API below the host; empty: /v1
	Local   bool   // runs on this machine and needs no key

	KeyHeader  string // the header for the key as it is; empty: Authorization, as a bearer token
	SystemRole string // empty: system
	MaxTokens  string // the field for it; empty: max_tokens
	NoUsage    bool   // stream_options is refused: answers come without usage
	Bridge     bool   // only an assistant message may follow results: one is inserted before the user's
	CacheMarks bool   // models of Anthropic use the cache only where cache_control requests it
	Output     Output
	Reasoning  Reasoning
	CallExtra  bool // extra_content of a call is sent back with it: Gemini's signatures
}

// An Output is how an answer by schema is requested.
type Output int

const (
	NoOutput     Output = iota // not at all, or not from every model, or not beside tools
	StrictOutput               // response_format with a json_schema, strict, of OpenAI's subset
	SchemaOutput               // response_format with a json_schema, held to by a grammar
)

// A Reasoning is the part of a model's reasoning that is sent back to it.
type Reasoning int

const (
	// NoReasoning is for servers that refuse fields they do not know (Mistral,
	// Groq), and for those that say to leave it out.
	NoReasoning Reasoning = iota
	// ReasoningContent is the field reasoning_content in messages with calls, even
	// when it is empty. DeepSeek: "for turns that do perform tool calls, the
	// reasoning_content must be fully passed back … otherwise the API will return a
	// 400 error", without calls it is ignored (api-docs.deepseek.com/guides/thinking_mode;
	// left out because empty it is an error too: deepseek-ai/deepseek-harness
	// discussion 1850).
	ReasoningContent
	// ReasoningText is the same in the field reasoning (Ollama).
	ReasoningText
	// ReasoningDetails is the list reasoning_details as it came: parts of it are
	// signed or encrypted (openrouter.ai/docs/guides/best-practices/reasoning-tokens).
	ReasoningDetails
)

// presets are the known servers. Sources, all read 2026-11-20:
//
//   - Who takes max_tokens only, OpenRouter's marks, the rest of the outline: the
//     table in pi's openai-completions.ts (badlogic/pi-mono), which several agents copy.
//   - Reasoning that goes back: the pages at the constants above; Moonshot,
//     platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model and
//     openai/openai-agents-python issue 2669 (without it a 400); z.ai,
//     docs.z.ai/guides/capabilities/thinking-mode ("complete, unmodified").
//   - Mistral: mistralai/mistral-common issue 169.
//   - Gemini: crmne/ruby_llm issue 591, openai/codex pull request 7586.
//   - No answers by schema: Groq ("streaming is not currently supported with
//     Structured Outputs", console.groq.com/docs/structured-outputs, and strict for
//     two models); llama.cpp's server ("Cannot use custom grammar constraints with
//     tools"); DeepSeek, Moonshot and z.ai support only JSON without a schema; with OpenRouter,
//     Vercel, Together, Fireworks and Hugging Face it depends on the upstream provider.
var presets = []struct {
	names []string
	hosts []string // or the end of one, from a dot
	Dialect
}{
	{[]string{"openai"}, []string{"api.openai.com"}, Dialect{BaseURL: DefaultBaseURL,
		SystemRole: "developer", MaxTokens: "max_completion_tokens", Output: StrictOutput}},
	{[]string{"azure"}, []string{".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"}, Dialect{
		Path: "/openai/v1", KeyHeader: "api-key", MaxTokens: "max_completion_tokens", Output: StrictOutput}},
	{[]string{"openrouter"}, []string{"openrouter.ai"}, Dialect{BaseURL: "https://openrouter.ai/api/v1", Path: "/api/v1",
		Reasoning: ReasoningDetails, CacheMarks: true}},
	{[]string{"vercel"}, []string{"ai-gateway.vercel.sh"}, Dialect{BaseURL: "https://ai-gateway.vercel.sh/v1", Reasoning: ReasoningDetails}},
	{[]string{"groq"}, []string{"api.groq.com"}, Dialect{BaseURL: "https://api.groq.com/openai/v1", Path: "/openai/v1", MaxTokens: "max_completion_tokens"}},
	{[]string{"deepseek"}, []string{"api.deepseek.com"}, Dialect{BaseURL: "https://api.deepseek.com/v1", Reasoning: ReasoningContent}},
	{[]string{"mistral"}, []string{"api.mistral.ai"}, Dialect{BaseURL: "https://api.mistral.ai/v1", Bridge: true, Output: StrictOutput}},
	{[]string{"xai", "x.ai", "grok"}, []string{"api.x.ai"}, Dialect{BaseURL: "https://api.x.ai/v1", MaxTokens: "max_completion_tokens", Output: StrictOutput}},
	{[]string{"together"}, []string{"api.together.xyz", "api.together.ai"}, Dialect{BaseURL: "https://api.together.xyz/v1"}},
	{[]string{"huggingface"}, []string{"router.huggingface.co"}, Dialect{BaseURL: "https://router.huggingface.co/v1"}},
	{[]string{"fireworks"}, []string{"api.fireworks.ai"}, Dialect{BaseURL: "https://api.fireworks.ai/inference/v1", Path: "/inference/v1"}},
	{[]string{"cerebras"}, []string{"api.cerebras.ai"}, Dialect{BaseURL: "https://api.cerebras.ai/v1", MaxTokens: "max_completion_tokens"}},
	{[]string{"zai", "z.ai"}, []string{"api.z.ai", "open.bigmodel.cn"}, Dialect{BaseURL: "https://api.z.ai/api/paas/v4", Path: "/api/paas/v4", Reasoning: ReasoningContent}},
	{[]string{"moonshot", "kimi"}, []string{"api.moonshot.ai", "api.moonshot.cn"}, Dialect{BaseURL: "https://api.moonshot.ai/v1", Reasoning: ReasoningContent}},
	{[]string{"gemini-chat"}, []string{"generativelanguage.googleapis.com"}, Dialect{
		BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", Path: "/v1beta/openai", CallExtra: true}},
	{[]string{"ollama"}, []string{"localhost:11434"}, Dialect{BaseURL: "http://127.0.0.1:11434/v1", Local: true, Reasoning: ReasoningText, Output: SchemaOutput}},
	{[]string{"lmstudio", "lm-studio"}, []string{"localhost:1234"}, Dialect{BaseURL: "http://127.0.0.1:1234/v1", Local: true, Output: SchemaOutput}},
	{[]string{"llamacpp", "llama.cpp"}, []string{"localhost:8080"}, Dialect{BaseURL: "http://127.0.0.1:8080/v1", Local: true, Reasoning: ReasoningContent}},
	{[]string{"vllm"}, []string{"localhost:8000"}, Dialect{BaseURL: "http://127.0.0.1:8000/v1", Local: true, Output: SchemaOutput}},
}

// Find returns the dialect of a provider by its name, or else by its address. That of an
// unknown one has no Name.
func Find(name, baseURL string) Dialect {
	host, local := hostOf(baseURL)
	name = strings.ToLower(strings.TrimSpace(name))
	for _, byName := range []bool{true, false} {
		for _, p := range presets {
			found := slices.Contains(p.names, name)
			if !byName {
				found = slices.ContainsFunc(p.hosts, func(h string) bool {
					return host == h || h[0] == '.' && strings.HasSuffix(host, h)
				})
			}
			if found {
				p.Dialect.Name = p.names[0]
				return p.Dialect
			}
		}
	}
	return Dialect{Local: local}
}

// hostOf returns the host of an address as presets have it, and whether it is this
// machine.
func hostOf(address string) (host string, local bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "", false
	}
	host = strings.ToLower(u.Hostname())
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return "localhost:" + u.Port(), true
	}
	return host, false
}

// without returns the dialect without what an error rejects; the same if it rejects none of
// it. Each thing is left out only once, so that repeated requests end.
func (d Dialect) without(e wire.APIError) Dialect {
	message := strings.ToLower(e.Message)
	switch {
	case !d.NoUsage && e.Rejects("stream_options"):
		d.NoUsage = true
	case d.MaxTokens == "" && e.Rejects("max_tokens"):
		// "Unsupported parameter: 'max_tokens' is not supported with this model. Use
		// 'max_completion_tokens' instead", OpenAI through a proxy.
		d.MaxTokens = "max_completion_tokens"
	case d.MaxTokens == "max_completion_tokens" && e.Rejects("max_completion_tokens"):
		d.MaxTokens = "max_tokens"
	case !d.Bridge && strings.Contains(message, "after role") && strings.Contains(message, "tool"):
		// "Unexpected role 'user' after role 'tool'": a model of Mistral elsewhere.
		d.Bridge = true
	}
	return d
}
