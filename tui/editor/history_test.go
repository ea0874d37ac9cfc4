package editor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sent returns a history to which texts were sent, oldest first.
func sent(t *testing.T, texts ...string) *History {
	t.Helper()
	h, err := NewHistory(100, Storage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if err := h.Add(Draft{text: text}); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h *History) labels() []string {
	var all []string
	for _, d := range h.entries {
		all = append(all, d.Label())
	}
	return all
}

func TestUpAndDownGoThroughTheHistory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typed, want string }{
		{"<up>", "two\nlines|"},
		{"<up><up><up>", "one|"}, // the first up is a row
		{"<up><up><up><up><up>", "one|"},
		{"draft<up><down>", "draft|"},
		{"draft<up><up><up><down><down>", "draft|"},
		{"draft<ctrl+p><ctrl+n>", "draft|"},
		{"a<ctrl+j>b<up>", "a|\nb"},
		{"a<ctrl+j>b<up><up><down><down>", "a\nb|"}, // from the first row to the history; back at the end
		{"<up>!<up><up><down>", "two\nlines!|"},     // what was changed is there until something is sent
		{"draft<up><ctrl+_>", "draft|"},
		{"<down>", "|"},
	} {
		e := Editor{History: sent(t, "one", "two\nlines")}
		press(&e, c.typed)
		if got := show(&e); got != c.want {
			t.Errorf("%s: %q, want %q", c.typed, got, c.want)
		}
	}
}

func TestWhatIsSentIsInTheHistory(t *testing.T) {
	t.Parallel()
	e := Editor{History: sent(t)}
	long := strings.Repeat("line\n", 30)
	press(&e, "see ")
	e.Paste(long)
	e.InsertImage("picture")
	first, err := e.Take()
	if err != nil {
		t.Fatal(err)
	}
	press(&e, "other")
	e.Take()
	press(&e, "<up>changed")
	e.Take()
	press(&e, "  ")
	e.Take() // nothing to keep
	if diff := cmp.Diff([]string{"see [Pasted text #1, 30 lines][Image #1]", "other", "otherchanged"}, e.History.labels()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	press(&e, "<up><up><up>")
	if e.Text() != first.Text() || len(e.Draft().Images()) != 1 || e.Draft().Images()[0].Payload != "picture" {
		t.Errorf("it comes back as %q", e.Text())
	}
}

// However often one goes through it, every entry has its own units.
func TestAHistoryOfManyUnits(t *testing.T) {
	t.Parallel()
	h, err := NewHistory(10_000, Storage{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 { // each with the same characters for its units, as loaded entries have
		var b buffer
		one, _ := b.add(newPaste(fmt.Sprintf("%d\n", i)+strings.Repeat("a\n", 10), 1))
		two, _ := b.add(newPaste(fmt.Sprintf("%d\n", i)+strings.Repeat("b\n", 10), 2))
		h.entries = append(h.entries, b.draft(string(one)+string(two)))
	}
	e := Editor{History: h}
	e.Paste(strings.Repeat("draft\n", 10))
	for range 2 {
		for i := range h.entries {
			press(&e, "<up>")
			if got, want := e.Text(), h.entries[len(h.entries)-1-i].Text(); got != want {
				t.Fatalf("entry %d from the end is %q, want %q", i, got, want)
			}
		}
		for range h.entries {
			press(&e, "<down>")
		}
		if got, want := e.Text(), strings.Repeat("draft\n", 10); got != want {
			t.Fatalf("the draft is %q", got)
		}
	}
	for range maxUndo {
		press(&e, "<ctrl+_>")
		if e.Text() == "" {
			t.Fatal("what was undone is not there")
		}
	}
}

func TestAHistoryIsBoundedAndHasNothingTwice(t *testing.T) {
	t.Parallel()
	h, err := NewHistory(3, Storage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "b", "a", "c", "c", "d", "b"} {
		if err := h.Add(Draft{text: text}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"c", "d", "b"}, h.labels()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for i := range 5 {
		var b buffer
		r, _ := b.add(newPaste(strings.Repeat("x", maxHistoryBytes/2-100)+fmt.Sprint(i), 1))
		if err := h.Add(b.draft(string(r))); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.entries) != 2 {
		t.Errorf("%d large entries are kept", len(h.entries))
	}
}

func TestAHistoryIsSearched(t *testing.T) {
	t.Parallel()
	texts := []string{"run all Tests", "fix the tests", "écrire en Français", "fix the build"}
	for _, c := range []struct{ typed, want, search string }{
		{"<ctrl+r>te", "fix the |tests", "search: te"},
		{"<ctrl+r>te<ctrl+r>", "run all |Tests", "search: te"},
		{"<ctrl+r>te<ctrl+r><ctrl+r>", "run all |Tests", "search: te"},
		{"<ctrl+r>te<ctrl+r><ctrl+s>", "fix the |tests", "search: te"},
		{"<ctrl+r>te<up><down>", "fix the |tests", "search: te"},
		{"<ctrl+r>Te", "run all |Tests", "search: Te"},
		{"<ctrl+r>fran", "écrire en |Français", "search: fran"},
		{"<ctrl+r>fix<ctrl+r>", "|fix the tests", "search: fix"},
		{"<ctrl+r>tex", "fix the |tests", "nothing found: tex"},
		{"<ctrl+r>tex<backspace>", "fix the |tests", "search: te"},
		{"draft<left><ctrl+r>x<backspace>", "draf|t", "search: "},
		{"draft<left><ctrl+r>te<ctrl+g>", "draf|t", ""},
		{"draft<left><ctrl+r>te<ctrl+c>", "draf|t", ""},
		{"draft<ctrl+r>te<esc>", "fix the |tests", ""},
		{"draft<ctrl+r>te<tab>x", "fix the x|tests", ""},
		{"draft<ctrl+r>te<end>x", "fix the testsx|", ""},
		{"draft<ctrl+r>te<esc><ctrl+_>", "draft|", ""},
		{"draft<ctrl+r>te<enter>", "fix the |tests", ""},
		{"<ctrl+r>", "|", "search: "},
	} {
		e := Editor{History: sent(t, texts...)}
		action := press(&e, c.typed)
		if got := show(&e); got != c.want {
			t.Errorf("%s: %q, want %q", c.typed, got, c.want)
		}
		line, col := e.SearchView(80)
		if line != c.search || col != len(line) || e.Searching() != (c.search != "") {
			t.Errorf("%s: the search is %q with the cursor at %d, want %q", c.typed, line, col, c.search)
		}
		if submit := strings.HasSuffix(c.typed, "<enter>"); (action == Submit) != submit {
			t.Errorf("%s leads to %d", c.typed, action)
		}
	}
}

func TestASearchFitsItsLine(t *testing.T) {
	t.Parallel()
	e := Editor{History: sent(t, "x")}
	press(&e, "<ctrl+r>")
	e.Paste("漢字漢字漢字漢字漢字漢字漢字漢字end\n")
	line, col := e.SearchView(20)
	if line != "nothing found: end " || col != 19 {
		t.Errorf("%q, the cursor is at %d", line, col)
	}
}

func TestAHistoryIsStored(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "deep", "history")
	load := func() *History {
		h, err := NewHistory(100, HistoryFile(name))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	e := Editor{History: load()}
	lines, huge := strings.Repeat("line\n", 40), strings.Repeat("huge ", 20_000)
	press(&e, "first<ctrl+j>second \"quoted\" 漢字 ")
	e.Paste(lines)
	press(&e, " ")
	e.InsertImage("not stored")
	want, err := e.Take()
	if err != nil {
		t.Fatal(err)
	}
	e.Paste(huge)
	if _, err := e.Take(); err != nil {
		t.Fatal(err)
	}
	h := load()
	if len(h.entries) != 2 || h.entries[0].Text() != want.Text() || h.entries[0].Label() != want.Label() {
		t.Errorf("loaded: %q", h.labels())
	}
	if got, want := h.entries[1].Text(), "[Pasted text #1, 100,000 characters]"; got != want {
		t.Errorf("a paste that is too large is %.50q, want %q", got, want)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the file's mode is %v", info.Mode())
	}
}

func TestADamagedHistoryIsReadAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "history")
	text := `{"text":"one"}
not JSON
{"text":"","pastes":["x"]}
{"text":"a ` + "\U0010f000 \U0010f005 \x1b[31m" + `b","pastes":["p\u001b[1mq"]}
{"text":"torn`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := NewHistory(100, HistoryFile(name))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Add(Draft{text: "after"}); err != nil { // on a line of its own
		t.Fatal(err)
	}
	h, err = NewHistory(100, HistoryFile(name))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range h.entries {
		got = append(got, d.Text())
	}
	if diff := cmp.Diff([]string{"one", "after"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestALargeHistoryFileIsCut(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "history")
	var b bytes.Buffer
	for i := 0; b.Len() <= maxHistoryFile; i++ {
		b.Write(encode(Draft{text: fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000))}))
	}
	last := b.Bytes()[b.Len()-1050:]
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h, err := NewHistory(1_000_000, HistoryFile(name))
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > maxHistoryFile/2 || len(data) < maxHistoryFile/2-1100 || !bytes.HasPrefix(data, []byte(`{"text":`)) || !bytes.HasSuffix(data, last) || len(h.entries) != bytes.Count(data, []byte("\n")) {
			t.Errorf("%d bytes and %d entries are left", len(data), len(h.entries))
		}
	}
}

// Several processes append at once, and none loses a line.
func TestSeveralProcessesAppend(t *testing.T) {
	const lines = 50
	if name := os.Getenv("PAWL_EDITOR_TEST_HISTORY"); name != "" {
		h, err := NewHistory(10, HistoryFile(name))
		for i := 0; i < lines && err == nil; i++ {
			err = h.Add(Draft{text: fmt.Sprintf("%d %d %s", os.Getpid(), i, strings.Repeat("x", 10_000))})
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Parallel()
	name := filepath.Join(t.TempDir(), "history")
	var all []*exec.Cmd
	for range 4 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSeveralProcessesAppend$")
		cmd.Env = append(os.Environ(), "PAWL_EDITOR_TEST_HISTORY="+name)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	h, err := NewHistory(1000, HistoryFile(name))
	if err != nil {
		t.Fatal(err)
	}
	if len(h.entries) != 4*lines {
		t.Errorf("%d entries of %d are there", len(h.entries), 4*lines)
	}
}

func TestWhatCannotBeStoredIsInTheHistoryAllTheSame(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	h, err := NewHistory(10, Storage{Load: func() ([]byte, error) { return nil, broken }, Append: func([]byte) error { return broken }})
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	e := Editor{History: h}
	press(&e, "text")
	if _, err := e.Take(); !errors.Is(err, broken) || !e.Empty() {
		t.Errorf("the error is %v", err)
	}
	press(&e, "<up>")
	if got := e.Text(); got != "text" {
		t.Errorf("got %q", got)
	}
	if _, err := NewHistory(10, HistoryFile(t.TempDir())); err == nil {
		t.Error("a folder is read as a history")
	}
}
