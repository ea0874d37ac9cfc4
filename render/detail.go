package render

import (
	"fmt"
	"strings"

	"pawl/internal/visible"
	"pawl/view"
)

// maxDetail is how many lines of a result DetailLines returns.
const maxDetail = 400

// DetailLines returns a call whole: what was asked for, and its result, up to a bound.
func (s Style) DetailLines(c *view.Call, width int) []string {
	lines := []string{s.callLine(GlyphDone, Plain, CallTitle(c.Tool, c.Subject), c.OutcomeWords(), width)}
	add := func(text string, p Paint) {
		all := strings.Split(strings.TrimRight(text, "\n"), "\n")
		for i, l := range all {
			if i == maxDetail {
				lines = append(lines, s.more(len(all)-i)...)
				return
			}
			for _, l := range s.Wrap([]Span{{printable(l), p}}, width-5, true) {
				lines = append(lines, "  "+s.Paint(Faint, s.Glyph(GlyphGutter))+" "+l)
			}
		}
	}
	add(visible.Escape(c.Arguments), Accent)
	if c.Result != "" {
		add(c.Result, Plain)
	}
	if c.Images > 0 {
		add(fmt.Sprintf("%d images", c.Images), Faint)
	}
	return lines
}

// TodoLines returns the list of tasks that a call sets, as a checklist, with how many items are
// done and how many there are; none if the call sets no list.
func (s Style) TodoLines(c *view.Call, width int) (lines []string, done, all int) {
	items, ok := todoItems(c)
	if !ok {
		return nil, 0, 0
	}
	for _, i := range items {
		if i.Status == "done" || i.Status == "completed" {
			done++
		}
	}
	return s.todo(items, width), done, len(items)
}
