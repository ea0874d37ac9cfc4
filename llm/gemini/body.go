package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"pawl/internal/plainjson"
	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
	"pawl/schema"
)

// goOn ends a request that would end with a message of the model, such as one that
// continues after a pause: newer models refuse those ("Requests ending with a model
// turn are not supported"; pipecat-ai/pipecat #5821, LibreChat-AI/agents #323, read
// 2026-11-20).
const goOn = `{"text":"Go on where you stopped."}`

// A declaration is a tool in the API's form. The description is required.
type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"parametersJsonSchema"`
}

// EncodeTool returns t in the API's form.
func (p *Provider) EncodeTool(t llm.Tool) (json.RawMessage, error) {
	adapted, err := wire.ToolSchema(schema.Gemini, t)
	if err != nil {
		return nil, err
	}
	description := t.Description
	if wire.Blank(description) {
		description = t.Name
	}
	return plainjson.Marshal(declaration{t.Name, description, adapted})
}

// EncodeOutput returns a schema in the API's form. Whether the model accepts it together
// with functions is known only when it is sent.
func (p *Provider) EncodeOutput(authored json.RawMessage) (json.RawMessage, error) {
	adapted, err := schema.Adapt(schema.Gemini, authored)
	return adapted.Schema, err
}

// requestBody splices the body of a request from encoded messages, the stable parts first:
// the provider caches common prefixes of requests.
//
// A model that does not accept a schema of the answer together with functions is sent only
// the functions if calls are wanted, with the schema as text: the caller checks the answer.
// If no calls are wanted, it is sent only the schema.
func requestBody(r llm.Request, _ struct{}) ([]byte, error) {
	buf := wire.NewBody(r)
	instructions := []string{r.System}
	if r.Output != nil && len(r.Tools) > 0 && !outputWithFunctions(r.Model) {
		if r.NoCalls {
			r.Tools = nil
		} else {
			instructions = append(instructions, "Your last answer, the one without a call, is one JSON value and nothing else. It fits this JSON Schema: "+string(r.Output))
			r.Output = nil
		}
	}
	writeConfig(buf, r)
	writeInstructions(buf, instructions)
	wire.WriteTools(buf, r.Tools, `,"tools":[{"functionDeclarations":[`, "]}]")
	if len(r.Tools) > 0 && r.NoCalls {
		buf.WriteString(`,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`)
	}
	buf.WriteString(`,"contents":[`)
	c := contents{buf: buf}
	c.messages(r.Messages)
	if c.open == nothing {
		return nil, wire.NoMessage()
	}
	if c.open == answers {
		c.part(words)
		buf.WriteString(goOn)
	}
	buf.WriteString(`]}]}`)
	return buf.Bytes(), nil
}

func writeConfig(buf *bytes.Buffer, r llm.Request) {
	comma := ""
	field := func(format string, a ...any) {
		buf.WriteString(comma)
		fmt.Fprintf(buf, format, a...)
		comma = ","
	}
	buf.WriteString(`{"generationConfig":{`)
	if r.MaxTokens > 0 {
		field(`"maxOutputTokens":%d`, r.MaxTokens)
	}
	if thinking := thinkingOf(r); thinking != "" {
		field(`"thinkingConfig":{%s}`, thinking)
	}
	if r.Output != nil {
		field(`"responseMimeType":"application/json","responseJsonSchema":%s`, r.Output)
	}
	buf.WriteByte('}')
}

// thinkingOf returns the fields of thinkingConfig. Models since Gemini 3 have levels and
// those of 2.5 a budget in tokens, where 0 turns thinking off; both in one request are
// refused (ai.google.dev/gemini-api/docs/thinking, read 2026-11-22).
func thinkingOf(r llm.Request) string {
	fields := ""
	if thinks(r.Model) && r.Effort.Level != llm.NoThinking {
		fields = `"includeThoughts":true`
	}
	switch e := r.Effort; {
	case e.Level == llm.NoThinking:
		fields = `"thinkingBudget":0`
	case e.Level != "":
		fields += fmt.Sprintf(`,"thinkingLevel":%s`, wire.Quoted(e.Level))
	case e.Budget > 0:
		fields += fmt.Sprintf(`,"thinkingBudget":%d`, e.Budget)
	}
	return strings.TrimPrefix(fields, ",")
}

func writeInstructions(buf *bytes.Buffer, instructions []string) {
	before := `,"systemInstruction":{"parts":[{"text":`
	for _, text := range instructions {
		if wire.Blank(text) {
			continue
		}
		buf.WriteString(before)
		buf.Write(wire.Quoted(text))
		before = `},{"text":`
	}
	if before[0] == '}' {
		buf.WriteString(`}]}`)
	}
}

// A content is one content of a request. Results are in one of their own, directly after
// the calls: with anything else in it the API miscounts them (google-gemini/gemini-cli
// #16135) or takes all of it for the model's (pydantic-ai #4210). Two contents of one
// role are accepted. Read 2026-11-20.
type content int

const (
	nothing content = iota
	answers
	results
	words
)

// contents are the contents of a request that is being built.
type contents struct {
	buf   *bytes.Buffer
	open  content
	calls []callLines // of the last answer
}

// callLines are the lines of an encoded answer on one call: strings in JSON.
type callLines struct{ of, name, id []byte }

// part begins a part, in a new content if necessary.
func (c *contents) part(k content) {
	if c.open == k {
		c.buf.WriteByte(',')
		return
	}
	if c.open != nothing {
		c.buf.WriteString(`]},`)
	}
	role := "user"
	if k == answers {
		role = "model"
	}
	c.buf.WriteString(`{"role":"` + role + `","parts":[`)
	c.open = k
}

func (c *contents) messages(messages []llm.Message) {
	for i := 0; i < len(messages); {
		end := i + 1
		for end < len(messages) && messages[end].Role == messages[i].Role {
			end++
		}
		neighbours := messages[i:end]
		i = end
		if neighbours[0].Role == run.Assistant {
			c.answers(neighbours)
			continue
		}
		c.results(neighbours)
		for _, m := range neighbours {
			for element, response := range elements(m.Body) {
				if response == nil {
					c.part(words)
					c.buf.Write(element)
				}
			}
		}
	}
}

// answers adds answers that follow each other as one.
func (c *contents) answers(messages []llm.Message) {
	c.calls = c.calls[:0]
	for _, m := range messages {
		rest := inner(m.Body)
		for len(rest) > 0 && rest[0] == '"' {
			c.calls = append(c.calls, callLines{line(&rest), line(&rest), line(&rest)})
		}
		if len(rest) > 0 {
			c.part(answers)
			c.buf.Write(rest)
		}
	}
}

// results adds the results in messages of the user, in the order of the calls. A result
// whose call is missing, because the conversation was compacted, becomes text.
func (c *contents) results(messages []llm.Message) {
	var ids, responses [][]byte
	for _, m := range messages {
		for id, response := range elements(m.Body) {
			if response == nil {
				break // results are first
			}
			ids, responses = append(ids, id), append(responses, response)
		}
	}
	for _, call := range c.calls {
		for i, id := range ids {
			if responses[i] == nil || !bytes.Equal(id, call.of) {
				continue
			}
			c.part(results)
			c.buf.WriteString(`{"functionResponse":{`)
			if len(call.id) > len(`""`) {
				c.buf.WriteString(`"id":`)
				c.buf.Write(call.id)
				c.buf.WriteByte(',')
			}
			c.buf.WriteString(`"name":`)
			c.buf.Write(call.name)
			c.buf.WriteString(`,"response":`)
			c.buf.Write(responses[i])
			c.buf.WriteString(`}}`)
			responses[i] = nil
			break
		}
	}
	for _, response := range responses {
		if response != nil {
			text, _ := plainjson.Marshal(textPart{Text: "[the result of an earlier call] " + string(response)}) // a string can always be encoded
			c.part(words)
			c.buf.Write(text)
		}
	}
}

// elements yields what is in an encoded message of the user: the id of a call with
// the response to it, or a part with nil.
func elements(body []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(element, response []byte) bool) {
		for rest := inner(body); len(rest) > 0; {
			element, response := line(&rest), []byte(nil)
			if element[0] == '"' {
				response = line(&rest)
			}
			if !yield(element, response) {
				return
			}
		}
	}
}

// line removes the next line from an encoded message.
func line(rest *[]byte) (next []byte) {
	next, *rest, _ = bytes.Cut(*rest, []byte(",\n"))
	return next
}

// inner returns an encoded message without its brackets.
func inner(body []byte) []byte {
	if len(body) < len("[]") {
		return nil
	}
	return body[1 : len(body)-1]
}
