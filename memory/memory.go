// Package memory keeps what runs noted of a workspace for those that come later: a file of
// Markdown in the person's state folder, a note an item of a list. A run notes something only
// with a person's yes (see package permission); the file is the person's to edit.
//
// What is read of it is bounded, and has none of the characters that a person does not see.
package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/charmbracelet/x/ansi"

	"pawl/internal/atomicfile"
	"pawl/internal/inside"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// The bounds of the file, in bytes and lines: of one note, of what a run is told, and of what
// the file may have at all, which a person can write more into than runs are told.
const (
	MaxNote  = 2000
	MaxLines = 200
	MaxTold  = 16 << 10
	MaxFile  = 256 << 10
)

// file and lockFile are names in the folder of the workspace's state.
const (
	file     = "memory.md"
	lockFile = "memory.lock"
)

// Path returns the path of the file in the folder of a workspace's state. It need not be there.
func Path(state string) string { return filepath.Join(state, file) }

// A Note is one thing that was noted.
type Note struct {
	// ID tells it from other notes: it is made of its text.
	ID   string
	Text string // without the marks of a list

	from, to int // its lines in the file
}

// Notes returns the notes that a text has: the items of its lists, and what else stands between
// blank lines.
func Notes(content string) (all []Note) {
	lines := strings.Split(content, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == "" {
			continue
		}
		n := Note{from: i}
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "" && !isItem(lines[i]); i++ {
		}
		n.to = i
		i--
		n.Text = plain(strings.Join(lines[n.from:n.to], "\n"))
		sum := sha256.Sum256([]byte(n.Text))
		n.ID = hex.EncodeToString(sum[:4])
		all = append(all, n)
	}
	return all
}

// isItem reports whether a line begins an item of a list.
func isItem(line string) bool { return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") }

// plain returns the text of a note without the marks of a list, blank lines, and blanks around it.
func plain(note string) string {
	if isItem(note) {
		note = note[2:]
	}
	var lines []string
	for line := range strings.SplitSeq(note, "\n") {
		if line = strings.TrimRight(strings.TrimPrefix(line, "  "), " \t"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// Clean returns a text as notes have it: text in UTF-8 without escape sequences of a terminal and
// characters that a person does not see.
func Clean(s string) string {
	s = strings.TrimPrefix(strings.ToValidUTF8(s, "\uFFFD"), "\ufeff")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(ansi.Strip(s))
	return visible.Strip(s)
}

// CleanNote returns the text of a note as the file will have it, or why it cannot be one.
func CleanNote(s string) (string, error) {
	s = plain(strings.TrimSpace(Clean(s)))
	switch {
	case strings.Trim(s, "-*") == "":
		return "", errors.New("the note is empty")
	case len(s) > MaxNote:
		return "", fmt.Errorf("the note has %d bytes, and may have %d: note what matters, in a line or two", len(s), MaxNote)
	}
	return s, nil
}

// item returns a note as an item of a list.
func item(note string) string { return "- " + strings.ReplaceAll(note, "\n", "\n  ") + "\n" }

// A Change is what becomes of the notes.
type Change struct {
	Add     string // a note, as [CleanNote] returns it; empty: none
	Replace string // the text of a note that Add is instead of; with an empty Add it is removed
}

// ErrNoNote says that there is no note of that text or id.
var ErrNoNote = errors.New("there is no such note")

// Apply returns the content of a file after a change. A note that is there already changes nothing.
func (c Change) Apply(content string) (string, error) {
	notes := Notes(content)
	at := find(notes, c.Replace)
	switch {
	case c.Replace != "" && at < 0:
		return "", fmt.Errorf("%w: %s", ErrNoNote, text.Clip(c.Replace, 100))
	case c.Add != "" && find(notes, c.Add) >= 0:
		if c.Replace == "" || find(notes, c.Add) == at {
			return content, nil
		}
		c.Add = "" // the other one stays
	}
	lines := strings.Split(content, "\n")
	switch {
	case c.Replace != "":
		var with []string
		if c.Add != "" {
			with = strings.Split(strings.TrimSuffix(item(c.Add), "\n"), "\n")
		}
		content = strings.Join(slices.Concat(lines[:notes[at].from], with, lines[notes[at].to:]), "\n")
	case c.Add != "":
		if content != "" && !strings.HasSuffix(content, "\n") {
			content += "\n"
		}
		content += item(c.Add)
	}
	if lines, size := measure(content); c.Add != "" && (lines > MaxLines || size > MaxTold) {
		return "", fmt.Errorf("the memory would have %d lines and %d bytes, and runs are told at most %d lines and %d bytes: "+
			"let the note replace one, or remove one", lines, size, MaxLines, MaxTold)
	}
	return content, nil
}

// Made reports whether a content is as after the change.
func (c Change) Made(content string) bool {
	notes := Notes(content)
	return (c.Add == "" || find(notes, c.Add) >= 0) && (c.Replace == "" || find(notes, c.Replace) < 0)
}

// find returns the index of the note with a text, of which blanks do not matter; -1: there is none.
func find(notes []Note, text string) int {
	words := strings.Fields(text)
	return slices.IndexFunc(notes, func(n Note) bool { return slices.Equal(strings.Fields(n.Text), words) })
}

func measure(content string) (lines, size int) {
	content = strings.TrimRight(content, "\n")
	return strings.Count(content, "\n") + 1, len(content)
}

// Told returns what runs are told of a file: its beginning, and whether that is all.
func Told(content string) (told string, all bool) {
	content = strings.Trim(content, "\n")
	lines := strings.Split(content, "\n")
	size := 0
	for i, l := range lines {
		if size += len(l) + 1; i == MaxLines || size > MaxTold+1 {
			return strings.TrimRight(strings.Join(lines[:i], "\n"), "\n"), false
		}
	}
	return content, true
}

// Read returns the content of the file, clean; of a workspace without one nothing.
func Read(state string) (string, error) {
	path := Path(state)
	// Without O_NONBLOCK a named pipe would wait for its writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("the memory cannot be read: %w", err)
	}
	defer f.Close() // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(fmt.Errorf("the memory cannot be read: %s is not a regular file; remove it", path), err)
	}
	content, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("the memory cannot be read: %w", err)
	case len(content) > MaxFile:
		return "", fmt.Errorf("the memory cannot be read: %s has more than %d KB; shorten it", path, MaxFile>>10)
	case bytes.IndexByte(content, 0) >= 0:
		return "", fmt.Errorf("the memory cannot be read: %s is not text; repair it, or remove it", path)
	}
	return Clean(string(content)), nil
}

// Edit replaces the content of the file by what edit makes of it, and returns both. Of several
// processes that edit it at the same time each has what the one before it has made. It is durable
// when Edit returns; after an error the file is as it was.
func Edit(state string, edit func(content string) (string, error)) (before, after string, err error) {
	err = inside.Locked(state, lockFile, func() error {
		if before, err = Read(state); err != nil {
			return err
		}
		if after, err = edit(before); err != nil || after == before {
			return err
		}
		if len(after) > MaxFile {
			return fmt.Errorf("the memory would have more than %d KB", MaxFile>>10)
		}
		path := inside.Real(Path(state)) // people keep such files elsewhere and link to them
		if err := atomicfile.Write(path, []byte(after), atomicfile.Durable); err != nil {
			return fmt.Errorf("the memory could not be stored, and is as it was: %w", err)
		}
		return nil
	})
	return before, after, err
}
