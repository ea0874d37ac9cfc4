package output

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"pawl/internal/text"
	"pawl/output/jsonpath"
)

// A skeleton is the beginning of a document cut by its shape: the first elements of
// arrays, the first members of objects, the beginnings of texts. Previews are made of it.
type skeleton struct {
	Kind  diskKind    `json:"k"`
	Text  string      `json:"t,omitempty"` // of a scalar, as written; of a string its text
	Cut   bool        `json:"c,omitempty"` // Text is only the beginning
	Items []*skeleton `json:"i,omitempty"`
	Names []string    `json:"n,omitempty"` // of an object's Items
	Total int64       `json:"l,omitempty"` // elements or members there are
	open  bool        // the end was not seen
}

const (
	skeletonItems   = 12   // elements that are kept of an array
	skeletonMembers = 20   // members that are kept of an object
	skeletonText    = 160  // characters that are kept of a text
	skeletonSize    = 6000 // bytes that are kept of a document, about
	skeletonDepth   = 8
)

// A diskKind is a [jsonpath.Kind], on disk as a number from 0.
type diskKind jsonpath.Kind

// MarshalJSON writes the number.
func (k diskKind) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(k)-1, 10), nil }

// UnmarshalJSON reads it.
func (k *diskKind) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseUint(string(b), 10, 8)
	if err != nil || n >= uint64(jsonpath.Object) {
		return errDamaged
	}
	*k = diskKind(n + 1)
	return nil
}

func (s *skeleton) is(k jsonpath.Kind) bool { return s.Kind == diskKind(k) }

// set makes s the skeleton of a scalar; of a string, raw is what stands between its quotes.
func (s *skeleton) set(raw []byte) {
	if s.is(jsonpath.String) {
		s.Text, s.Cut = firstText(raw)
		return
	}
	s.Text = strings.ToValidUTF8(string(raw[:min(len(raw), skeletonText)]), "\uFFFD")
	s.Cut = len(s.Text) < len(raw)
}

// render writes a preview of at most limit characters. It says of everything that is
// left out how much it is.
func (s *skeleton) render(limit int) (preview string, whole bool) {
	if s == nil {
		return "", true
	}
	// From generous to sparse, until it fits.
	for _, d := range []detail{{12, 20, 160, 8}, {6, 20, 100, 6}, {3, 20, 60, 5}, {3, 12, 40, 4}, {2, 10, 30, 3}, {1, 10, 20, 3}, {1, 8, 16, 2}, {1, 6, 12, 2}, {0, 10, 12, 2}, {0, 4, 12, 1}} {
		w := skeletonWriter{detail: d, whole: true}
		w.write(s, 0)
		if utf8.RuneCountInString(w.String()) <= limit {
			return w.String(), w.whole
		}
	}
	return text.First(s.describe(), limit), false
}

// detail is how much of a skeleton is shown.
type detail struct{ items, members, text, depth int }

type skeletonWriter struct {
	strings.Builder
	detail
	whole bool // nothing was left out
}

// leave writes what stands for something that is left out.
func (w *skeletonWriter) leave(mark string) {
	w.WriteString(mark)
	w.whole = false
}

func (w *skeletonWriter) write(s *skeleton, depth int) {
	switch jsonpath.Kind(s.Kind) {
	case jsonpath.String:
		t := text.First(s.Text, w.text)
		w.WriteString(mustJSON(t))
		if s.Cut || len(t) < len(s.Text) {
			w.leave(text.Mark)
		}
		return
	case jsonpath.Array, jsonpath.Object:
	default:
		w.WriteString(s.Text)
		if s.Cut {
			w.leave(text.Mark)
		}
		return
	}
	if depth >= w.depth && s.Total > 0 {
		w.leave(s.describe())
		return
	}
	brackets, most := "[]", w.items
	if s.is(jsonpath.Object) {
		brackets, most = "{}", w.members
	}
	w.WriteByte(brackets[0])
	n := min(most, len(s.Items))
	for i, item := range s.Items[:n] {
		if i > 0 {
			w.WriteString(", ")
		}
		if s.is(jsonpath.Object) {
			name := text.Clip(s.Names[i], 60)
			w.whole = w.whole && name == s.Names[i]
			w.WriteString(mustJSON(name) + ": ")
		}
		w.write(item, depth+1)
	}
	if left := s.Total - int64(n); left > 0 || s.open {
		if n > 0 {
			w.WriteString(", ")
		}
		switch {
		case s.open:
			w.leave("… the document ends here")
		case n > 0:
			w.leave("… " + text.Commas(left) + " more")
		default:
			w.leave(s.inside())
		}
	}
	w.WriteByte(brackets[1])
}

// describe stands for an array or object that is not shown.
func (s *skeleton) describe() string {
	switch jsonpath.Kind(s.Kind) {
	case jsonpath.Array:
		return "[" + s.inside() + "]"
	case jsonpath.Object:
		return "{" + s.inside() + "}"
	}
	return jsonpath.Kind(s.Kind).String()
}

func (s *skeleton) inside() string {
	if s.is(jsonpath.Array) {
		return "… " + text.Plural(s.Total, "element")
	}
	return "… " + text.Plural(s.Total, "member")
}
