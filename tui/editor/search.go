package editor

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/tui/keys"
)

// A search is a search in the history: the text is the entry that was found, until the
// search ends.
type search struct {
	query    string
	index    int // of the entry that was found
	found    bool
	before   Draft // what the search began with
	beforeAt int
}

// Searching reports whether the history is being searched. Keys are then for the search:
// typing extends the query, ctrl+r and up find an older entry, ctrl+s and down a newer, enter
// sends what was found, esc and tab and movements keep it, ctrl+c and ctrl+g end the search
// with the text that was there before.
func (e *Editor) Searching() bool { return e.search != nil }

// SearchView returns the line of the search, at most width columns wide and safe to
// print, and the column of the cursor in it. It is shown below the text, which is what
// was found.
func (e *Editor) SearchView(width int) (line string, col int) {
	if e.search == nil {
		return "", 0
	}
	label := "search: "
	if !e.search.found {
		label = "nothing found: "
	}
	query := strings.NewReplacer("\n", " ", "\t", " ").Replace(e.search.query)
	room := max(0, width-1-len(label))
	for cells(query) > room && query != "" { // the end is what is being typed
		query = query[nextCluster(query, 0):]
	}
	line, col = cut(label+query, max(0, width-1), e.mark())
	return line, col
}

// searchKey does what a key means in a search. It is not done if the search has ended and
// the key has its usual meaning.
func (e *Editor) searchKey(k keys.Key) (action Action, done bool) {
	s := e.search
	switch k.Name {
	case "ctrl+r", "up", "ctrl+p":
		e.find(s.index)
	case "ctrl+s", "down", "ctrl+n":
		e.findNewer()
	case "backspace", "ctrl+h":
		if s.query != "" {
			s.query = s.query[:prevCluster(s.query, len(s.query))]
			e.find(len(e.History.entries))
		}
	case "ctrl+c", "ctrl+g":
		e.put(s.before)
		e.at = min(s.beforeAt, len(e.text))
		e.search = nil
	case "esc", "tab":
		e.acceptSearch()
	case "enter":
		e.acceptSearch()
		return Submit, true
	default:
		if k.Text == "" {
			e.acceptSearch()
			return Ignored, false
		}
		e.extendSearch(plain(k.Text))
	}
	return Handled, true
}

func (e *Editor) extendSearch(text string) {
	e.search.query += text
	from := len(e.History.entries)
	if e.search.found {
		from = e.search.index + 1
	}
	e.find(from)
}

// acceptSearch ends the search, and keeps what was found.
func (e *Editor) acceptSearch() {
	s, found, at := e.search, e.Draft(), e.at
	e.search, e.recall = nil, recall{}
	e.put(s.before)
	e.at = min(s.beforeAt, len(e.text))
	e.save(replaced, moved)
	e.put(found)
	e.at = min(at, len(e.text))
}

// find shows the newest entry before an index that has the query. If there is none, what is
// shown stays.
func (e *Editor) find(before int) {
	for i := before - 1; i >= 0; i-- {
		if e.show(i) {
			return
		}
	}
	e.search.found = e.search.query == "" || e.search.found && e.matches(e.search.index) >= 0
	if e.search.query == "" {
		e.put(e.search.before)
		e.at = min(e.search.beforeAt, len(e.text))
		e.search.index = len(e.History.entries)
	}
}

// findNewer shows the oldest entry after the one that is shown.
func (e *Editor) findNewer() {
	for i := e.search.index + 1; i < len(e.History.entries); i++ {
		if e.show(i) {
			return
		}
	}
}

// show shows an entry if it has the query, with the cursor at it.
func (e *Editor) show(i int) bool {
	at := e.matches(i)
	if at < 0 || e.search.query == "" {
		return false
	}
	e.search.index, e.search.found = i, true
	d := e.History.entries[i]
	// The characters of units can be others here, and have the same length.
	e.put(d)
	e.at = boundary(e.text, at)
	return true
}

// matches returns where an entry has the query, -1 if nowhere. Upper case is ignored
// unless the query has it.
func (e *Editor) matches(i int) int {
	if i < 0 || i >= len(e.History.entries) {
		return -1
	}
	text, query := e.History.entries[i].text, e.search.query
	if strings.ContainsFunc(query, unicode.IsUpper) {
		return strings.Index(text, query)
	}
	for at := range text {
		if hasPrefixFold(text[at:], query) {
			return at
		}
	}
	return -1
}

// hasPrefixFold reports whether text begins with a prefix in lower case.
func hasPrefixFold(text, prefix string) bool {
	for _, p := range prefix {
		r, n := utf8.DecodeRuneInString(text)
		if n == 0 || r != p && unicode.ToLower(r) != p {
			return false
		}
		text = text[n:]
	}
	return true
}
