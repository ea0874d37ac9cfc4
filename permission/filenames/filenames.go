// Package filenames knows the names of files: which are usually those of secrets, which decide what runs later, which
// spellings are one name, and which names a pattern covers.
package filenames

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// Below returns a cleaned absolute path as seen from a folder, if it lies in it.
func Below(folder, p string) (string, bool) {
	folder = path.Clean(folder)
	if p == folder {
		return ".", true
	}
	return strings.CutPrefix(p, strings.TrimSuffix(folder, "/")+"/")
}

// Fold brings the spellings that some disk takes for the same name together:
// capitals; characters that are not seen, which HFS+ leaves out (".g\u200cit" is
// .git there, CVE-2014-9390); and what NTFS drops at the end of a name.
func Fold(p string) string {
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

// KernelFolder returns the folder of devices or of the kernel's own files that p
// lies in; empty if none.
func KernelFolder(p string) string {
	for _, folder := range []string{"/proc", "/sys", "/dev"} {
		if _, ok := Below(folder, p); ok {
			return folder
		}
	}
	return ""
}

// HarmlessDevice reports whether p is a device that holds nothing, or a file of the system that
// only says which system it is.
func HarmlessDevice(p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr",
		"/etc/os-release", "/usr/lib/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/alpine-release", "/etc/redhat-release", "/etc/issue":
		return true
	}
	return false
}

// Unusable says why a text can be no file's path; empty if it can.
func Unusable(p string) string {
	switch {
	case p == "":
		return "a path is empty"
	case !utf8.ValidString(p):
		return "a path is not valid UTF-8"
	case strings.ContainsFunc(p, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "a path has a control character (a line break, NUL) in it"
	}
	return ""
}

// Temporary reports whether a path is in the temporary folder that the commands of a workspace have of their own.
func Temporary(p string) bool {
	return p == "/tmp" || strings.HasPrefix(p, "/tmp/") || strings.HasPrefix(p, "/var/tmp/")
}

// OfTheSystem reports whether a path is of programs that are installed for everybody, or says what kind of machine
// it is: every command reads that.
func OfTheSystem(p string) bool {
	for _, folder := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64"} {
		if _, ok := Below(folder, p); ok {
			return true
		}
	}
	return slices.Contains([]string{"/proc/cpuinfo", "/proc/meminfo", "/proc/version", "/proc/loadavg"}, p)
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
		list := text.Section(namesText, section)
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
		if lower := Fold(segment); l.has(lower) && !exampleNames.has(lower) {
			return segment
		}
	}
	return ""
}

// SecretIn returns the name in p that is that of a secret; empty if none is. What
// stands before a colon may be a revision (git show HEAD:.env) or a host.
func SecretIn(p string) string {
	if name := Secret(p); name != "" {
		return name
	}
	if _, after, ok := strings.Cut(p, ":"); ok {
		return SecretIn(after)
	}
	return ""
}

// Match reports whether a pattern covers a path, both relative to the
// workspace: * and ? within a name, ** any number of folders.
func Match(pattern, p string) bool {
	return matchSegments(strings.Split(path.Clean(pattern), "/"), strings.Split(p, "/"))
}

// MayMatchBelow reports whether a pattern may cover something below a directory, both
// relative to the workspace or absolute.
func MayMatchBelow(pattern, dir string) bool {
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

// Escape writes a path as the pattern that means that path alone.
func Escape(p string) string {
	if !strings.ContainsAny(p, `*?[\`) {
		return p
	}
	var b strings.Builder
	for _, c := range p {
		if strings.ContainsRune(`*?[\`, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}
