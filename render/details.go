package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/view"
)

// Details returns all that is known of an item, for a person who wants more than its line: of a call
// its arguments, the change that it has made and its result, of thinking the whole text, of a note
// what it stands for. Lines are broken at width columns, and there are at most n: of what is
// longer the middle is left out, with a mark.
func (s Style) Details(i view.Item, width, n int) []string {
	var lines []string
	add := func(heading, body string) {
		if strings.TrimSpace(body) == "" {
			return
		}
		lines = append(lines, "", s.Paint(Bold, heading))
		lines = append(lines, s.block(body, width)...)
	}
	switch {
	case i.Call != nil:
		c := i.Call
		lines = []string{s.callLine(GlyphActive, Faint, CallTitle(c.Tool, c.Subject), "", width)}
		if c.State == view.Settled {
			lines = s.settledHead(c, width)
		}
		if words := view.DecisionWords(c.Decision); c.Decision.Answer != "" {
			lines = append(lines, "  "+s.Paint(Faint, s.Clip(visible.Escape(words), width-2)))
		}
		add("Arguments", argumentText(c.Arguments))
		switch {
		case c.State != view.Settled:
			add("Output so far", c.Tail)
		case len(c.Files) > 0 && changeOf(c) != "":
			lines = append(lines, "", s.Paint(Bold, "Change"))
			lines = append(lines, s.diff(changeOf(c), n, width)...)
		default:
			if e, ok := envelopeOf(c); ok {
				lines = append(lines, s.storedLines(e, c.Size, width)...)
				add("Beginning of the result", e.Preview)
				break
			}
			add("Result", indentedJSON(c.Result))
		}
	case i.Note != nil:
		lines = s.Wrap([]Span{{Text: strings.ReplaceAll(visible.Escape(i.Text), "\n", " "), Paint: Bold}}, width, true)
		add("Details", i.Note.Detail)
	default:
		lines = s.block(i.Text, width)
	}
	return s.shortened(lines, n)
}

// maxDetailBytes bounds a text of the details, in bytes.
const maxDetailBytes = 256 << 10

// block returns text as indented lines.
func (s Style) block(body string, width int) []string {
	body = strings.Trim(body, "\n")
	if cut := len(body) - maxDetailBytes; cut > 0 {
		head, tail := body[:maxDetailBytes/2], body[len(body)-maxDetailBytes/2:]
		body = fmt.Sprintf("%s\n%s %s left out\n%s", strings.ToValidUTF8(head, ""), s.Glyph(GlyphCut), text.Size(int64(cut)), strings.ToValidUTF8(tail, ""))
	}
	var lines []string
	for l := range strings.SplitSeq(body, "\n") {
		for _, w := range broken(printable(l), max(1, width-2)) {
			lines = append(lines, strings.TrimRight("  "+w, " "))
		}
	}
	return lines
}

// shortened leaves the middle of lines out if there are more than n.
func (s Style) shortened(lines []string, n int) []string {
	if len(lines) <= n || n < 3 {
		return lines[:min(len(lines), n)]
	}
	head := (n - 1) * 2 / 3
	tail := n - 1 - head
	mark := "  " + s.Paint(Faint, s.Glyph(GlyphCut)+" "+text.Plural(int64(len(lines)-head-tail), "line")+" left out")
	return slices.Concat(lines[:head], []string{mark}, lines[len(lines)-tail:])
}

// indentedJSON returns a JSON text as one line a member; what is none stays as it is.
func indentedJSON(raw string) string {
	var out bytes.Buffer
	if !strings.HasPrefix(strings.TrimSpace(raw), "{") || json.Indent(&out, []byte(raw), "", "  ") != nil {
		return raw
	}
	return out.String()
}

// argumentText returns the arguments of a call with a line for each: strings as they are, those of
// several lines below their names. Arguments that are no JSON object stay as they are.
func argumentText(raw string) string {
	in := json.NewDecoder(strings.NewReader(raw))
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		return raw
	}
	var out strings.Builder
	for in.More() {
		name, err := in.Token()
		var value json.RawMessage
		if err != nil || in.Decode(&value) != nil {
			return raw
		}
		var s string
		switch {
		case json.Unmarshal(value, &s) != nil:
			s = indentedJSON(string(value))
			fallthrough
		case !strings.Contains(s, "\n"):
			fmt.Fprintf(&out, "%v: %s\n", name, s)
		default:
			fmt.Fprintf(&out, "%v:\n  %s\n", name, strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  "))
		}
	}
	return out.String()
}
