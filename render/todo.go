package render

import "pawl/view"

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
