package permission

import (
	"slices"
	"strings"

	"pawl/internal/lazy"
)

// inspectGo looks at the words after "go". Options after -args count too: whether
// that is an option, or the value of one before it, only go knows.
func inspectGo(words []word) commandInfo {
	c := commandInfo{paths: possiblePaths(words), reads: len(words) == 0}
	if len(words) == 0 {
		return c
	}
	command, known := words[0].text, programOf("go")
	if has(known.reader.commands, command) || strings.HasPrefix(command, "-") {
		c.hazards = append(c.hazards, command)
	}
	if command == "mod" && len(words) > 1 {
		if command += " " + words[1].text; command == "mod edit" {
			c.hazards = append(c.hazards, "edit")
		}
	}
	reads := has(known.words[lists], strings.TrimPrefix(command, "mod "))
	for i, w := range words[1:] {
		option, isOption := strings.CutPrefix(w.text, "-")
		name, value, _ := strings.Cut(strings.TrimPrefix(option, "-"), "=")
		// -ldflags may have its value in the next word.
		if isOption && (name == "gcflags" || name == "asmflags" || name == "ldflags") {
			if value == "" && i+2 < len(words) {
				value = words[i+2].text
			}
			if !harmlessFlags(value) {
				c.hazards = append(c.hazards, w.text)
			}
		}
		if isOption && (has(known.reader.single, strings.TrimPrefix(name, "test.")) || strings.Contains(value, "-toolexec")) || strings.Contains(w.text, "-extld") || strings.Contains(w.text, "-fplugin") {
			c.hazards = append(c.hazards, w.text)
		}
		reads = reads && (command != "env" || !strings.Contains(w.text, "=")) && !(isOption && has("export compiled mod u", name))
	}
	c.reads = reads
	return c
}

// harmlessFlags reports whether what is given to the compiler, the assembler or the linker of
// Go writes no file and runs no program: [PATTERN=]-FLAG….
func harmlessFlags(value string) bool {
	if pattern, flags, ok := strings.Cut(value, "="); ok && !strings.HasPrefix(pattern, "-") {
		value = flags
	}
	fields := strings.Fields(value)
	for i := 0; i < len(fields); i++ {
		flag := strings.Trim(fields[i], `'"`)
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "-"), "=")
		switch {
		case name == "-X" || name == "X":
			if flag == "-X" {
				i++
			}
		case !strings.HasPrefix(flag, "-") || !has("N l m e B S s w v race msan d compressdwarf buildid checklinkname", name):
			return false
		}
	}
	return true
}

// findActs are what makes find run, delete or write. From the manual of findutils 4.10,
// read 2026-11-20; the options that no manual has are hazards by their beginning.
var findActs = []string{"-exec", "-ok", "-delete", "-fprint", "-fls", "-files0"}

// findText are the tests of find whose next word is a text and no file.
const findText = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -maxdepth -mindepth -perm " +
	"-user -group -links -inum -printf -lname -ilname -regextype -uid -gid -newermt -fstype -used"

// here is the folder a command is in, where it is not among its words.
var here = word{text: ".", source: "."}

// inspectFind looks at the words after "find". Without a folder before its tests it starts in the one it is in.
func inspectFind(words []word) commandInfo {
	c := commandInfo{reads: true}
	if startsHere(words) {
		c.paths = append(c.paths, here)
	}
	for i := 0; i < len(words); i++ {
		switch t := words[i].text; {
		case has(findText, t):
			i++
		case slices.ContainsFunc(findActs, func(act string) bool { return strings.HasPrefix(t, act) }):
			c.hazards = append(c.hazards, t)
		case !strings.HasPrefix(t, "-") && !has("! ( ) ,", t):
			c.paths = append(c.paths, words[i])
		}
	}
	return c
}

// startsHere reports whether the words after "find" name no folder to start in, or leave that to a file.
func startsHere(words []word) bool {
	for i := 0; i < len(words); i++ {
		switch t := words[i].text; {
		case t == "-D":
			i++
		case has("-H -L -P -E -X -d -s -x --", t), strings.HasPrefix(t, "-O"), strings.HasPrefix(t, "-D"):
		case t == "-f": // of BSD: what follows is a folder
			return false
		default:
			return strings.HasPrefix(t, "-") || has("! ( ) ,", t)
		}
	}
	return true
}

// inspectSed looks at the words after "sed".
func inspectSed(words []word) commandInfo {
	c := commandInfo{reads: true}
	given := false
	var operands []word
	script := func(w word, text string) {
		if w.kind != static || !sedReads().MatchString(text) {
			c.hazards = append(c.hazards, text)
		}
	}
	for i := 0; i < len(words); i++ {
		t := words[i].text
		expression, isLong := strings.CutPrefix(t, "--expression=")
		switch {
		case isLong:
			given = true
			script(words[i], expression)
		case has("--quiet --silent --regexp-extended --null-data --posix --", t):
		case !strings.HasPrefix(t, "-") || t == "-":
			operands = append(operands, words[i])
		case strings.Trim(t[1:], "nErsuz") == "":
		case strings.HasSuffix(t, "e") && strings.Trim(t[1:len(t)-1], "nErsuz") == "" && i+1 < len(words):
			i++
			given = true
			script(words[i], words[i].text)
		default:
			c.hazards = append(c.hazards, t)
		}
	}
	if !given && len(operands) > 0 {
		script(operands[0], operands[0].text)
		operands = operands[1:]
	}
	c.paths = operands
	return c
}

// sedReads matches a sed script that does no more than print, delete and replace: e,
// w, r and what is not known could run, write or read anything. Of brackets only
// those are in it in which GNU and BSD find the same end.
var sedReads = lazy.Regexp(sedScript())

func sedScript() string {
	// text is what may stand before a delimiter.
	text := func(delimiter string) string {
		return `(?:\[\^?[^\]\[\\\n^` + delimiter + `][^\]\[\\\n` + delimiter + `]*\]|\\[^\n]|[^\[\\\n` + delimiter + `])*`
	}
	var replace []string
	for _, d := range []string{"/", `\|`, "#", ",", "@", ":", "!", "_"} {
		replace = append(replace, d+text(d)+d+text(d)+d)
	}
	address := `(?:\d+(?:~\d+)?|\$|/` + text("/") + `/[IM]*)`
	addresses := `(?:` + address + ` *(?:, *(?:` + address + `|[+~]\d+))?)? *!? *`
	command := `(?:[pPdDqQ=nNgGhHxl]\d*|[sy](?:` + strings.Join(replace, "|") + `)[gpiIM0-9]*)`
	return `^[ \t\n;]*(?:` + addresses + `(?:\{[ \t\n]*)*(?:` + addresses + command + `)[ \t]*(?:[ \t\n]*[;}\n][ \t\n;}]*|$))*$`
}

// inspectAwk looks at the words after "awk".
func inspectAwk(words []word) commandInfo {
	c := commandInfo{reads: true}
	for i := 0; i < len(words); i++ {
		t := words[i].text
		switch {
		case t == "-F" || t == "-v":
			i++
		case strings.HasPrefix(t, "-F") || strings.HasPrefix(t, "-v"):
		case strings.HasPrefix(t, "-"):
			c.hazards = append(c.hazards, t)
		default:
			if words[i].kind != static || awkActs().MatchString(t) || strings.Contains(strings.ReplaceAll(t, "||", ""), "|") || strings.Contains(t, ">") && !awkCompares(t) {
				c.hazards = append(c.hazards, t)
			}
			c.paths = append(c.paths, words[i+1:]...)
			return c
		}
	}
	return c
}

// awkActs matches what in an awk program could run, write or read other files, or
// show the environment.
var awkActs = lazy.Regexp(`@|system|getline|close|ARGV|ENVIRON|PROCINFO|SYMTAB|FUNCTAB`)

// awkCompares reports whether every > in an awk program compares: it stands outside
// of actions or inside of parentheses, where the grammar has no output (POSIX awk,
// "Grammar"; read 2026-11-20). Quotes and slashes may hide a brace.
func awkCompares(program string) bool {
	if strings.ContainsAny(program, "\"/#\\`'") {
		return false
	}
	braces, parens := 0, 0
	for _, c := range program {
		switch c {
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
