package permission

import (
	"path"
	"strings"
)

// gitReads are git's commands that only read, whatever their operands are,
// unless an option in gitHazards is given.
var gitReads = set(`status log show diff blame annotate shortlog rev-parse rev-list ls-files ls-tree describe
	name-rev cat-file grep merge-base whatchanged diff-tree diff-index show-ref for-each-ref show-branch
	check-ignore check-attr check-mailmap count-objects var version cherry range-diff verify-pack show-index help`)

// gitCovered are git's other commands that a wildcard covers. Every other word in
// that place may be an alias of the repository, or runs programs, takes orders from
// others, or deletes what no commit holds: a rule has to spell it.
var gitCovered = set(`add apply archive bisect branch bundle checkout checkout-index cherry-pick clone commit commit-tree config fetch format-patch
	fsck hash-object init interpret-trailers ls-remote merge merge-file merge-tree mktag mktree mv notes pack-refs pull push read-tree rebase reflog remote
	rerere reset restore revert rm sparse-checkout stash stripspace submodule switch symbolic-ref tag worktree write-tree`)

// gitHazards are options that run a program or write a file in one git command or
// another. git completes abbreviations of options, so theirs count too. From
// the manuals of git 2.51, read 2026-11-20.
var gitHazards = []string{
	"--output", "--output-directory", "--ext-diff", "--textconv", "--filters", "--open-files-in-pager",
	"--upload-pack", "--receive-pack", "--exec", "--exec-path", "--paginate", "--config", "--config-env",
	"--template", "--git-dir", "--work-tree", "--extcmd", "--tool", "--edit-description", "--sign", "--gpg-sign",
	"--show-signature", "--web", "--info", "--man", "--upload-archive", "--strategy", "--interactive", "--unsafe-paths",
	"--remerge-diff", "--diff-merges", "--dd", "--rename-section",
}

// gitLetters are the short options that do so, by command. git takes several written
// together, and a value right after the letter, so a letter counts wherever it is.
var gitLetters = map[string]string{
	"grep": "O", "rebase": "xisS", "clone": "uc", "fetch": "u", "pull": "usS", "archive": "o", "format-patch": "o", "help": "wim",
	"merge": "sS", "commit": "S", "cherry-pick": "S", "revert": "S", "tag": "su", "add": "fi", "am": "S", "stash": "a",
}

// gitLong are further long options, by command: they write a file, or take in what is
// ignored or named by the input.
var gitLong = map[string]string{
	"add": "--force", "stash": "--all", "hash-object": "--stdin-paths", "read-tree": "--index-output", "interpret-trailers": "--in-place",
	"checkout-index": "--prefix",
}

// inspectGit looks at the words after "git".
func inspectGit(words []word) commandInfo {
	var c commandInfo
	i := 0
	for ; i < len(words) && strings.HasPrefix(words[i].text, "-"); i++ {
		switch t := words[i].text; {
		case t == "-C" && i+1 < len(words):
			i++
			c.paths = append(c.paths, words[i])
		case has("--no-pager -P --no-optional-locks --version --help", t):
		default: // -c and --exec-path among them
			c.hazards = append(c.hazards, t)
		}
	}
	if i == len(words) {
		c.reads = true
		return c
	}
	command, rest := words[i].text, words[i+1:]
	c.reads = gitReads[command] || gitLists(command, rest)
	if !gitReads[command] && !gitCovered[command] {
		c.hazards = append(c.hazards, command)
	}
	looksUp := c.reads && command == "config" // its operands are keys and no settings
	for _, w := range rest {
		if _, name, ok := strings.Cut(w.text, "="); ok && hasAny(w.text, "--remote", "--repo") { // a folder, if there is no such remote
			c.paths = append(c.paths, word{text: name, source: w.source, kind: w.kind})
		}
		if !looksUp && gitHazard(command, w.text) {
			c.hazards = append(c.hazards, w.text)
		}
	}
	c.paths = append(c.paths, possiblePaths(rest)...)
	return c
}

// gitFolder returns the folder that -C before the command tells git to run in.
func gitFolder(words []word) (folder string) {
	for i := 0; i+1 < len(words) && strings.HasPrefix(words[i].text, "-"); i++ {
		switch t := words[i].text; {
		case t == "-C" && words[i+1].kind != static:
			return ""
		case t == "-C" && (folder == "" || path.IsAbs(words[i+1].text)):
			folder = words[i+1].text
		case t == "-C":
			folder += "/" + words[i+1].text
		}
		if has("-C -c", words[i].text) {
			i++
		}
	}
	return folder
}

// gitHazard reports whether a word makes a git command run or write something.
func gitHazard(command, t string) bool {
	switch {
	case t == "--text", t == "--info" && command != "help": // whole options, not the beginnings of others
		return false
	case strings.HasPrefix(t, "--"):
		return hasAny(t, gitHazards...) || gitLong[command] != "" && hasAny(t, gitLong[command])
	case strings.HasPrefix(t, "-"):
		return strings.ContainsAny(t, gitLetters[command]) || strings.Contains(t, "ext::")
	}
	switch command {
	case "bisect":
		return t == "run" || t == "visualize" || t == "view" // of git log, or of a program
	case "submodule":
		return t == "foreach"
	case "bundle":
		return t == "create"
	case "config":
		return t == "rename-section" || gitSets(t)
	case "clone", "fetch", "pull", "push", "remote", "ls-remote":
		return strings.Contains(t, "::")
	}
	return strings.Contains(t, "ext::") // a remote that is a command
}

// gitSets reports whether a word of "git config" is a key that may name a program,
// a file with settings or an address. Only those of the person and of colours are
// known not to.
func gitSets(t string) bool {
	t = strings.ToLower(t)
	if !strings.Contains(t, ".") || strings.ContainsAny(t, "@ ") {
		return false
	}
	return !strings.HasPrefix(t, "user.") && !strings.HasPrefix(t, "color.") && !strings.HasPrefix(t, "init.defaultbranch") && !strings.HasPrefix(t, "pull.")
}

// gitListing are the words that make a git command which can do more only list.
var gitListing = map[string]string{
	"stash": "list show", "notes": "list show", "worktree": "list", "submodule": "status", "bisect": "log", "reflog": "show list", "remote": "get-url",
	"config": "--get --get-all --get-regexp --list -l get list",
	"branch": "--list -l --contains --no-contains --merged --no-merged --points-at", "tag": "--list -l --contains --no-contains --merged --no-merged --points-at -n",
}

// gitLists reports whether a command that can do more only lists this time.
func gitLists(command string, words []word) bool {
	first, operands, listing := "", 0, false
	for command == "config" && len(words) > 0 && has("--global --local --system --worktree --show-origin --show-scope --name-only -z --null", words[0].text) {
		words = words[1:]
	}
	for i, w := range words {
		if i == 0 {
			first = w.text
		}
		name, _, _ := strings.Cut(w.text, "=")
		switch {
		case !strings.HasPrefix(name, "-"):
			operands++
		case command != "branch" && command != "tag" && command != "symbolic-ref":
		case has(gitListing[command], name):
			listing = true
		case command != "symbolic-ref" && !has("-a --all -r --remotes -v -vv --verbose --show-current --sort --format --column --no-column -i --ignore-case", name),
			command == "symbolic-ref" && !has("--short -q --quiet", name):
			return false
		}
	}
	switch command {
	case "branch", "tag":
		return listing || operands == 0
	case "symbolic-ref":
		return operands == 1
	case "remote":
		return len(words) == 0 || len(words) == 1 && has("-v --verbose", first) || first == "get-url"
	case "reflog":
		return first == "" || strings.HasPrefix(first, "-") || has(gitListing[command], first)
	case "config":
		return first != "" && has(gitListing[command], first) || len(words) == 1 && operands == 1 && strings.Contains(first, ".")
	}
	return first != "" && has(gitListing[command], first)
}
