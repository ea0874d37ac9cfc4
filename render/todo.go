package render

import (
	"encoding/json"
	"fmt"
	"slices"

	"pawl/view"
)

// TodoLines returns the list of tasks that a call sets, as a checklist, with how many items are
// done and how many there are; none if the call sets no list.
func (s Style) TodoLines(c *view.Call, width int) (lines []string, done, all int) {
	items, ok := todoItems(c)
	if !ok {
		return nil, 0, 0
	}
	return s.todo(items, width), countDone(items), len(items)
}

// A todoItem is an item of a list of tasks, as pawl's and other agents' tools have it.
type todoItem struct{ Text, Content, Step, Status string }

func (i todoItem) words() string { return i.Text + i.Content + i.Step }

func (i todoItem) done() bool { return i.Status == "done" || i.Status == "completed" }

func countDone(items []todoItem) (n int) {
	for _, i := range items {
		if i.done() {
			n++
		}
	}
	return n
}

// doneWords says how far a list is.
func doneWords(items []todoItem) string {
	return fmt.Sprintf("%d of %d done", countDone(items), len(items))
}

// changedItems returns the items of a list that are not the same in the list before.
func changedItems(before, items []todoItem) []todoItem {
	return slices.DeleteFunc(slices.Clone(items), func(i todoItem) bool { return slices.Contains(before, i) })
}

// todoItems returns the list of tasks that a call sets.
func todoItems(c *view.Call) ([]todoItem, bool) {
	var args map[string]json.RawMessage
	if c.IsError || json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return nil, false
	}
	for _, name := range []string{"items", "todos", "plan"} {
		var items []todoItem
		if json.Unmarshal(args[name], &items) == nil && len(items) > 0 && items[0].Status != "" {
			return items, true
		}
	}
	return nil, false
}

// todo returns a list of tasks as a checklist.
func (s Style) todo(items []todoItem, width int) []string {
	var lines []string
	for i, item := range items {
		if i == foldedTodo {
			return append(lines, s.more(len(items)-i)...)
		}
		mark, p := GlyphOpen, Plain
		switch {
		case item.done():
			mark, p = GlyphChecked, Faint
		case item.Status == "active", item.Status == "in_progress":
			mark, p = GlyphActive, Bold
		}
		markPaint := map[Glyph]Paint{GlyphChecked: Good, GlyphActive: Warning}[mark]
		line := view.OneLine(item.words(), 2*view.MaxLine)
		lines = append(lines, "    "+s.Paint(markPaint, s.Glyph(mark))+" "+s.Paint(p, s.Clip(line, width-9)))
	}
	return lines
}
