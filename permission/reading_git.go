package permission

import "strings"

// gitReads are git's commands that only read, whatever their operands are,
// unless an option in gitHazards is given.
var gitReads = set(`status log show diff blame annotate shortlog rev-parse rev-list ls-files ls-tree describe
	name-rev cat-file grep merge-base whatchanged diff-tree diff-index show-ref for-each-ref show-branch
	check-ignore check-attr check-mailmap count-objects var version cherry range-diff verify-pack show-index`)

// gitRuns are git's commands that run programs or scripts, take orders from others,
// delete what no commit holds, or set what runs later.
var gitRuns = set(`clean filter-branch filter-repo difftool mergetool daemon shell hook maintenance instaweb web--browse
	p4 svn cvsimport cvsserver send-email imap-send credential credential-store upload-pack receive-pack upload-archive http-backend
	remote-ext remote-fd fast-export fast-import update-ref replace prune gc gui citool bugreport diagnose init-db rebase--interactive
	update-index quiltimport request-pull archimport am difftool--helper sh-setup sh-i18n`)

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
	if gitRuns[command] {
		l.hazards = append(l.hazards, command)
	}
	l.paths = append(l.paths, possiblePaths(rest)...)
	l.reads = gitReads[command] || gitLists(command, rest)
	if l.reads && command == "config" {
		l.hazards = nil // keys that are only looked up
		for _, w := range words[:i] {
			if w.text == "-c" || strings.HasPrefix(w.text, "--exec-path") || strings.HasPrefix(w.text, "--config-env") {
				l.hazards = append(l.hazards, w.text)
			}
		}
	}
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
		(t == "foreach" && command == "submodule"),
		(t == "-i" || t == "--interactive") && command == "rebase",
		strings.HasPrefix(t, "-o") && (command == "archive" || command == "format-patch"),
		command == "bundle" && t == "create",
		command == "apply" && t == "--unsafe-paths",
		command == "config" && gitSets(t),
		strings.Contains(t, "::") && (command == "clone" || command == "fetch" || command == "pull" || command == "push" || command == "remote" || command == "ls-remote"),
		(t == "-w" || t == "-i" || t == "-m") && command == "help",
		strings.HasPrefix(t, "-u") && (command == "clone" || command == "fetch" || command == "pull"),
		t == "-c" && command == "clone":
		return []string{t}
	}
	return nil
}

// gitSets reports whether a word of "git config" is a key that may name a program,
// a file with settings or an address. Only those of the person and of colours are
// known not to.
func gitSets(t string) bool {
	t = strings.ToLower(t)
	if strings.HasPrefix(t, "-") || !strings.Contains(t, ".") || strings.ContainsAny(t, "@ ") {
		return false
	}
	return !strings.HasPrefix(t, "user.") && !strings.HasPrefix(t, "color.") && !strings.HasPrefix(t, "init.defaultbranch") && !strings.HasPrefix(t, "pull.")
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
		for len(words) > 0 && has("--global --local --system --worktree --show-origin --show-scope --name-only -z --null", words[0].text) {
			words = words[1:]
		}
		if len(words) == 0 {
			return false
		}
		return has("--get --get-all --get-regexp --list -l get list", words[0].text) ||
			len(words) == 1 && !strings.HasPrefix(words[0].text, "-") && strings.Contains(words[0].text, ".")
	case "stash", "worktree", "submodule", "reflog", "notes":
		return first == "list" || command == "reflog" && (first == "" || first == "show" || strings.HasPrefix(first, "-")) ||
			command == "stash" && first == "show" || command == "submodule" && first == "status" || command == "notes" && first == "show"
	case "symbolic-ref", "lfs":
		operands := 0
		for _, w := range words {
			if strings.HasPrefix(w.text, "-") && !has("--short -q --quiet", w.text) {
				return false
			}
			if !strings.HasPrefix(w.text, "-") {
				operands++
			}
		}
		return operands == 1 && (command == "symbolic-ref" || first == "ls-files")
	case "bisect":
		return first == "log"
	case "help":
		return true
	}
	return false
}
