package tool

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// A replacement is one edit of a call: the text to be replaced, exactly, and
// what replaces it.
type replacement struct {
	Old string `json:"old"`
	New string `json:"new"`
	All bool   `json:"all"`
}

// byteOrderMark begins some UTF-8 files; it is no part of their text.
const byteOrderMark = "\ufeff"

// replaceAll applies edits to a file's content, in order, each to what the one
// before left. All of them fit or the error says, for the model, which does not
// and why.
//
// Lines match whatever their ends: a model writes \n where the file has \r\n.
// Text that comes in gets the ends of the lines it replaces, or else of the
// file's; every byte outside the matches stays as it is, the byte order mark
// included. A file that ended with a line end still does.
func replaceAll(rel string, content []byte, edits []replacement) ([]byte, error) {
	if len(edits) == 0 {
		return nil, tell("edits is empty: there is nothing to do")
	}
	body, hadMark := bytes.CutPrefix(content, []byte(byteOrderMark))
	now := body
	for i, e := range edits {
		which := "the edit"
		if len(edits) > 1 {
			which = fmt.Sprintf("edit %d of %d", i+1, len(edits))
		}
		next, err := replaceOne(now, e)
		if err != nil {
			hint := ""
			if i > 0 {
				if _, e := replaceOne(body, e); e == nil {
					hint = " It was there before the edits before it in this call changed that text: give old as it is after them."
				}
			}
			return nil, tell("%s of %s does not fit: %v%s Nothing was changed.", which, rel, err, hint)
		}
		now = next
	}
	if hadMark {
		now = slices.Concat([]byte(byteOrderMark), now)
	}
	return now, nil
}

// replaceOne applies one edit.
func replaceOne(content []byte, e replacement) ([]byte, error) {
	text := normalize(content)
	old := toLF(strings.TrimPrefix(e.Old, byteOrderMark))
	with := toLF(e.New)
	if old == "" {
		return nil, tell("old is empty. Give the text to be replaced, or use write to replace the whole file.")
	}
	if old == with {
		return nil, tell("old and new are the same.")
	}
	at := occurrences(text.lf, []byte(old), e.All)
	if len(at) == 0 {
		return nil, notFound(text.lf, old)
	}
	if len(at) > 1 && !e.All {
		return nil, tell("old occurs %s, at %s. Add lines around it to tell which, or set all.", count(len(at), "time", "times"), linesOf(text.lf, at))
	}
	out := make([]byte, 0, len(content)+len(at)*(len(with)-len(old)))
	done := 0
	for _, from := range at {
		to := from + len(old)
		put := with
		if text.crlfIn(from, to) {
			put = strings.ReplaceAll(with, "\n", "\r\n")
		}
		out = append(out, content[done:text.original(from)]...)
		out = append(out, put...)
		done = text.original(to)
	}
	rest := content[done:]
	out = append(out, rest...)
	// An old text that takes in the file's last line end and a new one that
	// forgot it would leave a file without; nobody means that.
	if len(rest) == 0 && len(out) > 0 && bytes.HasSuffix(content, []byte("\n")) && !bytes.HasSuffix(out, []byte("\n")) {
		if bytes.HasSuffix(content, []byte("\r\n")) {
			out = append(out, '\r')
		}
		out = append(out, '\n')
	}
	if bytes.Equal(out, content) {
		return nil, tell("it would leave the file as it is.")
	}
	return out, nil
}

// lfContent is a file's content with every \r\n as \n, and where the \r were.
type lfContent struct {
	lf  []byte
	crs []int // offsets in lf of the \n that had a \r before it, ascending
	all int   // of all \n
}

func normalize(content []byte) lfContent {
	t := lfContent{lf: content, all: bytes.Count(content, []byte("\n"))}
	if !bytes.Contains(content, []byte("\r\n")) {
		return t
	}
	t.lf = make([]byte, 0, len(content))
	for i, c := range content {
		if c == '\r' && i+1 < len(content) && content[i+1] == '\n' {
			t.crs = append(t.crs, len(t.lf))
			continue
		}
		t.lf = append(t.lf, c)
	}
	return t
}

// original returns the offset in the file of an offset in t.lf.
func (t lfContent) original(at int) int {
	n, _ := slices.BinarySearch(t.crs, at)
	return at + n
}

// crlfIn reports whether what replaces lf[from:to] is to have \r\n: as the
// lines it replaces have, or, where it replaces no line end, as most of the file.
func (t lfContent) crlfIn(from, to int) bool {
	first, _ := slices.BinarySearch(t.crs, from)
	last, _ := slices.BinarySearch(t.crs, to)
	if n := bytes.Count(t.lf[from:to], []byte("\n")); n > 0 {
		return 2*(last-first) >= n
	}
	return 2*len(t.crs) > t.all
}

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// occurrences returns where old begins in text. Overlapping ones are found too
// unless all are to be replaced: of "aa" in "aaa" nobody knows which is meant.
func occurrences(text, old []byte, apart bool) []int {
	var at []int
	step := 1
	if apart {
		step = len(old)
	}
	for from := 0; ; {
		i := bytes.Index(text[from:], old)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + step
	}
}

// linesOf names the lines of offsets, ten at most.
func linesOf(text []byte, offsets []int) string {
	var b strings.Builder
	b.WriteString("lines ")
	line, from := 1, 0
	for i, at := range offsets {
		if i == 10 {
			b.WriteString(" …")
			break
		}
		line += bytes.Count(text[from:at], []byte("\n"))
		from = at
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, line)
	}
	return b.String()
}
