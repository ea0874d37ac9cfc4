package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// ChildID returns the id of the child run that a call starts. It is derived, so
// that a call which is taken up again after a kill finds the child it had.
func ChildID(parent ID, call CallID) ID {
	return ID(string(parent) + "-" + strings.ReplaceAll(string(call), "_", ""))
}

// CallKey returns a digest that is equal for calls of the same tool with the
// same arguments, whatever the order of their keys and the white space.
func CallKey(tool, arguments string) string {
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber() // numbers are compared as written
	var v any
	if err := d.Decode(&v); err == nil {
		if b, err := json.Marshal(v); err == nil {
			return digest(tool, string(b))
		}
	}
	return digest(tool, arguments)
}

// ResultKey returns a digest that is equal for results which say the same: times,
// durations, addresses, process ids and temporary paths are masked, because they
// differ between runs of a command that does the same each time.
func ResultKey(content []Part, isError bool) string {
	h := sha256.New()
	if isError {
		h.Write([]byte{1})
	}
	for _, p := range content {
		switch {
		case p.Type == TextPart:
			h.Write(mask([]byte(p.Text)))
		case p.Image != nil:
			h.Write(p.Image.Data)
		}
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// mask replaces each word of b that varies without meaning by a single mark. It
// is a scanner and not regular expressions because results are up to 32 KB and
// every one of them is masked.
func mask(b []byte) []byte {
	out := make([]byte, 0, len(b))
	var prev []byte
	for len(b) > 0 {
		n := 0
		for n < len(b) && wordByte(b[n]) {
			n++
		}
		if n == 0 {
			out = append(out, b[0])
			b = b[1:]
			continue
		}
		w := b[:n]
		b = b[n:]
		switch {
		case !bytes.ContainsAny(w, "0123456789") && !bytes.Contains(w, []byte("/tmp/")):
			if isUnit(w) && bytes.Equal(prev, []byte("#")) {
				// "in 3 ms": the number before was a duration.
				out = append(out, '#')
			} else {
				out = append(out, w...)
			}
		case varies(w), isNumber(w) && (namesProcess(prev) || nextIsUnit(b)):
			out = append(out, '#')
			w = []byte("#")
		default:
			out = append(out, w...)
		}
		prev = w
	}
	return out
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 ||
		c == '.' || c == ':' || c == '/' || c == '_' || c == '-' || c == '+'
}

// varies reports whether a word with a digit in it is a time, a date, a duration,
// an address or a path in a temporary folder.
func varies(w []byte) bool {
	w = bytes.TrimRight(w, ".:")
	return isAddress(w) || isTime(w) || isDuration(w) || isLoopback(w) ||
		bytes.Contains(w, []byte("/tmp/")) || bytes.Contains(w, []byte("/var/folders/"))
}

// isAddress: 0x followed by at least five hexadecimal digits; fewer are rather a
// value than a place in memory.
func isAddress(w []byte) bool {
	if len(w) < 7 || w[0] != '0' || w[1] != 'x' {
		return false
	}
	for _, c := range w[2:] {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return false
		}
	}
	return true
}

// isTime: digits in groups joined by two colons or by two dashes or slashes, such
// as 12:30:01.5, 2026-11-20, 2026/11/20, 2026-11-20T12:30:01Z.
func isTime(w []byte) bool {
	groups, digits, sep := 0, 0, byte(0)
	for i, c := range w {
		switch {
		case c >= '0' && c <= '9':
			if digits == 0 {
				groups++
			}
			digits++
		case (c == ':' || c == '-' || c == '/') && digits >= 1 && digits <= 4:
			if sep != 0 && sep != c && groups < 3 {
				return false
			}
			sep, digits = c, 0
		case (c == 'T' || c == '.' || c == '+' || c == 'Z') && groups >= 3 && i > 5:
			return true
		default:
			return false
		}
	}
	return groups >= 3
}

var units = []string{"ns", "us", "µs", "μs", "ms", "s", "m", "h", "sec", "secs", "min", "mins", "second", "seconds", "milliseconds", "minutes"}

func isUnit(w []byte) bool {
	for _, u := range units {
		if string(w) == u {
			return true
		}
	}
	return false
}

// isDuration: numbers each followed by a unit: 0.01s, 1m2.5s, 320ms.
func isDuration(w []byte) bool {
	if len(w) == 0 {
		return false
	}
	for len(w) > 0 {
		n := 0
		for n < len(w) && (w[n] >= '0' && w[n] <= '9' || w[n] == '.') {
			n++
		}
		if n == 0 {
			return false
		}
		w = w[n:]
		n = 0
		for n < len(w) && !(w[n] >= '0' && w[n] <= '9') {
			n++
		}
		if !isUnit(w[:n]) {
			return false
		}
		w = w[n:]
	}
	return true
}

// isLoopback: a port on this machine is given anew each time.
func isLoopback(w []byte) bool {
	for _, host := range []string{"127.0.0.1:", "localhost:", "0.0.0.0:"} {
		if i := bytes.Index(w, []byte(host)); i >= 0 && i+len(host) < len(w) {
			return true
		}
	}
	return false
}

func isNumber(w []byte) bool {
	for _, c := range bytes.TrimRight(w, ".:") {
		if (c < '0' || c > '9') && c != '.' {
			return false
		}
	}
	return true
}

func namesProcess(w []byte) bool {
	w = bytes.TrimRight(w, ":")
	return bytes.EqualFold(w, []byte("pid")) || bytes.EqualFold(w, []byte("process"))
}

// nextIsUnit reports whether b goes on with a space and a unit.
func nextIsUnit(b []byte) bool {
	if len(b) == 0 || b[0] != ' ' {
		return false
	}
	n := 1
	for n < len(b) && wordByte(b[n]) {
		n++
	}
	return isUnit(bytes.TrimRight(b[1:n], ".:"))
}
