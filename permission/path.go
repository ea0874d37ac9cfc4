package permission

import (
	"path"
	"strings"
	"unicode"

	"pawl/internal/lazy"
	"pawl/internal/visible"
)

// A location is where a path leads, by its spelling.
type location struct {
	text    string // relative to the workspace ("." is the workspace), or absolute
	outside bool   // neither in the workspace nor in a folder that counts as it
	above   bool   // the workspace is below it
	further string // the path from the folder that counts as the workspace; empty: it is in none
}

// matches reports whether a deny or ask rule speaks of the path. A pattern that is not
// absolute holds in a folder that counts as the workspace as in the workspace; for rules
// that allow it does not.
func (p location) matches(r Rule) bool {
	return r.matchesPath(p.text, true) || p.further != "" && r.matchesPath(p.further, true)
}

// mayHold reports whether a pattern may cover something below the path, which is a
// directory; see matches.
func (p location) mayHold(pattern string) bool {
	pattern = foldPath(strings.TrimPrefix(pattern, "./"))
	return p.above && !path.IsAbs(pattern) || mayMatchBelow(pattern, foldPath(p.text)) || p.further != "" && mayMatchBelow(pattern, foldPath(p.further))
}

// locate returns the location of a path. A relative path starts in base, or in the
// request's folder.
func (r *Request) locate(base, p string) location {
	workspace := r.Workspace
	if workspace == "" {
		workspace = "/workspace" // any: then only relative paths can be inside
	}
	if !path.IsAbs(p) {
		if base == "" {
			base = r.Dir
		}
		if base == "" {
			base = workspace
		}
		p = base + "/" + p
	}
	p = path.Clean(p)
	if rel, ok := below(workspace, p); ok {
		return location{text: rel}
	}
	for _, folder := range r.Folders {
		if rel, ok := below(folder, p); ok {
			return location{text: p, further: rel}
		}
	}
	_, above := below(p, workspace)
	return location{text: p, outside: true, above: above}
}

// absolute returns a place as an absolute path.
func (r *Request) absolute(p location) string {
	if path.IsAbs(p.text) {
		return p.text
	}
	return path.Join("/", r.Workspace, p.text)
}

// below returns a cleaned absolute path as seen from a folder, if it lies in it.
func below(folder, p string) (string, bool) {
	folder = path.Clean(folder)
	if p == folder {
		return ".", true
	}
	return strings.CutPrefix(p, strings.TrimSuffix(folder, "/")+"/")
}

// own returns the folder of pawl itself that p lies in; empty if none. A workspace that is in
// such a folder, because it is a copy that pawl has made, is not pawl's. Deny rules are
// strict about spelling, and so is this.
func (r *Request) own(p location) string {
	if len(r.Own) == 0 {
		return ""
	}
	folded, workspace := foldPath(r.absolute(p)), foldPath(path.Clean("/"+r.Workspace))
	_, works := below(workspace, folded)
	for _, folder := range r.Own {
		own := foldPath(path.Clean(folder))
		if works && own != workspace && strings.HasPrefix(workspace, own+"/") {
			continue
		}
		if _, ok := below(own, folded); ok {
			return folder
		}
	}
	return ""
}

// holds reports whether one of pawl's own folders lies below p: what deletes or
// moves p takes it along.
func (r *Request) holds(p location) bool {
	folded := foldPath(r.absolute(p))
	for _, folder := range r.Own {
		if _, ok := below(folded, foldPath(path.Clean(folder))); ok {
			return true
		}
	}
	return false
}

// foldPath brings the spellings that some disk takes for the same name together:
// capitals; characters that are not seen, which HFS+ leaves out (".g\u200cit" is
// .git there, CVE-2014-9390); and what NTFS drops at the end of a name.
func foldPath(p string) string {
	fold := false
	for i := 0; i < len(p) && !fold; i++ {
		c := p[i]
		fold = c >= 0x80 || c >= 'A' && c <= 'Z' || c == ' ' || c == '.' || c == ':'
	}
	if !fold {
		return p
	}
	p = strings.Map(func(c rune) rune {
		if visible.Hidden(c) {
			return -1
		}
		return unicode.ToLower(c)
	}, p)
	segments := strings.Split(p, "/")
	for i, s := range segments {
		name, _, _ := strings.Cut(s, "::$") // a stream of NTFS: ".env::$data"
		if trimmed := strings.TrimRight(name, " ."); trimmed != "" {
			segments[i] = trimmed
		}
	}
	return strings.Join(segments, "/")
}

// kernelFolder returns the folder of devices or of the kernel's own files that p
// lies in; empty if none.
func kernelFolder(p string) string {
	for _, folder := range []string{"/proc", "/sys", "/dev"} {
		if _, ok := below(folder, p); ok {
			return folder
		}
	}
	return ""
}

// harmlessDevice reports whether p is a device that holds nothing, or a file of the system that
// only says which system it is.
func harmlessDevice(p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr",
		"/etc/os-release", "/usr/lib/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/alpine-release", "/etc/redhat-release", "/etc/issue":
		return true
	}
	return false
}

// nameList is a list of names, in each at most one *. Those without one are looked
// up at once: this is asked of every word of every command. The list is prepared by its
// first user and not while the program starts.
type nameList func() preparedNames

type preparedNames struct {
	plain    map[string]bool
	patterns [][2]string // what stands before and after the *
}

func names(section string) nameList {
	return lazy.Value(func() preparedNames {
		list := namesOf(section)
		l := preparedNames{plain: make(map[string]bool, len(list))}
		for _, n := range list {
			if before, after, ok := strings.Cut(n, "*"); ok {
				l.patterns = append(l.patterns, [2]string{before, after})
			} else {
				l.plain[n] = true
			}
		}
		return l
	})
}

func (list nameList) has(lower string) bool {
	if lower == "" {
		return false
	}
	l := list()
	if l.plain[lower] {
		return true
	}
	for _, n := range l.patterns {
		if len(lower) >= len(n[0])+len(n[1]) && strings.HasSuffix(lower, n[1]) && strings.HasPrefix(lower, n[0]) {
			return true
		}
	}
	return false
}

// nameIn returns the first name in p that is on the list.
func (l nameList) nameIn(p string) string {
	for segment := range strings.SplitSeq(p, "/") {
		if lower := foldPath(segment); l.has(lower) && !exampleNames.has(lower) {
			return segment
		}
	}
	return ""
}

// secretIn returns the name in p that is that of a secret; empty if none is. What
// stands before a colon may be a revision (git show HEAD:.env) or a host.
func secretIn(p string) string {
	if name := secretNames.nameIn(p); name != "" {
		return name
	}
	if _, after, ok := strings.Cut(p, ":"); ok {
		return secretIn(after)
	}
	return ""
}

// SecretName returns the name in a path that is usually that of keys or passwords,
// as .env or id_rsa: reading it asks. Empty if none is.
func SecretName(p string) string { return secretNames.nameIn(p) }

// matchPath reports whether a pattern covers a path, both relative to the
// workspace: * and ? within a name, ** any number of folders.
func matchPath(pattern, p string) bool {
	return matchSegments(strings.Split(path.Clean(pattern), "/"), strings.Split(p, "/"))
}

// mayMatchBelow reports whether a pattern may cover something below a directory, both
// relative to the workspace or absolute.
func mayMatchBelow(pattern, dir string) bool {
	segments := strings.Split(path.Clean(pattern), "/")
	if dir == "." {
		return !path.IsAbs(pattern)
	}
	for name := range strings.SplitSeq(dir, "/") {
		if len(segments) == 0 || segments[0] == "**" {
			return len(segments) > 0
		}
		if ok, _ := path.Match(segments[0], name); !ok {
			return false
		}
		segments = segments[1:]
	}
	return len(segments) > 0
}

func matchSegments(pattern, p []string) bool {
	for len(pattern) > 0 && pattern[0] != "**" {
		if len(p) == 0 {
			return false
		}
		if ok, _ := path.Match(pattern[0], p[0]); !ok {
			return false
		}
		pattern, p = pattern[1:], p[1:]
	}
	if len(pattern) == 0 {
		return len(p) == 0
	}
	for len(pattern) > 0 && pattern[0] == "**" {
		pattern = pattern[1:]
	}
	if len(pattern) == 0 {
		return true
	}
	for i := range p {
		if matchSegments(pattern, p[i:]) {
			return true
		}
	}
	return false
}
