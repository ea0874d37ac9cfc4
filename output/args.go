package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"pawl/output/jsonpath"
)

// Target says which output a question is about. Both are filled in before, with the
// newest output of the run and the run's conversation, where a model leaves them out.
type Target struct {
	ID           string `json:"id,omitempty"`
	Conversation string `json:"conversation_id,omitempty"`
}

// arguments are those of one tool.
type arguments interface {
	defaults()
	check() error
}

// Decode reads a tool's arguments into args, which must point to one of the Args of
// this package. What is left out, or null, gets its default; what is unknown or out of
// range is an error that says what is allowed.
func Decode(raw json.RawMessage, args any) error {
	a, ok := args.(arguments)
	if !ok {
		panic(fmt.Sprintf("output: %T are no arguments", args))
	}
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

func argumentError(err error, args any) error {
	var wrong *json.UnmarshalTypeError
	text := strings.TrimPrefix(err.Error(), "json: ")
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s: got a %s, which is not what it takes (%s)", wrong.Field, wrong.Value, typeName(wrong.Type))
	case strings.HasPrefix(text, "unknown field"):
		return fmt.Errorf("there is no argument %s; there are %s", strings.TrimPrefix(text, "unknown field "), strings.Join(fieldNames(reflect.TypeOf(args).Elem()), ", "))
	}
	return fmt.Errorf("the arguments cannot be read: %s", text)
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

func oneOf(name, value string, allowed ...string) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return fmt.Errorf("%s must be one of %s, got %q", name, strings.Join(allowed, ", "), value)
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

// longestPath bounds paths, in bytes, so that there is room for more behind any of them.
const longestPath = 8000

// parse reads a path. An error has the place, and if the document's shape is known,
// what is at the root.
func (d *Document) parse(path string) (*jsonpath.Path, error) {
	if len(path) > longestPath {
		return nil, fmt.Errorf("a path may have %s bytes, and this one has %s: %s", thousands(longestPath), thousands(int64(len(path))), shorten(path, 60))
	}
	p, err := jsonpath.Parse(path)
	if err == nil {
		return p, nil
	}
	var syntax *jsonpath.SyntaxError
	if !errors.As(err, &syntax) {
		return nil, err
	}
	text := syntax.Error()
	if s := d.shape(); s != nil && len(s.Names) > 0 {
		text += "; at $ there are " + s.list("")
	}
	return nil, fmt.Errorf("%s\n%s", text, syntax.Caret())
}

// relative reads a path that begins at each item: $.a, @.a, .a, [0] and a are the same.
func (d *Document) relative(path string) (*jsonpath.Path, error) {
	path = strings.TrimSpace(path)
	switch {
	case path == "" || path == "@" || path == "$":
		path = "$"
	case path[0] == '$':
	case path[0] == '@':
		path = "$" + path[1:]
	case path[0] == '.' || path[0] == '[':
		path = "$" + path
	default:
		path = "$." + path
	}
	return d.parse(path)
}

// explain says which tool was asked what when an error came.
func (d *Document) explain(tool string, err error) error {
	if err == nil {
		return nil
	}
	var limit *jsonpath.LimitError
	switch {
	case errors.As(err, &limit):
		return fmt.Errorf("tool_outputs.%s of %s: this would have to hold more than %s at once, for %s at byte %d: ask for a smaller part, or without a filter over such large values (%w)",
			tool, d.Name, byteSize(limit.Limit), limit.Why, limit.Offset, errLimit)
	case isNotJSON(err):
		return fmt.Errorf("tool_outputs.%s of %s: %w: use read or search to look at it", tool, d.Name, err)
	}
	return fmt.Errorf("tool_outputs.%s of %s: %w", tool, d.Name, err)
}

var errLimit = errors.New("memory limit")
