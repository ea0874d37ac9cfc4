package instructions

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"pawl/internal/text"
)

// A shellState is what the shell makes of characters at a place of a command.
type shellState int

const (
	noShell shellState = iota // the text is not a shell command
	bare
	single  // '…'
	ansi    // $'…'
	double  // "…"
	comment // # …
	here    // a here document
	other   // arithmetic, ${…}, or a command that cannot be parsed
)

// A shellPlace is a place of a shell command.
type shellPlace struct {
	state shellState
	back  int // backquotes around it
}

// placeBetween returns the place between two parts of a command.
func placeBetween(before, after string) shellPlace {
	mark := "MARK"
	for strings.Contains(before, mark) || strings.Contains(after, mark) {
		mark += "S"
	}
	parser := syntax.NewParser(syntax.KeepComments(true), syntax.Variant(syntax.LangBash))
	file, err := parser.Parse(strings.NewReader(before+mark+after), "")
	place := shellPlace{state: other}
	if err != nil {
		return place
	}
	around := []shellPlace{{state: bare}}
	special := map[syntax.Node]shellState{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return true
		}
		now := around[len(around)-1]
		found := ""
		switch n := n.(type) {
		case *syntax.Redirect:
			if n.Hdoc != nil {
				special[n.Hdoc] = here
			}
		case *syntax.Assign:
			if n.Index != nil {
				special[n.Index] = other
			}
		case *syntax.CmdSubst:
			now.state = bare
			if n.Backquotes {
				now.back++
			}
		case *syntax.ProcSubst:
			now.state = bare
		case *syntax.DblQuoted:
			if now.state != here && now.state != other {
				now.state = double
			}
		case *syntax.SglQuoted:
			if found = n.Value; now.state != other {
				now.state = single
				if n.Dollar {
					now.state = ansi
				}
			}
		case *syntax.Comment:
			found, now.state = n.Text, comment
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop, *syntax.ParamExp:
			now.state = other
		case *syntax.Lit:
			found = n.Value
		}
		if s, ok := special[n]; ok {
			now.state = s
		}
		if strings.Contains(found, mark) {
			place = now
		}
		around = append(around, now)
		return true
	})
	return place
}

// quote returns a text in the form in which the shell reads it literally at a place: as a word, or as a part of one. Where
// no quoting is safe, only letters, digits, blanks, _ and . / : @ % + , - are left of it.
func (at shellPlace) quote(s string) string {
	switch at.state {
	case noShell:
		return s
	case single:
		s = strings.ReplaceAll(s, `'`, `'\''`)
	case ansi:
		s = strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s)
	case double:
		s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s)
	case comment:
		s = strings.ReplaceAll(s, "\n", " ")
	case here: // a line of it could be its end
		s = strings.NewReplacer(`\`, `\\`, "$", `\$`, "`", "\\`", "\n", " ").Replace(s)
	case other:
		s = strings.Map(func(r rune) rune {
			if r == ' ' || r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || strings.ContainsRune("./:@%+,-", r) {
				return r
			}
			return -1
		}, s)
	case bare:
		if s != "" {
			s = text.ShellWord(s)
		}
	}
	for range at.back {
		s = strings.NewReplacer(`\`, `\\`, "$", `\$`, "`", "\\`").Replace(s)
	}
	return s
}
