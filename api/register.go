package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/queryparam"
)

// An endpoint serves an operation. What huma.Register does for it is done here for types that
// are known at run time alone: that function is generic, and its copies for each of the
// operations are 2.7 MB of program.
type endpoint struct {
	s      *Server
	op     *huma.Operation
	input  reflect.Type
	params []parameter
	// body and raw are the fields of the input that have the body, decoded and as it came;
	// at most one is not nil.
	body, raw []int
	schema    *huma.Schema // of the decoded body
	call      func(ctx context.Context, in any) (any, error)
}

// A parameter is a field of an input that is not the body.
type parameter struct {
	field []int
	in    string // path, query or header
	name  string
	// many: it may be given several times.
	many, required bool
	otherwise      string // its value when it is not given; empty: none
	schema         *huma.Schema
}

// A sender is the output of an operation that writes its response itself, with status 200.
type sender func(w http.ResponseWriter, r *http.Request)

// register adds an operation to the document and serves it. Inputs are structs whose fields
// have a tag path, query or header, or are named Body (of JSON) or RawBody; call gets a
// pointer to one. Outputs that are no [sender] are written as JSON.
func (s *Server) register(op *huma.Operation, input, output reflect.Type, call func(ctx context.Context, in any) (any, error)) {
	e := &endpoint{s: s, op: op, input: input, call: call}
	e.describeInput()
	e.describeOutput(output)
	if len(e.params) > 0 || e.body != nil || e.raw != nil && !s.operations[op.Method+" "+Prefix+op.Path].raw {
		op.Errors = append(op.Errors, http.StatusUnprocessableEntity)
	}
	problem := &huma.MediaType{Schema: s.schema(reflect.TypeFor[Problem](), "")}
	for _, code := range append(op.Errors, http.StatusInternalServerError) {
		op.Responses[strconv.Itoa(code)] = &huma.Response{Description: http.StatusText(code), Content: map[string]*huma.MediaType{problemType: problem}}
	}
	s.document.AddOperation(op)
	s.mux.HandleFunc(op.Method+" "+Prefix+op.Path, e.serve)
}

// schema returns the schema of a type; name is for one that has none.
func (s *Server) schema(t reflect.Type, name string) *huma.Schema {
	return s.document.Components.Schemas.Schema(t, true, name)
}

func (e *endpoint) describeInput() {
	registry := e.s.document.Components.Schemas
	for _, f := range reflect.VisibleFields(e.input) {
		kind, schema := "", &huma.Schema{}
		switch f.Name {
		case "Body":
			e.body, kind = f.Index, "application/json"
			schema = huma.SchemaFromField(registry, f, e.input.Name()+"Body")
			schema.PrecomputeMessages()
			e.schema = schema
		case "RawBody":
			e.raw, kind = f.Index, f.Tag.Get("contentType")
			schema.Type, schema.Format = huma.TypeString, "binary"
		}
		if kind != "" {
			e.op.RequestBody = &huma.RequestBody{Required: f.Type.Kind() != reflect.Pointer, Content: map[string]*huma.MediaType{kind: {Schema: schema}}}
		}
		for _, in := range []string{"path", "query", "header"} {
			tag := f.Tag.Get(in)
			if tag == "" {
				continue
			}
			name, option, _ := strings.Cut(tag, ",")
			p := parameter{field: f.Index, in: in, name: name, many: option == "explode", required: in == "path" || f.Tag.Get("required") == "true",
				otherwise: f.Tag.Get("default"), schema: huma.SchemaFromField(registry, f, "")}
			e.params = append(e.params, p)
			of := &huma.Param{Name: name, In: in, Required: p.required, Schema: p.schema, Description: p.schema.Description}
			if in == "query" {
				of.Explode = &p.many
			}
			e.op.Parameters = append(e.op.Parameters, of)
		}
	}
}

func (e *endpoint) describeOutput(t reflect.Type) {
	if e.op.DefaultStatus == 0 {
		e.op.DefaultStatus = http.StatusOK
	}
	if e.op.Responses != nil {
		return
	}
	e.op.Responses = map[string]*huma.Response{}
	of := &huma.Response{Description: http.StatusText(e.op.DefaultStatus)}
	if t != reflect.TypeFor[sender]() {
		of.Content = map[string]*huma.MediaType{"application/json": {Schema: e.s.schema(t, e.op.OperationID+"Response")}}
	}
	e.op.Responses[strconv.Itoa(e.op.DefaultStatus)] = of
}

func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	in := reflect.New(e.input)
	if p := e.read(in.Elem(), w, r); p != nil {
		e.s.writeProblem(w, r, p)
		return
	}
	out, err := e.call(r.Context(), in.Interface())
	if err != nil {
		e.s.writeProblem(w, r, e.s.problem(r.Context(), err))
		return
	}
	if send, ok := out.(sender); ok {
		send(w, r)
		return
	}
	var b bytes.Buffer
	if err := strictJSON.Marshal(&b, out); err != nil {
		panic(err) // a form of this program
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.op.DefaultStatus)
	_, _ = w.Write(b.Bytes()) // a client that is gone needs no answer
}

// read fills an input. It returns what is wrong with the request.
func (e *endpoint) read(in reflect.Value, w http.ResponseWriter, r *http.Request) *Problem {
	var found huma.ValidateResult
	at := huma.NewPathBuffer(nil, 0)
	query := r.URL.Query()
	for name := range query {
		if !slices.ContainsFunc(e.params, func(p parameter) bool { return p.in == "query" && p.name == name }) {
			at.Reset()
			at.Push("query")
			at.Push(name)
			found.Add(at, "", unknownParameter)
		}
	}
	if len(found.Errors) > 0 {
		return e.wrong(http.StatusUnprocessableEntity, "validation failed", found.Errors)
	}
	for _, p := range e.params {
		at.Reset()
		at.Push(p.in)
		at.Push(p.name)
		text := ""
		switch p.in {
		case "path":
			text = r.PathValue(p.name)
		case "query":
			text = queryparam.Get(r.URL.RawQuery, p.name)
		case "header":
			text = r.Header.Get(p.name)
		}
		if text == "" {
			text = p.otherwise
		}
		values := []string{text}
		if p.many {
			values = query[p.name]
		}
		switch {
		case text != "":
			v, err := set(in.FieldByIndex(p.field), values)
			if err != nil {
				found.Add(at, text, err.Error())
				continue
			}
			huma.Validate(e.s.document.Components.Schemas, p.schema, at, huma.ModeWriteToServer, v, &found)
		case p.required:
			found.Add(at, "", "required "+p.in+" parameter is missing")
		}
	}
	status := http.StatusUnprocessableEntity
	if e.body != nil || e.raw != nil {
		body, p := e.readBody(w, r)
		if p != nil {
			return p
		}
		switch {
		case len(body) == 0 && e.op.RequestBody.Required:
			return e.wrong(http.StatusBadRequest, "request body is required", nil)
		case len(body) == 0:
		case e.raw != nil:
			in.FieldByIndex(e.raw).SetBytes(body)
		default:
			if !e.decode(in.FieldByIndex(e.body), body, at, &found) {
				status = http.StatusBadRequest
			}
		}
	}
	if len(found.Errors) > 0 {
		return e.wrong(status, "validation failed", found.Errors)
	}
	return nil
}

// decode checks a body and decodes it into a field. It reports whether the body is JSON.
func (e *endpoint) decode(field reflect.Value, body []byte, at *huma.PathBuffer, found *huma.ValidateResult) bool {
	wrong := func(err error) {
		found.Errors = append(found.Errors, &huma.ErrorDetail{Location: "body", Message: err.Error()})
	}
	var v any
	if err := strictJSON.Unmarshal(body, &v); err != nil {
		wrong(err)
		return false
	}
	before := len(found.Errors)
	at.Reset()
	at.Push("body")
	huma.Validate(e.s.document.Components.Schemas, e.schema, at, huma.ModeWriteToServer, v, found)
	if len(found.Errors) == before {
		if err := strictJSON.Unmarshal(body, field.Addr().Interface()); err != nil {
			wrong(err)
		}
	}
	return true
}

// readBody returns the body of a request, which has to arrive in time.
func (e *endpoint) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *Problem) {
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, e.s.problem(r.Context(), err)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, e.op.MaxBodyBytes))
	late, ok := errors.AsType[net.Error](err)
	switch {
	case int64(len(body)) == e.op.MaxBodyBytes, errors.As(err, new(*http.MaxBytesError)):
		return nil, e.tooLarge()
	case ok && late.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		return nil, e.wrong(http.StatusRequestTimeout, "request body read timeout", nil)
	case err != nil:
		return nil, e.wrong(http.StatusInternalServerError, "cannot read request body", []error{err})
	}
	return body, nil
}

// set fills a field with the text of a parameter and returns what a schema validates. Only
// slices take more than one value.
func set(field reflect.Value, values []string) (any, error) {
	switch field.Kind() {
	case reflect.String:
		field.SetString(values[0])
		return values[0], nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil {
			return nil, errors.New("invalid integer")
		}
		field.SetInt(n)
		return n, nil
	case reflect.Bool:
		b, err := strconv.ParseBool(values[0])
		if err != nil {
			return nil, errors.New("invalid boolean")
		}
		field.SetBool(b)
		return b, nil
	case reflect.Slice: // of strings
		field.Set(reflect.MakeSlice(field.Type(), len(values), len(values)))
		for i, v := range values {
			field.Index(i).SetString(v)
		}
		return values, nil
	}
	panic("api: a parameter cannot be of type " + field.Type().String())
}
