package permission

import (
	"path"
	"strings"
)

// A wrapper is a program that runs another, given among its own arguments.
type wrapper struct {
	flags    string // its short options without a value
	values   string // its short options that take one
	operands int    // its own operands before the command
	assigns  bool   // VAR=value may stand before the command
}

// wrappers are the programs that are looked through. Of an option that is not
// here nobody knows whether it takes a value; then every later word may be the
// command. From the manuals of GNU coreutils 9, util-linux 2.40, findutils 4.10,
// sudo 1.9 and moreutils, read 2026-11-20.
var wrappers = map[string]wrapper{
	"env":        {flags: "i0v", values: "uC", assigns: true},
	"sudo":       {flags: "AbEHiKknPSsV", values: "CDghpRrtTuU", assigns: true},
	"doas":       {flags: "Lns", values: "aCu"},
	"xargs":      {flags: "0oprtx", values: "adEILnPs"},
	"timeout":    {flags: "v", values: "ks", operands: 1},
	"nice":       {values: "n"},
	"nohup":      {},
	"setsid":     {flags: "cfw"},
	"time":       {flags: "apqv", values: "fo"},
	"command":    {flags: "p"},
	"builtin":    {},
	"exec":       {flags: "cl", values: "a"},
	"stdbuf":     {values: "eio"},
	"ionice":     {flags: "t", values: "cnpPu"},
	"taskset":    {operands: 1},
	"chrt":       {flags: "bfior", operands: 1},
	"chroot":     {operands: 1},
	"unshare":    {flags: "mufinpUCTrc"},
	"nsenter":    {flags: "a"},
	"flock":      {flags: "sxnuFo", values: "wE", operands: 1},
	"strace":     {flags: "cfFhiqrtTvVxyz", values: "abeEIoOpPsSuUX"},
	"ltrace":     {},
	"watch":      {flags: "bcdegtpx", values: "n"},
	"parallel":   {},
	"busybox":    {},
	"toybox":     {},
	"caffeinate": {flags: "disu", values: "tw"},
	"pkexec":     {},
	"runuser":    {flags: "lm", values: "gGu"},
	"unbuffer":   {},
	"script":     {flags: "aefq"},
	"entr":       {flags: "acdnprsz"},
	"rlwrap":     {},
	"torsocks":   {},
	"catchsegv":  {},
	"fakeroot":   {},
}

// maxHostAt bounds how many of ssh's words are taken for its host.
const maxHostAt = 16

// shells run a text of shell given after -c.
var shells = set("sh bash dash ash zsh ksh mksh fish")

// joiners put their operands together into one text of shell; ssh takes a host
// first.
var joiners = set("eval ssh su watch script flock")

// finders run a command given behind one of these options, up to ; or +.
var finders = map[string]string{
	"find":   " -exec -execdir -ok -okdir ",
	"fd":     " -x -X --exec --exec-batch ",
	"fdfind": " -x -X --exec --exec-batch ",
}

// through looks for the commands that p runs in turn.
func (r *reader) through(p *part) {
	name := path.Base(p.program())
	if options, ok := finders[name]; ok {
		for i, w := range p.words {
			if i+1 < len(p.words) && strings.Contains(options, " "+w.text+" ") {
				r.inner(p, p.words[i+1:], p.guess)
			}
		}
	}
	switch {
	case shells[name]:
		r.throughShell(p)
	case name == "env":
		r.throughEnv(p)
	case name == "source" || name == ".":
		r.isUnknown("it runs a file of shell")
	case name == "trap" && len(p.words) > 1:
		r.textOf(p, p.words[1:2], p.guess)
	case joiners[name]:
		r.throughText(p, name)
	}
	w, ok := wrappers[name]
	if !ok || name == "command" && asksOnly(p) {
		return
	}
	i, sure := w.command(p.words)
	if i < len(p.words) {
		r.inner(p, p.words[i:], p.guess)
	}
	if !sure {
		for i := range p.words[1:] {
			r.inner(p, p.words[i+1:], true)
		}
	}
}

// inner takes in a command that p runs. One that is only a guess makes nothing
// unknown: the wrapper itself asks already.
func (r *reader) inner(p *part, words []word, guess bool) {
	q := &part{words: words, dirs: p.dirs, guess: guess, text: p.text}
	if guess {
		if len(r.parts) >= maxParts || r.depth >= maxDepth {
			r.exhausted = true
			return
		}
		r.parts = append(r.parts, q)
		if wrapsAnother(q) {
			r.depth++
			r.through(q)
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
func wrapsAnother(p *part) bool {
	name := path.Base(p.program())
	_, wraps := wrappers[name]
	return wraps || shells[name] || joiners[name]
}

// command returns where the command begins among the words of a wrapper, and
// whether that is certain.
func (w wrapper) command(words []word) (at int, sure bool) {
	sure = true
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
		case strings.HasPrefix(t, "--"):
			if !strings.Contains(t, "=") {
				sure = false // it may take the next word
			}
			continue
		case strings.HasPrefix(t, "-") && len(t) > 1:
			for j := 1; j < len(t); j++ {
				if strings.IndexByte(w.values, t[j]) >= 0 {
					if j == len(t)-1 {
						i++
					}
					break
				}
				if strings.IndexByte(w.flags, t[j]) < 0 {
					sure = false
				}
			}
			continue
		case w.assigns && strings.Contains(t, "="):
			continue
		}
		break options
	}
	return i + w.operands, sure
}

// asksOnly reports whether p is "command -v NAME": where a program is.
func asksOnly(p *part) bool {
	return len(p.words) > 1 && (p.words[1].text == "-v" || p.words[1].text == "-V") && p.words[1].kind == static
}

// throughShell looks into "sh -c TEXT".
func (r *reader) throughShell(p *part) {
	for i := 1; i < len(p.words); i++ {
		w := p.words[i]
		if w.kind != static {
			r.isUnknown("what the shell is to run is only known when it runs")
			return
		}
		if !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "+") {
			return // a file of shell: a rule may name it
		}
		if !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "c") {
			for j := i + 1; j < len(p.words); j++ {
				if p.words[j].kind != static || !strings.HasPrefix(p.words[j].text, "-") {
					r.textOf(p, p.words[j:j+1], p.guess)
					return
				}
			}
		}
	}
	r.isUnknown("a shell that reads what to run from its input")
}

// throughEnv looks into "env -S TEXT".
func (r *reader) throughEnv(p *part) {
	for i, w := range p.words {
		if text, ok := strings.CutPrefix(w.text, "--split-string="); ok {
			r.textOf(p, []word{{text: text, kind: w.kind}}, p.guess)
		} else if strings.HasPrefix(w.text, "-S") && len(w.text) > 2 {
			r.textOf(p, []word{{text: w.text[2:], kind: w.kind}}, p.guess)
		} else if (w.text == "-S" || w.text == "--split-string") && i+1 < len(p.words) {
			r.textOf(p, p.words[i+1:], p.guess)
		}
	}
}

// throughText looks into programs that hand text to a shell.
func (r *reader) throughText(p *part, name string) {
	switch name {
	case "eval":
		r.isUnknown("eval runs a text as shell")
	case "ssh":
		// Options and the host come first; which word the host is does not
		// matter for finding what a rule denies.
		for i := 2; i < min(len(p.words), maxHostAt); i++ {
			r.textOf(p, p.words[i:], true)
		}
		return
	case "su", "script", "flock":
		for i, w := range p.words {
			if (w.text == "-c" || w.text == "--command") && i+1 < len(p.words) {
				r.textOf(p, p.words[i+1:i+2], p.guess)
			}
		}
		return
	}
	if len(p.words) > 1 {
		r.textOf(p, p.words[1:], p.guess || name != "eval")
	}
}

// textOf reads words, put together, as a text of shell.
func (r *reader) textOf(p *part, words []word, guess bool) {
	texts := make([]string, len(words))
	for i, w := range words {
		if w.kind != static {
			r.isUnknown("what is to be run as shell is only known when it runs")
			return
		}
		texts[i] = w.text
	}
	if guess {
		// What cannot be understood in a guess means nothing.
		unknown, unsure := len(r.unknown), len(r.unsure)
		r.source(strings.Join(texts, " "), true)
		r.unknown, r.unsure = r.unknown[:unknown], r.unsure[:unsure]
		return
	}
	r.source(strings.Join(texts, " "), false)
}

// set makes a set of the words of list.
func set(list string) map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields(list) {
		m[s] = true
	}
	return m
}
