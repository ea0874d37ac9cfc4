package tool

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxOutput is how many bytes of what a command prints come back: a head and a
// tail of half of it each. A command may print gigabytes; no more is held.
const maxOutput = 30_000

// output collects what a command prints, bounded. It is safe for concurrent use.
type output struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring, from at on
	at    int
	total int64
	show  func(string) // each piece as it comes; may be nil
}

// Write never fails: a command is not stopped for printing too much.
func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	if o.show != nil {
		o.show(string(p))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += int64(n)
	if room := maxOutput/2 - len(o.head); room > 0 {
		k := min(room, len(p))
		o.head = append(o.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > maxOutput/2 {
		p = p[len(p)-maxOutput/2:]
	}
	if room := maxOutput/2 - len(o.tail); room > 0 {
		k := min(room, len(p))
		o.tail = append(o.tail, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(o.tail[o.at:], p)
		o.at = (o.at + k) % len(o.tail)
		p = p[k:]
	}
	return n, nil
}

// text returns what was printed, cut in the middle with a mark, as it would be
// read on a terminal: without colours, of a line that was overwritten the last
// state.
func (o *output) text() string {
	o.mu.Lock()
	head := string(o.head)
	tail := string(o.tail[o.at:]) + string(o.tail[:o.at])
	left := o.total - int64(len(o.head)) - int64(len(o.tail))
	o.mu.Unlock()
	if left <= 0 {
		return plain(head + tail)
	}
	// Cut at ends of lines where there are any near.
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		left += int64(len(head) - i - 1)
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		left += int64(i + 1)
		tail = tail[i+1:]
	}
	return plain(head) + fmt.Sprintf("\n[… %s bytes left out …]\n", thousands(left)) + plain(tail)
}

func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plain makes text of what a program wrote for a terminal.
func plain(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if !strings.ContainsAny(s, "\x1b\r\b\x00\a") {
		return s
	}
	b := stripEscapes([]byte(s))
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	lines := bytes.Split(b, []byte("\n"))
	for i, l := range lines {
		l = bytes.TrimRight(l, "\r")
		if j := bytes.LastIndexByte(l, '\r'); j >= 0 {
			l = l[j+1:] // a progress line: its last state
		}
		lines[i] = l
	}
	return string(bytes.Join(lines, []byte("\n")))
}

// stripEscapes takes out ANSI escape sequences and control characters (ECMA-48:
// CSI ends at 0x40-0x7E, OSC and its like at BEL or ST).
func stripEscapes(b []byte) []byte {
	out := b[:0]
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c == 0x1b && i+1 < len(b) && b[i+1] == '[':
			for i += 2; i < len(b) && (b[i] < 0x40 || b[i] > 0x7e); i++ {
			}
		case c == 0x1b && i+1 < len(b) && bytes.IndexByte([]byte("]PX^_"), b[i+1]) >= 0:
			for i += 2; i < len(b) && b[i] != 0x07; i++ {
				if b[i] == 0x1b && i+1 < len(b) && b[i+1] == '\\' {
					i++
					break
				}
			}
		case c == 0x1b:
			i++
		case c == '\b':
			if n := len(out); n > 0 && out[n-1] != '\n' {
				out = out[:n-1]
			}
		case c < 0x20 && c != '\n' && c != '\t' && c != '\r' || c == 0x7f:
		default:
			out = append(out, c)
		}
	}
	return out
}
