package instructions

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
)

// A Later reads, for one run, the instructions that hold for a part of the workspace alone, when the run first touches
// that part: the files of folders below the workspace, with the rules there, and rules that name the files they are for.
// Each is given once. All that it gives has at most [MaxBytes]. It is safe for concurrent use.
type Later struct {
	options Options
	had     func(path string) bool

	mu      sync.Mutex
	looked  map[string]bool // folders of the repository, relative to its root; nil: nothing was touched yet
	below   string          // the workspace, relative to the root
	scoped  []rule
	seen    map[string]bool
	imports int
	room    int
}

// NewLater returns a Later for a run that was given some files before: prompt is the text of [Load] that it began
// with, or a text that has it, and files are those of a Later before this one.
func NewLater(o Options, prompt string, files []string) *Later {
	return &Later{options: o, seen: map[string]bool{}, room: MaxBytes, had: func(path string) bool {
		return slices.Contains(files, o.short(path)) || gives(prompt, path)
	}}
}

// short returns a path relative to the workspace, with slashes, if it is in there.
func (o Options) short(path string) string {
	if rel, err := filepath.Rel(o.Dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// For returns the instructions for files or folders of the workspace that the run has touched and was not given yet, and the
// files they are from. Paths are relative to the workspace or absolute; for what is outside of it there are none.
func (l *Later) For(touched []string) (text string, files []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ld := loader{options: l.options, seen: l.seen, imports: l.imports, room: l.room, had: l.had}
	for _, name := range touched {
		l.read(&ld, name)
	}
	l.imports = ld.imports
	text = ld.compose()
	for _, s := range ld.sections {
		if s.Skipped == "" {
			files = append(files, l.options.short(s.Path))
		}
	}
	if len(files) == 0 { // not even that there is no room
		return "", nil
	}
	l.room -= len(text)
	return text, files
}

// read reads the instructions for a path.
func (l *Later) read(ld *loader, name string) {
	name = path.Clean(filepath.ToSlash(l.options.short(name)))
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return
	}
	ld.touched = ""
	if l.looked == nil {
		l.begin(ld)
	}
	if name == "." || !l.news(name) {
		return
	}
	name = path.Join(l.below, name)
	ld.touched = name
	ld.repository(func(t *tree, folder string, level int) {
		if folder != path.Clean(l.below) {
			return // a folder above the workspace
		}
		for level, folder := range foldersTo(name) { // the file itself is perhaps a folder
			info, err := t.root.Lstat(filepath.FromSlash(folder))
			if err != nil || !info.IsDir() {
				break // what a link leads to has a path of its own
			}
			if l.looked[folder] {
				continue
			}
			l.looked[folder] = true
			sections, scoped := len(ld.sections), len(ld.scoped)
			ld.folder(t, folder, level)
			if found := len(ld.sections) > sections || len(ld.scoped) > scoped; found && l.options.Foreign != nil && l.options.Foreign(folder) {
				ld.sections, ld.scoped = ld.sections[:sections], ld.scoped[:scoped]
			}
		}
		l.scoped = append(l.scoped, ld.scoped...)
		ld.scoped = nil
		l.scoped = slices.DeleteFunc(l.scoped, func(r rule) bool {
			if !r.matches(name) {
				return false
			}
			if r.user {
				ld.userFile(r.name, r.base)
				return true
			}
			if text, ok := ld.read(t, r.name, File{Path: filepath.Join(t.dir, filepath.FromSlash(r.name))}, r.level, r.base); ok {
				ld.follow(t, r.name, text, r.level, 1)
			}
			return true
		})
	})
}

// news reports whether a file or folder of the workspace can have instructions that were not looked for.
func (l *Later) news(name string) bool {
	in := path.Join(l.below, name)
	if !l.looked[path.Dir(in)] || slices.ContainsFunc(l.scoped, func(r rule) bool { return r.matches(in) }) {
		return true
	}
	info, err := os.Lstat(filepath.Join(l.options.Dir, filepath.FromSlash(name)))
	return err == nil && info.IsDir() && !l.looked[in]
}

// begin finds the rules that are for some files alone among those that the run could have begun with.
func (l *Later) begin(ld *loader) {
	l.looked = map[string]bool{}
	ld.userRules()
	ld.repository(func(t *tree, folder string, level int) {
		l.below, l.looked[folder] = folder, true
		ld.repositoryRules(t, folder, level)
	})
	// What holds for all files was in the prompt, if it was there then.
	ld.sections = nil
	l.scoped, ld.scoped = ld.scoped, nil
}
