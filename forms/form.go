// Package forms has what pawl prints for programs: the JSON of --json, of stream-json and of the HTTP API.
//
// A form is a type with the names and units of docs/json.md, and a function that makes it of what the
// rest of pawl works with. It decides nothing.
package forms

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"pawl/internal/plainjson"
	"pawl/run"
	"pawl/view"
)

// A List is a list as JSON.
type List[T any] struct {
	Items []T `json:"items"`
	// Next is the --offset of what follows; left out: nothing does.
	Next int `json:"next,omitempty"`
}

// ListOf returns a list without more to follow.
func ListOf[T any](items []T) List[T] { return List[T]{Items: append([]T{}, items...)} }

// Forms returns items in a form, as a list that is [] in JSON if it is empty.
func Forms[T, F any](items []T, form func(T) F) []F {
	forms := make([]F, len(items))
	for i, item := range items {
		forms[i] = form(item)
	}
	return forms
}

// A member is one of a JSON object; an object keeps the order of its members.
type (
	member struct {
		name  string
		value any
	}
	object []member
)

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		value, err := plainjson.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// jsonTexts are the fields of the log that hold JSON as text.
var jsonTexts = map[string]bool{"Submitted.Value": true, "Output.Schema": true, "Action.Thinking": true, "Part.Raw": true}

// dialect returns a value of the log as it is part of JSON: in the names and units of
// docs/json.md, which those on disk are older than. Usage is a [Usage], a duration is in
// milliseconds and ends in _ms, an amount of money is rounded, arguments are an object
// named input, and JSON that the log holds as text is JSON.
func dialect(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case run.Usage:
		return view.UsageOf(x)
	case time.Time, json.RawMessage, []byte:
		return x
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return dialect(v.Elem())
	case reflect.Slice:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = dialect(v.Index(i))
		}
		return items
	case reflect.Struct:
		return dialectObject(v)
	}
	return v.Interface()
}

func dialectObject(v reflect.Value) object {
	o := object{}
	t := v.Type()
	for i := range t.NumField() {
		field, value := t.Field(i), v.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		empty := value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0
		if name == "-" || options != "" && empty || value.Kind() == reflect.String && empty {
			continue
		}
		d, isDuration := value.Interface().(time.Duration)
		switch {
		case isDuration:
			o = append(o, member{strings.TrimSuffix(name, "_ns") + "_ms", milliseconds(d)})
		case t.Name() == "Call" && field.Name == "Arguments":
			o = append(o, member{"input", view.InputOf(value.String())})
		case name == "since" || name == "mtime":
			o = append(o, member{map[string]string{"since": "started_at", "mtime": "modified_at"}[name], value.Interface()})
		case jsonTexts[t.Name()+"."+field.Name]:
			o = append(o, member{name, jsonOf(value.String())})
		case value.Kind() == reflect.Float64 && name == "cost":
			o = append(o, member{name, view.Dollars(value.Float())})
		default:
			o = append(o, member{name, dialect(value)})
		}
	}
	return o
}

// milliseconds returns d in whole milliseconds; a negative duration, which means none,
// stays negative.
func milliseconds(d time.Duration) int64 {
	if d < 0 {
		return min(-1, d.Milliseconds())
	}
	return d.Milliseconds()
}

// jsonOf returns JSON that is held as text as what it is, or else as a string.
func jsonOf(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}
