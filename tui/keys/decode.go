package keys

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// How long the rest of a sequence is awaited. A terminal writes a sequence at once, and
// the kernel and ssh pass it on at once, so what follows an ESC is usually there with
// it. It is not on a serial line, and rarely over ssh.
const (
	escapeWait   = time.Millisecond       // after an ESC alone, which may be the Esc key
	slowWait     = 25 * time.Millisecond  // after an ESC alone on a slow line, and after ESC and one of altOrSequence
	sequenceWait = 250 * time.Millisecond // after bytes that no key sends
)

// altOrSequence are the characters that, after an ESC, are a key with alt or begin a
// sequence.
const altOrSequence = "[O]P_^X"

// maxSequence is how many bytes of a sequence that has no end are kept.
const maxSequence = 64 << 10

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// A decoder turns bytes into events. It has no clock: the time is passed in.
//
// An ESC with nothing after it is the Esc key or the beginning of a sequence. It is the
// beginning if the terminal has said that it sends Esc as a sequence (the kitty
// protocol). Else it is the Esc key after escapeWait. If the rest of a sequence comes
// after all, within slowWait of the ESC, the line is slow: the rest is not taken for
// text, and from then on slowWait is waited for. A patient decoder waits for sequenceWait,
// but only for what begins a key's sequence: another byte after the usual wait was typed.
type decoder struct {
	kitty   bool // the terminal sends Esc as a sequence
	slow    bool // sequences arrive in pieces
	patient bool // an Esc too many does harm
	cursor  int  // cursor positions that were asked for

	decode  uv.EventDecoder
	buf     []byte // the beginning of a sequence, or of the end of a paste
	last    time.Time
	paste   *paste
	escaped bool // the last event is an Esc key, for want of more bytes
	escSent bool // the ESC that buf begins with was such an Esc key
}

type paste struct {
	text    []byte
	dropped int
}

func (p *paste) add(b []byte) {
	n := min(len(b), MaxPaste-len(p.text))
	p.text = append(p.text, b[:n]...)
	p.dropped += len(b) - n
}

// feed returns the events of bytes that have arrived. It does not keep b.
func (d *decoder) feed(b []byte, now time.Time) []Event {
	if len(b) == 0 {
		return nil
	}
	pause := now.Sub(d.last)
	var events []Event
	switch {
	case d.paste != nil && pause >= sequenceWait && interrupts(b): // its end was lost
		d.paste.add(d.buf)
		d.buf = nil
		events = d.endPaste(events)
	case d.escaped && pause <= slowWait && (b[0] == '[' || b[0] == 'O'):
		d.buf, d.escSent = []byte{ansi.ESC}, true
	case d.patient && !d.kitty && loneEscape(d.buf) && pause > d.escape() && b[0] != '[' && b[0] != 'O':
		events = d.expire()
	}
	d.escaped, d.last = false, now
	d.buf = append(d.buf, b...)
	for len(d.buf) > 0 {
		if d.paste != nil {
			i := bytes.Index(d.buf, []byte(pasteEnd))
			if i < 0 {
				keep := partial(d.buf, pasteEnd)
				d.paste.add(d.buf[:len(d.buf)-keep])
				d.buf = append([]byte(nil), d.buf[len(d.buf)-keep:]...)
				return events
			}
			d.paste.add(d.buf[:i])
			d.buf = d.buf[i+len(pasteEnd):]
			events = d.endPaste(events)
			continue
		}
		n := unit(d.buf)
		if n == 0 {
			break
		}
		if d.escSent {
			d.escSent, d.slow = false, true
		}
		if string(d.buf[:n]) == pasteStart {
			d.paste = &paste{}
		} else {
			events = d.events(events, d.buf[:n])
		}
		d.buf = d.buf[n:]
	}
	if len(d.buf) > maxSequence {
		d.buf = append(d.buf[:2:2], d.buf[len(d.buf)-1]) // goes on, without what it says
	}
	d.buf = append([]byte(nil), d.buf...)
	return events
}

// markTogether marks the keys among events that have arrived in one piece, if there are several.
func markTogether(events []Event) []Event {
	count := 0
	for _, e := range events {
		if _, ok := e.(Key); ok {
			count++
		}
	}
	for i, e := range events {
		if k, ok := e.(Key); ok && count > 1 {
			k.Together = true
			events[i] = k
		}
	}
	return events
}

// interrupts reports whether a person who waits for a paste to end has typed b: Ctrl-C or
// Esc, alone.
func interrupts(b []byte) bool {
	switch string(b) {
	case "\x03", "\x1b[99;5u", "\x1b", "\x1b[27u":
		return true
	}
	return false
}

// partial returns how many bytes at the end of b are the beginning of mark.
func partial(b []byte, mark string) int {
	for n := min(len(b), len(mark)-1); n > 0; n-- {
		if string(b[len(b)-n:]) == mark[:n] {
			return n
		}
	}
	return 0
}

func (d *decoder) endPaste(events []Event) []Event {
	p := Paste{Text: Clean(string(d.paste.text)), Dropped: d.paste.dropped}
	d.paste = nil
	return append(events, p)
}

// deadline returns when expire must be called, if nothing arrives until then.
func (d *decoder) deadline() (at time.Time, ok bool) {
	if len(d.buf) == 0 || d.paste != nil {
		return time.Time{}, false
	}
	return d.last.Add(d.wait()), true
}

func (d *decoder) wait() time.Duration {
	switch {
	case loneEscape(d.buf) && (d.kitty || d.patient), altKey(d.buf) && d.patient:
		return sequenceWait
	case loneEscape(d.buf):
		return d.escape()
	case altKey(d.buf), shifted(d.buf):
		return slowWait
	}
	return sequenceWait
}

// escape is how long after an ESC alone what comes belongs to it.
func (d *decoder) escape() time.Duration {
	if d.slow {
		return slowWait
	}
	return escapeWait
}

func loneEscape(b []byte) bool { return string(b) == "\x1b" || string(b) == "\x1b\x1b" }

func altKey(b []byte) bool {
	return len(b) == 2 && b[0] == ansi.ESC && strings.IndexByte(altOrSequence, b[1]) >= 0
}

// expire returns the events of bytes after which nothing arrived until the deadline.
func (d *decoder) expire() []Event {
	var events []Event
	switch b := d.buf; {
	case loneEscape(b):
		for range b {
			events = append(events, Key{Name: "esc"})
		}
		d.escaped = true
	case d.escSent && len(b) == 2:
		events = d.events(nil, b[1:]) // Esc was typed, and then this
	case altKey(b), shifted(b):
		events = d.events(nil, b)
	case len(b) > 0 && b[0] >= utf8.RuneSelf:
		events = append(events, Key{Name: "\ufffd", Text: "\ufffd"})
	}
	d.buf, d.escSent = nil, false
	return events
}

// unit returns how many bytes the first key or sequence of b has; 0 if it is not complete.
// A sequence that was broken off ends where it was.
func unit(b []byte) int {
	if b[0] != ansi.ESC {
		return char(b)
	}
	if len(b) == 1 {
		return 0
	}
	switch b[1] {
	case '[':
		return controlSequence(b)
	case 'O':
		i := 2
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		switch {
		case i == len(b):
			return 0
		case b[i] > ' ' && b[i] < ansi.DEL:
			return i + 1
		}
		return i
	case ']', 'P', '_', '^', 'X':
		for i := 2; i < len(b); i++ {
			switch b[i] {
			case ansi.BEL:
				if b[1] == ']' {
					return i + 1
				}
			case ansi.CAN, ansi.SUB:
				return i + 1
			case ansi.ESC:
				switch {
				case i+1 == len(b):
					return 0
				case b[i+1] == '\\':
					return i + 2
				}
				return i
			}
		}
		return 0
	case ansi.ESC:
		switch {
		case len(b) == 2:
			return 0
		case b[2] != '[' && b[2] != 'O':
			return 1
		}
	}
	n := unit(b[1:]) // with alt
	if n == 0 {
		return 0
	}
	return n + 1
}

// char returns how many bytes the first character of b has, 0 if it is not complete.
func char(b []byte) int {
	if !utf8.FullRune(b) {
		return 0
	}
	_, n := utf8.DecodeRune(b)
	return n
}

// controlSequence is unit for a b that begins with ESC [.
func controlSequence(b []byte) int {
	const longest = 256 // no terminal sends such
	switch {
	case len(b) == 2:
		return 0
	case b[2] == '[': // F1 to F5 of the Linux console: ESC [ [ A
		return whole(b, 4)
	case b[2] == 'M': // the mouse, with three bytes of any value; it was not asked for
		return whole(b, 6)
	}
	i, end := 2, min(len(b), longest)
	for i < end && b[i] >= '0' && b[i] <= '?' {
		i++
	}
	for i < end && b[i] >= ' ' && b[i] <= '/' {
		i++
	}
	switch {
	case i == longest:
		return i
	case i == end:
		return 0
	case b[i] >= '@' && b[i] <= '~':
		return i + 1
	}
	return i // broken off; ESC [ alone is alt+[
}

// shifted reports whether b is a key with shift as rxvt sends it, without an end:
// ESC [ 5 $ is shift+pgup.
func shifted(b []byte) bool {
	return len(b) > 3 && b[0] == ansi.ESC && b[1] == '[' && b[len(b)-1] == '$' && strings.Trim(string(b[2:len(b)-1]), "0123456789") == ""
}

func whole(b []byte, n int) int {
	if len(b) < n {
		return 0
	}
	return n
}

// events appends the events of one unit.
func (d *decoder) events(events []Event, b []byte) []Event {
	if len(b) > 2 && b[0] == ansi.ESC && b[1] == '[' {
		switch last := b[len(b)-1]; {
		case b[2] == '[':
			if last < 'A' || last > 'E' {
				return events
			}
			b = []byte{ansi.ESC, 'O', 'P' + last - 'A'}
			if last == 'E' {
				b = []byte("\x1b[15~")
			}
		case b[2] == 'M':
			return events
		}
	}
	d.kitty = d.kitty || string(b) == "\x1b[27u"
	_, event := d.decode.Decode(bytes.Clone(b))
	several, ok := event.(uv.MultiEvent)
	if !ok {
		several = uv.MultiEvent{event}
	}
	for _, e := range several {
		if k, ok := e.(uv.KeyPressEvent); ok {
			k.ShiftedCode, k.BaseCode = alternates(b)
			e = k
		}
		if e := d.event(e, len(several) > 1); e != nil {
			events = append(events, e)
		}
	}
	return events
}

// event translates an event; nil if it is of no interest. It is ambiguous if a cursor
// position on the first row and f3 with a modifier are sent alike: it is what was asked for.
func (d *decoder) event(e uv.Event, ambiguous bool) Event {
	switch e := e.(type) {
	case uv.KeyPressEvent:
		if ambiguous && d.cursor > 0 {
			return nil
		}
		return key(uv.Key(e))
	case uv.UnknownEvent:
		if len(e) > 0 && e[0] >= utf8.RuneSelf {
			return Key{Name: "\ufffd", Text: "\ufffd"}
		}
	case uv.FocusEvent:
		return Focus{In: true}
	case uv.BlurEvent:
		return Focus{}
	case uv.CursorPositionEvent:
		if d.cursor == 0 {
			return nil
		}
		d.cursor--
		return Reply{Kind: Cursor, Row: max(e.Y, 0), Col: max(e.X, 0)}
	case uv.TerminalVersionEvent:
		return Reply{Kind: Version, Text: strings.ReplaceAll(Clean(e.Name), "\n", " ")}
	case uv.BackgroundColorEvent:
		if e.Color == nil {
			return nil
		}
		return Reply{Kind: Background, Dark: e.IsDark()}
	case uv.KeyboardEnhancementsEvent:
		d.kitty = e.Flags > 0 && e.Flags&1 != 0
		return Reply{Kind: Keyboard, Flags: max(e.Flags, 0)}
	case uv.PrimaryDeviceAttributesEvent:
		return Reply{Kind: Done}
	}
	return nil
}

// alternates returns what a key of the kitty protocol (ESC [ key:shifted:base ; … u) types
// with shift, and which key of an American keyboard it is; 0 if that is not said. The
// decoder mixes them up.
func alternates(b []byte) (shifted, base rune) {
	if len(b) < 3 || b[0] != ansi.ESC || b[1] != '[' || b[len(b)-1] != 'u' {
		return 0, 0
	}
	first, _, _ := strings.Cut(string(b[2:len(b)-1]), ";")
	codes := append(strings.Split(first, ":"), "", "")
	for i, r := range []*rune{&shifted, &base} {
		if n, err := strconv.Atoi(codes[i+1]); err == nil && n > ' ' && n <= unicode.MaxRune && unicode.IsPrint(rune(n)) {
			*r = rune(n)
		}
	}
	return shifted, base
}

func key(k uv.Key) Event {
	if k.Code < utf8.RuneSelf || unicode.Is(unicode.Latin, k.Code) || k.Code > unicode.MaxRune {
		k.BaseCode = 0 // where the key is does not matter if it is on the keyboard: Dvorak
	}
	switch shift := k.Mod&uv.ModShift != 0 && k.Text == ""; {
	case shift && k.ShiftedCode != 0 && !unicode.IsLetter(k.ShiftedCode) && k.BaseCode == 0:
		k.Code, k.Mod = k.ShiftedCode, k.Mod&^uv.ModShift // ctrl+_ and not ctrl+shift+-
	case shift && k.Code <= unicode.MaxRune:
		k.Code = unicode.ToLower(k.Code)
	}
	if k.Mod&uv.ModMeta != 0 { // in sequences that are not of the kitty protocol's form, this bit is its super
		k.Mod = k.Mod&^uv.ModMeta | uv.ModSuper
	}
	control := func(r rune) bool { return unsafe(r) || r == '\n' || r == '\t' }
	text := strings.Map(func(r rune) rune {
		if control(r) {
			return -1
		}
		return r
	}, k.Text)
	name := text
	switch {
	case text == " ":
		name = "space"
	case text == "":
		name = k.Keystroke()
	}
	if name == "" || strings.ContainsFunc(name, control) {
		return nil
	}
	return Key{Name: name, Text: text}
}
