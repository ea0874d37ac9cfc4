package permission

import "strings"

// gitReads are git's commands that only read, whatever their operands are,
// unless an option in gitHazards is given.
var gitReads = set(`status log show diff blame annotate shortlog rev-parse rev-list ls-files ls-tree describe
	name-rev cat-file grep merge-base whatchanged diff-tree diff-index show-ref for-each-ref show-branch
	check-ignore check-attr count-objects var version cherry range-diff`)

// gitHazards are options that run a program or write a file in one git command or
// another. git completes abbreviations of options, so theirs count too. From
// the manuals of git 2.51, read 2026-11-20.
var gitHazards = []string{
	"--output", "--output-directory", "--ext-diff", "--textconv", "--filters", "--open-files-in-pager",
	"--upload-pack", "--receive-pack", "--exec", "--exec-path", "--paginate", "--config", "--config-env",
	"--template", "--git-dir", "--work-tree", "--extcmd", "--tool", "--edit-description", "--sign", "--gpg-sign",
	"--show-signature", "--web", "--info", "--upload-archive", "--strategy",
}

// lookAtGit looks at the words behind "git".
func lookAtGit(words []word) look {
	var l look
	i := 0
	for ; i < len(words) && strings.HasPrefix(words[i].text, "-"); i++ {
		switch t := words[i].text; {
		case t == "-C" && i+1 < len(words):
			i++
			l.paths = append(l.paths, words[i])
		case t == "--no-pager" || t == "-P" || t == "--no-optional-locks" || t == "--version" || t == "--help":
		default: // -c and --exec-path among them
			l.hazards = append(l.hazards, t)
		}
	}
	if i == len(words) {
		l.reads = true
		return l
	}
	command, rest := words[i].text, words[i+1:]
	for _, w := range rest {
		l.hazards = append(l.hazards, gitHazard(command, w.text)...)
	}
	l.paths = append(l.paths, possiblePaths(rest)...)
	l.reads = gitReads[command] || gitLists(command, rest)
	return l
}

// gitHazard returns t if it makes a git command run or write something.
func gitHazard(command, t string) []string {
	switch {
	case hasAny(t, gitHazards...) && !gitMeans(command, t),
		strings.Contains(t, "ext::"), // a "remote" that is a command
		strings.HasPrefix(t, "-O") && command == "grep",
		(t == "-x" || strings.HasPrefix(t, "-x")) && command == "rebase",
		(t == "run" && command == "bisect"),
		(t == "-w" || t == "-i" || t == "-m") && command == "help",
		strings.HasPrefix(t, "-u") && (command == "clone" || command == "fetch" || command == "pull"),
		t == "-c" && command == "clone":
		return []string{t}
	}
	return nil
}

// gitMeans reports whether t, though the beginning of a hazardous option, is a
// whole option of its own.
func gitMeans(command, t string) bool {
	return t == "--text" || t == "--info" && command != "help"
}

// gitLists reports whether a command that can do more only lists this time.
func gitLists(command string, words []word) bool {
	first := ""
	if len(words) > 0 {
		first = words[0].text
	}
	switch command {
	case "branch", "tag":
		listing := len(words) == 0
		operands := 0
		for _, w := range words {
			name, _, _ := strings.Cut(w.text, "=")
			switch {
			case name == "--list", name == "-l", name == "--contains", name == "--no-contains", name == "--merged",
				name == "--no-merged", name == "--points-at", command == "tag" && strings.HasPrefix(name, "-n"):
				listing = true
			case name == "-a", name == "--all", name == "-r", name == "--remotes", name == "-v", name == "-vv",
				name == "--verbose", name == "--show-current", name == "--sort", name == "--format",
				name == "--column", name == "--no-column", name == "-i", name == "--ignore-case":
				// harmless, and listing if there is no operand
			case strings.HasPrefix(name, "-"):
				return false
			default:
				operands++
			}
		}
		return listing || operands == 0
	case "remote":
		return len(words) == 0 || len(words) == 1 && (first == "-v" || first == "--verbose") || first == "get-url"
	case "config":
		return has("--get --get-all --get-regexp --list -l get list", first)
	case "stash", "worktree", "submodule", "reflog", "notes":
		return first == "list" || command == "reflog" && (first == "" || first == "show") ||
			command == "stash" && first == "show" || command == "submodule" && first == "status" || command == "notes" && first == "show"
	case "help":
		return true
	}
	return false
}
