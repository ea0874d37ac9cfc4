package tool

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"sync"

	"pawl/tool/tree"
)

// A finder finds the lines of files that a regular expression matches. It is
// safe for concurrent use.
type finder struct {
	re *regexp.Regexp // compiled with (?m)
	// byLine: the expression says where a text begins or ends, so it means
	// something else in several lines at once and each is looked at alone.
	byLine bool
	needle needle // is in every match
}

type findOptions struct {
	around    int  // lines around a match
	keep      int  // matches to keep the lines of; the rest is counted
	firstOnly bool // one match is all that is wanted
}

// found is what there is in a file.
type found struct {
	lines   []foundLine // in order, each once
	matches int         // matching lines
	binary  bool
	err     error
}

// A foundLine is a line that matches, or one around it.
type foundLine struct {
	number int
	match  bool
	text   string // clipped
}

const (
	// findBuffer is how much of a file is looked at at once, and so the longest
	// line that is seen whole.
	findBuffer = 256 << 10
	// maxFoundLine is how many characters of a line are shown.
	maxFoundLine = 400
)

var findBuffers = sync.Pool{New: func() any { return new([findBuffer]byte) }}

// inFolder searches one file. It holds findBuffer bytes of it at a time.
func (f *finder) inFolder(ctx context.Context, dir *os.Root, name string, o findOptions) found {
	file, _, err := tree.OpenRegular(dir, name)
	if err != nil {
		return found{err: err}
	}
	defer file.Close()
	s := &fileSearch{finder: f, findOptions: o, line: 1}
	s.err = s.read(ctx, file)
	return s.found
}

// A fileSearch is one file being searched.
type fileSearch struct {
	*finder
	findOptions
	found
	line   int      // number of the next line
	before [][]byte // the last lines seen, at most around of them
	after  int      // lines still to be shown after a match
}

func (s *fileSearch) read(ctx context.Context, file io.Reader) error {
	buffer := findBuffers.Get().(*[findBuffer]byte)
	defer findBuffers.Put(buffer)
	buf := buffer[:]
	held := 0 // bytes at the beginning of buf that wait for the end of their line
	cutLine := false
	for first := true; ; first = false {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(file, buf[held:])
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		last := err != nil
		have := buf[:held+n]
		if first && isBinary(have) {
			s.binary = true
			return nil
		}
		whole := len(have)
		if !last {
			// A line longer than the buffer is searched in pieces; a match across
			// two pieces is missed.
			if i := bytes.LastIndexByte(have, '\n'); i >= 0 {
				whole = i + 1
			}
		}
		if whole > 0 {
			s.block(have[:whole], &cutLine)
		}
		if last || s.firstOnly && s.matches > 0 {
			return nil
		}
		held = copy(buf, have[whole:])
	}
}

// block searches whole lines. Most blocks of most files have no match: those
// are only looked over, not taken apart.
func (s *fileSearch) block(block []byte, cutLine *bool) {
	if s.after == 0 && !s.mayMatch(block) {
		s.pass(block, cutLine)
		return
	}
	for len(block) > 0 {
		line, rest, ended := bytes.Cut(block, []byte("\n"))
		s.oneLine(bytes.TrimSuffix(line, []byte("\r")), ended, cutLine)
		if s.firstOnly && s.matches > 0 {
			return
		}
		block = rest
	}
}

// mayMatch reports whether a line of a block may match.
func (f *finder) mayMatch(block []byte) bool {
	if !f.needle.in(block) {
		return false
	}
	// Before a \r, $ does not match; in the line alone, without its end, it does.
	return f.byLine || bytes.IndexByte(block, '\r') >= 0 || f.re.Match(block)
}

// pass goes over lines without a match.
func (s *fileSearch) pass(block []byte, cutLine *bool) {
	n := bytes.Count(block, []byte("\n"))
	s.line += n
	*cutLine = block[len(block)-1] != '\n'
	if s.around == 0 {
		return
	}
	from := len(block)
	if !*cutLine {
		from--
	}
	for range s.around {
		i := bytes.LastIndexByte(block[:max(from, 0)], '\n')
		from = i
		if i < 0 {
			break
		}
	}
	for line := range bytes.Lines(block[from+1:]) {
		s.remember(bytes.TrimSuffix(line, []byte("\n")))
	}
	if *cutLine {
		s.before = s.before[:0] // the line continues: it is remembered by its end
	}
}

func (s *fileSearch) oneLine(line []byte, ended bool, cutLine *bool) {
	number := s.line
	if ended {
		s.line++
	}
	// A further piece of a line that is shown already adds nothing.
	shown := *cutLine && len(s.lines) > 0 && s.lines[len(s.lines)-1].number == number
	*cutLine = !ended
	at := s.re.FindIndex(line)
	switch {
	case shown:
	case at != nil:
		s.matches++
		s.after = 0
		if s.matches > s.keep {
			return
		}
		for i, l := range s.before {
			s.lines = append(s.lines, foundLine{number - len(s.before) + i, false, clipLine(l, maxFoundLine)})
		}
		s.before = s.before[:0]
		s.lines = append(s.lines, foundLine{number, true, clipAround(line, at)})
		s.after = s.around
	case s.after > 0:
		s.after--
		s.lines = append(s.lines, foundLine{number, false, clipLine(line, maxFoundLine)})
	case s.around > 0 && ended:
		s.remember(line)
	case s.around > 0:
		s.before = s.before[:0] // the line continues: it is remembered by its end
	}
}

// remember keeps a line that may be shown before a match. What is kept of it is
// a copy: the buffer moves on.
func (s *fileSearch) remember(line []byte) {
	if len(s.before) == s.around {
		copy(s.before, s.before[1:])
		s.before = s.before[:s.around-1]
	}
	s.before = append(s.before, bytes.Clone(line[:min(len(line), 4*maxFoundLine+4)]))
}

// clipAround returns the part of a long line that a match is in.
func clipAround(line []byte, at []int) string {
	const lead = 4 * 60
	if len(line) <= maxFoundLine || at[0] <= lead {
		return clipLine(line, maxFoundLine)
	}
	return "…" + clipLine(bytes.ToValidUTF8(line[at[0]-lead:min(len(line), at[0]+8*maxFoundLine)], nil), maxFoundLine)
}
