package store

import (
	"bytes"
	"reflect"
	"time"
	"unicode/utf8"
)

// JSON strings are Unicode, and encoding/json replaces bytes that are not UTF-8 by
// U+FFFD. A path, or a text cut inside a character, can have such bytes, and must be
// replayed as it was. So an event with such a string is written as {"latin1":{…}}, where
// each character of each string stands for one byte.

type latin1 struct {
	Form any `json:"latin1"`
}

var latin1Prefix = []byte(`{"latin1":`)

// latin1Inner returns the form inside a Latin-1 form.
func latin1Inner(data []byte) ([]byte, bool) {
	inner, ok := bytes.CutPrefix(data, latin1Prefix)
	if !ok {
		return nil, false
	}
	return bytes.TrimSuffix(inner, []byte("}")), true
}

// replacedBytes reports whether encoding/json replaced bytes that are not UTF-8: it
// writes them as the escape \ufffd, and a U+FFFD of the string as itself. An escaped
// backslash before "ufffd" looks the same; the Latin-1 form is then harmless.
func replacedBytes(data []byte) bool { return bytes.Contains(data, []byte(`\ufffd`)) }

func toLatin1(s string) string {
	b := make([]byte, 0, len(s)+len(s)/8)
	for i := range len(s) {
		b = utf8.AppendRune(b, rune(s[i]))
	}
	return string(b)
}

func fromLatin1(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}

// mapStrings returns a deep copy of v with f applied to every string. The copy is
// needed: forms share pointers and slices with the payloads they were made from.
func mapStrings(v reflect.Value, f func(string) string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(f(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(mapStrings(v.Elem(), f).Addr())
		}
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return v // bytes are base64 in JSON
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(mapStrings(v.Index(i), f))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return v
		}
		for i := range v.NumField() {
			out.Field(i).Set(mapStrings(v.Field(i), f))
		}
	default:
		return v
	}
	return out
}
