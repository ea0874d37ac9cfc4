package api

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"pawl/forms"
	"pawl/output"
	"pawl/run"
	"pawl/tool"
	"pawl/tool/outputs"
)

const tagOutputs = "outputs"

// outputOperations registers the questions about stored outputs: those that models have as the
// tools tool_outputs.*, with their arguments and answers.
func (s *Server) outputOperations() {
	handle(s, operation{method: http.MethodGet, path: "/runs/{run}/outputs", id: "list-outputs", tag: tagOutputs,
		summary: "List the stored outputs of a run and of the runs that it has started", more: "The newest first."}, s.listOutputs)
	question(s, "stats", "Get the size, structure and types of an output", (*output.Document).Stats)
	question(s, "extract", "Get what paths select in an output", (*output.Document).Extract)
	question(s, "count", "Count in an output", (*output.Document).Count)
	question(s, "sample", "Get some items of an array in an output", (*output.Document).Sample)
	question(s, "read", "Read an output", (*output.Document).Read)
	question(s, "search", "Search an output for a pattern", (*output.Document).Search)
	question(s, "aggregate", "Compute a figure of the items of an array in an output, by group", (*output.Document).Aggregate)
}

type listOutputsInput struct {
	RunInput
	OffsetInput
	Tool    string `query:"tool" doc:"Only outputs of this tool"`
	Success string `query:"success" enum:"true,false" doc:"Only those of calls that succeeded, or that failed"`
	After   string `query:"after" doc:"Stored after this time: 36h or 7d (ago), or a day such as 2026-11-20"`
	Before  string `query:"before" doc:"Stored before this time"`
	Sort    string `query:"sort" enum:"created_at,size,tool_name" default:"created_at"`
	Order   string `query:"order" enum:"asc,desc" default:"desc"`
}

func (s *Server) listOutputs(ctx context.Context, in *listOutputsInput) (forms.List[forms.OutputForm], error) {
	none := forms.List[forms.OutputForm]{}
	scope, err := s.scope(ctx, in.Run)
	if err != nil {
		return none, err
	}
	args := map[string]any{"sort_by": in.Sort, "sort_order": in.Order}
	if in.Tool != "" {
		args["tool_name"] = in.Tool
	}
	if in.Success != "" {
		args["success"] = in.Success == "true"
	}
	for name, text := range map[string]string{"after": in.After, "before": in.Before} {
		at, err := since(name, text)
		if err != nil {
			return none, err
		}
		if !at.IsZero() {
			args[name] = at.UnixMilli()
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return none, err
	}
	decoded := output.ListArgs{}
	if err := output.Decode(raw, &decoded); err != nil {
		return none, invalid("query", err.Error())
	}
	decoded.Limit, decoded.Offset = in.Limit, in.Offset
	list, _, err := forms.ListOutputs(s.ws.Outputs(), decoded, scope)
	return list, err
}

// scope returns the outputs that a run can ask.
func (s *Server) scope(ctx context.Context, id run.ID) (output.Scope, error) {
	if _, err := s.ws.Run(ctx, id); err != nil { // Scope would take a prefix of an id too
		return output.Scope{}, err
	}
	return s.ws.Scope(ctx, string(id))
}

type questionInput struct {
	RunInput
	Output  string `path:"output" maxLength:"200" doc:"The id of its call, as c_3; that of a call of another run of the conversation has the run in front: RUN%2Fc_3"`
	RawBody []byte `contentType:"application/json"`
}

// question registers a question about one output: a func(*output.Document, context.Context,
// Arguments) (Answer, error). The body has the arguments of the tool.
func question(s *Server, name, summary string, f any) {
	o := operation{method: http.MethodPost, path: "/runs/{run}/outputs/{output}/" + name, id: name + "-output", tag: tagOutputs, keyed: true,
		summary: summary, more: "The arguments and the answer are those of the tool tool_outputs." + name + " (docs/outputs.md), without id."}
	ask := reflect.ValueOf(f)
	handle(s, o, func(ctx context.Context, in *questionInput) (json.RawMessage, error) {
		args := reflect.New(ask.Type().In(2))
		if err := readArguments(in.RawBody, args.Interface()); err != nil {
			return nil, err
		}
		scope, err := s.scope(ctx, in.Run)
		if err != nil {
			return nil, err
		}
		stored, err := s.ws.Outputs().Find(scope, in.Output)
		if errors.As(err, new(*output.NotFoundError)) {
			return nil, notFound(err.Error())
		} else if err != nil {
			return nil, err
		}
		defer stored.Close() // it was only read
		answer := ask.Call([]reflect.Value{reflect.ValueOf(stored.Document), reflect.ValueOf(ctx), args.Elem()})
		if err, _ := answer[1].Interface().(error); err != nil {
			return nil, questionError(err)
		}
		return forms.AnswerOf(stored.Conversation, answer[0].Interface())
	})
	op := s.document.Paths[o.path].Post
	op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: argumentSchema(name)}}}
	op.Responses["200"].Content = map[string]*huma.MediaType{"application/json": {Schema: s.schema(ask.Type().Out(0), "")}}
}

// readArguments reads the arguments of a question. They name no output: the path does.
func readArguments(body []byte, args any) error {
	if len(body) > 0 {
		if err := checkJSON(body); err != nil {
			return &Problem{Status: http.StatusBadRequest, Code: "INVALID_JSON", Message: err.Error()}
		}
		var target output.Target
		if json.Unmarshal(body, &target) == nil && (target.ID != "" || target.Conversation != "") {
			return invalid("id", "the path names the output")
		}
	}
	if err := output.Decode(body, args); err != nil {
		return invalid("body", err.Error())
	}
	return nil
}

// questionError makes what is wrong with a question an error of the caller. What is wrong with
// the disk is not.
func questionError(err error) error {
	if errors.As(err, new(*fs.PathError)) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return invalid("body", err.Error())
}

// argumentSchema returns the schema of the arguments of a tool that asks outputs.
func argumentSchema(name string) *huma.Schema {
	for _, t := range outputs.All() {
		if spec := t.Spec(); spec.Name == outputs.Prefix+name {
			return schemaOf(spec)
		}
	}
	panic("api: there is no tool " + outputs.Prefix + name)
}

// schemaOf returns the schema of the arguments of a tool without those that name an output.
func schemaOf(spec tool.Spec) *huma.Schema {
	var of struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(spec.Schema, &of); err != nil {
		panic(err) // it is a part of the program
	}
	s := &huma.Schema{Type: huma.TypeObject, Required: of.Required, Properties: map[string]*huma.Schema{}, AdditionalProperties: false}
	for name, raw := range of.Properties {
		if name == "id" || name == "conversation_id" {
			continue
		}
		p := &huma.Schema{}
		var fields map[string]any
		if err := json.Unmarshal(raw, &fields); err != nil {
			panic(err) // it is a part of the program
		}
		p.Extensions = fields
		s.Properties[name] = p
	}
	return s
}
