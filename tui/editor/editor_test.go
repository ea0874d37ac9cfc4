package editor

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pawl/tui/keys"
)

// press types into an editor: words in angle brackets are keys, the rest is text.
func press(e *Editor, typed string) Action {
	action := Ignored
	for typed != "" {
		if name, rest, ok := strings.Cut(typed[1:], ">"); ok && typed[0] == '<' {
			action = e.Key(keys.Key{Name: name})
			typed = rest
			continue
		}
		n := nextCluster(typed, 0)
		name := typed[:n]
		if name == " " {
			name = "space"
		}
		action = e.Key(keys.Key{Name: name, Text: typed[:n]})
		typed = typed[n:]
	}
	return action
}

// show returns the text with units as labels, and the cursor as |.
func show(e *Editor) string {
	return e.draft(e.text[:e.at]).Label() + "|" + e.draft(e.text[e.at:]).Label()
}

func TestKeysEditText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typed, want string }{
		{"abc", "abc|"}, {"a b", "a b|"},
		{"abc<left><left>X", "aX|bc"}, {"abc<ctrl+b><ctrl+b><ctrl+f>X", "abX|c"}, {"abc<left><left><left><left>X", "X|abc"}, {"abc<right>X", "abcX|"},
		// Lines.
		{"a<shift+enter>b", "a\nb|"}, {"a<alt+enter>b", "a\nb|"}, {"a<ctrl+j>b", "a\nb|"}, {`a\<enter>b`, "a\nb|"}, {`a\b<left><enter>`, "a\n|b"},
		{"one<ctrl+j>two<home>X", "one\nX|two"}, {"one<ctrl+j>two<up><end>X", "oneX|\ntwo"}, {"one<ctrl+j>two<ctrl+a>X", "one\nX|two"},
		{"one<ctrl+j>two<ctrl+home>X", "X|one\ntwo"}, {"one<ctrl+j>two<ctrl+home><ctrl+end>X", "one\ntwoX|"}, {"one<ctrl+j>two<alt+<>X", "X|one\ntwo"},
		{"one<ctrl+j>two<super+left>X<super+right>Y", "one\nXtwoY|"}, {"one<ctrl+j>two<home><left>X", "oneX|\ntwo"},
		// Words.
		{"one two_2 três<alt+b>X", "one two_2 X|três"}, {"one two<ctrl+left><ctrl+left>X", "X|one two"}, {"one.two<alt+left>X", "one.X|two"},
		{"one two<home><alt+f>X", "oneX| two"}, {"one, two<home><ctrl+right><ctrl+right>X", "one, twoX|"},
		// Deleting.
		{"abc<backspace>", "ab|"}, {"abc<left><delete>", "ab|"}, {"abc<ctrl+h><ctrl+h>", "a|"}, {"abc<home><ctrl+d>", "|bc"}, {"<backspace>", "|"},
		{"a<ctrl+j>b<left><backspace>", "a|b"}, {"one two-three<alt+backspace>", "one two-|"}, {"one two-three<ctrl+w>", "one |"}, {"one two  <ctrl+w>", "one |"},
		{"one two<home><alt+d>", "| two"}, {"one two<home><ctrl+delete>", "| two"}, {"one two<ctrl+backspace>", "one |"},
		{"one two<left><ctrl+u>", "|o"}, {"one two<left><ctrl+k>", "one tw|"}, {"one<ctrl+j>two<home><ctrl+u>", "one|two"}, {"one<ctrl+j>two<up><end><ctrl+k>", "one|two"},
		// The kill ring.
		{"one two<ctrl+w><home><ctrl+y> ", "two |one "}, {"one two<ctrl+w><ctrl+w><ctrl+y>", "one two|"}, {"a b<ctrl+w><ctrl+a><ctrl+k><ctrl+y>", "a |"},
		{"one two<ctrl+left><ctrl+u><ctrl+k><ctrl+y>", "one two|"}, {"one two<ctrl+left><ctrl+k><ctrl+u><ctrl+y>", "one two|"},
		{"x<ctrl+u>y<ctrl+u>z<ctrl+u><ctrl+y>", "z|"}, {"x<ctrl+u>y<ctrl+u>z<ctrl+u><ctrl+y><alt+y>", "y|"}, {"x<ctrl+u>y<ctrl+u>z<ctrl+u><ctrl+y><alt+y><alt+y><alt+y>", "z|"},
		{"x<ctrl+u>a<alt+y>", "a|"}, {"<ctrl+y>", "|"},
		// Undo: a word, a run of deletions, one movement of text at a time.
		{"one two<ctrl+_>", "one |"}, {"one two<ctrl+_><ctrl+_>", "|"}, {"one two<ctrl+_><ctrl+_><ctrl+_>", "|"}, {"abc<backspace><backspace><ctrl+_>", "abc|"},
		{"abc<left>X<ctrl+_>", "ab|c"}, {"abc<ctrl+u><ctrl+/>", "abc|"}, {"one two<ctrl+w><super+z>", "one two|"}, {"a<ctrl+j>b<ctrl+shift+_><ctrl+_>", "a|"},
		{"one<ctrl+w><ctrl+y><ctrl+_>", "|"},
		// What is several characters and one on the screen.
		{"e\u0301a<left><backspace>", "|a"}, {"👨‍👩‍👧x<left><left>y", "y|👨‍👩‍👧x"}, {"🇩🇪🇫🇷<backspace>", "🇩🇪|"}, {"漢字<left>x", "漢x|字"}, {"a👍🏽<backspace>", "a|"},
		{"שלום<left>x", "שלוx|ם"}, {"नमस्ते<backspace>", "नम|"},
		// What means nothing here.
		{"a<ctrl+c><tab><shift+tab><esc><f1><ctrl+z><ctrl+t><ctrl+o>", "a|"}, {"<alt+y><down><up><ctrl+r>", "|"},
	} {
		var e Editor
		press(&e, c.typed)
		if got := show(&e); got != c.want {
			t.Errorf("%s: %q, want %q", c.typed, got, c.want)
		}
	}
}

func TestWhatKeysLeadTo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typed string
		want  Action
	}{
		{"a", Handled}, {"a<enter>", Submit}, {"<enter>", Submit}, {`a\<enter>`, Handled}, {`a\\<enter>`, Submit}, {"a<shift+enter>", Handled},
		{"<esc>", Ignored}, {"<ctrl+c>", Ignored}, {"<ctrl+z>", Ignored}, {"<tab>", Ignored}, {"<up>", Ignored}, {"<down>", Ignored}, {"<ctrl+d>", Ignored}, {"a<ctrl+d>", Handled}, {"<ctrl+r>", Ignored},
	} {
		var e Editor
		if got := press(&e, c.typed); got != c.want {
			t.Errorf("%s: %d, want %d", c.typed, got, c.want)
		}
	}
}

func TestUpAndDownKeepTheColumn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typed, want string }{
		{"abcdef<ctrl+j>x<ctrl+j>abcdef<up>", "abcdef\nx|\nabcdef"},
		{"abcdef<ctrl+j>x<ctrl+j>abcdef<up><up>", "abcdef|\nx\nabcdef"},
		{"abcdef<ctrl+j>x<ctrl+j>abcdef<left><up><up>", "abcde|f\nx\nabcdef"},
		{"abcdef<ctrl+j>x<ctrl+j>abcdef<up><left><up>", "|abcdef\nx\nabcdef"},
		{"漢字漢<ctrl+j>abc<up>X", "漢X|字漢\nabc"}, // in the middle of a wide character: before it
		{"ab<ctrl+j>漢字<home><right><up>X", "abX|\n漢字"},
	} {
		var e Editor
		press(&e, c.typed)
		if got := show(&e); got != c.want {
			t.Errorf("%s: %q, want %q", c.typed, got, c.want)
		}
	}
}

// Rows that are one line of text are rows for the cursor too.
func TestUpAndDownGoByRows(t *testing.T) {
	t.Parallel()
	var e Editor
	e.SetText("one two three four five six")
	e.View(11, 9) // one two / three four / five six
	for _, want := range []string{"one two three fo|ur five six", "one two| three four five six"} {
		press(&e, "<up>")
		if got := show(&e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := press(&e, "<up>"); got != Ignored {
		t.Error("there is a row above the first")
	}
}

func TestLongPastesAreUnits(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("line\n", 10_000)
	long := strings.Repeat("x", 3200)
	var e Editor
	press(&e, "see ")
	e.Paste(lines)
	press(&e, " and ")
	e.Paste(long)
	e.Paste("\nshort\ntext\n")
	want := "see [Pasted text #1, 10,000 lines] and [Pasted text #2, 3,200 characters]\nshort\ntext\n|"
	if got := show(&e); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if e.Text() != "see "+lines+" and "+long+"\nshort\ntext\n" {
		t.Error("the text is not what was pasted")
	}
	press(&e, "<backspace><ctrl+w><backspace><ctrl+w><backspace><left>") // to before #2
	if got, want := show(&e), "see [Pasted text #1, 10,000 lines] and |[Pasted text #2, 3,200 characters]"; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	press(&e, "<delete><ctrl+w><alt+backspace><ctrl+_>")
	if got, want := show(&e), "see [Pasted text #1, 10,000 lines] |"; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	press(&e, "<alt+b>X<right>Y")
	if got, want := show(&e), "see X[Pasted text #1, 10,000 lines]Y| "; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	press(&e, "<left><ctrl+w><end><ctrl+y>")
	if e.Text() != "see Y X"+lines && e.Text() != "see XY "+lines {
		t.Errorf("after moving it the text is %.40q", e.Text())
	}
}

func TestImagesAreUnits(t *testing.T) {
	t.Parallel()
	var e Editor
	press(&e, "like ")
	e.InsertImage("first")
	press(&e, " not ")
	e.InsertImage("second")
	d := e.Draft()
	if got, want := d.Text(), "like [Image #1] not [Image #2]"; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
	if diff := cmp.Diff([]Image{{"[Image #1]", "first"}, {"[Image #2]", "second"}}, d.Images()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	press(&e, "<ctrl+a><alt+d><delete><delete>")
	if diff := cmp.Diff([]Image{{"[Image #2]", "second"}}, e.Draft().Images()); diff != "" {
		t.Errorf("after one was deleted (-want +got)\n%s", diff)
	}
}

// Text that comes back from where only labels can stand, as from an editor or a message that was not sent, has its
// images again: those whose label was kept.
func TestTextComesBackWithItsImages(t *testing.T) {
	t.Parallel()
	var e Editor
	e.InsertImage("mine")
	e.Append("first [Image #1] then [Image #2]", Image{"[Image #1]", "one"}, Image{"[Image #2]", "two"})
	if got, want := show(&e), "[Image #1]\nfirst [Image #2] then [Image #3]|"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if diff := cmp.Diff([]Image{{"[Image #1]", "mine"}, {"[Image #2]", "one"}, {"[Image #3]", "two"}}, e.Draft().Images()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	e.SetText("only [Image #3], and [Image #7]", e.Draft().Images()...)
	if diff := cmp.Diff([]Image{{"[Image #1]", "two"}}, e.Draft().Images()); diff != "" || e.Text() != "only [Image #1], and [Image #7]" {
		t.Errorf("the text is %q; images (-want +got)\n%s", e.Text(), diff)
	}
	press(&e, "<ctrl+_>")
	if got := len(e.Draft().Images()); got != 3 {
		t.Errorf("undone it has %d images, want 3", got)
	}
}

// A draft comes back as it was: what was queued can be taken back.
func TestADraftComesBack(t *testing.T) {
	t.Parallel()
	var e Editor
	e.Paste(strings.Repeat("a\n", 10))
	e.InsertImage(1)
	first, err := e.Take()
	if err != nil || !e.Empty() {
		t.Fatal("the editor is not empty")
	}
	e.Paste(strings.Repeat("b\n", 20))
	e.Insert(" x")
	second := e.Draft()
	e.SetDraft(first)
	e.InsertImage(2)
	if got, want := show(&e), "[Pasted text #1, 10 lines][Image #1][Image #2]|"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := e.Text(), strings.Repeat("a\n", 10)+"[Image #1][Image #2]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := second.Text(), strings.Repeat("b\n", 20)+" x"; got != want {
		t.Errorf("the other draft is %q, want %q", got, want)
	}
	press(&e, "<ctrl+_><ctrl+_>")
	if got, want := e.Text(), second.Text(); got != want {
		t.Errorf("undone: %q, want %q", got, want)
	}
}

func TestTextFromOutsideIsMadeSafe(t *testing.T) {
	t.Parallel()
	var e Editor
	e.Paste("a\x1b]0;x\x07\x1b[31mb\x00\xff\u202e\U0010f000\r\nc")
	e.Insert("\x1b[2J")
	e.Key(keys.Key{Name: "x", Text: "\x07y"})
	if got, want := e.Text(), "a]0;xb\ufffd\ufffd\ncy"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e.SetText("\x1b[31m\U0010f001")
	if got, want := e.Text(), "\ufffd"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWordsThatCanBeCompleted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typed, word, to, want string }{
		{"see @pa", "@pa", "@path/to.go ", "see @path/to.go |"},
		{"@", "@", "@a", "@a|"},
		{"(@pa", "@pa", "@path", "(@path|"},
		{"@path and<alt+b><left>", "@path", "@other", "@other| and"},
		{"@path<left><left>", "@pa", "@other", "@other|"},
		{`@"my fi`, `@"my fi`, `@"my file.txt" `, `@"my file.txt" |`},
		{`@"my file" an`, "", "", ""}, {`@"my file" x<alt+b><left><left><left><left>`, `@"my fi`, `@"other" `, `@"other" | x`},
		{"/co", "/co", "/continue ", "/continue |"}, {"/", "/", "/help", "/help|"},
		{"me@example", "", "", ""}, {"a /co", "", "", ""}, {"word", "", "", ""}, {"", "", "", ""}, {"@a ", "", "", ""}, {"x<ctrl+j>/co", "", "", ""},
		{"x<ctrl+j>@a", "@a", "@b", "x\n@b|"}, {"http://x/@a", "", "", ""},
	} {
		var e Editor
		press(&e, c.typed)
		w, ok := e.Word()
		if ok != (c.word != "") || w.Text != c.word {
			t.Errorf("%s: %q, want %q", c.typed, w.Text, c.word)
			continue
		}
		if !ok {
			continue
		}
		e.Complete(w, c.to)
		if got := show(&e); got != c.want {
			t.Errorf("%s: completed %q, want %q", c.typed, got, c.want)
		}
	}
	var e Editor
	press(&e, "see @pa")
	w, _ := e.Word()
	press(&e, "<ctrl+u>")
	e.Complete(w, "x")
	if !e.Empty() {
		t.Error("a word that is not there any more was completed")
	}
}

// names are all keys that the editor knows.
var names = []string{"enter", "shift+enter", "ctrl+j", "left", "right", "alt+b", "alt+f", "home", "end", "ctrl+home", "ctrl+end", "up", "down", "backspace", "delete", "ctrl+d",
	"alt+backspace", "alt+d", "ctrl+w", "ctrl+u", "ctrl+k", "ctrl+y", "alt+y", "ctrl+_", "ctrl+r", "ctrl+s", "ctrl+g", "esc", "tab", "f1"}

var texts = []string{"a", "B", " ", ".", "\\", "@", "/", "漢", "👍🏽", "👨‍👩‍👧", "e\u0301", "\u0301", "\u200d", "🇩", "ש", "نص", "नमस्ते", "\t", "\u00a0", "\u3000", "\u200e", "ｱ", "한", "x\ufe0f", "\U0010f000", "\u1100"}

// Whatever is typed: nothing panics, the view is within its bounds and safe, the cursor is
// in it and at the start of a grapheme cluster, and what was pasted is all there.
func TestRandomKeys(t *testing.T) {
	t.Parallel()
	seeds := 300
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		h, err := NewHistory(5, Storage{})
		if err != nil {
			t.Fatal(err)
		}
		e := Editor{History: h, ASCII: seed%3 == 0}
		var did []string
		for range 300 {
			switch n := r.IntN(100); {
			case n < 45:
				text := texts[r.IntN(len(texts))]
				did = append(did, fmt.Sprintf("%q", text))
				e.Key(keys.Key{Name: text, Text: text})
			case n < 90:
				name := names[r.IntN(len(names))]
				did = append(did, name)
				if e.Key(keys.Key{Name: name}) == Submit && r.IntN(2) == 0 {
					did = append(did, "take")
					want := e.Text()
					if d, err := e.Take(); err != nil || d.Text() != want {
						t.Fatalf("seed %d: taken %q, want %q", seed, d.Text(), want)
					}
				}
			case n < 95:
				text := strings.Repeat("line "+texts[r.IntN(len(texts))]+"\n", r.IntN(12))
				did = append(did, "paste")
				pastes(t, &e, text)
			case n < 97:
				did = append(did, "image")
				e.InsertImage(n)
			default:
				if w, ok := e.Word(); ok {
					did = append(did, "complete")
					e.Complete(w, w.Text+"é")
				}
			}
			width := []int{1, 2, 3, 7, 20, 40, 80}[r.IntN(7)]
			if problem := check(&e, width, 1+r.IntN(6)); problem != "" {
				t.Fatalf("seed %d, at %d columns: %s\nafter %s", seed, width, problem, strings.Join(did, " "))
			}
		}
	}
}

// pastes pastes text, and checks that it is all there.
func pastes(t *testing.T, e *Editor, text string) {
	t.Helper()
	if e.search != nil {
		e.Paste(text)
		return
	}
	before, after := e.draft(e.text[:e.at]).Text(), e.draft(e.text[e.at:]).Text()
	e.Paste(text)
	if got, want := e.Text(), before+plain(text)+after; got != want {
		t.Fatalf("%q was pasted into %q|%q: %q", text, before, after, got)
	}
}

// check returns what is wrong with an editor.
func check(e *Editor, width, maxRows int) string {
	lines, row, col := e.View(width, maxRows)
	width = max(width, 2)
	switch {
	case len(lines) == 0 || len(lines) > maxRows:
		return fmt.Sprintf("%d lines", len(lines))
	case row < 0 || row >= len(lines) || col < 0 || col >= width:
		return fmt.Sprintf("the cursor is at %d, %d of %q", row, col, lines)
	case !utf8.ValidString(e.text) || e.at < 0 || e.at > len(e.text) || boundary(e.text, e.at) != e.at:
		return fmt.Sprintf("the cursor is at %d of %q", e.at, e.text)
	case e.ASCII && strings.ContainsAny(strings.Join(lines, ""), "…◌"):
		return fmt.Sprintf("not ASCII: %q", lines)
	}
	for _, line := range lines {
		if columns(line) >= width {
			return fmt.Sprintf("%q takes %d columns", line, columns(line))
		}
		if keys.Clean(line) != line || strings.ContainsAny(line, "\n\t") || strings.ContainsFunc(line, isUnit) {
			return fmt.Sprintf("%q is not safe", line)
		}
	}
	if col > columns(lines[row]) {
		return fmt.Sprintf("the cursor is in column %d of %q", col, lines[row])
	}
	above, below := e.Hidden()
	if above+len(lines)+below != len(e.rows(width)) {
		return fmt.Sprintf("%d above, %d lines, %d below", above, len(lines), below)
	}
	if line, col := e.SearchView(width); cells(line) >= width || col >= width || col < 0 {
		return fmt.Sprintf("the search is %q with the cursor in %d", line, col)
	}
	return ""
}

// columns returns how many columns a line takes, as package internal/screen draws it: of
// each character what the larger of the two ways to count gives.
func columns(line string) int {
	n := 0
	for i := 0; i < len(line); {
		next := nextCluster(line, i)
		n += cells(line[i:next])
		i = next
	}
	return n
}
