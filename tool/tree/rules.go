package tree

import (
	"bufio"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Rules are the ignore rules that hold in a folder: those of its own files, and
// behind them those of the folders above. They are gitignore patterns as git
// reads them (gitignore(5), "PATTERN FORMAT", read 2026-11-20). A nil *Rules
// ignores nothing.
type Rules struct {
	base     string // the folder they were written in, relative to the workspace
	prefix   string // the way from there to the workspace, when they were written above it
	patterns []pattern
	above    *Rules
}

// A pattern is one line of an ignore file.
type pattern struct {
	glob     string // for doublestar
	literal  bool   // without wildcards
	anchored bool   // matches the path from base, not the name alone
	dirOnly  bool
	negated  bool
}

// Ignores reports whether rel, a path of the workspace, is ignored. It does not
// look at the folders rel is in: a walk never enters an ignored one.
func (r *Rules) Ignores(rel string, isDir bool) bool {
	name := path.Base(rel)
	for ; r != nil; r = r.above {
		from := r.prefix + rel
		if r.base != "." {
			from = strings.TrimPrefix(rel, r.base+"/")
		}
		// The last pattern that matches decides, in the deepest file first.
		for i := len(r.patterns) - 1; i >= 0; i-- {
			if p := r.patterns[i]; (isDir || !p.dirOnly) && p.matches(from, name) {
				return !p.negated
			}
		}
	}
	return false
}

func (p pattern) matches(rel, name string) bool {
	if !p.anchored {
		rel = name
	}
	if p.literal {
		return p.glob == rel
	}
	return doublestar.MatchUnvalidated(p.glob, rel)
}

// parseIgnore reads one line; ok is false for a comment, a blank line, and a
// pattern that can match nothing.
func parseIgnore(line string) (p pattern, ok bool) {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return p, false
	}
	if line[0] == '!' {
		p.negated = true
		line = line[1:]
	}
	if strings.HasSuffix(line, "/") {
		p.dirOnly = true
		line = strings.TrimSuffix(line, "/")
	}
	p.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	// doublestar's a/** matches a itself, git's does not.
	if strings.HasSuffix(line, "/**") {
		line += "/*"
	}
	p.literal = !strings.ContainsAny(line, `*?[\`)
	if !p.literal {
		line = escapeBraces(line)
	}
	p.glob = line
	return p, line != "" && (p.literal || doublestar.ValidatePattern(line))
}

// escapeBraces makes { and } ordinary, as they are in gitignore patterns and
// are not for doublestar.
func escapeBraces(glob string) string {
	if !strings.ContainsAny(glob, "{}") {
		return glob
	}
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '\\':
			b.WriteByte(c)
			if i++; i < len(glob) {
				b.WriteByte(glob[i])
			}
		case '{', '}':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// maxIgnoreFile bounds what is read of an ignore file.
const maxIgnoreFile = 1 << 20

// readIgnore returns the patterns of an ignore file.
func readIgnore(f io.Reader) []pattern {
	var ps []pattern
	lines := bufio.NewScanner(io.LimitReader(f, maxIgnoreFile))
	for first := true; lines.Scan(); first = false {
		line := lines.Text()
		if first {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if p, ok := parseIgnore(line); ok {
			ps = append(ps, p)
		}
	}
	return ps
}

// with returns r with a folder's own ignore files before it: .ignore counts more
// than .gitignore, as with ripgrep.
func (r *Rules) with(dir *os.Root, rel string) *Rules {
	return r.With(dir, rel, ".gitignore", ".ignore")
}

// With returns r with files of a folder before it, the last one first.
func (r *Rules) With(dir *os.Root, rel string, names ...string) *Rules {
	var ps []pattern
	for _, name := range names {
		if f, _, err := OpenRegular(dir, name); err == nil {
			ps = append(ps, readIgnore(f)...)
			f.Close()
		}
	}
	if len(ps) == 0 {
		return r
	}
	return &Rules{base: rel, patterns: ps, above: r}
}

// OuterRules returns what holds in the whole workspace without being written in
// it: .git/info/exclude, and, when the workspace is a folder in a repository,
// the ignore files between it and the repository's root. They are read as
// patterns; nothing of them is shown.
func OuterRules(workspace string) *Rules {
	top := workspace
	for {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			break
		}
		if top == filepath.Dir(top) {
			return nil // no repository
		}
		top = filepath.Dir(top)
	}
	way, _ := Below(top, workspace)
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil
	}
	defer root.Close()
	var r *Rules
	// In a worktree .git is a file, and its exclude is elsewhere: left out.
	if git, err := Descend(root, ".git"); err == nil {
		if f, _, err := OpenRegular(git, "info/exclude"); err == nil {
			r = &Rules{base: ".", prefix: prefix(way), patterns: readIgnore(f)}
			f.Close()
		}
		git.Close()
	}
	if way == "." {
		return r
	}
	dir, err := root.OpenRoot(".")
	for names := strings.Split(way, "/"); err == nil; names = names[1:] {
		inner := r.with(dir, ".")
		if inner != r {
			inner.prefix = strings.Join(names, "/") + "/"
			r = inner
		}
		if len(names) == 1 {
			dir.Close()
			return r
		}
		var next *os.Root
		next, err = Descend(dir, names[0])
		dir.Close()
		dir = next
	}
	return r
}

// Ignored reports whether git ignores a folder of a workspace, or one that it is in, by the ignore files there. The path
// is relative to the workspace, with slashes.
func Ignored(workspace, folder string) bool {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return false
	}
	f := newFolder(root, ".", OuterRules(workspace).with(root, "."))
	defer func() { f.Close() }()
	for name := range strings.SplitSeq(folder, "/") {
		if name == "node_modules" || f.rules.Ignores(path.Join(f.Rel, name), true) {
			return true
		}
		next, err := f.Open(name)
		if err != nil {
			return false
		}
		f.Close()
		f = next
	}
	return false
}

func prefix(way string) string {
	if way == "." {
		return ""
	}
	return way + "/"
}
