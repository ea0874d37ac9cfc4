package jsonpath

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A SyntaxError says where a path is wrong, what was expected there, and often what to
// write instead.
type SyntaxError struct {
	Path    string // what was parsed
	Offset  int    // in bytes
	Problem string // such as "expected ], found the end"
	Hint    string // what to write instead, or empty
}

func (e *SyntaxError) Error() string {
	text := fmt.Sprintf("JSONPath %s: column %d: %s", cut(e.Path), e.Column(), e.Problem)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Column returns the place in characters, counted from 1.
func (e *SyntaxError) Column() int { return utf8.RuneCountInString(e.Path[:e.Offset]) + 1 }

// Caret returns two lines: the path, or the part of it around the error if it is long,
// and below it a ^ under the place.
func (e *SyntaxError) Caret() string {
	const around = 40
	before, after := []rune(e.Path[:e.Offset]), []rune(e.Path[e.Offset:])
	lead, tail := "", ""
	if len(before) > around {
		lead, before = "…", before[len(before)-around:]
	}
	if len(after) > around {
		tail, after = "…", after[:around]
	}
	line := lead + string(before) + string(after) + tail
	line = strings.Map(func(r rune) rune {
		if r < 0x20 {
			return ' ' // a line break would move the caret
		}
		return r
	}, line)
	return line + "\n" + strings.Repeat(" ", utf8.RuneCountInString(lead)+len(before)) + "^"
}

// A DocumentError says where a document is not JSON. errors.Is(err,
// io.ErrUnexpectedEOF) reports whether it is because the document ends too early.
type DocumentError struct {
	Offset    int64 // of the first byte that cannot be, or the length of what was cut off
	Problem   string
	Truncated bool
}

func (e *DocumentError) Error() string {
	return fmt.Sprintf("not JSON at byte %d: %s", e.Offset, e.Problem)
}

// Unwrap returns io.ErrUnexpectedEOF if the document is truncated.
func (e *DocumentError) Unwrap() error {
	if e.Truncated {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// A LimitError says that a question cannot be answered within [Options.Limit].
type LimitError struct {
	Need    int64 // bytes of memory
	AtLeast bool  // Need is where counting stopped
	Limit   int64
	Offset  int64  // where in the document that begins which would have to be kept
	Why     string // what for
}

func (e *LimitError) Error() string {
	more := ""
	if e.AtLeast {
		more = "more than "
	}
	return fmt.Sprintf("needs %s%d bytes of memory for %s at byte %d, and the limit is %d: ask for a smaller part, or raise the limit", more, e.Need, e.Why, e.Offset, e.Limit)
}

// cut shortens a path for an error message.
func cut(s string) string {
	const most = 100 // characters
	if r := []rune(s); len(r) > most {
		return fmt.Sprintf("%q…", string(r[:most]))
	}
	return fmt.Sprintf("%q", s)
}
