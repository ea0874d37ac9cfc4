package permission

import "strings"

// goHazards are options of the go command by which it runs a program of one's
// choice, reads other settings, or writes a file of that name, and its commands
// that run programs or install. From "go help build", "go help testflag" and
// "go help" of Go 1.26, read 2026-11-20.
var (
	goHazards  = set("exec toolexec vettool overlay modfile modcacherw C fuzzcachedir pkgdir o cpuprofile memprofile blockprofile mutexprofile coverprofile trace outputdir fixtool w gccgoflags")
	goCommands = set("run generate tool install get fix clean work bug telemetry")
)

// lookAtGo looks at the words behind "go".
func lookAtGo(words []word) look {
	l := look{paths: possiblePaths(words)}
	if len(words) == 0 {
		l.reads = true
		return l
	}
	command := words[0].text
	if goCommands[command] || strings.HasPrefix(command, "-") {
		l.hazards = append(l.hazards, command)
	}
	var options []string
	for _, w := range words[1:] {
		if w.text == "--args" || w.text == "-args" {
			break // what follows belongs to the test
		}
		option, isOption := strings.CutPrefix(w.text, "-")
		if !isOption {
			continue
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(option, "-"), "=")
		options = append(options, name)
		plain := strings.TrimPrefix(name, "test.")
		if goHazards[plain] || strings.Contains(value, "-extld") || strings.Contains(value, "-toolexec") {
			l.hazards = append(l.hazards, w.text)
		}
	}
	for _, w := range words { // -ldflags "-extld …" as two words
		if strings.HasPrefix(w.text, "-extld") || strings.Contains(w.text, " -extld") || strings.Contains(w.text, "-fplugin") {
			l.hazards = append(l.hazards, w.text)
		}
	}
	harmless := ""
	switch command {
	case "version":
		harmless = "m v json"
	case "env":
		harmless = "json changed"
	case "list":
		harmless = "m json f deps test e find versions retracted tags"
	case "doc":
		harmless = "all c cmd short src u"
	case "mod":
		if len(words) < 2 || !has("graph why verify", words[1].text) {
			if len(words) > 1 && words[1].text == "edit" {
				l.hazards = append(l.hazards, "edit")
			}
			return l
		}
		harmless = "m"
	case "help":
	default:
		return l
	}
	l.reads = true
	for _, o := range options {
		l.reads = l.reads && has(harmless, o)
	}
	if command == "env" {
		for _, w := range words { // go env -w is not harmless; NAME=VALUE belongs to it
			l.reads = l.reads && !strings.Contains(w.text, "=")
		}
	}
	return l
}

// What find may be asked; everything else runs, deletes or writes. From the
// manual of findutils 4.10, read 2026-11-20.
const (
	findAlone = "-print -print0 -empty -prune -not ! -o -or -a -and ( ) , -depth -xdev -mount -follow -L -P -H -ls -readable " +
		"-writable -executable -true -false -noleaf -daystart -nouser -nogroup -quit -d -E -X -x -s"
	findText = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -mmin -atime -amin " +
		"-ctime -cmin -maxdepth -mindepth -perm -user -group -links -inum -printf -lname -ilname -regextype -uid -gid " +
		"-newermt -fstype -used"
	findFile = "-newer -anewer -cnewer -samefile"
)

// lookAtFind looks at the words behind "find".
func lookAtFind(words []word) look {
	l := look{reads: true}
	for i := 0; i < len(words); i++ {
		t := words[i].text
		switch {
		case has(findAlone, t):
		case has(findText, t):
			i++
		case has(findFile, t) && i+1 < len(words):
			i++
			l.paths = append(l.paths, words[i])
		case strings.HasPrefix(t, "-"):
			l.hazards = append(l.hazards, t)
		default:
			l.paths = append(l.paths, words[i])
		}
	}
	return l
}

// lookAtSed looks at the words behind "sed".
func lookAtSed(words []word) look {
	l := look{reads: true}
	script := func(w word) {
		if w.kind != static || !sedReads(w.text) {
			l.hazards = append(l.hazards, w.text)
		}
	}
	given := false
	var operands []word
	for i := 0; i < len(words); i++ {
		t := words[i].text
		expression, isLong := strings.CutPrefix(t, "--expression=")
		switch {
		case isLong:
			given = true
			script(word{text: expression, kind: words[i].kind})
		case t == "--quiet", t == "--silent", t == "--regexp-extended", t == "--null-data", t == "--posix", t == "--":
		case !strings.HasPrefix(t, "-") || t == "-":
			operands = append(operands, words[i])
		case strings.Trim(t[1:], "nErsuz") == "":
		case strings.HasSuffix(t, "e") && strings.Trim(t[1:len(t)-1], "nErsuz") == "" && i+1 < len(words):
			i++
			given = true
			script(words[i])
		default:
			l.hazards = append(l.hazards, t)
		}
	}
	if !given && len(operands) > 0 {
		script(operands[0])
		operands = operands[1:]
	}
	l.paths = operands
	return l
}

// sedReads reports whether a sed script does no more than print, delete and
// replace: e, w, r and what is not known could run, write or read anything.
func sedReads(s string) bool {
	i := 0
	// until moves behind the next end that is not escaped. One in brackets ends
	// the pattern for GNU and not for BSD, so nobody knows what follows.
	until := func(end byte) bool {
		for i < len(s) && s[i] != end {
			if s[i] == '[' {
				n := strings.IndexByte(s[i:], ']')
				if n < 0 || strings.IndexByte(s[i:i+n], end) >= 0 {
					return false
				}
			}
			if s[i] == '\\' {
				i++
			}
			if i < len(s) && s[i] == '\n' {
				return false
			}
			i++
		}
		i++
		return i <= len(s)
	}
	skip := func(chars string) {
		for i < len(s) && strings.IndexByte(chars, s[i]) >= 0 {
			i++
		}
	}
	for {
		skip(" \t\n;{}")
		if i >= len(s) {
			return true
		}
		for range 2 { // addresses
			if s[i] == '/' {
				i++
				if !until('/') {
					return false
				}
				skip("IM")
			} else {
				skip("0123456789$+~")
			}
			skip(" ")
			if i >= len(s) {
				return false
			}
			if s[i] != ',' {
				break
			}
			i++
			skip(" ")
			if i >= len(s) {
				return false
			}
		}
		skip("! ")
		if i >= len(s) {
			return false
		}
		c := s[i]
		i++
		switch {
		case c == '{' || c == '}':
			continue
		case strings.IndexByte("pPdDqQ=nNgGhHxl", c) >= 0:
			skip("0123456789")
		case c == 's' || c == 'y':
			if i >= len(s) || s[i] == '\\' || s[i] == '\n' {
				return false
			}
			end := s[i]
			i++
			for range 2 { // to the second and the third of its delimiters
				if !until(end) {
					return false
				}
			}
			if c == 's' {
				skip("gpiIM0123456789")
			}
		default:
			return false
		}
		skip(" \t")
		if i < len(s) && strings.IndexByte(";}\n", s[i]) < 0 {
			return false
		}
	}
}

// lookAtAwk looks at the words behind "awk".
func lookAtAwk(words []word) look {
	l := look{reads: true}
	for i := 0; i < len(words); i++ {
		t := words[i].text
		switch {
		case t == "-F" || t == "-v":
			i++
		case strings.HasPrefix(t, "-F") || strings.HasPrefix(t, "-v"):
		case strings.HasPrefix(t, "-"):
			l.hazards = append(l.hazards, t)
		default:
			if words[i].kind != static || !awkReads(t) {
				l.hazards = append(l.hazards, t)
			}
			l.paths = append(l.paths, words[i+1:]...)
			return l
		}
	}
	return l
}

// awkReads reports whether an awk program has nothing that could write, run or
// read other files: output redirected or piped, system, getline, loaded
// extensions, changed arguments. A > is a comparison where no output can be meant.
func awkReads(program string) bool {
	for _, s := range []string{"@", "system", "getline", "close", "ARGV", "ENVIRON", "PROCINFO"} {
		if strings.Contains(program, s) {
			return false
		}
	}
	if strings.Contains(strings.ReplaceAll(program, "||", ""), "|") {
		return false
	}
	return !strings.Contains(program, ">") || awkCompares(program)
}

// awkCompares reports whether every > in an awk program compares: it stands outside
// of actions or inside of parentheses, where the grammar has no output (POSIX awk,
// "Grammar"; read 2026-11-20). Quotes and slashes may hide a brace, so programs
// that have them are not told.
func awkCompares(program string) bool {
	if strings.ContainsAny(program, "\"/#\\`'") {
		return false
	}
	braces, parens := 0, 0
	for i := 0; i < len(program); i++ {
		switch program[i] {
		case '{':
			braces++
		case '}':
			braces--
		case '(':
			parens++
		case ')':
			parens--
		case '>':
			if braces != 0 && parens <= 0 {
				return false
			}
		}
		if braces < 0 || parens < 0 {
			return false
		}
	}
	return true
}
