package output

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/internal/text"
)

// textFigures is what is known of a text as a text.
type textFigures struct {
	Bytes      int64    `json:"bytes"`
	Characters int64    `json:"characters"`      // see countChars
	Lines      int64    `json:"lines"`           // the last may end without a line break
	Longest    int64    `json:"longest"`         // line, in characters
	First      []string `json:"first,omitempty"` // lines
	Last       []string `json:"last,omitempty"`  // lines after First
}

const (
	keptLines    = 12   // first and last lines that are kept
	keptLineSize = 240  // bytes of each
	tailSize     = 8192 // bytes in which the last lines are looked for
)

// A textReader makes textFigures of the pieces of a text.
type textReader struct {
	ctx     context.Context // ends the reading; nil: nothing does
	figures textFigures
	line    int64  // characters of the line that is open
	open    bool   // there is a line that is open
	head    []byte // the first bytes, up to tailSize
	tail    []byte // the last bytes seen
}

// Write reads a piece.
func (t *textReader) Write(p []byte) (int, error) {
	if t.ctx != nil && t.ctx.Err() != nil {
		return 0, context.Cause(t.ctx)
	}
	n := len(p)
	t.add(p)
	return n, nil
}

func (t *textReader) add(p []byte) {
	f := &t.figures
	f.Bytes += int64(len(p))
	t.head = append(t.head, p[:min(len(p), tailSize-len(t.head))]...)
	if len(p) >= tailSize {
		t.tail = append(t.tail[:0], p[len(p)-tailSize:]...)
	} else {
		t.tail = append(t.tail, p...)
		if over := len(t.tail) - tailSize; over > 0 {
			t.tail = append(t.tail[:0], t.tail[over:]...)
		}
	}
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			n := countChars(p)
			f.Characters += n
			t.line += n
			t.open = true
			return
		}
		n := countChars(p[:i])
		f.Characters += n + 1
		f.Longest = max(f.Longest, t.line+n)
		f.Lines++
		t.line, t.open = 0, false
		p = p[i+1:]
	}
}

func (t *textReader) finish() textFigures {
	f := t.figures
	if t.open {
		f.Lines++
		f.Longest = max(f.Longest, t.line)
	}
	all := splitLines(t.head)
	complete := f.Bytes <= int64(len(t.head))
	if !complete && len(all) > 1 {
		all = all[:len(all)-1] // it may continue
	}
	f.First = cutLines(all[:min(len(all), keptLines)])
	if left := f.Lines - int64(len(f.First)); left > 0 {
		end := splitLines(t.tail)
		if int64(len(t.tail)) < f.Bytes && len(end) > 1 {
			end = end[1:] // it may have begun before
		}
		n := min(int64(len(end)), left, keptLines)
		f.Last = cutLines(end[int64(len(end))-n:])
	}
	return f
}

func splitLines(p []byte) [][]byte {
	if len(p) == 0 {
		return nil
	}
	return bytes.Split(bytes.TrimSuffix(p, []byte("\n")), []byte("\n"))
}

func cutLines(all [][]byte) []string {
	var lines []string
	for _, l := range all {
		s := strings.ToValidUTF8(string(bytes.TrimSuffix(l[:min(len(l), keptLineSize)], []byte("\r"))), "\uFFFD")
		if len(l) > keptLineSize {
			s += text.Mark
		}
		lines = append(lines, s)
	}
	return lines
}

// preview shows the first and the last lines of a text of at most limit characters.
func (f *textFigures) preview(limit int) (preview string, whole bool) {
	for n := keptLines; n > 0; n-- {
		lines := slices.Clone(f.First[:min(n, len(f.First))])
		last := f.Last[max(0, len(f.Last)-n/2):]
		if left := f.Lines - int64(len(lines)+len(last)); left > 0 {
			lines = append(lines, "… "+text.Plural(left, "line")+" …")
		}
		lines = append(lines, last...)
		preview = strings.Join(lines, "\n")
		if utf8.RuneCountInString(preview) <= limit {
			return preview, !slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, text.Mark) })
		}
	}
	if len(f.First) == 0 || limit < 1 {
		return "", f.Bytes == 0
	}
	return text.First(f.First[0], limit-1) + text.Mark, false
}

// countChars returns how many bytes of p do not continue a UTF-8 character. Of valid
// text that is the number of its characters, also when it comes in pieces.
func countChars(p []byte) int64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := len(p)
	for ; len(p) >= 8; p = p[8:] {
		if x := binary.LittleEndian.Uint64(p); x&highs != 0 {
			n -= bits.OnesCount64((x >> 7) & ^(x >> 6) & ones)
		}
	}
	for _, c := range p {
		if c&0xC0 == 0x80 {
			n--
		}
	}
	return int64(n)
}
