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

// A shellPlace is a place of a shell command.
type shellPlace struct {
	state shellState
	back  int // backquotes around it
}

// placeAfter returns where the text stands that follows the beginning of a command.
func placeAfter(command string) shellPlace {
	in := []shellPlace{{state: bare}} // and those around it, of "$(…)" and "`…`"
	for i := 0; i < len(command); i++ {
		rest, now := command[i:], &in[len(in)-1]
		switch c := command[i]; {
		case c == '`' && now.back > 0: // the end, whatever quotes are open in it
			for level := now.back; in[len(in)-1].back == level; {
				in = in[:len(in)-1]
			}
		case now.state == comment:
			if c == '\n' {
				now.state = bare
			}
		case now.state == single:
			if c == '\'' {
				now.state = bare
			}
		case c == '\\':
			i++
		case now.state == ansi:
			if c == '\'' {
				now.state = bare
			}
		case c == '`':
			in = append(in, shellPlace{bare, now.back + 1})
		case strings.HasPrefix(rest, "$("):
			in = append(in, shellPlace{bare, now.back})
			i++
		case now.state == double:
			if c == '"' {
				now.state = bare
			}
		case strings.HasPrefix(rest, "<<<"):
			i += 2
		case strings.HasPrefix(rest, "<<"):
			return shellPlace{here, now.back}
		case strings.HasPrefix(rest, "$'"):
			now.state = ansi
			i++
		case c == '\'', c == '"':
			now.state = shellState(c)
		case c == '#' && (i == 0 || strings.ContainsRune(" \t\n;|&(`", rune(command[i-1]))):
			now.state = comment
		case c == '(':
			in = append(in, shellPlace{bare, now.back})
		case c == ')' && len(in) > 1 && in[len(in)-2].back == now.back:
			in = in[:len(in)-1]
		}
	}
	return in[len(in)-1]
}

// quote returns a text as it has to be written at a place to be only itself: a word, or a part of one.
func (at shellPlace) quote(s string) string {
	s = at.state.quote(s)
	for range at.back {
		s = strings.NewReplacer(`\`, `\\`, "$", `\$`, "`", "\\`").Replace(s)
	}
	return s
}

// quote returns a text as it has to be written in a state, without backquotes around it.
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
