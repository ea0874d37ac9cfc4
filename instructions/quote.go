package instructions

import (
	"strings"

	"pawl/internal/text"
)

// A shellState is what a character means at a place of a shell command.
type shellState rune

const (
	noShell shellState = 0 // it is no command
	bare    shellState = ' '
	single  shellState = '\''
	ansi    shellState = '$' // $'…'
	double  shellState = '"'
	comment shellState = '#'
	here    shellState = '<' // below or after a here document
)

// stateOf returns the state at the end of the beginning of a command.
func stateOf(command string) shellState {
	in := []shellState{bare} // and those around it, of "$(…)"
	for i := 0; i < len(command); i++ {
		rest, now := command[i:], in[len(in)-1]
		next := func(s shellState) { in[len(in)-1] = s }
		switch c := command[i]; {
		case now == comment:
			if c == '\n' {
				next(bare)
			}
		case now == single:
			if c == '\'' {
				next(bare)
			}
		case c == '\\':
			i++
		case now == ansi:
			if c == '\'' {
				next(bare)
			}
		case strings.HasPrefix(rest, "$("):
			in = append(in, bare)
			i++
		case now == double:
			if c == '"' {
				next(bare)
			}
		case strings.HasPrefix(rest, "<<<"):
			i += 2
		case strings.HasPrefix(rest, "<<"):
			return here
		case strings.HasPrefix(rest, "$'"):
			next(ansi)
			i++
		case c == '\'', c == '"':
			next(shellState(c))
		case c == '#' && (i == 0 || strings.ContainsRune(" \t\n;|&(", rune(command[i-1]))):
			next(comment)
		case c == '(':
			in = append(in, bare)
		case c == ')' && len(in) > 1:
			in = in[:len(in)-1]
		}
	}
	return in[len(in)-1]
}

// quote returns a text as it has to be written in a state to be only itself: a word, or a part of one.
func (in shellState) quote(s string) string {
	switch in {
	case single:
		return strings.ReplaceAll(s, `'`, `'\''`)
	case ansi:
		return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s)
	case double:
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s)
	case comment:
		return strings.ReplaceAll(s, "\n", " ")
	case here: // where its end is, is not known
		s = strings.NewReplacer(`\`, `\\`, "$", `\$`, "`", "\\`", "\n", " ").Replace(s)
	}
	if in == noShell || s == "" {
		return s
	}
	return text.ShellWord(s)
}
