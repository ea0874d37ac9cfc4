package permission

import (
	"path"
	"strings"
)

// A look is what is known of one simple command by its program and options.
type look struct {
	// reads: it only reads, whatever the files are.
	reads bool
	// hazards are the words that make it run another program, write a file or
	// do what else its name does not tell, or that are not known not to. No
	// wildcard covers them: a rule must spell them out.
	hazards []string
	// paths are what may be names of files among its words.
	paths []word
	// careless: none of its options can do harm, so that a name of a file that
	// happens to look like one does none either.
	careless bool
	// texts: careless, and its operands are texts and not files.
	texts bool
}

// A program is a program that reads, if its options are harmless.
type program struct {
	any    bool   // all of them are
	flags  string // those of its short options that are, without a value
	values string // those that take a text
	from   string // those that take the name of a file to read
	long   string // its long options that are; "=" behind one that takes a value
	// operands is how its operands are to be taken.
	operands operands
}

type operands int

const (
	files      operands = iota // names of files
	notFiles                   // text
	scriptThen                 // a pattern or a script, unless an option gave it; then files
	oneFile                    // one file; a second would be written
	none                       // none, or it does something else
	plusOnly                   // formats that begin with +, or it sets the clock
)

// programs are the programs that are known to read. An option or operand
// that is not listed makes the call one that a person is asked about: a new version of a
// program may give it any meaning. Under values stands only what takes a value
// in every version: a letter too many would hide the name of a file. From the manuals of GNU coreutils 9.7, grep
// 3.12, findutils 4.10, ripgrep 15, and the BSD programs of macOS 15 where
// theirs differ, read 2026-11-20.
var programs = map[string]program{
	"ls": {any: true}, "cat": {any: true}, "head": {any: true, values: "nc"}, "tail": {any: true, values: "nc"},
	"wc": {any: true}, "nl": {any: true}, "tac": {any: true}, "rev": {any: true},
	"cut": {any: true, values: "bcdf"}, "paste": {any: true, values: "d"}, "join": {any: true, values: "t"}, "comm": {any: true},
	"fold": {any: true}, "expand": {any: true}, "unexpand": {any: true}, "column": {any: true, values: "s"},
	"od": {any: true}, "hexdump": {any: true}, "strings": {any: true}, "cmp": {any: true},
	"stat": {any: true, values: "c"}, "du": {any: true, values: "dB"}, "df": {any: true}, "cksum": {any: true},
	"md5sum": {any: true}, "sha1sum": {any: true}, "sha256sum": {any: true}, "sha512sum": {any: true}, "b2sum": {any: true},
	"readlink": {any: true}, "realpath": {any: true},
	"basename": {any: true, operands: notFiles}, "dirname": {any: true, operands: notFiles},
	"grep":  {any: true, values: "ABDdem", from: "f", operands: scriptThen},
	"egrep": {any: true, values: "ABDdem", from: "f", operands: scriptThen},
	"fgrep": {any: true, values: "ABDdem", from: "f", operands: scriptThen},
	"jq":    {any: true, operands: scriptThen},
	"pwd":   {any: true}, "true": {any: true}, "false": {any: true}, ":": {any: true, operands: notFiles},
	"echo": {any: true, operands: notFiles}, "seq": {any: true, operands: notFiles},
	"sleep": {any: true, operands: notFiles}, "tr": {any: true, operands: notFiles},
	"whoami": {any: true}, "id": {any: true, operands: notFiles}, "groups": {any: true, operands: notFiles},
	"uname": {any: true}, "nproc": {any: true}, "arch": {operands: none}, "uptime": {any: true}, "free": {any: true},
	"tty": {any: true}, "locale": {any: true, operands: notFiles}, "getconf": {any: true, operands: notFiles},
	"which": {any: true, operands: notFiles}, "type": {any: true, operands: notFiles},
	"printf":   {operands: notFiles},
	"cd":       {},
	"hostname": {flags: "fsiId", operands: none},
	"uniq":     {flags: "cdDiuz", values: "fsw", long: "count repeated unique ignore-case", operands: oneFile},
	"sort": {
		flags: "bCcdfghiMmnRrsuVz", values: "kt",
		long: "reverse unique numeric-sort human-numeric-sort version-sort ignore-case stable check key= field-separator=",
	},
	"diff": {
		flags: "abBcdeEiNnpqrstTuwy", values: "CUWxFI",
		long: "unified unified= brief recursive ignore-all-space ignore-space-change ignore-blank-lines ignore-case " +
			"side-by-side new-file color color= exclude= report-identical-files text minimal to-file= from-file=",
	},
	"file": {flags: "bhiLkNrs", long: "brief mime mime-type mime-encoding"},
	"tree": {flags: "adfilpsugDFqNnCAJXhQrtcUv", values: "LPI", long: "dirsfirst gitignore noreport prune du si filelimit="},
	"date": {
		flags: "uRI", values: "d", from: "r", operands: plusOnly,
		long: "utc universal rfc-email iso-8601 iso-8601= rfc-3339= date=",
	},
	"base64": {flags: "dDi", values: "w", long: "decode ignore-garbage wrap="},
	"xxd":    {flags: "abeiupEC", values: "clgso", operands: oneFile},
	"pgrep":  {any: true, operands: notFiles}, "pidof": {any: true, operands: notFiles}, "who": {operands: none}, "w": {flags: "hs", operands: none},
	"lscpu": {operands: none}, "lsblk": {flags: "af", operands: none}, "cal": {operands: notFiles}, "expr": {any: true, operands: notFiles},
	"ss": {flags: "tulnpaesm46", operands: none}, "netstat": {flags: "tulnpaers46", operands: none}, "vmstat": {operands: none}, "sw_vers": {any: true},
	"zcat": {any: true}, "bzcat": {any: true}, "xzcat": {any: true}, "shasum": {any: true, values: "a"}, "sha224sum": {any: true}, "sha384sum": {any: true}, "sum": {any: true},
	"fmt": {any: true, values: "w"}, "pr": {flags: "aT"}, "tsort": {any: true}, "look": {operands: none}, "numfmt": {any: true, operands: notFiles}, "factor": {any: true, operands: notFiles},
	"shuf": {flags: "erz", values: "n"}, "iconv": {flags: "c", values: "ft"}, "bc": {flags: "lqs"}, "whereis": {any: true, operands: notFiles}, "apropos": {operands: notFiles}, "whatis": {operands: notFiles},
	"tokei": {}, "scc": {}, "cloc": {}, "xmllint": {long: "format noout"}, "zipinfo": {flags: "12smlvht"}, "unzip": {flags: "lvZ1"},
	"break": {any: true, operands: notFiles}, "continue": {any: true, operands: notFiles}, "exit": {any: true, operands: notFiles}, "return": {any: true, operands: notFiles},
	"diff3": {flags: "aeExX3AimT"}, "colordiff": {flags: "uNrbwq"}, "git-lfs": {operands: none},
	"test": {flags: "abcdefgGhkLnNoOpqrsStuwxz"},
	"[":    {flags: "abcdefgGhkLnNoOpqrsStuwxz"},
	"man":  {flags: "kfw"},
	"rg": {
		flags: "nicSsFwxvlHhNoqaUPpu0I.", values: "gtTeABCmMdjEr", from: "f", operands: scriptThen,
		long: "files hidden no-ignore no-ignore-vcs type= type-not= glob= iglob= max-count= context= after-context= " +
			"before-context= line-number no-line-number heading no-heading count count-matches files-with-matches " +
			"files-without-match ignore-case smart-case case-sensitive fixed-strings word-regexp line-regexp multiline " +
			"multiline-dotall json stats color= colors= sort= sortr= trim type-list with-filename no-filename " +
			"only-matching replace= pcre2 max-depth= invert-match vimgrep column null no-messages max-columns= " +
			"max-filesize= passthru text unrestricted regexp= file=",
	},
	"fd":     fd,
	"fdfind": fd,
}

// fd is fd(1), which Debian calls fdfind; version 10.
var fd = program{
	flags: "HIusipa0gFq1", values: "tedEjcS", operands: scriptThen,
	long: "hidden no-ignore type= extension= max-depth= exclude= glob absolute-path full-path print0 color=",
}

// lookAt returns what is known of p.
func lookAt(p *part) look {
	name := p.program()
	var l look
	switch {
	case p.words[0].kind != static:
		return look{paths: p.words[1:]}
	case asksVersion(p):
		return look{reads: true}
	case name == "[[":
		return lookAtTest(p.words[1:])
	case name == "git":
		l = lookAtGit(p.words[1:])
	case name == "go":
		l = lookAtGo(p.words[1:])
	case name == "find":
		l = lookAtFind(p.words[1:])
	case name == "sed":
		l = lookAtSed(p.words[1:])
	case name == "awk" || name == "gawk" || name == "mawk":
		l = lookAtAwk(p.words[1:])
	case name == "tee":
		l = look{paths: p.words[1:]}
		for _, w := range p.words[1:] {
			if !strings.HasPrefix(w.text, "-") && w.text != "/dev/null" {
				l.hazards = append(l.hazards, w.text)
			}
		}
	case name == "gofmt":
		l = lookAtGofmt(p.words[1:])
	case name == "npm":
		l = lookAtNpm(p.words[1:])
	case name == "pip" || name == "pip3":
		l = lookAtPip(p.words[1:])
	case name == "ps":
		l = lookAtPs(p.words[1:])
	case name == "tar":
		l = lookAtTar(p.words[1:])
	case name == "command" && asksOnly(p):
		return look{reads: true}
	default:
		known, ok := programs[name]
		if !ok {
			return look{paths: possiblePaths(p.words[1:]), hazards: hazardsOf(name, p.words[1:])}
		}
		l = known.look(p.words[1:])
		l.careless = known.any
		l.texts = known.any && known.operands == notFiles
		if name == "jq" {
			l.hazards = append(l.hazards, jqHazards(p.words[1:])...)
		}
		if name == "unzip" && (len(p.words) < 2 || !strings.HasPrefix(p.words[1].text, "-") || !strings.ContainsAny(p.words[1].text, "lvZ")) {
			l.reads = false // without an option that says to list, it extracts
		}
		if name == "test" || name == "[" {
			l.hazards = append(l.hazards, arithmetic(p.words[1:])...)
		}
	}
	// A word that is not known may be any option; a pattern of names likewise,
	// if a file has such a name.
	for _, w := range p.words[1:] {
		if !l.careless && (w.kind == dynamic || w.kind == pattern && strings.ContainsAny(w.text[:1], "*?")) {
			l.reads = false
		}
	}
	l.reads = l.reads && len(l.hazards) == 0
	return l
}

// look looks at the words behind the program's name.
func (k program) look(words []word) look {
	l := look{reads: true}
	script := k.operands == scriptThen // the next operand is one
	operand := 0
	literal := false // behind "--"
	for i := 0; i < len(words); i++ {
		w := words[i]
		t := w.text
		if literal || !strings.HasPrefix(t, "-") || t == "-" {
			operand++
			switch {
			case script:
				script = false
			case k.operands == none, k.operands == oneFile && operand > 1, k.operands == plusOnly && !strings.HasPrefix(t, "+"):
				l.hazards = append(l.hazards, t)
				l.paths = append(l.paths, w)
			case k.operands == files, k.operands == scriptThen, k.operands == oneFile:
				l.paths = append(l.paths, w)
			}
			continue
		}
		if t == "--" {
			literal = true
			continue
		}
		if k.operands == scriptThen && k.givesScript(t) {
			script = false
		}
		if strings.HasPrefix(t, "--") {
			name, _, hasValue := strings.Cut(t[2:], "=")
			takes := !hasValue && has(k.long, name+"=") && !has(k.long, name)
			if !k.any && !takes && !(hasValue && has(k.long, name+"=") || !hasValue && has(k.long, name)) {
				l.hazards = append(l.hazards, t)
			}
			if k.operands != notFiles && !has("exclude exclude-dir include", name) { // names to match, of no file
				l.paths = append(l.paths, optionPath(w)...)
			}
			if takes && i+1 < len(words) {
				i++
				l.paths = append(l.paths, words[i])
			}
			continue
		}
		at, letter := k.valueAt(t)
		if !k.any && !k.harmless(t[1:at]) {
			l.hazards = append(l.hazards, t)
		}
		switch {
		case letter == 0: // no option that takes a value, as far as we know
			if k.operands != notFiles {
				l.paths = append(l.paths, optionPath(w)...)
			}
		case at+1 < len(t): // -n5
			if strings.IndexByte(k.from, letter) >= 0 {
				l.paths = append(l.paths, word{text: t[at+1:], source: w.source, kind: w.kind})
			}
		case i+1 < len(words): // -n 5
			i++
			if strings.IndexByte(k.from, letter) >= 0 {
				l.paths = append(l.paths, words[i])
			}
		}
	}
	return l
}

// valueAt returns where in short options written together the first stands that
// takes a value, and which it is; the end and 0 if there is none. Behind a sign
// that belongs to a path there is a value of an option we do not know.
func (k program) valueAt(t string) (int, byte) {
	for i := 1; i < len(t) && t[i] != '/' && t[i] != '.' && t[i] != '~'; i++ {
		if strings.IndexByte(k.values, t[i]) >= 0 || strings.IndexByte(k.from, t[i]) >= 0 {
			return i, t[i]
		}
	}
	return len(t), 0
}

// harmless reports whether all of letters are options that are; a number is
// (diff -3).
func (k program) harmless(letters string) bool {
	return strings.Trim(letters, k.flags) == "" || strings.Trim(letters, "0123456789") == ""
}

// has reports whether s is a word of list.
func has(list, s string) bool { return strings.Contains(" "+list+" ", " "+s+" ") }

// givesScript reports whether an option gives the pattern that otherwise is the
// first operand (grep -e, rg --files). When in doubt it does: then that operand
// is taken for a file, which is the stricter reading.
func (k program) givesScript(option string) bool {
	if strings.HasPrefix(option, "--") {
		return hasAny(option, "--regexp", "--file", "--files", "--from-file", "--type-list")
	}
	at, _ := k.valueAt(option) // behind it stands a value
	return strings.ContainsAny(option[:min(at+1, len(option))], "ef")
}

// arithmetic returns the words of a test that bash evaluates as arithmetic, in
// which substitutions run.
func arithmetic(words []word) []string {
	var hazards []string
	for _, w := range words {
		if w.text == "-v" || w.text == "-R" || strings.ContainsAny(w.text, "`[") || strings.Contains(w.text, "$(") {
			if w.text != "[" && w.text != "]" {
				hazards = append(hazards, w.text)
			}
		}
	}
	return hazards
}

// hasAny reports whether an option is, or abbreviates, one of long.
func hasAny(option string, long ...string) bool {
	name, _, _ := strings.Cut(option, "=")
	for _, l := range long {
		if len(name) > 2 && strings.HasPrefix(l, name) && strings.HasPrefix(name, "--") {
			return true
		}
	}
	return false
}

// possiblePaths returns what may name files among the words of a program that is
// not known.
func possiblePaths(words []word) []word {
	var paths []word
	literal := false // behind "--"
	for _, w := range words {
		if !literal && strings.HasPrefix(w.text, "-") {
			literal = w.text == "--"
			paths = append(paths, optionPath(w)...)
			continue
		}
		paths = append(paths, w)
		if _, value, ok := strings.Cut(w.text, "="); ok && looksLikePath(value) {
			paths = append(paths, word{text: value, source: w.source, kind: w.kind}) // dd of=FILE
		}
		if _, value, ok := strings.Cut(w.text, "@"); ok {
			paths = append(paths, word{text: value, source: w.source, kind: w.kind}) // curl -d @FILE, -F x=@FILE
		}
	}
	return paths
}

// optionPath returns what may name a file within an option: --file=NAME, -fNAME.
func optionPath(w word) []word {
	value := ""
	if _, v, ok := strings.Cut(w.text, "="); ok {
		value = v
	} else if !strings.HasPrefix(w.text, "--") && len(w.text) > 2 {
		value = w.text[2:]
		if i := strings.IndexByte(w.text, '/'); i > 1 && value[0] != '.' {
			value = w.text[i:] // -xvf/etc/shadow
		}
	}
	value = strings.TrimPrefix(value, "@")
	if !looksLikePath(value) {
		return nil
	}
	return []word{{text: value, source: w.source, kind: w.kind}}
}

// looksLikePath reports whether s is more likely the name of a file than a text.
func looksLikePath(s string) bool {
	return strings.HasPrefix(s, ".") || strings.HasPrefix(s, "~") || strings.Contains(s, "/") || secretIn(path.Base(s)) != ""
}
