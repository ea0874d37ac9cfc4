// Package secret replaces the values of known secrets in text by their names. It does not look for secrets, and does not
// recognize a value that is encoded or split.
package secret

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"
)

// Values are secrets. A nil one has none. It is safe for concurrent use.
type Values struct {
	known []known   // the longest value first, for it may hold another
	first [256]bool // with which bytes values begin
}

type known struct{ value, mark string }

// New returns the secrets with those values, which are not empty, by name; nil if there are none.
func New(named map[string]string) *Values {
	if len(named) == 0 {
		return nil
	}
	v := &Values{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		v.known = append(v.known, known{named[name], "[hidden: " + name + "]"})
		v.first[named[name][0]] = true
	}
	slices.SortStableFunc(v.known, func(a, b known) int { return cmp.Compare(len(b.value), len(a.value)) })
	return v
}

// Hide returns text with each value as "[hidden: NAME]".
func (v *Values) Hide(text string) string {
	if v == nil {
		return text
	}
	hidden, _ := v.hide(text, len(text), false)
	return hidden
}

// hide returns text with the values replaced that begin before end, up to there or to the end of the last one, and the
// length of what is left. With partial it ends before a suffix of text that may be the beginning of a value.
func (v *Values) hide(text string, end int, partial bool) (hidden string, left int) {
	var b strings.Builder
	from, i := 0, 0 // from: of what is not yet in b
at:
	for ; i < end; i++ {
		if !v.first[text[i]] {
			continue
		}
		for _, k := range v.known {
			switch {
			case strings.HasPrefix(text[i:], k.value):
				b.WriteString(text[from:i])
				b.WriteString(k.mark)
				i += len(k.value) - 1
				from = i + 1
				continue at
			case partial && strings.HasPrefix(k.value, text[i:]):
				return b.String() + text[from:i], len(text) - i
			}
		}
	}
	if from == 0 {
		return text[:i], len(text) - i
	}
	return b.String() + text[from:i], len(text) - i
}

// Mark returns a mark in text that [Values.Hide] would put there; empty: there is none.
func (v *Values) Mark(text []byte) string {
	if v != nil && bytes.Contains(text, []byte("[hidden: ")) {
		for _, k := range v.known {
			if bytes.Contains(text, []byte(k.mark)) {
				return k.mark
			}
		}
	}
	return ""
}

// A Writer replaces values in a stream. It holds back what may be the beginning of a value until more is written, or Flush
// is called.
type Writer struct {
	v      *Values
	to     io.Writer
	held   []byte
	behind int // see [Values.Steady]
}

// Writer returns a writer that writes to to.
func (v *Values) Writer(to io.Writer) *Writer { return &Writer{v: v, to: to} }

// Steady returns a writer for text that is read by who must not learn the values. What it holds back is always as long, but
// after a whole value: else it would show, byte by byte, whether text begins as a value does.
func (v *Values) Steady(to io.Writer) *Writer {
	w := v.Writer(to)
	if v != nil {
		w.behind = len(v.known[0].value) - 1
	}
	return w
}

func (w *Writer) Write(p []byte) (int, error) {
	if w.v == nil {
		return w.to.Write(p)
	}
	all := string(append(w.held, p...))
	hidden, left := w.v.hide(all, max(0, len(all)-w.behind), w.behind == 0)
	w.held = []byte(all[len(all)-left:])
	if err := w.write(hidden); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what was held back.
func (w *Writer) Flush() error {
	held := w.v.Hide(string(w.held))
	w.held = nil
	return w.write(held)
}

func (w *Writer) write(text string) error {
	if text == "" {
		return nil
	}
	_, err := io.WriteString(w.to, text)
	return err
}
