package permission

import (
	"path"
	"slices"
	"strings"

	"pawl/permission/bash"
)

// A wrapper is a program that runs another, given among its own arguments.
type wrapper struct {
	flags    options // those without a value
	values   options // those that take one
	operands int     // its own operands before the command
	assigns  bool    // VAR=value may stand before the command
	// transparent: it changes when and how long the command runs and nothing else, so
	// whatever allows the command allows this.
	transparent bool
	// guessed: where the command begins cannot be told, so every word may be the
	// first of it.
	guessed bool
	// texts: each of its operands may be a text of shell. joins: they are put together into one.
	// With texts alone its words are no command.
	texts, joins bool
	// input: without a command among its words it runs what its input says, itself or by a shell.
	input bool
}

// options are the options of a wrapper: letters of the short ones, and the long ones.
type options struct{ letters, long string }

// toHost is ssh with the options of a login; with others (-N, -W, -n) its input goes to no shell.
var toHost = wrapper{flags: options{letters: "46AaCgKkMqTtvXxYy"}, values: options{letters: "BbcDEeFIiJLlmoPpRSw"}, operands: 1}

// maxHostAt bounds how many of ssh's words are taken for its host.
const maxHostAt = 16

// unwrap looks for the commands that p runs in turn.
func (r *scriptReader) unwrap(p *simpleCommand) {
	name, given := path.Base(p.program()), false
	if options, ok := wordsOf(name, findsBy); ok {
		for i, w := range p.words {
			if i+1 < len(p.words) && has(options, w.text) {
				r.inner(p, p.words[i+1:], p.speculative)
			}
		}
	}
	switch {
	case is(name, isShell):
		r.unwrapShell(p)
	case name == "env":
		r.unwrapEnv(p)
	case name == "source" || name == ".":
		r.isUnknown("it runs a file of shell")
	case name == "trap" && len(p.words) > 1:
		r.textOf(p, p.words[1:2], p.speculative)
	case is(name, joins):
		given = r.unwrapText(p, name)
	}
	if h, ok := interpreter(name); ok && !p.speculative && readsProgram(p, h) {
		r.isUnknown(name + " that reads its program from standard input")
	}
	if name == "crontab" && !p.speculative && (len(p.words) == 1 || slices.ContainsFunc(p.words, func(w word) bool { return w.text == "-" })) {
		r.isUnknown("crontab that reads its commands from standard input")
	}
	w := programOf(name).wrapper
	if !is(name, wraps) || name == "command" && asksOnly(p) {
		return
	}
	i, sure, assigned, unknown := w.command(p.words)
	p.unknown = unknown
	if given && i < len(p.words) && strings.HasPrefix(p.words[i].text, "-") { // flock FILE -c TEXT
		i = len(p.words)
	}
	if w.guessed {
		for _, word := range p.words[1:] {
			p.unknown = append(p.unknown, word.text)
		}
	}
	if (w.texts || w.joins) && !p.speculative {
		r.unwrapOperands(p, w, i)
	}
	if w.input && !given && !p.speculative && r.readsInput(name, p, i) {
		r.isUnknown(name + " that reads its commands from standard input")
	}
	if assigned && !p.speculative {
		r.isUnknown(name + " sets variables for another command")
	}
	if i < len(p.words) {
		// By its plain name, for ./timeout may be anything; and a word that is not
		// known could hold the command.
		p.transparent = sure && len(p.unknown) == 0 && w.transparent && !p.speculative && p.program() == name &&
			!slices.ContainsFunc(p.words[:i], func(w word) bool { return w.kind != static })
		odd := w.joins && !plainName(p.words[i].text) // it is a text, but may be run as a program of that name
		if odd {
			p.unknown = append(p.unknown, p.words[i].text)
		}
		r.inner(p, p.words[i:], p.speculative || odd || w.texts && !w.joins)
		if sure && !w.texts {
			p.innerAt = i
		}
	}
	p.guessed = !sure || i >= len(p.words) && (name == "sudo" || name == "doas")
	if !sure {
		for i := range p.words[1:] {
			r.inner(p, p.words[i+1:], true)
		}
	}
}

// unwrapOperands reads the operands of a wrapper, the first of them the i-th word, as the texts of
// shell that it makes of them: each, and all together if it joins them. A plain word of those that
// are joined is one by itself only for finding what a rule denies.
func (r *scriptReader) unwrapOperands(p *simpleCommand, w wrapper, i int) {
	odd := func(w word) bool { return strings.ContainsAny(w.text, " \t\n;&|<>()$`{") }
	for _, text := range p.words[1:min(i, len(p.words))] {
		r.textOf(p, []word{text}, strings.HasPrefix(text.text, "-") || !odd(text))
	}
	if w.joins && i < len(p.words) {
		r.textOf(p, p.words[i:], false)
	}
	for i < len(p.words) {
		text := p.words[i]
		r.textOf(p, []word{text}, w.joins && !odd(text))
		if w.joins { // what follows are the words of the command
			i++
			continue
		}
		next, _, _, unknown := w.command(p.words[i:])
		for _, value := range p.words[i+1 : min(i+next, len(p.words))] {
			r.textOf(p, []word{value}, true)
		}
		p.unknown = append(p.unknown, unknown...)
		i += next
	}
}

// readsInput reports whether a wrapper whose command begins at the i-th word is given none, or
// takes none among its words.
func (r *scriptReader) readsInput(name string, p *simpleCommand, i int) bool {
	switch name {
	case "batch", "at":
		return true
	case "sudo", "doas": // sudo -s, sudo -i
		return i >= len(p.words) && slices.ContainsFunc(p.words, func(w word) bool { return strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "si") })
	}
	return i >= len(p.words) || p.words[i].text == ":::" || p.words[i].text == "-"
}

// inner takes in a command that p runs. One that is only a guess makes nothing
// unknown: the wrapper itself asks already.
func (r *scriptReader) inner(p *simpleCommand, words []word, speculative bool) {
	if r.exhausted {
		return
	}
	q := &simpleCommand{words: words, dirs: p.dirs, changesDir: p.changesDir, speculative: speculative, text: p.text, within: p, input: p.input}
	if !speculative && len(words) < len(p.words) {
		q.text = joinSources(words)
	}
	if speculative {
		if r.full(len(q.words), q.dirs) || r.depth >= maxDepth {
			r.exhausted = true
			return
		}
		r.parts = append(r.parts, q)
		if wrapsAnother(q) {
			r.depth++
			r.unwrap(q)
			r.depth--
		}
		return
	}
	if r.depth >= maxDepth {
		r.exhausted = true
		return
	}
	r.depth++
	r.part(q)
	r.depth--
}

// wrapsAnother reports whether there is anything to look through in p.
func wrapsAnother(p *simpleCommand) bool {
	return is(path.Base(p.program()), wraps|isShell|joins)
}

// command returns where the command begins among the words of a wrapper, and
// whether that is certain. assigned says that variables are set for it, and unknown are the options
// that the table does not have.
func (w wrapper) command(words []word) (at int, sure, assigned bool, unknown []string) {
	sure = !w.guessed
	i := 1
options:
	for ; i < len(words); i++ {
		t := words[i].text
		switch {
		case words[i].kind != static:
			sure = false
		case t == "--":
			i++
			break options
		case t == "-": // env takes it for -i
			sure = false
			break options
		case strings.HasPrefix(t, "--"):
			option, _, glued := strings.Cut(t, "=")
			switch {
			case !glued && has(w.flags.long, option):
			case has(w.values.long, option):
				if !glued {
					i++
				}
			default:
				sure = sure && glued // else it may take the next word
				unknown = append(unknown, t)
			}
			continue
		case strings.HasPrefix(t, "-") && len(t) > 1:
			for j := 1; j < len(t); j++ {
				if strings.IndexByte(w.values.letters, t[j]) >= 0 {
					if j == len(t)-1 {
						i++
					}
					break
				}
				if strings.IndexByte(w.flags.letters, t[j]) < 0 {
					sure = false
					unknown = append(unknown, t)
					break
				}
			}
			continue
		case w.assigns && strings.Contains(t, "="):
			assigned = true
			continue
		}
		break options
	}
	return i + w.operands, sure, assigned, unknown
}

// asksOnly reports whether p is "command -v NAME": where a program is.
func asksOnly(p *simpleCommand) bool {
	return len(p.words) > 1 && (p.words[1].text == "-v" || p.words[1].text == "-V") && p.words[1].kind == static
}

// unwrapShell looks into "sh -c TEXT".
func (r *scriptReader) unwrapShell(p *simpleCommand) {
	for i := 1; i < len(p.words); i++ {
		w := p.words[i]
		if w.kind != static {
			r.isUnknown("the shell code is only known when it runs")
			return
		}
		if !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "+") {
			return // a file of shell: a rule may name it
		}
		if w.text == "--rcfile" || w.text == "--init-file" || w.text == "-i" || w.text == "-s" {
			break // it reads from its input, too
		}
		if t := w.text; len(t) > 1 && t[1] != '-' && (t[len(t)-1] == 'o' || t[len(t)-1] == 'O') && !strings.Contains(t, "c") {
			i++ // the name of a setting
			continue
		}
		if !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "c") {
			for j := i + 1; j < len(p.words); j++ {
				if p.words[j].kind != static || !strings.HasPrefix(p.words[j].text, "-") {
					if !p.speculative && !bash.ReadAlike(path.Base(p.program()), p.words[j].text) {
						r.isUnknown(p.program() + " may read it differently than bash does")
					}
					p.readsText = p.words[j].kind == static
					r.textOf(p, p.words[j:j+1], p.speculative)
					return
				}
			}
		}
	}
	r.isUnknown("a shell that reads its script from standard input")
}

// unwrapEnv looks into "env -S TEXT".
func (r *scriptReader) unwrapEnv(p *simpleCommand) {
	for i, w := range p.words {
		text, given := "", false
		switch option, short, ok := strings.Cut(w.text, "S"); {
		case hasAny(w.text, "--split-string"):
			_, text, given = strings.Cut(w.text, "=")
		case ok && strings.HasPrefix(option, "-") && strings.Trim(option[1:], "i0v") == "": // -vS TEXT
			text, given = short, short != ""
		default:
			continue
		}
		switch {
		case given:
			r.textOf(p, []word{{text: text, kind: w.kind}}, p.speculative)
		case i+1 < len(p.words):
			r.textOf(p, p.words[i+1:], p.speculative)
		}
	}
}

// unwrapText looks into programs that hand text to a shell; given: an option gives it.
func (r *scriptReader) unwrapText(p *simpleCommand, name string) (given bool) {
	switch name {
	case "eval":
		r.isUnknown("eval runs a text as shell")
		if len(p.words) > 1 {
			r.textOf(p, p.words[1:], p.speculative)
		}
	case "ssh":
		// Options and the host come first; which word the host is does not
		// matter for finding what a rule denies.
		for i := 2; i < min(len(p.words), maxHostAt); i++ {
			r.textOf(p, p.words[i:], true)
		}
		at, sure, _, unknown := toHost.command(p.words)
		p.unknown = slices.DeleteFunc(unknown, func(option string) bool { return bash.ConsistsOf(option, "-nNfG") })
		switch {
		case p.speculative:
		case at < len(p.words):
			r.textOf(p, p.words[at:], false)
		case sure:
			r.isUnknown("a shell of another host that reads its script from standard input")
		}
	case "su", "sg", "capsh", "script", "flock":
		for i, w := range p.words[1:] {
			if text, ok := w.command(); ok && text.text != "" {
				r.textOf(p, []word{text}, p.speculative)
				given = true
			} else if ok && i+2 < len(p.words) {
				r.textOf(p, p.words[i+2:i+3], p.speculative)
				given = true
			}
		}
		if !given && name == "su" && !p.speculative {
			r.isUnknown("a shell that reads its script from standard input")
		}
	default:
		if len(p.words) > 1 {
			r.textOf(p, p.words[1:], true)
		}
	}
	return given
}

// command returns what a word gives as the text of an option -c or --command; empty: the next word is it.
func (w word) command() (text word, ok bool) {
	if letters, short := shortOptions(w.text); short {
		_, w.text, ok = strings.Cut(letters, "c")
		return w, ok
	}
	ok = hasAny(w.text, "--command", "--session-command")
	_, w.text, _ = strings.Cut(w.text, "=")
	return w, ok
}

// joinSources puts words together as people are shown them.
func joinSources(words []word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.source
	}
	return strings.Join(texts, " ")
}

// textOf reads words, put together, as a text of shell.
func (r *scriptReader) textOf(p *simpleCommand, words []word, speculative bool) {
	texts := make([]string, len(words))
	known := true
	for i, w := range words {
		known = known && w.kind == static
		texts[i] = w.text
	}
	if !known {
		r.isUnknown("the shell code is only known when it runs")
		speculative = true // what is known of it may be what a deny rule names
	}
	if speculative {
		// What cannot be understood in a guess means nothing.
		unknown, unsure := len(r.unknown), len(r.unsure)
		r.sourceIn(p, strings.Join(texts, " "), true)
		r.unknown, r.unsure = r.unknown[:unknown], r.unsure[:unsure]
		return
	}
	r.sourceIn(p, strings.Join(texts, " "), false)
}

// set makes a set of the words of list.
func set(list string) map[string]bool {
	words := strings.Fields(list)
	m := make(map[string]bool, len(words))
	for _, s := range words {
		m[s] = true
	}
	return m
}
