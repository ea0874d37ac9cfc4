package output

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"pawl/internal/text"
	"pawl/output/jsonpath"
)

// Target says which output a question is about. Both are filled in before, with the
// newest output of the run and the run's conversation, where a model leaves them out.
type Target struct {
	ID           string `json:"id,omitempty"`
	Conversation string `json:"conversation_id,omitempty"`
}

func (t *Target) set(to Target) { *t = to }

// Decode reads a tool's arguments into args, which must point to one of the Args of
// this package. What is left out, or null, gets its default; what is unknown or out of
// range is an error that says what is allowed.
func Decode(raw json.RawMessage, args any) error {
	a := args.(interface {
		defaults()
		check() error
	})
	a.defaults()
	if len(bytes.TrimSpace(raw)) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(args); err != nil {
			return argumentError(err, args)
		}
	}
	return a.check()
}

// A Question asks a document one of the questions that are the methods of Document: its
// arguments are JSON, as Decode reads them, and t is the target that they stand for. Without
// a document it only checks them.
type Question func(ctx context.Context, d *Document, t Target, args json.RawMessage) (any, error)

// QuestionOf makes a Question of a method of Document.
func QuestionOf[A, R any](ask func(*Document, context.Context, A) (R, error)) Question {
	return func(ctx context.Context, d *Document, t Target, raw json.RawMessage) (any, error) {
		args := new(A)
		if err := Decode(raw, args); err != nil || d == nil {
			return nil, err
		}
		any(args).(interface{ set(Target) }).set(t)
		return ask(d, ctx, *args)
	}
}

func argumentError(err error, args any) error {
	var wrong *json.UnmarshalTypeError
	says := strings.TrimPrefix(err.Error(), "json: ")
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s: got a %s, which is not what it takes (%s)", wrong.Field, wrong.Value, typeName(wrong.Type))
	case strings.HasPrefix(says, "unknown field"):
		return fmt.Errorf("there is no argument %s; there are %s", strings.TrimPrefix(says, "unknown field "), strings.Join(fieldNames(reflect.TypeOf(args).Elem()), ", "))
	}
	return fmt.Errorf("the arguments cannot be read: %s", says)
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

func fieldNames(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		if f.Anonymous {
			names = append(names, fieldNames(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func between(name string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("%s must be from %d to %d, got %d", name, least, most, n)
	}
	return nil
}

func oneOf[T ~string](name string, value T, allowed ...T) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s must be one of %s, got %q", name, strings.Trim(strings.ReplaceAll(fmt.Sprint(allowed), " ", ", "), "[]"), value)
}

// Paths are JSONPaths; one string is taken as a list of one.
type Paths []string

// UnmarshalJSON reads a list or a string.
func (p *Paths) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		if *p = nil; one != "" {
			*p = Paths{one}
		}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(p))
}

const maxPaths = 100 // in one question

func (p Paths) check() error {
	if len(p) > maxPaths {
		return fmt.Errorf("paths may be %d at most, got %d", maxPaths, len(p))
	}
	return nil
}

// longestPath bounds paths, in bytes, so that a step can be added to any of them.
const longestPath = 8000

// parse reads a path. An error has the place, and if the document's shape is known,
// what is at the root.
func (d *Document) parse(path string) (*jsonpath.Path, error) {
	if len(path) > longestPath {
		return nil, fmt.Errorf("a path may have %s bytes, and this one has %s: %s", text.Commas(longestPath), text.Commas(int64(len(path))), text.Clip(path, 60))
	}
	p, err := jsonpath.Parse(path)
	var syntax *jsonpath.SyntaxError
	if err == nil || !errors.As(err, &syntax) {
		return p, err
	}
	there := ""
	if s := d.shape(); s != nil && len(s.Names) > 0 {
		there = "; at $ there are " + s.list("")
	}
	return nil, fmt.Errorf("%w%s\n%s", err, there, syntax.Caret())
}

// relative reads a path that begins at each item: $.a, @.a, .a and a are the same. An
// empty one is the item itself.
func (d *Document) relative(argument, path string) (*jsonpath.Path, error) {
	path = strings.TrimSpace(path)
	switch {
	case path == "" || path == "@":
		path = "$"
	case path[0] == '$':
	case path[0] == '@':
		path = "$" + path[1:]
	case path[0] == '.' || path[0] == '[':
		path = "$" + path
	default:
		path = "$." + path
	}
	p, err := d.parse(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", argument, err)
	}
	return p, nil
}

// Missing says that nothing is at a path, and what is near.
func (d *Document) Missing(path string) string {
	p, err := d.parse(path)
	if err != nil {
		return err.Error()
	}
	return d.missing(p, path)
}

// missing says that nothing is at a path, and what is near.
func (d *Document) missing(p *jsonpath.Path, path string) string {
	says := "nothing is at " + path
	if near := d.shape().nearest(p); near != "" {
		says += ": " + near
	}
	return says
}
