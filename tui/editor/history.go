package editor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/tui/keys"
)

// A History is what was sent before, newest last. An entry that is there already is moved
// to the end.
type History struct {
	max     int
	entries []Draft
	storage Storage
}

// A Storage keeps a history between processes. Several processes may append at once: each
// line is one entry. Either function may be nil.
type Storage struct {
	Load   func() ([]byte, error)
	Append func(line []byte) error // one line, with its end
}

// What is larger is not stored: a paste is stored as its label, an entry not at all.
// Images are stored as their labels.
const (
	maxStoredPaste = 64 << 10
	maxStoredEntry = 256 << 10
)

// maxHistoryBytes bounds what a history keeps in memory, pastes included.
const maxHistoryBytes = 64 << 20

// NewHistory returns a history of at most limit entries, with those that the storage has. If
// there is an error, the history is empty and can be used.
func NewHistory(limit int, storage Storage) (*History, error) {
	h := &History{max: limit, storage: storage}
	if storage.Load == nil {
		return h, nil
	}
	data, err := storage.Load()
	if err != nil {
		return h, fmt.Errorf("load the history: %w", err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	for _, line := range lines[max(0, len(lines)-4*limit):] { // some are there twice
		if d, ok := decode(line); ok {
			h.put(d)
		}
	}
	return h, nil
}

// Add adds an entry, and stores it. It is there if there is an error, too.
func (h *History) Add(d Draft) error {
	h.put(d)
	if h.storage.Append == nil {
		return nil
	}
	line := encode(d)
	if len(line) > maxStoredEntry {
		return nil
	}
	if err := h.storage.Append(line); err != nil {
		return fmt.Errorf("save the history: %w", err)
	}
	return nil
}

// put adds an entry, and removes the one that is the same and those that are too many.
func (h *History) put(d Draft) {
	h.entries = append(slices.DeleteFunc(h.entries, d.equal), d)
	size, first := 0, len(h.entries)
	for first > max(0, len(h.entries)-h.max) && (size == 0 || size+h.entries[first-1].size() <= maxHistoryBytes) {
		first--
		size += h.entries[first].size()
	}
	h.entries = slices.Delete(h.entries, 0, first)
}

// Len returns how many entries there are.
func (h *History) Len() int { return len(h.entries) }

// Typed reports whether a character for which f holds was typed in an entry. What was pasted does not count.
func (h *History) Typed(f func(rune) bool) bool {
	return slices.ContainsFunc(h.entries, func(d Draft) bool { return strings.ContainsFunc(d.text, f) })
}

// size returns how large a draft is, in bytes. Images are not counted.
func (d Draft) size() int {
	n := len(d.text)
	for _, u := range d.units {
		n += len(u.text)
	}
	return n
}

// equal reports whether two drafts say the same.
func (d Draft) equal(other Draft) bool {
	if len(d.units) != len(other.units) || len(d.units) == 0 {
		return d.text == other.text
	}
	return d.Label() == other.Label() && slices.Equal(d.payloads(), other.payloads())
}

// payloads returns what the units of a draft stand for.
func (d Draft) payloads() []any {
	var all []any
	for _, r := range d.text {
		switch u := d.units[r]; {
		case u == nil:
		case u.image:
			all = append(all, u) // payloads may not be comparable
		default:
			all = append(all, u.text)
		}
	}
	return all
}

// An entry is how a draft is stored: one line of JSON. The n-th paste is in the text
// as the character firstUnit+n.
type entry struct {
	Text   string   `json:"text"`
	Pastes []string `json:"pastes,omitempty"`
}

func encode(d Draft) []byte {
	var en entry
	seen := map[*unit]rune{}
	en.Text = expand(d.text, func(r rune) string {
		u := d.units[r]
		switch {
		case u == nil:
			return ""
		case u.image || len(u.text) > maxStoredPaste || len(en.Pastes) > lastUnit-firstUnit:
			return u.label
		case seen[u] == 0:
			seen[u] = rune(firstUnit + len(en.Pastes))
			en.Pastes = append(en.Pastes, u.text)
		}
		return string(seen[u])
	})
	line, err := json.Marshal(en)
	if err != nil {
		panic("editor: strings are always encoded: " + err.Error())
	}
	return append(line, '\n')
}

// decode returns an entry of a line, unless it is damaged.
func decode(line []byte) (d Draft, ok bool) {
	var en entry
	if err := json.Unmarshal(line, &en); err != nil {
		return Draft{}, false
	}
	d.text = expand(keys.Clean(en.Text), func(r rune) string {
		n := int(r - firstUnit)
		if n >= len(en.Pastes) {
			return string(utf8.RuneError)
		}
		if d.units == nil {
			d.units = map[rune]*unit{}
		}
		if d.units[r] == nil {
			d.units[r] = newPaste(plain(en.Pastes[n]), n+1)
		}
		return string(r)
	})
	return d, strings.TrimSpace(d.text) != ""
}

// recall is the way through the history.
type recall struct {
	back   int           // which entry is shown, from the newest, plus 1; 0 if none is
	edited map[int]Draft // what was made of entries, and at 0 of the draft, by back
}

// browse shows an older (by -1) or newer entry (by 1), and the draft after the newest.
func (e *Editor) browse(by int) Action {
	to := e.recall.back - by
	if e.History == nil || to < 0 || to > len(e.History.entries) {
		return Ignored
	}
	if e.recall.edited == nil {
		e.recall.edited = map[int]Draft{}
	}
	e.recall.edited[e.recall.back] = e.Draft()
	e.recall.back = to
	d, ok := e.recall.edited[to]
	if !ok {
		d = e.History.entries[len(e.History.entries)-to]
	}
	e.save(replaced, moved)
	e.put(d)
	return Handled
}
