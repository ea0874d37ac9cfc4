// Package outputs has the tools that ask stored outputs: tool_outputs.list, stats,
// extract, count, sample, read, search and aggregate. What they answer is in package
// output; here is what the model is told and how a call becomes a question.
package outputs

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pawl/internal/plainjson"
	"pawl/output"
	"pawl/run"
	"pawl/tool"
)

// Prefix begins the names of all of them. On wires that refuse a dot the names have a
// _ for it, and both spellings are understood.
const Prefix = "tool_outputs."

// maxInline is how many characters of an answer the model gets; more is cut with a
// mark and a hint. Answers of these tools are never stored.
const maxInline = 65_536

//go:embed *.md
var texts embed.FS

// All returns the tools.
func All() []tool.Tool {
	return []tool.Tool{
		listTool{},
		question{name: "stats", fields: statsFields, ask: output.QuestionOf((*output.Document).Stats)},
		question{name: "extract", fields: extractFields, ask: output.QuestionOf((*output.Document).Extract)},
		question{name: "count", fields: countFields, required: `"counts"`, ask: output.QuestionOf((*output.Document).Count)},
		question{name: "sample", fields: sampleFields, ask: output.QuestionOf((*output.Document).Sample)},
		question{name: "read", fields: readFields, ask: output.QuestionOf((*output.Document).Read)},
		question{name: "search", fields: searchFields, required: `"pattern"`, ask: output.QuestionOf((*output.Document).Search)},
		question{name: "aggregate", fields: aggregateFields, required: `"path","op"`, ask: output.QuestionOf((*output.Document).Aggregate)},
	}
}

// Available returns the lines of an envelope that say which of the tools there are.
func Available() []string {
	return output.AvailableTools(func(name string) string { return Prefix + name })
}

const target = `"id":{"type":"string"}`

const (
	statsFields = target + `,"include_schema":{"type":"boolean"},"max_depth":{"type":"integer","description":"Default 5"},` +
		`"sample_arrays":{"type":"boolean","description":"Default true: of long arrays"},` +
		`"paths":{"type":["array","string"],"items":{"type":"string"},"description":"Only what these select"}`
	extractFields = target + `,"paths":{"type":["array","string"],"items":{"type":"string"},"description":"Default $"},"flatten":{"type":"boolean","description":"One list of all values"},` +
		`"include_paths":{"type":"boolean","description":"A list of path and value"},"default_value":{"description":"Any JSON, for a path that selects nothing"},` +
		`"limit":{"type":"integer"},"offset":{"type":"integer"}`
	countFields = target + `,"counts":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"path":{"type":"string"},"filter":{"type":"string"},` +
		`"count_type":{"type":"string","enum":["array_length","object_keys","matches","nested_total"]}},"required":["path"],"additionalProperties":false}}`
	sampleFields = target + `,"path":{"type":"string","description":"Default the first array"},"size":{"type":"integer","description":"Default 10"},` +
		`"strategy":{"type":"string","enum":["random","first","last","systematic","stratified"]},"seed":{"type":"integer"},"stride":{"type":"integer"},` +
		`"strata_path":{"type":"string","description":"Within an item, as @.kind"}`
	readFields   = target + `,"offset":{"type":"integer"},"limit":{"type":"integer","description":"Lines"}`
	searchFields = target + `,"pattern":{"type":"string"},"context":{"type":"integer"},"limit":{"type":"integer"}`

	aggregateFields = target + `,"path":{"type":"string","description":"The items, as $.orders[*]"},"value_path":{"type":"string","description":"Within an item, as @.price"},` +
		`"group_by":{"type":"string","description":"Within an item, as @.city"},"op":{"type":"string","enum":["sum","avg","min","max","count","distinct"]}`
)

func spec(name, fields, required string) tool.Spec {
	text, err := texts.ReadFile(name + ".md")
	if err != nil {
		panic(err) // a tool without its text does not build
	}
	if required != "" {
		required = `,"required":[` + required + `]`
	}
	schema := func(fields string) string {
		return `{"type":"object","properties":{` + fields + `}` + required + `,"additionalProperties":false}`
	}
	s := tool.NewSpec(Prefix+name, string(text), schema(fields))
	// A conversation may be named, and a model need not know that: there is only its own.
	s.Schema = json.RawMessage(schema(fields + `,"conversation_id":{"type":"string"}`))
	s.Unstored, s.Always = true, true
	return s
}

// A question is a tool that asks one output.
type question struct {
	name, fields, required string
	ask                    output.Question
}

func (q question) Spec() tool.Spec { return spec(q.name, q.fields, q.required) }

// check returns what is wrong with arguments; the error says of which tool.
func (q question) check(args json.RawMessage) error {
	if _, err := q.ask(context.Background(), nil, output.Target{}, args); err != nil {
		return fmt.Errorf("%s%s: %w", Prefix, q.name, err)
	}
	return nil
}

func (q question) Inspect(_ tool.Env, raw json.RawMessage) (tool.Intent, error) {
	if err := q.check(raw); err != nil {
		return tool.Intent{}, err
	}
	asked := "the newest output"
	if t, err := targetOf(raw); err == nil && t.ID != "" {
		asked = "output " + t.ID
	}
	return tool.Intent{Class: run.Reads, Title: q.name + " " + asked}, nil
}

func (q question) Run(ctx context.Context, env tool.Env, c tool.Call) (tool.Result, error) {
	o, err := open(env, c.Args)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s%s: %w", Prefix, q.name, err)
	}
	defer o.Close()
	if err := q.check(c.Args); err != nil {
		return tool.Result{}, err
	}
	used := output.Target{ID: env.Scope().Ref(&o.Meta), Conversation: string(env.Conversation)}
	answer, err := q.ask(ctx, o.Document, used, c.Args)
	if err != nil {
		return tool.Result{}, err // it says of which tool
	}
	says, isText := answer.(fmt.Stringer)
	if !isText {
		return result(answer)
	}
	t, _ := targetOf(c.Args)
	begin := ""
	if t.ID == "" { // the result says which was used
		begin = fmt.Sprintf("[output %s]\n", used.ID)
	}
	return tool.TextResult(output.CutInline(begin+says.String(), maxInline)), nil
}

// decode reads arguments; the error says of which tool.
func decode(name string, raw json.RawMessage, args any) error {
	if err := output.Decode(raw, args); err != nil {
		return fmt.Errorf("%s%s: %w", Prefix, name, err)
	}
	return nil
}

// result returns an answer as it goes to the model.
func result(answer any) (tool.Result, error) {
	text, err := plainjson.Marshal(answer)
	return tool.TextResult(output.CutInline(string(text), maxInline)), err
}

// targetOf returns the output that arguments name.
func targetOf(raw json.RawMessage) (t output.Target, err error) {
	if len(bytes.TrimSpace(raw)) > 0 {
		err = json.Unmarshal(raw, &t)
	}
	t.ID, t.Conversation = strings.TrimSpace(t.ID), strings.TrimSpace(t.Conversation)
	return t, err
}

// open opens the output that a call means.
func open(env tool.Env, raw json.RawMessage) (*output.Output, error) {
	if env.Outputs == nil {
		return nil, errors.New("no outputs are stored here")
	}
	t, err := targetOf(raw)
	if err != nil {
		return nil, err
	}
	if t.Conversation != "" && t.Conversation != string(env.Conversation) {
		// As if it did not exist: a conversation learns nothing of another.
		return nil, fmt.Errorf("there is no output %q in a conversation %q; this conversation is %s", t.ID, t.Conversation, env.Conversation)
	}
	return env.Outputs.Find(env.Scope(), t.ID)
}

// listTool lists outputs.
type listTool struct{}

const listFields = `"tool_name":{"type":"string"},"success":{"type":"boolean"},"after":{"type":"integer","description":"Milliseconds since 1970"},"before":{"type":"integer"},` +
	`"limit":{"type":"integer"},"offset":{"type":"integer"},"sort_by":{"type":"string","enum":["created_at","size","tool_name"]},` +
	`"sort_order":{"type":"string","enum":["asc","desc"]},"include_preview":{"type":"boolean"},"preview_length":{"type":"integer"}`

func (listTool) Spec() tool.Spec { return spec("list", listFields, "") }

func (listTool) Inspect(_ tool.Env, raw json.RawMessage) (tool.Intent, error) {
	return tool.Intent{Class: run.Reads, Title: "list the stored outputs"}, decode("list", raw, &output.ListArgs{})
}

func (listTool) Run(_ context.Context, env tool.Env, c tool.Call) (tool.Result, error) {
	var args output.ListArgs
	if err := decode("list", c.Args, &args); err != nil {
		return tool.Result{}, err
	}
	if env.Outputs == nil {
		return tool.TextResult(`{"outputs":[],"total":0,"has_more":false}`), nil
	}
	list, err := env.Outputs.List(env.Scope(), args)
	if err != nil {
		return tool.Result{}, err
	}
	return result(list)
}
