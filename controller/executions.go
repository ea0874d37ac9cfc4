package controller

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/internal/text"
)

// An Execution is one call of a step and what came of it.
type Execution struct {
	Tool      string
	Call      string // its id
	Success   bool
	Output    string // id of the stored output; empty: none was stored
	Delivery  string // how the output is delivered: inline, persisted, …; empty: not said
	Arguments string
	Metadata  string // of the output; may be empty
	Text      string // the output as delivered, or the error
}

const (
	maxArguments = 400 // characters
	// Outputs are bounded where they are delivered, and these bounds are the largest
	// of them. They are kept here too, so that no caller can flood the context.
	maxMetadata = 1_600
	maxOutput   = 65_536
)

// quoteMark begins each line of what a tool or the model has written.
const quoteMark = "| "

// Executions returns the user message with the results of a step, in the order given.
//
// What a tool returns can be written by anybody, so nothing in it can pass for
// another block: every line of text from outside begins with "| ", whatever ends a
// line, and a line that does not is pawl's own. What stands in a line of pawl's, a
// tool's name or an id, is quoted when it holds more than what can be seen. A fence
// would leave the text as it is, but a model that reads "success: true" inside of one
// has to count backticks to know whose words they are; here each line says it.
// Whoever takes the marks away has the text as it was.
func Executions(results []Execution) string {
	var b strings.Builder
	b.WriteString("[Tool executions]\n")
	for i, e := range results {
		fmt.Fprintf(&b, "\nexecution %d of %d\n", i+1, len(results))
		line := func(name, value string) {
			if value != "" {
				fmt.Fprintf(&b, "%s: %s\n", name, oneLine(value))
			}
		}
		block := func(name, value string, most int) {
			if value == "" {
				fmt.Fprintf(&b, "%s: none\n", name)
				return
			}
			fmt.Fprintf(&b, "%s:\n", name)
			head := text.First(value, most)
			quote(&b, head)
			if len(head) < len(value) {
				fmt.Fprintf(&b, "cut here: %d of %d characters of the %s are shown\n", most, utf8.RuneCountInString(value), name)
			}
		}
		line("tool", cut(e.Tool, maxName))
		line("call", cut(e.Call, maxName))
		fmt.Fprintf(&b, "success: %t\n", e.Success)
		line("output id", cut(e.Output, maxName))
		line("delivery", cut(e.Delivery, maxName))
		block("arguments", e.Arguments, maxArguments)
		if e.Metadata != "" {
			block("metadata", e.Metadata, maxMetadata)
		}
		if e.Success {
			block("output", e.Text, maxOutput)
		} else {
			block("error", e.Text, maxOutput)
		}
	}
	return b.String()
}

// quote writes text with the mark at the beginning of each of its lines. Everything
// that a reader may take for the end of a line is one.
func quote(b *strings.Builder, s string) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	b.WriteString(quoteMark)
	for i, char := range s {
		b.WriteRune(char)
		if lineBreak(char) && !(char == '\r' && strings.HasPrefix(s[i+1:], "\n")) {
			b.WriteString(quoteMark)
		}
	}
	b.WriteByte('\n')
}

// lineBreak reports whether a character ends a line for somebody (Unicode Standard
// Annex 14, unicode.org/reports/tr14, classes BK, CR, LF and NL).
func lineBreak(char rune) bool {
	switch char {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// oneLine returns s as it is when it is plain, else quoted, so that it stays on one
// line of ours and shows what is in it.
func oneLine(s string) string {
	for _, char := range s {
		if char == utf8.RuneError || char == '"' || !unicode.IsGraphic(char) {
			return strconv.Quote(s)
		}
	}
	return s
}

// cut bounds s to so many characters, with a mark that says how many there were.
func cut(s string, most int) string {
	head := text.First(s, most)
	if len(head) == len(s) {
		return s
	}
	return fmt.Sprintf("%s… [cut: %d of %d characters]", head, most, utf8.RuneCountInString(s))
}
