package permission

import (
	"path"
	"slices"
	"strings"

	"pawl/internal/lazy"
	"pawl/permission/filenames"
)

// Git has the content of what was committed or staged, and many of its commands print it, or copy it to
// another place, without naming the file. A deny or ask rule for a file that git tracks holds for these too.

// content is what a git command may show of files that git tracks and that none of its words names.
type content struct {
	all   bool // any of them
	below []word
	not   []word // of those below, except these
}

// shown returns what a git command may show.
func (t *evaluation) shown(p *simpleCommand) content {
	command, rest := p.git()
	if command == "" || commandOf("git", command).is(quiet) && !patches(command, rest) {
		return content{}
	}
	summary := slices.ContainsFunc(rest, isSummary) && !slices.ContainsFunc(rest, isPatchOption)
	switch {
	case command == "cat-file" && len(rest) > 1 && has("-t -s -e", rest[0].text),
		command == "worktree" && gitLists(command, rest), command == "diff" && summary,
		has("cat-file show", command) && namesObjects(rest):
		return content{}
	case !has("diff show log whatchanged grep archive", command) || !t.commitsOnly(p, command, rest):
		return content{all: true}
	case command == "show" && summary:
		return content{}
	}
	var c content
	paths, _ := t.pathspecs(p, rest)
	for _, w := range paths {
		switch not, excludes := excluded(w.text); {
		case w.kind != static || strings.ContainsAny(w.text, `*?[\`):
			c.all = true
		case excludes:
			w.text = not
			c.not = append(c.not, w)
		case strings.HasPrefix(w.text, ":"):
			c.all = true
		default:
			c.below = append(c.below, w)
		}
	}
	c.all = c.all || len(c.below) == 0
	return c
}

// excluded returns the path of a pathspec that excludes it.
func excluded(pathspec string) (string, bool) {
	for _, magic := range []string{":!", ":^", ":(exclude)"} {
		if rest, ok := strings.CutPrefix(pathspec, magic); ok && rest != "" && rest[0] != '/' && rest[0] != '(' {
			return rest, true
		}
	}
	return "", false
}

// pathspecs cuts the words after a git command into the paths that limit it and all others.
func (t *evaluation) pathspecs(p *simpleCommand, words []word) (paths, others []word) {
	if i := slices.IndexFunc(words, func(w word) bool { return w.text == "--" }); i >= 0 {
		return words[i+1:], words[:i]
	}
	for _, w := range words {
		if !strings.HasPrefix(w.text, "-") && w.kind == static && t.isTracked(p, w.text) {
			paths = append(paths, w)
		} else {
			others = append(others, w)
		}
	}
	return paths, others
}

// commitsOnly reports whether the operands of a git command are certain to be commits and paths: what has any
// other name, such as a tag, may be the content of a file.
func (t *evaluation) commitsOnly(p *simpleCommand, command string, words []word) bool {
	_, others := t.pathspecs(p, words)
	pattern := command != "grep" || slices.ContainsFunc(words, func(w word) bool { // else its first operand is one
		letters, short := shortOptions(w.text)
		return short && strings.ContainsAny(letters, "ef")
	})
	for _, w := range others {
		switch {
		case w.kind != static:
			return false
		case strings.HasPrefix(w.text, "-"):
		case !pattern:
			pattern = true
		case !aboveHead().MatchString(w.text):
			return false
		}
	}
	return true
}

// aboveHead matches HEAD and the commits that it descends from.
var aboveHead = lazy.Regexp(`^(HEAD|@)([~^][0-9]*)*$`)

// namesObjects reports whether each operand of a git command names a file of a revision, REV:PATH, which is
// judged as the file is.
func namesObjects(words []word) bool {
	found := false
	for _, w := range words {
		if strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--batch") {
			continue
		}
		_, name, ok := strings.Cut(w.text, ":")
		if !ok || name == "" || w.kind != static || strings.HasPrefix(w.text, ":/") || strings.Contains(w.text, "{") {
			return false
		}
		found = true
	}
	return found
}

// patches reports whether options or operands make a git command show differences that is quiet without them,
// or make it exchange what is committed with another folder of this machine.
func patches(command string, words []word) bool {
	letters := commandOf("git", command).words[quiet]
	for _, w := range words {
		given, short := shortOptions(w.text)
		switch {
		case w.text == "--":
			return false
		case short && strings.ContainsAny(given, letters), isPatchOption(w) && letters != "",
			hasAny(w.text, "--show-current-patch"), hasAny(w.text, "--verbose") && strings.Contains(letters, "v"),
			hasAny(w.text, "--format") && strings.Contains(w.text, "raw"),
			has("clone fetch pull push remote submodule", command) && toThisMachine().MatchString(w.text):
			return true
		}
	}
	return command == "clone" && !slices.ContainsFunc(words, func(w word) bool { return strings.Contains(w.text, ":") })
}

// toThisMachine matches the name of a repository on this machine.
var toThisMachine = lazy.Regexp(`^([./~]|file:)`)

// patchOptions make a git command show the lines that differ, as do these letters of short options.
var patchOptions = strings.Fields(`--patch --patch-with-stat --patch-with-raw --unified --binary --cc --interactive --edit
	--diff-merges --dd --remerge-diff --word-diff --color-words --function-context`)

const patchLetters = "puULcW"

// isPatchOption reports whether a word makes a git command show the lines that differ.
func isPatchOption(w word) bool {
	given, short := shortOptions(w.text)
	return short && strings.ContainsAny(given, patchLetters) || hasAny(w.text, patchOptions...)
}

// isSummary reports whether a word makes git diff say no more than what was changed, and how much.
func isSummary(w word) bool {
	name, _, _ := strings.Cut(w.text, "=")
	return has("--stat --shortstat --numstat --dirstat --summary --name-only --name-status", name) ||
		has("--raw --no-patch --quiet -s", name)
}

// isTracked reports whether git tracks a file of a name, or one below it.
func (t *evaluation) isTracked(p *simpleCommand, name string) bool {
	return slices.ContainsFunc(p.places(name), func(where string) bool {
		at := t.r.absolute(t.r.locate("", where))
		return slices.ContainsFunc(t.r.Tracked, func(file string) bool {
			_, ok := filenames.Below(at, file)
			return ok
		})
	})
}

// showsRuled returns a rule that speaks of a file whose content a git command may show without naming it, and
// the file.
func (t *evaluation) showsRuled(p *simpleCommand, rules []Rule) (rule Rule, file string, ok bool) {
	if path.Base(p.program()) != "git" || len(t.r.Tracked) == 0 || len(rules) == 0 {
		return Rule{}, "", false
	}
	c := t.shown(p)
	if !c.all && len(c.below) == 0 {
		return Rule{}, "", false
	}
	in := func(words []word, file string) bool {
		return slices.ContainsFunc(words, func(w word) bool {
			return slices.ContainsFunc(p.places(w.text), func(where string) bool {
				_, ok := filenames.Below(t.r.absolute(t.r.locate("", where)), file)
				return ok
			})
		})
	}
	for _, file := range t.r.Tracked {
		at := t.r.locate("", file)
		if rule, ok := findsPattern(rules, at); ok && (c.all || in(c.below, file)) && !in(c.not, file) {
			return rule, at.text, true
		}
	}
	return Rule{}, "", false
}
