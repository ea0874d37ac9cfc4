// Package outputs has the tools that ask stored outputs: tool_outputs.list, stats,
// extract, count, sample, read, search and aggregate. What they answer is in package
// output; here is what the model is told and how a call becomes a question.
package outputs

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"pawl/output"
	"pawl/run"
	"pawl/tool"
)

// Prefix begins the names of all of them. On wires that refuse a dot the names have a
// _ for it, and both spellings are understood.
const Prefix = "tool_outputs."

// MaxInline is how many characters of an answer the model gets; more is cut with a
// mark and a hint. Answers of these tools are never stored.
const MaxInline = 65_536

//go:embed *.md
var texts embed.FS

// All returns the tools.
func All() []tool.Tool {
	return []tool.Tool{
		listTool{},
		question[output.StatsArgs, output.StatsResult]{name: "stats", fields: statsFields, ask: (*output.Document).Stats},
		question[output.ExtractArgs, output.ExtractResult]{name: "extract", fields: extractFields, ask: (*output.Document).Extract},
		question[output.CountArgs, output.CountResult]{name: "count", fields: countFields, required: `"counts"`, ask: (*output.Document).Count},
		question[output.SampleArgs, output.SampleResult]{name: "sample", fields: sampleFields, ask: (*output.Document).Sample},
		question[output.ReadArgs, output.ReadResult]{name: "read", fields: readFields, ask: (*output.Document).Read},
		question[output.SearchArgs, output.SearchResult]{name: "search", fields: searchFields, required: `"pattern"`, ask: (*output.Document).Search},
		question[output.AggregateArgs, output.AggregateResult]{name: "aggregate", fields: aggregateFields, required: `"path","op"`, ask: (*output.Document).Aggregate},
	}
}

// Available returns the lines of an envelope that say which of the tools there are.
func Available() []string {
	return output.AvailableTools(func(name string) string { return Prefix + name })
}

const target = `"id":{"type":"string","description":"Of the output; default the newest"},"conversation_id":{"type":"string","description":"Leave it out"}`

const (
	statsFields = target + `,"include_schema":{"type":"boolean"},"max_depth":{"type":"integer","description":"1 to 10, default 5"},` +
		`"sample_arrays":{"type":"boolean","description":"Default true: look at some items of long arrays only"},` +
		`"paths":{"type":["array","string"],"items":{"type":"string"},"description":"Only what these select"}`
	extractFields = target + `,"paths":{"type":["array","string"],"items":{"type":"string"},"description":"Default $"},"flatten":{"type":"boolean","description":"One list of all values"},` +
		`"include_paths":{"type":"boolean","description":"A list of path and value"},"default_value":{"type":["string","number","boolean","null"]},` +
		`"limit":{"type":"integer"},"offset":{"type":"integer"}`
	countFields = target + `,"counts":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"path":{"type":"string"},"filter":{"type":"string"},` +
		`"count_type":{"type":"string","enum":["array_length","object_keys","matches","nested_total"]}},"required":["path"],"additionalProperties":false}}`
	sampleFields = target + `,"path":{"type":"string","description":"Default the first array"},"size":{"type":"integer","description":"1 to 1000, default 10"},` +
		`"strategy":{"type":"string","enum":["random","first","last","systematic","stratified"]},"seed":{"type":"integer"},"stride":{"type":"integer"},` +
		`"strata_path":{"type":"string","description":"Within an item, as @.kind"}`
	readFields   = target + `,"offset":{"type":"integer","description":"Lines to pass over"},"limit":{"type":"integer","description":"Lines"}`
	searchFields = target + `,"pattern":{"type":"string"},"context":{"type":"integer","description":"Lines around a match"},"limit":{"type":"integer"}`

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
	return tool.Spec{Name: Prefix + name, Description: strings.TrimSpace(string(text)), Unstored: true,
		Schema: json.RawMessage(`{"type":"object","properties":{` + fields + `}` + required + `,"additionalProperties":false}`)}
}

// A question is a tool that asks one output.
type question[A, R any] struct {
	name, fields, required string
	ask                    func(*output.Document, context.Context, A) (R, error)
}

func (q question[A, R]) Spec() tool.Spec { return spec(q.name, q.fields, q.required) }

func (q question[A, R]) Look(_ tool.Env, raw json.RawMessage) (tool.Intent, error) {
	var args A
	if err := output.Decode(raw, &args); err != nil {
		return tool.Intent{}, fmt.Errorf("%s%s: %w", Prefix, q.name, err)
	}
	return tool.Intent{Class: run.Reads, Title: q.name + " " + idOf(raw)}, nil
}

func (q question[A, R]) Run(ctx context.Context, env tool.Env, c tool.Call) (tool.Result, error) {
	answer, err := q.answer(ctx, env, c.Args)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s%s: %w", Prefix, q.name, err)
	}
	return tool.TextResult(output.CutInline(answer, MaxInline)), nil
}

func (q question[A, R]) answer(ctx context.Context, env tool.Env, raw json.RawMessage) (string, error) {
	o, err := open(env, raw)
	if err != nil {
		return "", err
	}
	defer o.Close()
	raw, err = filled(raw, env.Scope().Ref(&o.Meta), string(o.Conversation))
	if err != nil {
		return "", err
	}
	var args A
	if err := output.Decode(raw, &args); err != nil {
		return "", err
	}
	result, err := q.ask(o.Document, ctx, args)
	if err != nil {
		return "", err
	}
	if text, ok := any(result).(fmt.Stringer); ok { // what is read is text
		return text.String(), nil
	}
	return encode(result)
}

// open opens the output that a call means.
func open(env tool.Env, raw json.RawMessage) (*output.Output, error) {
	if env.Outputs == nil {
		return nil, fmt.Errorf("no outputs are stored here")
	}
	var t output.Target
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, err
	}
	if c := strings.TrimSpace(t.Conversation); c != "" && c != string(env.Conversation) {
		// As if it were not there: one conversation learns nothing of another.
		return nil, fmt.Errorf("there is no output %q in a conversation %q; this conversation is %s", t.ID, c, env.Conversation)
	}
	return env.Outputs.Find(env.Scope(), strings.TrimSpace(t.ID))
}

// filled returns arguments with the id and the conversation that they stand for.
func filled(raw json.RawMessage, id, conversation string) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, err
		}
	}
	for name, value := range map[string]string{"id": id, "conversation_id": conversation} {
		quoted, _ := json.Marshal(value) // a string can always be encoded
		fields[name] = quoted
	}
	return json.Marshal(fields)
}

// idOf returns the id in arguments, for people.
func idOf(raw json.RawMessage) string {
	var t output.Target
	if json.Unmarshal(raw, &t) != nil || t.ID == "" {
		return "the newest output"
	}
	return "output " + t.ID
}

func encode(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// listTool lists outputs.
type listTool struct{}

const listFields = `"tool_name":{"type":"string"},"success":{"type":"boolean"},"after":{"type":"integer","description":"Milliseconds since 1970"},"before":{"type":"integer"},` +
	`"limit":{"type":"integer","description":"1 to 100, default 20"},"offset":{"type":"integer"},"sort_by":{"type":"string","enum":["created_at","size","tool_name"]},` +
	`"sort_order":{"type":"string","enum":["asc","desc"]},"include_preview":{"type":"boolean"},"preview_length":{"type":"integer"},"conversation_id":{"type":"string"}`

func (listTool) Spec() tool.Spec { return spec("list", listFields, "") }

func (listTool) Look(_ tool.Env, raw json.RawMessage) (tool.Intent, error) {
	var args output.ListArgs
	if err := output.Decode(raw, &args); err != nil {
		return tool.Intent{}, fmt.Errorf("%slist: %w", Prefix, err)
	}
	return tool.Intent{Class: run.Reads, Title: "list the stored outputs"}, nil
}

func (listTool) Run(_ context.Context, env tool.Env, c tool.Call) (tool.Result, error) {
	var args output.ListArgs
	if err := output.Decode(c.Args, &args); err != nil {
		return tool.Result{}, fmt.Errorf("%slist: %w", Prefix, err)
	}
	if env.Outputs == nil {
		return tool.TextResult(`{"outputs":[],"total":0,"has_more":false}`), nil
	}
	result, err := env.Outputs.List(env.Scope(), args)
	if err != nil {
		return tool.Result{}, err
	}
	text, err := encode(result)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.TextResult(output.CutInline(text, MaxInline)), nil
}
