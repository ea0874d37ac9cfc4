package memory_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pawl/memory"
)

func apply(t *testing.T, content string, c memory.Change) string {
	t.Helper()
	after, err := c.Apply(content)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

func TestANoteIsAddedReplacedAndRemovedAndTheRestOfTheFileStays(t *testing.T) {
	t.Parallel()
	file := "# Mine\n\nA paragraph\nof two lines.\n\n- one\n  more of it\n* two"
	after := apply(t, file, memory.Change{Add: "three\nwith code:\n  x := 1"})
	if want := file + "\n- three\n  with code:\n    x := 1\n"; after != want {
		t.Errorf("got %q, want %q", after, want)
	}
	var texts []string
	for _, n := range memory.Notes(after) {
		texts = append(texts, n.Text)
	}
	want := "# Mine|A paragraph\nof two lines.|one\nmore of it|two|three\nwith code:\n  x := 1"
	if got := strings.Join(texts, "|"); got != want {
		t.Errorf("the notes are %q", got)
	}
	// The text of a note as a model copies it is its text with other blanks.
	after = apply(t, after, memory.Change{Add: "1", Replace: "one\n  more  of it"})
	after = apply(t, after, memory.Change{Replace: "A paragraph of two lines."})
	if want := "# Mine\n\n\n- 1\n* two\n- three\n  with code:\n    x := 1\n"; after != want {
		t.Errorf("got %q, want %q", after, want)
	}
	if _, err := (memory.Change{Replace: "none"}).Apply(after); !errors.Is(err, memory.ErrNoNote) {
		t.Errorf("a note that is not there is replaced: %v", err)
	}
}

func TestWhatIsNotedAlreadyIsNotNotedTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []memory.Change{{Add: "one"}, {Add: "one", Replace: "one"}} {
		if got := apply(t, "- one\n- two\n", c); got != "- one\n- two\n" {
			t.Errorf("%+v makes %q", c, got)
		}
	}
	if got := apply(t, "- one\n- two\n", memory.Change{Add: "one", Replace: "two"}); got != "- one\n" {
		t.Errorf("got %q", got)
	}
}

func TestANoteIsPlainTextOfBoundedSize(t *testing.T) {
	t.Parallel()
	got, err := memory.CleanNote("\ufeff- \x1b[31mred\x1b[0m\x1b]52;c;ZXZpbA==\a\r\nnext\u202e\x00\xff")
	if want := "red\nnext\uFFFD"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for _, s := range []string{"", " \n", "- ", "\u200b", strings.Repeat("x", memory.MaxNote+1)} {
		if got, err := memory.CleanNote(s); err == nil {
			t.Errorf("%.20q is the note %.20q", s, got)
		}
	}
	// What is taken as a note is found by its text again.
	for _, s := range []string{"- - x", "a\n- b", "a\n\n\n    code\n", "# Mine", "* x\n* y"} {
		note, err := memory.CleanNote(s)
		if err != nil {
			t.Fatal(err)
		}
		file := apply(t, "", memory.Change{Add: note})
		if notes := memory.Notes(file); len(notes) != 1 || notes[0].Text != note {
			t.Errorf("%q is noted as %q, which has the notes %+v", s, file, notes)
		}
		if got := apply(t, file, memory.Change{Replace: note}); strings.TrimSpace(got) != "" {
			t.Errorf("%q is left of %q", got, file)
		}
	}
}

func TestNoMoreIsNotedThanRunsAreTold(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("- x y\n", memory.MaxLines)
	if told, all := memory.Told(full); !all || told != strings.TrimSpace(full) {
		t.Error("200 lines are not told whole")
	}
	if told, all := memory.Told(full + "- z\n"); all || told != strings.TrimSpace(full) {
		t.Errorf("of 201 lines %d are told", strings.Count(told, "\n")+1)
	}
	if _, err := (memory.Change{Add: "z"}).Apply(full); err == nil || !strings.Contains(err.Error(), "201 lines") {
		t.Errorf("a note is taken that no run is told: %v", err)
	}
	apply(t, full, memory.Change{Add: "z", Replace: "x y"})
	apply(t, full+full, memory.Change{Replace: "x y"})
	wide := strings.Repeat("- "+strings.Repeat("x", memory.MaxNote)+"\n", 9)
	if told, all := memory.Told(wide); all || len(told) > memory.MaxTold || len(told) < memory.MaxTold/2 {
		t.Errorf("of %d bytes %d are told", len(wide), len(told))
	}
}

func TestWritersAtTheSameTimeLoseNoNote(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if _, _, err := memory.Edit(state, memory.Change{Add: fmt.Sprint("note ", i)}.Apply); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	content, err := memory.Read(state)
	if notes := memory.Notes(content); err != nil || len(notes) != 50 {
		t.Errorf("%d notes are there, %v", len(notes), err)
	}
	if info, err := os.Stat(memory.Path(state)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
}

func TestAFailureLeavesTheNotesAsTheyWere(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "notes.md")
	err := errors.Join(os.WriteFile(elsewhere, []byte("- one\n"), 0o600), os.Symlink(elsewhere, memory.Path(state)))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := memory.Edit(state, memory.Change{Add: "two"}.Apply); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(memory.Path(state)); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the person's link was replaced")
	}
	for _, edit := range []func(string) (string, error){
		func(string) (string, error) { return strings.Repeat("x", memory.MaxFile+1), nil },
		func(string) (string, error) { return "", errors.New("no") },
	} {
		if _, _, err := memory.Edit(state, edit); err == nil {
			t.Error("no error")
		}
	}
	if content, err := os.ReadFile(elsewhere); err != nil || string(content) != "- one\n- two\n" {
		t.Errorf("the notes are %q, %v", content, err)
	}
	// What is no text is an error, and is not written over.
	for _, content := range []string{"\x00", strings.Repeat("x", memory.MaxFile+1)} {
		if err := os.WriteFile(elsewhere, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := memory.Edit(state, memory.Change{Add: "three"}.Apply); err == nil {
			t.Error("it was edited")
		}
		if now, err := os.ReadFile(elsewhere); err != nil || string(now) != content {
			t.Errorf("it was written over: %v", err)
		}
	}
	if err := errors.Join(os.Remove(elsewhere), os.Mkdir(elsewhere, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := memory.Read(state); err == nil {
		t.Error("a folder is read")
	}
}
