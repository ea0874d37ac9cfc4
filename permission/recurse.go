package permission

import "strings"

// recurses reports whether p reads folders with everything in them, hidden files
// too or not: what is there that it does not name is read all the same.
func (p *part) recurses() (recurses, hidden bool) {
	words := p.words[1:]
	long := func(options ...string) bool {
		for _, w := range words {
			if hasAny(w.text, options...) {
				return true
			}
		}
		return false
	}
	// An option's letter may be part of its value; the stricter reading counts.
	short := func(letters string) bool {
		for _, w := range words {
			if len(w.text) > 1 && w.text[0] == '-' && w.text[1] != '-' && strings.ContainsAny(w.text, letters) {
				return true
			}
		}
		return false
	}
	switch p.program() {
	case "grep", "egrep", "fgrep":
		return short("rRd") || long("--recursive", "--dereference-recursive", "--directories"), true
	case "rg":
		return true, short("u.g") || long("--hidden", "--unrestricted", "--glob", "--iglob") // a glob finds hidden ones
	case "diff", "colordiff": // it reads what is in two folders without being told to go further
		return true, true
	case "git":
		return long("--no-index", "--untracked"), true
	}
	return false, false
}

// filters returns the names of files that a grep is told to pass over, and those
// that it is told to look at alone.
func (p *part) filters() (skips, only []string) {
	if p.program() == "rg" {
		return p.globs()
	}
	for _, w := range p.words[1:] {
		option, name, _ := strings.Cut(w.text, "=")
		switch {
		case w.kind == dynamic:
		// The shell may make fewer names of a pattern, and pass over less.
		case w.kind == static && (option == "--exclude" || option == "--exclude-dir"):
			skips = append(skips, name)
		case option == "--include":
			only = append(only, name)
		}
	}
	return skips, only
}

// globs returns the same of the globs of a ripgrep. One that is not understood is
// passed over, and with it what it would leave out.
func (p *part) globs() (skips, only []string) {
	words := p.words[1:]
	for i, w := range words {
		glob, ok := strings.CutPrefix(w.text, "--glob=")
		if !ok {
			glob, ok = strings.CutPrefix(w.text, "-g")
		}
		if ok && glob == "" && i+1 < len(words) {
			w = words[i+1]
			glob = w.text
		}
		name, not := strings.CutPrefix(glob, "!")
		switch {
		case !ok:
		case w.kind != static || strings.ContainsAny(name, "/{[\\"):
			return nil, nil
		case not:
			skips = append(skips, name)
		default:
			only = append(only, name)
		}
	}
	return skips, only
}

// isOperand reports whether a word was not part of an option.
func isOperand(w word) bool { return !strings.HasPrefix(w.source, "-") }
