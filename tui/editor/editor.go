// Package editor is the input of the terminal agent: a text of several lines with a
// cursor, edited by keys as readline and the text fields of macOS do it, with undo, a kill
// ring, history, search in it, and completion. It is a value: it reads no terminal, file
// or clock, and what it shows is lines of text. Whoever draws them adds style, a prompt
// and a frame.
//
// Long pastes and images are units: a label such as "[Pasted text #1, 120 lines]" that the
// cursor steps over, that is deleted as a whole, and that [Editor.Text] expands.
//
//	enter                       send; after a backslash, a new line
//	shift+enter alt+enter       new line; also ctrl+j
//	left right ctrl+b ctrl+f    one character; with alt or ctrl, one word; also alt+b alt+f
//	up down ctrl+p ctrl+n       one row, then through the history
//	home end ctrl+a ctrl+e      to the start and end of the line; with ctrl, of the text
//	backspace delete            one character; with alt or ctrl, one word; also alt+d, ctrl+h
//	ctrl+d                      one character to the right; ignored in an empty text
//	ctrl+w ctrl+u ctrl+k        to the blank before the word, to the start, to the end of the line
//	ctrl+y alt+y                insert what was deleted last by words or lines; what was before
//	ctrl+_                      undo; also ctrl+/ and super+z
//	ctrl+r                      search the history
package editor

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/tui/keys"
)

// An Action is what a key led to.
type Action int

const (
	Ignored Action = iota // the key means nothing to the editor, and nothing has changed
	Handled               // text, cursor or mode may have changed
	Submit                // the person wants to send the text; it is still there, see [Editor.Take]
)

// An Editor is a text that is being edited. The zero value is empty and has no history.
// It is not safe for concurrent use.
type Editor struct {
	History *History // may be nil

	// ASCII says that the labels of units are all that View adds to the text: no
	// character beyond ASCII marks what was cut.
	ASCII bool

	buffer
	undo    []snapshot
	kills   []string // newest last
	last    edit     // what the key before did
	yank    int      // where the text begins that ctrl+y has inserted
	kill    int      // which of kills that is
	goal    int      // column that up and down keep to, plus 1; 0 if none
	recall  recall
	search  *search
	width   int // of the last View
	layout  layout
	top     int // first row of the last View
	visible int // rows of the last View
}

// An edit is a kind of change. Changes of one kind in a row are undone together, and
// deletions into the kill ring are put together.
type edit int

const (
	moved edit = iota
	typed
	erased
	killedBack
	killedForward
	yanked
	replaced
)

type snapshot struct {
	text string
	at   int
}

// maxUndo bounds how many changes can be undone, and maxUndoBytes how large their texts
// are together.
const (
	maxUndo      = 200
	maxUndoBytes = 16 << 20
	maxKills     = 8
)

// Key does what a key means.
func (e *Editor) Key(k keys.Key) Action {
	if e.search != nil {
		if action, done := e.searchKey(k); done {
			return action
		}
	}
	before := e.last
	e.last = moved
	if k.Name != "up" && k.Name != "down" && k.Name != "ctrl+p" && k.Name != "ctrl+n" {
		e.goal = 0
	}
	switch k.Name {
	case "enter":
		if head := e.text[:e.at]; !strings.HasSuffix(head, `\`) || strings.HasSuffix(head, `\\`) {
			return Submit
		}
		e.save(replaced, before)
		e.replace(e.at-1, e.at, "\n")
	case "shift+enter", "alt+enter", "ctrl+enter", "ctrl+j", "ctrl+alt+j":
		e.save(replaced, before)
		e.replace(e.at, e.at, "\n")

	case "left", "ctrl+b":
		e.at = prevCluster(e.text, e.at)
	case "right", "ctrl+f":
		e.at = nextCluster(e.text, e.at)
	case "ctrl+left", "alt+left", "alt+b":
		e.at = e.wordStart(e.at)
	case "ctrl+right", "alt+right", "alt+f":
		e.at = e.wordEnd(e.at)
	case "home", "ctrl+a", "super+left":
		e.at = e.lineStart()
	case "end", "ctrl+e", "super+right":
		e.at = e.lineEnd()
	case "ctrl+home", "super+up", "alt+<", "alt+shift+,":
		e.at = 0
	case "ctrl+end", "super+down", "alt+>", "alt+shift+.":
		e.at = len(e.text)
	case "up", "ctrl+p":
		return e.vertical(-1)
	case "down", "ctrl+n":
		return e.vertical(1)

	case "backspace", "shift+backspace", "ctrl+h":
		e.erase(prevCluster(e.text, e.at), e.at, before)
	case "delete", "shift+delete":
		e.erase(e.at, nextCluster(e.text, e.at), before)
	case "ctrl+d":
		if e.text == "" {
			return Ignored
		}
		e.erase(e.at, nextCluster(e.text, e.at), before)
	case "alt+backspace", "ctrl+backspace", "ctrl+alt+h":
		e.cut(e.wordStart(e.at), e.at, killedBack, before)
	case "alt+d", "alt+delete", "ctrl+delete":
		e.cut(e.at, e.wordEnd(e.at), killedForward, before)
	case "ctrl+w":
		e.cut(e.blankBefore(), e.at, killedBack, before)
	case "ctrl+u", "super+backspace":
		from := e.lineStart()
		if from == e.at && from > 0 {
			from-- // the end of the line before
		}
		e.cut(from, e.at, killedBack, before)
	case "ctrl+k", "super+delete":
		to := e.lineEnd()
		if to == e.at && to < len(e.text) {
			to++
		}
		e.cut(e.at, to, killedForward, before)
	case "ctrl+y":
		if len(e.kills) > 0 {
			e.save(yanked, before)
			e.yank, e.kill = e.at, len(e.kills)-1
			e.replace(e.at, e.at, e.kills[e.kill])
		}
	case "alt+y":
		if before != yanked {
			return Ignored
		}
		e.last = yanked
		e.kill = (e.kill + len(e.kills) - 1) % len(e.kills)
		e.replace(e.yank, e.at, e.kills[e.kill])
	case "ctrl+_", "ctrl+shift+_", "ctrl+shift+-", "ctrl+/", "super+z":
		e.undoLast()
	case "ctrl+r":
		if e.History == nil {
			return Ignored
		}
		e.search = &search{before: e.Draft(), beforeAt: e.at}
		e.find(len(e.History.entries))
	default:
		if k.Text == "" {
			e.last = before
			return Ignored
		}
		e.insert(k.Text, before)
	}
	return Handled
}

// Insert inserts text at the cursor, as if it had been typed.
func (e *Editor) Insert(text string) {
	if e.search != nil {
		e.acceptSearch()
	}
	e.insert(text, e.last)
}

// A paste that has more lines or characters than these becomes a unit.
const (
	longLines = 5
	longChars = 1000
)

// Paste inserts pasted text: as a unit if it is long.
func (e *Editor) Paste(text string) {
	text = plain(text)
	if e.search != nil {
		e.extendSearch(text)
		return
	}
	if lines := strings.Count(text, "\n") + 1; lines > longLines || utf8.RuneCountInString(text) > longChars {
		if r, ok := e.add(newPaste(text, e.number(false))); ok {
			text = string(r)
		}
	}
	e.save(replaced, moved)
	e.replace(e.at, e.at, text)
}

// InsertImage inserts an image as a unit. What the payload is is the caller's business;
// see [Draft.Images].
func (e *Editor) InsertImage(payload any) {
	if e.search != nil {
		e.acceptSearch()
	}
	r, ok := e.add(newImage(payload, e.number(true)))
	if !ok {
		return // unreachable unless the text has thousands of units
	}
	e.save(replaced, moved)
	e.replace(e.at, e.at, string(r))
}

// Text returns the text with pastes expanded, and images as their labels.
func (e *Editor) Text() string { return e.Draft().Text() }

// Draft returns what the editor has, with its units.
func (e *Editor) Draft() Draft { return e.draft(e.text) }

// Empty reports whether there is no text.
func (e *Editor) Empty() bool { return e.text == "" }

// SetText replaces the text, and puts the cursor at its end. It can be undone. Where the text has the labels of
// images, these stand.
func (e *Editor) SetText(text string, images ...Image) {
	e.SetDraft(Draft{})
	e.write(text, images)
}

// Append puts a text on a line of its own below what there is, as SetText does, and the cursor at its end.
func (e *Editor) Append(text string, images ...Image) {
	if e.search != nil {
		e.acceptSearch()
	}
	e.save(replaced, moved)
	if e.text != "" {
		e.text += "\n"
	}
	e.write(text, images)
}

// write puts text at the end, with the images that it has labels of, and the cursor behind it.
func (e *Editor) write(text string, images []Image) {
	for text = plain(text); ; {
		first, at := -1, len(text)
		for n, i := range images {
			if found := strings.Index(text, i.Label); found >= 0 && found < at {
				first, at = n, found
			}
		}
		e.text += text[:at]
		e.at = len(e.text)
		if first < 0 {
			return
		}
		if r, ok := e.add(newImage(images[first].Payload, e.number(true))); ok {
			e.text += string(r)
		}
		text, images = text[at+len(images[first].Label):], slices.Delete(slices.Clone(images), first, first+1)
	}
}

// SetDraft is SetText with units.
func (e *Editor) SetDraft(d Draft) {
	e.search, e.recall, e.goal = nil, recall{}, 0
	e.save(replaced, moved)
	e.put(d)
}

// maxUnits is how many units are kept that may not be used any more. Those of entries of
// the history that are looked at are among them.
const maxUnits = 1000

// put replaces the text, and puts the cursor at its end.
func (e *Editor) put(d Draft) {
	if len(e.units) > maxUnits {
		used := slices.Clone(e.kills)
		for _, s := range e.undo {
			used = append(used, s.text)
		}
		e.prune(used)
	}
	e.text = e.adopt(d)
	e.at = len(e.text)
}

// Take returns what the editor has, adds it to the history, and empties the editor. The
// kill ring stays.
func (e *Editor) Take() (Draft, error) {
	d := e.Draft()
	var err error
	if e.History != nil && strings.TrimSpace(d.text) != "" {
		err = e.History.Add(d)
	}
	e.Clear()
	return d, err
}

// Clear empties the editor; nothing of it can be undone. The kill ring stays.
func (e *Editor) Clear() {
	e.text, e.at, e.undo, e.search, e.recall, e.goal, e.last = "", 0, nil, nil, recall{}, 0, moved
	e.prune(e.kills)
}

// A Word is what is being completed: the text from Start to the cursor. End is where
// the word ends, after the cursor.
type Word struct {
	Text       string
	Start, End int // in bytes of the editor's text
}

// Word returns the word at the cursor if it can be completed: one that begins with @, or
// with / at the start of the text. In quotes (@"…) it can have blanks.
func (e *Editor) Word() (w Word, ok bool) {
	if e.search != nil {
		return Word{}, false
	}
	start, end := e.blankBeforeWord(), e.at
	for end < len(e.text) && !e.breaksWord(end) {
		end = nextCluster(e.text, end)
	}
	line := e.text[e.lineStart():e.at]
	if i := strings.LastIndex(line, `@"`); i >= 0 && !strings.Contains(line[i+2:], `"`) && !strings.ContainsFunc(line[i:], isUnit) && startsWord(line, i) {
		start = e.lineStart() + i
		if rest := e.text[e.at:e.lineEnd()]; strings.Contains(rest, `"`) {
			end = e.at + strings.IndexByte(rest, '"') + 1
		}
	} else if word := e.text[start:e.at]; !strings.HasPrefix(word, "/") || start > 0 {
		i := strings.IndexByte(word, '@')
		if i < 0 || !startsWord(word, i) {
			return Word{}, false
		}
		start += i
	}
	return Word{Text: e.text[start:e.at], Start: start, End: end}, true
}

// startsWord reports whether a mark at i of text is not inside a word, as in an address.
func startsWord(text string, i int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:i])
	return i == 0 || !wordRune(r) && r != '/' && r != '.'
}

// Complete replaces a word that [Editor.Word] has returned, and puts the cursor after it.
func (e *Editor) Complete(w Word, text string) {
	if w.Start < 0 || w.End > len(e.text) || w.Start > w.End || !strings.HasPrefix(e.text[w.Start:w.End], w.Text) {
		return // the text has changed
	}
	e.save(replaced, moved)
	e.replace(w.Start, w.End, plain(text))
}

// insert inserts text that was typed.
func (e *Editor) insert(text string, before edit) {
	text = plain(text)
	if text == "" {
		return
	}
	if strings.HasSuffix(e.text[:e.at], " ") && text != " " {
		before = moved // a word begins: it is undone on its own
	}
	e.save(typed, before)
	e.replace(e.at, e.at, text)
}

// erase deletes characters.
func (e *Editor) erase(from, to int, before edit) {
	if from == to {
		return
	}
	e.save(erased, before)
	e.replace(from, to, "")
}

// cut deletes text into the kill ring. What is cut at once after is put to it.
func (e *Editor) cut(from, to int, kind, before edit) {
	if from == to {
		e.last = before
		return
	}
	text := e.text[from:to]
	e.save(kind, moved)
	e.replace(from, to, "")
	switch n := len(e.kills) - 1; {
	case before != killedBack && before != killedForward:
		e.kills = append(e.kills, text)
		if len(e.kills) > maxKills {
			e.kills = slices.Delete(e.kills, 0, 1)
		}
	case kind == killedBack:
		e.kills[n] = text + e.kills[n]
	default:
		e.kills[n] += text
	}
}

// replace replaces part of the text, and puts the cursor after what is new.
func (e *Editor) replace(from, to int, text string) {
	e.text = e.text[:from] + text + e.text[to:]
	e.at = boundary(e.text, from+len(text))
}

// save makes the state before a change one to return to, unless the change goes on with
// the one before.
func (e *Editor) save(kind, before edit) {
	e.last = kind
	if kind == before && (kind == typed || kind == erased) && len(e.undo) > 0 {
		return
	}
	e.undo = append(e.undo, snapshot{e.text, e.at})
	size := 0
	for i := len(e.undo) - 1; i >= 0; i-- {
		if size += len(e.undo[i].text); size > maxUndoBytes || len(e.undo)-i > maxUndo {
			e.undo = slices.Delete(e.undo, 0, i+1)
			break
		}
	}
}

func (e *Editor) undoLast() {
	if n := len(e.undo) - 1; n >= 0 {
		e.text, e.at = e.undo[n].text, e.undo[n].at
		e.undo = e.undo[:n]
	}
}

// lineStart returns where the cursor's line begins; lineEnd, where it ends.
func (e *Editor) lineStart() int { return strings.LastIndexByte(e.text[:e.at], '\n') + 1 }

func (e *Editor) lineEnd() int {
	if i := strings.IndexByte(e.text[e.at:], '\n'); i >= 0 {
		return e.at + i
	}
	return len(e.text)
}

func wordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// wordStart returns where the word at or before i begins. A unit is a word.
func (e *Editor) wordStart(i int) int {
	for i > 0 {
		j := prevCluster(e.text, i)
		r, _ := utf8.DecodeRuneInString(e.text[j:])
		i = j
		if isUnit(r) {
			return i
		}
		if wordRune(r) {
			break
		}
	}
	for i > 0 {
		j := prevCluster(e.text, i)
		if r, _ := utf8.DecodeRuneInString(e.text[j:]); !wordRune(r) {
			break
		}
		i = j
	}
	return i
}

// wordEnd returns where the word at or after i ends.
func (e *Editor) wordEnd(i int) int {
	for i < len(e.text) {
		r, _ := utf8.DecodeRuneInString(e.text[i:])
		if isUnit(r) {
			return nextCluster(e.text, i)
		}
		if wordRune(r) {
			break
		}
		i = nextCluster(e.text, i)
	}
	for i < len(e.text) {
		if r, _ := utf8.DecodeRuneInString(e.text[i:]); !wordRune(r) {
			break
		}
		i = nextCluster(e.text, i)
	}
	return i
}

// breaksWord reports whether the character at i is a blank or a unit.
func (e *Editor) breaksWord(i int) bool {
	r, _ := utf8.DecodeRuneInString(e.text[i:])
	return unicode.IsSpace(r) || isUnit(r)
}

// blankBeforeWord returns where the text without blanks begins that the cursor is in or
// after.
func (e *Editor) blankBeforeWord() int {
	i := e.at
	for i > 0 && !e.breaksWord(prevCluster(e.text, i)) {
		i = prevCluster(e.text, i)
	}
	return i
}

// blankBefore returns where ctrl+w deletes from: the blank before the word before the
// cursor. A unit is a word.
func (e *Editor) blankBefore() int {
	i := e.at
	for i > 0 {
		j := prevCluster(e.text, i)
		r, _ := utf8.DecodeRuneInString(e.text[j:])
		if isUnit(r) {
			return j
		}
		if !unicode.IsSpace(r) {
			break
		}
		i = j
	}
	for i > 0 && !e.breaksWord(prevCluster(e.text, i)) {
		i = prevCluster(e.text, i)
	}
	return i
}

// vertical moves the cursor by a row, or through the history if there is no such row.
func (e *Editor) vertical(by int) Action {
	rows := e.rows(e.viewWidth())
	row, col := e.position(rows)
	if e.goal > 0 {
		col = e.goal - 1
	}
	if row+by >= 0 && row+by < len(rows) {
		e.goal = col + 1
		e.at = e.offset(rows[row+by], col, row+by+1 < len(rows) && rows[row+by].soft)
		return Handled
	}
	e.goal = 0
	return e.browse(by)
}

// viewWidth returns how wide the editor is shown.
func (e *Editor) viewWidth() int {
	if e.width == 0 {
		return 80
	}
	return e.width
}
