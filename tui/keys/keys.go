// Package keys reads a terminal: it sets the modes that a line editor needs, and turns
// the bytes that arrive into keys, pastes, changes of focus and size, and the terminal's
// replies to queries. It interprets nothing: what a key does is decided by its reader.
//
// The terminal is in raw mode between [Start] and [Reader.Close], with bracketed paste,
// focus events and, where the terminal knows it, the kitty keyboard protocol, without
// which shift+enter and enter are the same. The mouse stays with the terminal, so that
// text can be selected.
package keys

import (
	"strings"
	"unicode/utf8"

	"pawl/internal/lazy"
	"pawl/internal/visible"
)

// An Event is a [Key], [Paste], [Focus], [Resize] or [Reply].
type Event interface{ event() }

// A Key is a key that was pressed, or repeated because it is held down.
type Key struct {
	// Name is the text of a key that types something ("a", "A", "ä"; "space" for a
	// space), else modifiers and key: "enter", "shift+enter", "ctrl+c", "alt+b", "esc",
	// "up", "f1". Modifiers come in the order ctrl, alt, shift, super. A terminal without
	// the kitty protocol sends the same for ctrl+i and tab, ctrl+m and enter, ctrl+[ and
	// esc, ctrl+shift+a and ctrl+a: they have the second name there.
	Name string

	// Text is what the key types. It is empty, or printable.
	Text string

	// Together: it arrived in one piece with other keys. So does what a slow line has held back
	// or a program writes; a person who types sends one key at a time.
	Together bool
}

// A Paste is text that was pasted, or dropped onto the terminal, as [Clean] returns it.
type Paste struct {
	Text    string
	Dropped int // bytes that were not kept, because there were more than MaxPaste
}

// MaxPaste is how many bytes of a paste are kept.
const MaxPaste = 8 << 20

// Focus reports that the terminal got or lost the focus.
type Focus struct{ In bool }

// Resize reports the size of the terminal, at the start and when it has changed.
type Resize struct{ Width, Height int }

// A Reply is what the terminal answers to a query; see [Reader.Ask].
type Reply struct {
	Kind     Query
	Row, Col int    // of Cursor, from 0
	Text     string // of Version, such as "tmux 3.5a"
	Dark     bool   // of Background
	Flags    int    // of Keyboard: the kitty flags that are set
}

// A Query is something that a terminal can be asked.
type Query int

const (
	Cursor     Query = iota + 1 // where the cursor is
	Version                     // name and version of the terminal (XTVERSION)
	Background                  // whether the background is dark
	Keyboard                    // which kitty keyboard flags are set
	Done                        // comes last: what was not answered before it will not be
)

func (Key) event()    {}
func (Paste) event()  {}
func (Focus) event()  {}
func (Resize) event() {}
func (Reply) event()  {}

// styles are the sequences that colour text: a copy of a terminal's output can have them.
var styles = lazy.Regexp("\x1b\\[[0-?]*[ -/]*[@-~]")

// Clean returns text as it can be edited and shown: valid UTF-8, lines ended by "\n",
// without control characters but tabs and newlines, and without characters that are
// hidden and have no use in plain text (see [visible.Useless]).
func Clean(text string) string {
	if isClean(text) {
		return text
	}
	text = styles().ReplaceAllString(text, "")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	return strings.Map(func(r rune) rune {
		if unsafe(r) {
			return -1
		}
		return r // of an invalid byte, U+FFFD
	}, text)
}

func isClean(text string) bool {
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		if unsafe(r) || r == utf8.RuneError && n == 1 {
			return false
		}
		i += n
	}
	return true
}

func unsafe(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x80:
		return r < ' ' || r == 0x7f
	}
	return visible.Useless(r)
}
