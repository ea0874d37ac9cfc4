package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/maphash"
	"io/fs"
	"strings"
	"time"
)

// A sighting is what is remembered of a file that a call has read or written:
// enough to tell that it changed since, and where.
type sighting struct {
	hash  string // SHA-256, hex
	size  int64
	mtime time.Time
	lines []uint64 // a hash of each line; nil when there were more than maxSeenLines
}

// maxSeenLines bounds what is remembered of a file to 160 kB.
const maxSeenLines = 20_000

var lineSeed = maphash.MakeSeed()

// saw remembers a file. A nil session remembers nothing.
func (s *Session) saw(rel string, now sighting) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]sighting{}
	}
	s.seen[rel] = now
}

// forget forgets a file that is no longer there.
func (s *Session) forget(rel string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, rel)
}

// sighting returns what is remembered of a file.
func (s *Session) sighting(rel string) (sighting, bool) {
	if s == nil {
		return sighting{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	then, ok := s.seen[rel]
	return then, ok
}

// A viewing makes a sighting of content as it passes.
type viewing struct {
	sum   hash.Hash
	line  maphash.Hash
	open  bool // the line has content and no end yet
	n     int64
	lines []uint64
}

func newViewing() *viewing {
	v := &viewing{sum: sha256.New()}
	v.line.SetSeed(lineSeed)
	return v
}

// Write takes the next piece of the file. It never fails.
func (v *viewing) Write(p []byte) (int, error) {
	v.sum.Write(p)
	v.n += int64(len(p))
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		v.line.Write(line)
		if v.open = !ended; ended {
			v.endLine()
		}
		rest = after
	}
	return len(p), nil
}

func (v *viewing) endLine() {
	if len(v.lines) <= maxSeenLines {
		v.lines = append(v.lines, v.line.Sum64())
	}
	v.line.Reset()
}

// sighting ends the viewing. The time of the last change is the file's own.
func (v *viewing) sighting(info fs.FileInfo) sighting {
	if v.open {
		v.endLine()
	}
	s := sighting{hash: hex.EncodeToString(v.sum.Sum(nil)), size: v.n, lines: v.lines}
	if info != nil {
		s.mtime = info.ModTime()
	}
	if len(v.lines) > maxSeenLines {
		s.lines = nil
	}
	return s
}

// view returns the sighting of content that is in memory.
func view(content []byte, info fs.FileInfo) sighting {
	v := newViewing()
	v.Write(content)
	return v.sighting(info)
}

// changedSince says how a file differs from what was seen of it; empty when its
// content is the same, whatever its time says.
func changedSince(rel string, then sighting, content []byte, info fs.FileInfo) string {
	now := view(content, info)
	if now.hash == then.hash {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s changed since it was last read or written here: it had %s bytes (SHA-256 %.8s), now it has %s (%.8s), last changed %s.",
		rel, commas(then.size), then.hash, commas(now.size), now.hash, info.ModTime().UTC().Format(time.DateTime+" UTC"))
	if then.lines != nil && now.lines != nil {
		b.WriteString(whereChanged(then.lines, now.lines, content))
	}
	b.WriteString("\nRead it again before changing it.")
	return b.String()
}

// whereChanged shows the lines that lie between what two versions have in
// common at their beginning and their end.
func whereChanged(then, now []uint64, content []byte) string {
	const show = 8
	from := 0
	for from < len(then) && from < len(now) && then[from] == now[from] {
		from++
	}
	back := 0
	for back < len(then)-from && back < len(now)-from && then[len(then)-1-back] == now[len(now)-1-back] {
		back++
	}
	was, is := len(then)-back-from, len(now)-back-from
	if was == 0 && is == 0 {
		return " Only the end of its last line differs."
	}
	if is == 0 {
		return fmt.Sprintf(" %s after line %d gone.", count(was, "line is", "lines are"), from)
	}
	var b strings.Builder
	fmt.Fprintf(&b, " From line %d on, %s replaced %s:", from+1, count(is, "line has", "lines have"), count(was, "line", "lines"))
	for i, line := range bytes.Split(content, []byte("\n")) {
		if i < from || i >= from+is {
			continue
		}
		if i == from+show {
			b.WriteString("\n   …")
			break
		}
		fmt.Fprintf(&b, "\n%6d\t%s", i+1, clipLine(line, 200))
	}
	return b.String()
}
