package permission

import (
	"path"
	"strings"
)

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
	known := commandOf("git", command)
	c.reads = known.is(reads) || gitLists(command, rest)
	if !known.is(reads | covered) {
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
	own := commandOf("git", command).reader.hazard
	switch {
	case t == "--text", t == "--info" && command != "help": // whole options, not the beginnings of others
		return false
	case strings.HasPrefix(t, "--"):
		return hasAny(t, programOf("git").reader.long...) || hasAny(t, own.long...)
	case strings.HasPrefix(t, "-"):
		return strings.ContainsAny(t, own.short) || strings.Contains(t, "ext::")
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

// gitLists reports whether a command that can do more only lists this time.
func gitLists(command string, words []word) bool {
	first, operands, listing, begins := "", 0, false, commandOf("git", command).words[lists]
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
		case has(begins, name):
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
		return first == "" || strings.HasPrefix(first, "-") || has(begins, first)
	case "config":
		return first != "" && has(begins, first) || len(words) == 1 && operands == 1 && strings.Contains(first, ".")
	}
	return first != "" && has(begins, first)
}
