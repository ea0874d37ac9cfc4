package editor

import (
	"slices"
	"strings"

	"pawl/internal/visible"
	"pawl/tui/keys"
)

// An Item is one thing of a [Menu]. Value is the caller's.
type Item struct {
	Text   string // what is shown and searched
	Detail string // shown after it
	Value  any
}

// A Menu is a list of which one item is selected: of completions, or of a picker. The zero
// value is an empty one.
type Menu struct {
	// ASCII says that no character beyond ASCII marks what was cut.
	ASCII bool

	items    []Item
	also     []string // by item: what is searched beside its text, in lower case
	query    string
	order    []int // items that match, the best first
	selected int   // in order
	top      int   // in order: first row of the last View
	rows     int   // of the last View
}

// NewMenu returns a menu of items, with the first selected.
func NewMenu(items []Item) *Menu {
	m := &Menu{items: items}
	m.match()
	return m
}

// Also sets what is searched by words beside the texts of the items, by their indexes. It is
// not shown.
func (m *Menu) Also(texts []string) {
	m.also = make([]string, len(m.items))
	for i := range min(len(texts), len(m.items)) {
		m.also[i] = strings.ToLower(m.items[i].Text + "\n" + texts[i])
	}
	if m.query != "" {
		m.match()
	}
}

// Filter shows only the items that match a query, and selects the first: those whose text has
// its characters (see [Match]), the best first; of a menu with more to search, before them, those that
// have all of its words. With the query that is there already nothing changes.
func (m *Menu) Filter(query string) {
	if query != m.query {
		m.query = query
		m.match()
	}
}

func (m *Menu) match() {
	texts := make([]string, len(m.items))
	for i, it := range m.items {
		texts[i] = it.Text
	}
	m.order, m.selected, m.top = Match(m.query, texts), 0, 0
	words := strings.Fields(strings.ToLower(m.query))
	if len(words) == 0 {
		return
	}
	var found []int
	for i, text := range m.also {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			found = append(found, i)
		}
	}
	m.order = append(found, slices.DeleteFunc(m.order, func(i int) bool { return slices.Contains(found, i) })...)
}

// Len returns how many items match.
func (m *Menu) Len() int { return len(m.order) }

// Selected returns the item that is selected; ok is false if none matches.
func (m *Menu) Selected() (it Item, ok bool) {
	if len(m.order) == 0 {
		return Item{}, false
	}
	return m.items[m.order[m.selected]], true
}

// Key moves the selection: up, down, ctrl+p, ctrl+n by one and around the ends, pgup and
// pgdown by what is shown. It reports whether the key was one of these and there is
// something to select.
func (m *Menu) Key(k keys.Key) bool {
	n := len(m.order)
	if n == 0 {
		return false
	}
	switch k.Name {
	case "up", "ctrl+p":
		m.selected = (m.selected + n - 1) % n
	case "down", "ctrl+n":
		m.selected = (m.selected + 1) % n
	case "pgup":
		m.selected = max(0, m.selected-max(1, m.rows))
	case "pgdown":
		m.selected = min(n-1, m.selected+max(1, m.rows))
	default:
		return false
	}
	return true
}

// minDetail is how many columns there must be for details to be shown.
const minDetail = 12

// View returns at most maxRows items around the selected as lines of at most width columns
// that are safe to print, and which of the lines is selected, -1 if there is none. The
// details begin in one column.
func (m *Menu) View(width, maxRows int) (lines []string, selected int) {
	m.rows = min(max(maxRows, 0), len(m.order))
	if m.rows == 0 || width <= 0 {
		return nil, -1
	}
	m.top = min(max(m.top, m.selected-m.rows+1), m.selected, len(m.order)-m.rows)
	mark := "…"
	if m.ASCII {
		mark = "."
	}
	var texts, details []string
	column, widest := 0, 0 // of the texts and of the details
	for _, n := range m.order[m.top : m.top+m.rows] {
		texts, details = append(texts, oneLine(m.items[n].Text)), append(details, oneLine(m.items[n].Detail))
		if details[len(details)-1] != "" {
			column, widest = max(column, cells(texts[len(texts)-1])), max(widest, cells(details[len(details)-1]))
		}
	}
	column = min(column, max(width/2, width-2-max(widest, minDetail))) // short details leave room for the texts
	room := width - column - 2
	for i, text := range texts {
		var line string
		switch {
		case details[i] != "" && room >= minDetail:
			line, w := cut(text, column, mark)
			detail, _ := cut(details[i], room, mark)
			lines = append(lines, line+strings.Repeat(" ", column+2-w)+detail)
			continue
		case strings.LastIndexByte(text, '/') > 0:
			line = cutStart(text, width, mark)
		default:
			line, _ = cut(text, width, mark)
		}
		lines = append(lines, line)
	}
	return lines, m.selected - m.top
}

// cutStart returns as much of the end of text as fits n columns, with a mark before it: of
// a path the last elements say most.
func cutStart(text string, n int, mark string) string {
	if cells(text) <= n {
		return text
	}
	for text != "" && cells(mark+text) > n {
		text = text[nextCluster(text, 0):]
	}
	return mark + text
}

// oneLine returns text as it can be shown in one line.
func oneLine(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(visible.Escape(text))
}
