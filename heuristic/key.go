package heuristic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"pawl/internal/digest"
)

// CallKey returns a digest that is equal for calls of the same tool with the
// same arguments, whatever the order of their keys and the white space. Arguments
// that are not one JSON value are compared as written.
func CallKey(tool, arguments string) string {
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber() // numbers are compared as written
	var v any
	if d.Decode(&v) == nil && d.InputOffset() == int64(len(strings.TrimRight(arguments, " \t\r\n"))) {
		if b, err := json.Marshal(v); err == nil {
			return digest.Of(tool, string(b))
		}
	}
	return digest.Of(tool, arguments)
}

// ResultKey returns a digest that is equal for results which say the same: times,
// durations, addresses, process ids, ports of this machine and temporary paths in
// texts are masked, because they differ between runs of a command that does the same
// each time. Counts, sizes, versions, line numbers and names are kept.
func ResultKey(isError bool, texts []string, images [][]byte) string {
	h := sha256.New()
	if isError {
		h.Write([]byte{1})
	}
	for _, text := range texts {
		h.Write(mask(text))
		h.Write([]byte{0})
	}
	for _, data := range images {
		h.Write(data)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// mask returns s with each word that varies without meaning replaced by a mark. It
// is a scanner and not regular expressions because results are up to 32 KB and
// every one of them is masked.
func mask(s string) []byte {
	m := masker{out: make([]byte, 0, len(s))}
	for s != "" {
		n, has := 0, byte(0)
		for n < len(s) && kinds[s[n]] != 0 {
			has |= kinds[s[n]]
			n++
		}
		if n > 0 {
			m.word(s[:n], s[n:], has)
			s = s[n:]
			continue
		}
		m.before = s[0]
		if m.before == '\n' {
			m.last, m.other = "", "" // what a number means stands on its line
		}
		m.out = append(m.out, m.before)
		s = s[1:]
	}
	return m.out
}

// A masker is in the middle of a text.
type masker struct {
	out         []byte
	before      byte   // the last byte that was not of a word
	last, other string // the words before on the line, the nearer one first; "#" if masked
}

const marked = "#"

// What a byte of a word is; 0 for all others.
const (
	inWord = 1 << iota
	aDigit
	aSlash
	aColon
)

var kinds = func() (k [256]byte) {
	for c := range k {
		switch b := byte(c); {
		case b >= '0' && b <= '9':
			k[c] = inWord | aDigit
		case b == '/':
			k[c] = inWord | aSlash
		case b == ':':
			k[c] = inWord | aColon
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= 0x80, strings.IndexByte("._-+", b) >= 0:
			k[c] = inWord
		}
	}
	return k
}()

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// word writes w, masked where it varies. After it comes rest.
func (m *masker) word(w, rest string, has byte) {
	switch {
	case has&aSlash != 0 && m.tempPath(w):
	case has&aDigit == 0:
		if m.last == marked && isUnit(bare(w)) {
			w = marked // "in 3 ms": the number before was a duration
		}
		m.out = append(m.out, w...)
	case m.varies(w, rest):
		w = marked
		m.out = append(m.out, w...)
	case has&aColon != 0:
		m.port(w)
	default:
		m.out = append(m.out, w...)
	}
	m.last, m.other = w, m.last
}

// varies reports whether a word with a digit in it is a time, a date, a duration,
// an address, or a number that the words around it make one or name a process.
func (m *masker) varies(w, rest string) bool {
	w = bare(w)
	if m.before == '@' && len(w) >= 5 && len(w) <= 8 && isHex(w) {
		return true // Java: Foo@1b6d3586
	}
	if isNumber(w) {
		return isEpoch(w, rest) || names(m.last, w) || nextIsUnit(rest) ||
			m.last == "::1" || // [::1]:40123
			m.last == marked && m.before == ',' && len(w) == 3 || // Python's logging: 12:30:01,123
			m.last == marked && isLogHead(m.other) || // glog: E1120 12:30:01.123456 4242 file.go:12]
			m.before == '(' && strings.HasPrefix(rest, ") panicked at ") // Rust since late 2025, from memory: thread 'main' (4242) panicked at
	}
	return isDuration(w) || isTime(w) || isAddress(w) ||
		isClock(w) && isNumber(m.last) && isMonth(m.other) || // ls -l: Nov 20 12:30
		m.before == '(' && strings.HasPrefix(w, "node:") && isNumber(w[5:]) && strings.HasPrefix(rest, ")") // Node.js: (node:4242) Warning
}

// bare returns w without the punctuation around it.
func bare(w string) string {
	for w != "" && (w[0] == '+' || w[0] == '-' || w[0] == ':') {
		w = w[1:]
	}
	for w != "" && (w[len(w)-1] == '.' || w[len(w)-1] == ':') {
		w = w[:len(w)-1]
	}
	return w
}

// tempPath writes w with what varies in it masked, if it is a path in a folder for
// temporary files, and reports that. What follows the path, and the names of
// files under its first part, stay: a workspace may well lie in such a folder.
func (m *masker) tempPath(w string) bool {
	i := strings.Index(w, "/tmp/")
	if i > 0 && w[i-1] != '/' && w[i-1] != ':' && !strings.HasSuffix(w[:i], "/var") && !strings.HasSuffix(w[:i], "/private") {
		i = -1 // somebody's own folder of that name
	}
	i += len("/tmp/")
	if j := strings.Index(w, "/var/folders/"); j >= 0 {
		// macOS: /var/folders/8q/x3b2…/T/name
		t := strings.Index(w[j:], "/T/")
		if t < 0 {
			return false
		}
		i = j + t + len("/T/")
	} else if i < len("/tmp/") {
		return false
	}
	m.out = append(m.out, w[:i]...)
	name, rest := w[i:], ""
	if end := strings.IndexAny(name, "/:"); end >= 0 {
		name, rest = name[:end], name[end:]
	}
	if name != "" {
		m.out = append(m.out, marked...)
	}
	// pytest-of-me/pytest-12/test_x0, a folder counted up with every run.
	if strings.HasPrefix(rest, "/pytest-") {
		rest = strings.TrimLeft(rest[len("/pytest-"):], "0123456789")
	}
	m.out = append(m.out, rest...)
	return true
}

// port writes w, without the port if it names one of this machine: it is given
// anew each time.
func (m *masker) port(w string) {
	for _, host := range []string{"127.0.0.1:", "localhost:", "0.0.0.0:"} {
		if i := strings.Index(w, host); i >= 0 {
			i += len(host)
			m.out = append(append(m.out, w[:i]...), marked...)
			w = strings.TrimLeft(w[i:], "0123456789")
			break
		}
	}
	m.out = append(m.out, w...)
}

// isAddress: 0x followed by at least five hexadecimal digits; fewer are rather a
// value than a place in memory.
func isAddress(w string) bool {
	return len(w) >= 7 && w[0] == '0' && w[1] == 'x' && isHex(w[2:])
}

func isHex(w string) bool {
	for i := range len(w) {
		if c := w[i]; !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// isTime: 12:30:01.5, 2026-11-20, 20/11/2026, 2026-11-20T12:30:01Z,
// 20/Nov/2026:12:30:01. A date needs a year of four digits: 10/2/0 may well be
// counts. Nothing but digits may follow: 2026-11-20-users.sql is a name.
func isTime(w string) bool {
	if len(w) > 12 && w[2] == '/' && w[6] == '/' && isMonth(w[3:6]) {
		return isTime(w[12:])
	}
	a, w1 := digits(w)
	if a < 1 || a > 4 || w1 == "" || strings.IndexByte(":-/", w1[0]) < 0 {
		return false
	}
	b, w2 := digits(w1[1:])
	if b < 1 || b > 2 || w2 == "" || w2[0] != w1[0] {
		return false
	}
	c, rest := digits(w2[1:])
	if w1[0] == ':' {
		if a > 3 || b != 2 || c != 2 {
			return false
		}
	} else if !(a == 4 && (c == 1 || c == 2) || a <= 2 && c == 4) {
		return false
	}
	return strings.Trim(rest, "0123456789:.+-_TtZz") == ""
}

// digits returns how many digits w begins with, and what follows them.
func digits(w string) (int, string) {
	n := 0
	for n < len(w) && isDigit(w[n]) {
		n++
	}
	return n, w[n:]
}

// isClock: 12:30, which by itself may be a line and a column.
func isClock(w string) bool {
	return len(w) == 5 && w[2] == ':' && isNumber(w[:2]) && isNumber(w[3:])
}

func isMonth(w string) bool {
	return len(w) == 3 && strings.Contains("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", w)
}

// isLogHead: the level, month and day that begin a line of glog or klog.
func isLogHead(w string) bool {
	return len(w) == 5 && strings.IndexByte("IWEF", w[0]) >= 0 && isNumber(w[1:])
}

// isEpoch: seconds, milli-, micro- or nanoseconds since 1970, between 2017 and 2033.
func isEpoch(w, rest string) bool {
	if len(w) < 10 {
		return false
	}
	n, fraction := digits(w)
	if n != 10 && (n != 13 && n != 16 && n != 19 || fraction != "") {
		return false
	}
	return w[0] == '1' && w[1] >= '5' && !strings.HasPrefix(rest, " bytes") && !strings.HasPrefix(rest, " B")
}

func isUnit(w string) bool {
	switch w {
	case "ns", "us", "µs", "μs", "ms", "msec", "s", "sec", "secs", "m", "min", "mins", "h", "hr", "hrs",
		"nanoseconds", "microseconds", "milliseconds", "second", "seconds", "minute", "minutes", "hour", "hours":
		return true
	}
	return false
}

// isDuration: numbers each followed by a unit: 0.01s, 1m2.5s, 320ms.
func isDuration(w string) bool {
	if w == "" {
		return false
	}
	for w != "" {
		n := 0
		for n < len(w) && (isDigit(w[n]) || w[n] == '.') {
			n++
		}
		unit := n
		for unit < len(w) && !isDigit(w[unit]) {
			unit++
		}
		if n == 0 || !isUnit(w[n:unit]) {
			return false
		}
		w = w[unit:]
	}
	return true
}

// isNumber: digits and points.
func isNumber(w string) bool {
	for i := range len(w) {
		if !isDigit(w[i]) && w[i] != '.' {
			return false
		}
	}
	return w != ""
}

// names reports whether the word before a number says that it is a duration, the
// number of a process, a thread or a goroutine, or a seed drawn for this run.
func names(word, number string) bool {
	if word = bare(word); word == "" || isDigit(word[len(word)-1]) {
		return false
	}
	switch word = strings.ToLower(word); word {
	case "pid", "ppid", "tid", "goroutine", "elapsed", "duration", "took":
		return true
	case "process":
		return len(number) >= 3 // fewer are rather how many
	}
	for _, end := range []string{"_ms", "_seconds", "seed", "shuffle"} {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}

// nextIsUnit reports whether s continues with a space and a unit.
func nextIsUnit(s string) bool {
	if len(s) < 2 || s[0] != ' ' || isDigit(s[1]) {
		return false
	}
	n := 1
	for n < len(s) && kinds[s[n]] != 0 {
		n++
	}
	return isUnit(bare(s[1:n]))
}
