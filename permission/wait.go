package permission

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// waitingIs is how long a command must sleep to be one that waits: what is
// repeated around such a command is polling, not a loop.
const waitingIs = 5 * time.Second

// waits reports whether p spends its time waiting: a long sleep, any sleep in
// a loop, following a file.
func waits(p *simpleCommand, inLoop bool) bool {
	switch p.program() {
	case "sleep":
		var sum time.Duration
		for _, w := range p.words[1:] {
			sum += sleeps(w.text)
		}
		return inLoop || sum >= waitingIs
	case "tail":
		return slices.ContainsFunc(p.words[1:], func(w word) bool { return strings.HasPrefix(w.text, "--follow") || has("-f -F", w.text) })
	case "wait", "inotifywait", "watch":
		return true
	}
	return false
}

// sleeps returns how long "sleep s" takes; 0 if that is not known.
func sleeps(s string) time.Duration {
	unit := time.Second
	if i := len(s) - 1; i >= 0 {
		if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[s[i]]; ok {
			s, unit = s[:i], u
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n > 0) { // NaN is neither
		return 0
	}
	return time.Duration(min(n, 1000) * float64(unit)) // more does not matter, and would overflow
}
