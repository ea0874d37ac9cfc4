// Package schema adapts a JSON Schema to what a provider's wire takes, and checks
// answers against the schema as it was authored.
//
// A tool's or an output's schema is authored once. [Adapt] makes of it what one
// wire accepts: what that wire would refuse is taken out and told in the
// description of the very place where it stood, so that the model knows of it all
// the same. What comes back is always judged by the authored schema:
// [Compiled.Restore] first takes out the nulls that OpenAI's strict mode forces on
// optional fields, then [Compiled.Validate] says everything that is wrong.
//
//	authored ──Adapt──▶ wire ──▶ model ──▶ answer ──Restore──▶ ──Validate──▶ problems
//
// What each wire takes stands in two tables and nowhere else: keywords in table.go,
// the rest in wire.go. Nothing here touches the network or a file, and everything
// is bounded: schemas come from strangers too (MCP servers).
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A Target is one of the forms in which a schema goes to a model.
type Target string

// The targets. Providers that take the same are one.
const (
	// AnthropicTool is input_schema of a tool without strict.
	AnthropicTool Target = "anthropic-tool"
	// AnthropicOutput is output_config.format with a json_schema, and input_schema
	// of a tool with strict: an enforced subset.
	AnthropicOutput Target = "anthropic-output"
	// OpenAIStrict is anything with strict: true, in the Responses and the Chat
	// Completions API: an enforced subset in which every property is required.
	OpenAIStrict Target = "openai-strict"
	// OpenAI is a tool without strict, and every server that speaks the same
	// language: Ollama, vLLM, llama.cpp, LM Studio, OpenRouter, Groq, DeepSeek.
	OpenAI Target = "openai"
	// Gemini is parametersJsonSchema and responseJsonSchema: the JSON Schema form,
	// not the OpenAPI one (parameters, responseSchema).
	Gemini Target = "gemini"
)

// An Adapted is a schema as one wire takes it.
type Adapted struct {
	// Schema is compact. Its properties stand in the authored order, because
	// models read it and write in that order; when nothing was changed it is the
	// authored text without its white space.
	Schema json.RawMessage
	// Notes say in words what was taken out, each with its place: "path: at most
	// 200 characters". The descriptions in Schema say it already; the notes are
	// for people and for tests.
	Notes []string
	// Changed reports whether Schema says anything else than what was authored.
	Changed bool
}

// Adapt returns the authored schema for a target. The same schema gives the same
// bytes, always. It takes about a tenth of a millisecond: keep the result.
//
// An error says why that schema cannot be had on that wire, and where it fails.
// The caller sets that one tool aside and says so, or, on an enforced wire, sends
// it without enforcement.
func Adapt(t Target, authored json.RawMessage) (Adapted, error) {
	w, ok := wires[t]
	if !ok {
		return Adapted{}, fmt.Errorf("there is no schema target %q", t)
	}
	root, err := parseSchema(authored)
	if err != nil {
		return Adapted{}, fmt.Errorf("the schema cannot be read: %w", err)
	}
	before := root.append(nil)
	a := adapter{wire: w, root: root}
	if err := a.run(); err != nil {
		return Adapted{}, fmt.Errorf("the schema cannot be had as %s: %w", t, err)
	}
	after := root.append(nil)
	return Adapted{Schema: after, Notes: a.notes, Changed: !bytes.Equal(before, after)}, nil
}

// Strict returns the authored schema for OpenAI's strict mode, and true; or, when
// it cannot be had there (objects with free fields cannot), for the same wire
// without it, and false. An error says why it can be had in neither way.
func Strict(authored json.RawMessage) (a Adapted, strict bool, err error) {
	if a, err = Adapt(OpenAIStrict, authored); err == nil {
		return a, true, nil
	}
	a, err = Adapt(OpenAI, authored)
	return a, false, err
}
