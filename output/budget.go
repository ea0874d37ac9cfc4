package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/internal/plainjson"
	"pawl/internal/text"
	"pawl/output/jsonpath"
)

// maxResult is how many characters of values a question returns. With what stands
// around them the result stays below the 65,536 at which every result is cut.
const maxResult = 48_000

// maxRaw is how large a value may be, in bytes, to be looked at for whether it fits.
const maxRaw = 4 * maxResult

// A budget is room for values.
type budget struct {
	room int  // characters left
	cut  bool // something did not fit
}

// put returns a match as it is to be returned, or what stands for it if it is too large
// for any result. ok is false if there is no room for even that. at is the value's path,
// for advice.
func (b *budget) put(m jsonpath.Match, at string) (value json.RawMessage, ok bool) {
	if m.Raw != nil {
		if value, ok = b.fit(m.Raw, len(at)+8); ok {
			return value, true
		}
	}
	b.cut = true
	if m.Size < maxResult/4 { // it would have fitted into an empty result
		return nil, false
	}
	var sign struct {
		Cut string `json:"$cut"`
		Try string `json:"try,omitempty"`
	}
	sign.Cut = fmt.Sprintf("%s of %s, too large to return", m.Kind, text.Size(m.Size))
	switch m.Kind {
	case jsonpath.Array:
		sign.Try = "extract " + at + "[0:10], or sample"
	case jsonpath.Object:
		sign.Try = "stats with this path, then extract what is below it"
	case jsonpath.String:
		sign.Try = "search in it, or pass it to a tool by its handle"
	}
	return b.fit([]byte(mustJSON(sign)), len(at)+8)
}

// fit takes room for a value that is as written, and for extra characters around it.
func (b *budget) fit(raw []byte, extra int) (json.RawMessage, bool) {
	if b.room < extra || len(raw) > 4*(b.room-extra)+1024 {
		return nil, false
	}
	// encoding/json takes 10,000 arrays and objects in one another, of which the result
	// around the value needs a few.
	const around = 8
	nested := slices.Concat(bytes.Repeat([]byte("["), around), raw, bytes.Repeat([]byte("]"), around))
	var compact bytes.Buffer
	if json.Compact(&compact, nested) != nil {
		return nil, false
	}
	value := bytes.ToValidUTF8(compact.Bytes()[around:compact.Len()-around], []byte("\uFFFD"))
	return value, b.take(utf8.RuneCount(value) + extra)
}

// take takes room for n characters, if there is as much.
func (b *budget) take(n int) bool {
	if b.room < n {
		b.cut = true
		return false
	}
	b.room -= n
	return true
}

// CutInline cuts the text of a result that is never stored at most characters, with a
// mark that says how much is missing and what to do.
func CutInline(s string, most int) string {
	total := utf8.RuneCountInString(s)
	if total <= most {
		return s
	}
	mark := func(shown int) string {
		return fmt.Sprintf("\n[cut: %s characters of %s are here; ask for less, with limit, offset or a narrower path]", text.Commas(int64(shown)), text.Commas(int64(total)))
	}
	room := max(0, most-len(mark(most)))
	return strings.ToValidUTF8(text.First(s, room), "\uFFFD") + mark(room)
}

// jsonChars returns how many characters v has as JSON.
func jsonChars(v any) int { return utf8.RuneCountInString(mustJSON(v)) }

// mustJSON returns v as JSON, for what is made of texts and numbers only.
func mustJSON(v any) string {
	b, err := plainjson.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("output: %T does not encode: %v", v, err))
	}
	return string(b)
}

// A member is one of an object whose members have an order.
type member[T any] struct {
	Name  string
	Value T
}

// An ordered is a JSON object whose members have an order.
type ordered[T any] []member[T]

// MarshalJSON writes the object.
func (o ordered[T]) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := json.Marshal(m.Value)
		if err != nil {
			return nil, err
		}
		b = append(append(jsonpath.AppendString(b, m.Name), ':'), value...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads it.
func (o *ordered[T]) UnmarshalJSON(p []byte) error {
	d := json.NewDecoder(bytes.NewReader(p))
	if _, err := d.Token(); err != nil {
		return err
	}
	*o = nil
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		m := member[T]{Name: fmt.Sprint(name)}
		if err := d.Decode(&m.Value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}
