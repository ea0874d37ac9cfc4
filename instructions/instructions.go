// Package instructions finds what people have written for agents - AGENTS.md, CLAUDE.md,
// GEMINI.md and the files they import - and makes the text of it that goes into a run's
// system prompt. [Draft] writes a first AGENTS.md for a repository that has none.
//
// [Load] reads, in this order:
//
//   - the user's own file, which holds for every project;
//   - the user's own rules: the files *.md of some folders;
//   - of each folder from the repository's root down to the workspace one file, AGENTS.md,
//     else CLAUDE.md, else GEMINI.md, and the rules in .claude/rules and .pawl/rules. The
//     root is the nearest folder upward that has .git, below the home; without one the
//     workspace is the only folder.
//
// What holds for a part of the workspace alone is read when a run first touches that part,
// by a [Later]: the files of folders below the workspace, and rules that name paths.
//
// A file that comes later is about a smaller part and wins where two disagree. A file
// imports others with @path/to/file; each follows the file that imports it, as a
// section of its own, and no file is there twice.
//
// What it guarantees:
//
//   - Nothing is read but regular files that belong to this user, to root or to the owner
//     of the workspace. Files of the repository, links resolved, are inside the
//     repository and outside .git, and the caller can refuse more of them; what the user's
//     own file imports is inside the folder of that file. A pipe or a device is not opened.
//   - The text has at most [MaxBytes] bytes. Where something was cut or left out it says so.
//   - Every file that was found and not used is listed with the reason.
//
// The package does not watch files: a run keeps the texts that it was given. It decides
// nothing about trust either: the text grants nothing, whatever it says.
package instructions

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/owner"
	"pawl/internal/stable"
)

// MaxBytes bounds the text of [Load]. It is the bound that Codex has by default
// (project_doc_max_bytes, developers.openai.com/codex/guides/agents-md, read 2026-11-22).
const MaxBytes = 32 << 10

// Claude Code follows imports five deep (code.claude.com/docs/en/memory, "CLAUDE.md
// imports", read 2026-11-22).
const maxDepth = 5

// maxImports bounds how many imports of all files together are looked up. It leaves room for
// files that mention many people as @name.
const maxImports = 300

// names are the files of a folder, best first; see [Load].
var names = []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"}

// Options say where to look.
type Options struct {
	// Dir is the workspace: an absolute path.
	Dir string
	// User is the user's own file, an absolute path; empty: none. It need not exist, and it
	// may be a link to anywhere.
	User string
	// Rules are folders of the user's own rules, absolute paths. They need not exist.
	Rules []string
	// Home is what ~/ stands for in an import; empty: nothing. A repository whose root is the
	// home, or above it, does not count.
	Home string
	// Refuse returns why a file of the repository must not be read, as "may hold
	// secrets", or "" if it may. It is given the path relative to the root, with slashes and
	// with links resolved. Nil refuses nothing.
	Refuse func(name string) (why string)
	// Foreign reports whether a folder below the workspace is not part of the project, as one that git ignores: a [Later]
	// gives nothing of it. The path is relative to the root, with slashes. Nil: none is.
	Foreign func(folder string) bool
}

// Loaded is the result of [Load].
type Loaded struct {
	// Text is for the system prompt: a section for each file, in order, under a line that
	// begins with "# Instructions from" and has the file's path. Empty if there is nothing.
	Text string
	// Root is the repository's root, or the workspace if it is in no repository; links are
	// resolved.
	Root string
	// Files are all that were found, in the order of the text.
	Files []File
}

// A File is one that was found, used or not.
type File struct {
	Path       string // absolute; not cleaned of characters that a terminal must not be sent
	ImportedBy string // path of the file that imports it; empty if it was found by its name
	User       bool   // the user's own file, or imported by it
	Bytes      int    // of its text in [Loaded.Text], without the heading
	Cut        bool   // the text has its beginning only
	Hidden     int    // characters without a shape that were removed; see visible.Useless
	Skipped    string // why it is not in the text at all; empty if it is
	Later      bool   // a run is given it when it touches what it is for, as Skipped says
}

// Load reads the instructions for runs in a workspace. It does not fail: a file that
// cannot be used is listed with the reason.
func Load(o Options) Loaded {
	l := loader{options: o, seen: map[string]bool{}, room: MaxBytes}
	if o.User != "" {
		l.userFile(o.User, "")
	}
	l.userRules()
	root := l.repository(l.folder)
	text := l.compose()
	files := make([]File, len(l.sections))
	for i, s := range l.sections {
		files[i] = s.File
	}
	return Loaded{Text: text, Root: root, Files: files}
}

// A loader collects sections in the order of the text.
type loader struct {
	options  Options
	sections []section
	seen     map[string]bool // paths with links resolved of the files that are sections
	imports  int             // looked up so far
	room     int             // for the text, in bytes

	// Of a [Later]:
	had     func(path string) bool // whether the run has been given a file; nil: none
	touched string                 // the file whose instructions are read, relative to the root; "" for those of the start
	scoped  []rule                 // rules that hold for other files, as they were met
}

// A section is a file, with its text if it is to be used.
type section struct {
	File
	text  string
	more  bool     // the file has more than text
	level int      // of the folder whose file it is, or is imported by: 0 is the root
	globs []string // of a rule: it holds for files that match one of them; none: for all
}

// A tree is a folder that files may be read from.
type tree struct {
	dir    string // absolute, links resolved
	given  string // the same folder as the caller called it
	root   *os.Root
	owner  int // whose files are read too, besides those of this user and root
	user   bool
	refuse func(name string) string
}

// userFile reads a file of the user's own and what it imports. For base see read.
func (l *loader) userFile(name, base string) {
	file := File{Path: name, User: true}
	real, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		l.skip(file, reason(err))
		return
	}
	// The file may be a link out of its folder, so it has a root of its own.
	own, err := openTree(filepath.Dir(real), true)
	if err != nil {
		l.skip(file, reason(err))
		return
	}
	defer own.root.Close()
	text, ok := l.read(own, filepath.Base(real), file, 0, base)
	if !ok {
		return
	}
	imports, err := openTree(filepath.Dir(name), true)
	if err != nil {
		l.skip(file, reason(err))
		return
	}
	defer imports.root.Close()
	l.follow(imports, filepath.Base(name), text, 0, 1)
}

// repository calls do with each folder from the repository's root down to the workspace, and
// how far below the root it is. It returns the root.
func (l *loader) repository(do func(t *tree, folder string, level int)) string {
	dir, err := filepath.EvalSymlinks(l.options.Dir)
	if err != nil {
		l.skip(File{Path: l.options.Dir}, reason(err))
		return l.options.Dir
	}
	info, err := os.Stat(dir)
	if err != nil {
		l.skip(File{Path: dir}, reason(err))
		return dir
	}
	uid, known := owner.Of(info)
	if !known {
		uid = 0
	}
	root := repositoryRoot(dir, l.options.Home, uid)
	t, err := openTree(root, false)
	if err != nil {
		l.skip(File{Path: root}, reason(err))
		return root
	}
	defer t.root.Close()
	t.owner, t.refuse = uid, l.options.Refuse
	below := strings.Trim(filepath.ToSlash(strings.TrimPrefix(dir, root)), "/")
	if given, ok := strings.CutSuffix(l.options.Dir, filepath.FromSlash("/"+below)); ok && below != "" {
		t.given = given
	} else if below == "" {
		t.given = l.options.Dir
	}
	for level, folder := range foldersTo(below) {
		do(t, folder, level)
	}
	return root
}

// foldersTo returns the folders on the way to a folder, beginning with ".", and that folder.
func foldersTo(folder string) []string {
	folders := []string{"."}
	for name := range strings.FieldsFuncSeq(folder, func(r rune) bool { return r == '/' }) {
		folders = append(folders, path.Join(folders[len(folders)-1], name))
	}
	return folders
}

// Root returns the root of the repository that dir is in, as far as its files count for dir:
// a .git of another user does not, nor that of home ("": none) or a folder above it. Without
// a repository it is dir.
func Root(dir, home string) string {
	uid := 0
	if info, err := os.Stat(dir); err == nil {
		if of, known := owner.Of(info); known {
			uid = of
		}
	}
	return repositoryRoot(dir, home, uid)
}

// repositoryRoot returns the nearest folder upward that has .git, or dir. As with git's
// safe.directory, a .git of another user does not count: anyone can make /tmp/.git. Nor
// does that of the home or a folder above it: many keep their settings in one, and what
// was downloaded into the home could import every file there.
func repositoryRoot(dir, home string, owner int) string {
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	for at := dir; ; at = filepath.Dir(at) {
		if rel, err := filepath.Rel(at, home); home != "" && err == nil && filepath.IsLocal(rel) {
			return dir
		}
		info, err := os.Stat(filepath.Join(at, ".git"))
		if err == nil && (info.IsDir() || info.Mode().IsRegular()) && mine(info, owner) {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// folder reads the first file of a folder that has text, and its rules. The others are listed.
func (l *loader) folder(t *tree, folder string, level int) {
	used := ""
	for _, name := range names {
		name := path.Join(folder, name)
		file := File{Path: filepath.Join(t.dir, filepath.FromSlash(name))}
		if _, err := os.Lstat(file.Path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if used != "" {
			if !l.seen[file.Path] {
				l.skip(file, path.Base(used)+" of the same folder is used")
			}
			continue
		}
		if text, ok := l.read(t, name, file, level, ""); ok {
			used = name
			l.follow(t, name, text, level, 1)
		}
	}
	l.repositoryRules(t, folder, level)
}

// read adds the section of a file and returns its text; empty if it was added before. Not
// ok means that the file cannot be used, or not yet. Base is the folder that the patterns of a
// rule start from; empty: the file is no rule.
func (l *loader) read(t *tree, name string, file File, level int, base string) (text string, ok bool) {
	content, more, resolved, err := t.read(name)
	if resolved != "" && l.seen[resolved] || l.had != nil && l.had(file.Path) {
		return "", true
	}
	s := section{File: file, more: more, level: level}
	if base != "" && err == nil {
		content, s.globs, err = cutGlobs(content, more)
	}
	if err != nil {
		l.skip(file, reason(err))
		return "", false
	}
	if len(s.globs) > 0 {
		r := rule{name: name, base: base, level: level, user: file.User, globs: s.globs}
		if r.user {
			r.name = file.Path
		}
		if l.touched == "" || !r.matches(l.touched) {
			l.scoped = append(l.scoped, r)
			file.Later = true
			l.skip(file, "for files that match "+strings.Join(s.globs, ", "))
			return "", false
		}
	}
	if s.text, s.Hidden, err = clean(content, more); err != nil {
		l.skip(file, reason(err))
		return "", false
	}
	s.text = Unheaded(s.text)
	l.seen[resolved] = true
	l.sections = append(l.sections, s)
	return s.text, true
}

// follow reads what a file imports. Depth is that of the imported files: 1 for those
// of a file that was found by its name.
func (l *loader) follow(t *tree, by, text string, level, depth int) {
	for _, imported := range findImports(text) {
		if l.imports++; l.imports > maxImports {
			if l.imports == maxImports+1 {
				l.skip(l.imported(t, by, imported), "more than 300 imports: this one and those that follow are not read")
			}
			return
		}
		name, err := t.resolve(by, imported, l.options.Home)
		file := l.imported(t, by, imported)
		if err != nil {
			l.skip(file, reason(err))
			continue
		}
		file.Path = filepath.Join(t.dir, filepath.FromSlash(name))
		info, err := t.root.Stat(filepath.FromSlash(name))
		if !saysPath(imported) && (errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir()) {
			continue // a mention: @alice, @types/node
		}
		if l.seen[file.Path] {
			continue
		}
		if depth > maxDepth {
			l.skip(file, "imported more than 5 files deep")
			continue
		}
		if text, ok := l.read(t, name, file, level, ""); ok {
			l.follow(t, name, text, level, depth+1)
		}
	}
}

// imported returns the entry of a file that is imported and not found yet.
func (l *loader) imported(t *tree, by, name string) File {
	return File{Path: name, ImportedBy: filepath.Join(t.dir, filepath.FromSlash(by)), User: t.user}
}

func (l *loader) skip(file File, why string) {
	file.Skipped = why
	l.sections = append(l.sections, section{File: file})
}

// order returns the indexes of the sections that have text, those first that are cut
// last: the user's own, then the files of folders from the workspace up to the
// root, then what these import.
func (l *loader) order() []int {
	var order []int
	for i, s := range l.sections {
		if s.Skipped == "" {
			order = append(order, i)
		}
	}
	class := func(s section) int {
		switch {
		case s.User:
			return 0
		case s.ImportedBy == "" && slices.Contains(names, filepath.Base(s.Path)):
			return 1
		}
		return 2
	}
	stable.Sort(order, func(i, j int) int {
		a, b := l.sections[i], l.sections[j]
		return cmp.Or(cmp.Compare(class(a), class(b)), cmp.Compare(b.level, a.level))
	})
	return order
}
