package changes

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pawl/internal/text"
	"pawl/run"
	"pawl/tool/journal"
	"pawl/tool/tree"
)

const (
	// maxKnownFiles is how many paths of a workspace are known, at some 300 bytes each. In a larger workspace nothing that
	// commands change is: half of it would make undo restore halves.
	maxKnownFiles = 100_000
	// justNow is how old a change has to be for a later one to have another time: kernels count in ticks of up to 10 ms.
	justNow = 20 * time.Millisecond
)

// A look looks at a part of the workspace and collects what is there.
type look struct {
	t       *Tracker
	ctx     context.Context
	files   journal.Files
	outside map[string]string
	shared  map[uint64]bool // inodes that have several names
}

// at looks at one name of an open folder, and at what is below it.
func (l *look) at(dir *os.Root, r *tree.Rules, rel, name string) {
	info, err := dir.Lstat(name)
	if err != nil || l.ctx.Err() != nil || l.isFull() {
		return
	}
	mode := journal.ModeOf(info)
	switch {
	case strings.EqualFold(name, ".git"):
		return // the repository's own
	case mode == 0:
		l.outside[rel] = "it is no file, folder or link"
		return
	case !utf8.ValidString(name): // the log would have another name
		l.outside[rel] = "its name is not valid UTF-8"
		return
	case name == "node_modules" && info.IsDir():
		l.outside[rel] = "it holds packages"
		return
	case r.Ignores(rel, info.IsDir()):
		l.outside[rel] = "git ignores it"
		return
	}
	f := fileOf(info, mode)
	if f.Kind() != journal.KindDir {
		if namesOf(info) > 1 && f.Kind() == journal.KindFile {
			l.t.linked[rel] = true
			l.shared[f.Inode] = true
		}
		l.files[rel] = f
		return
	}
	below, err := tree.Descend(dir, name)
	if err != nil {
		l.files[rel] = f
		return
	}
	defer below.Close()
	_, err = below.Lstat(".git")
	switch {
	case err == nil:
		l.outside[rel] = "it is a repository of its own"
	case deviceOf(info) != l.t.device:
		l.outside[rel] = "it is on another file system"
	default:
		l.files[rel] = f
		l.below(below, r.With(below, rel, ".gitignore"), rel)
	}
}

func (l *look) isFull() bool { return len(l.files)+len(l.outside) >= maxKnownFiles }

// below looks at what is in an open folder.
func (l *look) below(dir *os.Root, r *tree.Rules, rel string) {
	l.t.dirs[rel] = r
	l.t.watch.add(rel)
	d, err := dir.Open(".")
	if err != nil {
		l.unreadable(rel, err)
		return
	}
	defer d.Close()
	for !l.isFull() {
		names, err := d.Readdirnames(1000)
		for _, name := range names {
			l.at(dir, r, path.Join(rel, name), name)
		}
		if err == io.EOF {
			return
		} else if err != nil {
			l.unreadable(rel, err)
			return
		}
	}
}

// unreadable notes that it is not known what is in a folder, unless that is removed just now, which has an event.
func (l *look) unreadable(rel string, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		l.outside[rel] = "it cannot be read"
	}
}

// fileOf returns what is known of a path without its content.
func fileOf(info fs.FileInfo, mode uint32) journal.File {
	f := journal.File{Mode: mode, Ctime: changedOf(info).UnixNano()}
	if f.Kind() != journal.KindDir {
		f.Size, f.Mtime, f.Inode = info.Size(), info.ModTime().UnixNano(), inodeOf(info)
	}
	return f
}

// same reports whether a path is as it was, as far as that can be seen without its content.
func same(a, b journal.File) bool {
	if a.Kind() == journal.KindDir {
		return a.Mode == b.Mode
	}
	return a.Mode == b.Mode && a.Size == b.Size && a.Mtime == b.Mtime && a.Ctime == b.Ctime && a.Inode == b.Inode
}

// refresh looks at what may have changed, takes it in and returns it. Without a command that runs, what has changed is
// nobody's.
func (t *Tracker) refresh(ctx context.Context) (all []difference) {
	if t.full {
		return nil
	}
	first := t.files == nil
	if first || t.outside == nil {
		t.unkept, t.own, t.toKeep = map[string]string{}, map[string]string{}, map[string]bool{}
		t.moved, t.foreign = map[uint64]bool{}, map[uint64]bool{}
		t.all = true
	}
	if first {
		t.files = t.journal.ReadFiles(t.key.workspace)
		if !t.recovers {
			t.watch = newWatch(t.key.workspace)
		}
	}
	touched, ok := t.watch.drain()
	if t.all = t.all || !ok || slices.ContainsFunc(slices.Collect(maps.Keys(touched)), func(p string) bool { return path.Base(p) == ".gitignore" }); t.all {
		return t.refreshAll(ctx)
	}
	for rel := range t.linked {
		touched[rel] = true
	}
	l := &look{t: t, ctx: ctx, files: journal.Files{}, outside: map[string]string{}, shared: map[uint64]bool{}}
	dirs := openDirs{workspace: t.key.workspace}
	defer dirs.close()
	var tops []string
	visit := func(rel string) {
		if len(tops) > 0 && isUnder(rel, tops[len(tops)-1]) {
			return // it is looked at with the folder that it is in
		}
		parent, name := path.Split(rel)
		parent = cmp.Or(strings.TrimSuffix(parent, "/"), ".")
		r, known := t.dirs[parent]
		if !known {
			return // of a folder that is gone, or not covered
		}
		if dir := dirs.open(parent); dir != nil {
			l.at(dir, r, rel, name)
		}
		if f, is := l.files[rel]; is && f.Kind() == journal.KindDir || t.files[rel].Kind() == journal.KindDir {
			tops = append(tops, rel) // a folder came or went
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(touched)) {
		visit(rel)
	}
	if len(l.shared) > 0 { // what was written under one name has changed under the others
		for rel, f := range t.files {
			if l.shared[f.Inode] && f.Kind() == journal.KindFile && !touched[rel] {
				touched[rel] = true
				visit(rel)
			}
		}
	}
	if ctx.Err() != nil {
		t.all = true
		return nil
	}
	was, wasOutside := journal.Files{}, map[string]string{}
	for rel := range touched {
		if f, ok := t.files[rel]; ok {
			was[rel] = f
		}
		if reason, ok := t.outside[rel]; ok {
			wasOutside[rel] = reason
		}
	}
	for _, top := range tops {
		for rel, f := range t.files {
			if isUnder(rel, top) {
				was[rel] = f
			}
		}
		for rel := range t.dirs {
			if _, is := l.files[rel]; !is && isUnder(rel, top) {
				delete(t.dirs, rel)
			}
		}
	}
	for rel, reason := range l.outside { // what is written in it is seen
		if t.outside[rel] == reason && touched[rel] {
			wasOutside[rel] = ""
		}
	}
	all = t.compare(ctx, was, l.files, wasOutside, l.outside, touched)
	if ctx.Err() != nil {
		t.all = true
		return nil
	}
	for rel := range was {
		delete(t.files, rel)
	}
	maps.Copy(t.files, l.files)
	for rel := range wasOutside {
		delete(t.outside, rel)
	}
	maps.Copy(t.outside, l.outside)
	return all
}

// refreshAll looks at all of the workspace.
func (t *Tracker) refreshAll(ctx context.Context) (all []difference) {
	t.dirs, t.linked = map[string]*tree.Rules{}, map[string]bool{}
	l := &look{t: t, ctx: ctx, files: journal.Files{}, outside: map[string]string{}, shared: map[uint64]bool{}}
	root, err := os.OpenRoot(t.key.workspace)
	if err != nil {
		return nil
	}
	defer root.Close()
	if info, err := root.Lstat("."); err == nil {
		t.device = deviceOf(info)
		l.files["."] = fileOf(info, journal.ModeOf(info))
		l.below(root, tree.OuterRules(t.key.workspace).With(root, ".", ".gitignore"), ".")
	}
	if ctx.Err() != nil {
		return nil
	}
	if t.full = l.isFull(); t.full {
		l.files, l.outside = journal.Files{}, map[string]string{}
		t.watch.close()
		t.watch = nil
	}
	outside := t.outside
	if outside == nil {
		outside = l.outside // what was not covered before is not known
	}
	if all = t.compare(ctx, t.files, l.files, outside, l.outside, nil); ctx.Err() != nil {
		return nil
	}
	t.files, t.outside = l.files, l.outside
	t.all = t.watch == nil
	return all
}

// isUnder reports whether a path is another one or below it.
func isUnder(rel, top string) bool {
	return rel == top || strings.HasPrefix(rel, top) && rel[len(top)] == '/'
}

// compare takes what is known of contents over to paths that have not changed, and returns those that have. Of files that
// were touched the content is looked at whatever their times.
func (t *Tracker) compare(ctx context.Context, was, is journal.Files, wasOutside, isOutside map[string]string, touched map[string]bool) (all []difference) {
	dirs := openDirs{workspace: t.key.workspace}
	defer dirs.close()
	isCovered := func(rel string) bool {
		for dir := rel; dir != "."; dir = path.Dir(dir) {
			if isOutside[dir] != "" || dir != rel && t.outside[dir] != "" { // a folder that could not be read is known itself
				return false
			}
		}
		return true
	}
	attributed := len(t.running) > 0 || t.recovers
	for _, rel := range slices.Sorted(maps.Keys(is)) {
		if ctx.Err() != nil {
			return nil // who asked for it leaves all as it was
		}
		now, old, existed := is[rel], was[rel], false
		if _, existed = was[rel]; existed && same(old, now) && !touched[rel] {
			now.Hash, now.Git, now.Kept = old.Hash, old.Git, old.Kept
			is[rel] = now
			if !isKept(now) {
				t.toKeep[rel] = true
			}
			continue
		}
		unread := ""
		if attributed && now.Kind() != journal.KindDir {
			var content []byte
			if content, unread = dirs.read(rel, now); unread == "" {
				now.Hash = journal.Hash(content)
			}
		}
		if existed && now.Hash != "" && now.Hash == old.Hash {
			now.Git, now.Kept = old.Git, old.Kept
		}
		if touched == nil && time.Since(time.Unix(0, now.Ctime)) < justNow {
			now.Mtime = 0 // it may change again without another time: it is looked at again
		}
		is[rel] = now
		t.written = nil
		if !isKept(now) {
			t.toKeep[rel] = true
		}
		if !attributed || rel == "." || existed && old.Mode == now.Mode && (now.Hash != "" && now.Hash == old.Hash || now.Kind() == journal.KindDir) {
			continue
		}
		f := difference{FileChange: run.FileChange{Path: rel, After: now.Hash, AfterMode: journal.Octal(now.Mode)}, unread: unread}
		if existed {
			t.hadBefore(&f, rel, old)
		}
		if now.Kind() == journal.KindFile && dirs.bornBefore(rel, t.commandsBegan().Add(-justNow)) && (t.foreign[now.Inode] || !t.knows(now.Inode, was)) {
			t.foreign[now.Inode] = true
			f.unread = cmp.Or(f.unread, "was there before under a name that is not covered")
		}
		all = append(all, f)
	}
	for _, rel := range slices.Sorted(maps.Keys(was)) {
		if attributed && was[rel].Inode != is[rel].Inode {
			t.moved[was[rel].Inode] = true
		}
		if _, still := is[rel]; still || rel == "." {
			continue
		}
		t.written = nil
		if attributed && isCovered(rel) {
			f := difference{FileChange: run.FileChange{Path: rel}}
			t.hadBefore(&f, rel, was[rel])
			all = append(all, f)
		}
	}
	all = append(all, differOutside(wasOutside, isOutside)...)
	return all
}

// differOutside returns what has changed of what is not covered.
func differOutside(was, is map[string]string) (all []difference) {
	for rel, reason := range is {
		if was[rel] != reason {
			all = append(all, difference{FileChange: run.FileChange{Path: rel}, uncovered: reason})
		}
	}
	for rel, reason := range was {
		if is[rel] == "" {
			all = append(all, difference{FileChange: run.FileChange{Path: rel}, uncovered: reason})
		}
	}
	return all
}

// hadBefore takes in what a path was that has changed.
func (t *Tracker) hadBefore(f *difference, rel string, old journal.File) {
	f.Before, f.BeforeMode, f.Git = old.Hash, journal.Octal(old.Mode), old.Git
	if !isKept(old) {
		f.lost = cmp.Or(t.unkept[rel], "was not kept in time")
	}
}

// isKept reports whether a path can be restored.
func isKept(f journal.File) bool {
	return f.Kind() == journal.KindDir || f.Hash != "" && (f.Kept || f.Git != "")
}

// commandsBegan returns when the first of the commands that run began.
func (t *Tracker) commandsBegan() time.Time {
	began := t.began
	for _, c := range t.running {
		if began.IsZero() || c.began.Before(began) {
			began = c.began
		}
	}
	return began
}

// knows reports whether an inode was that of a path that was covered.
func (t *Tracker) knows(inode uint64, was journal.Files) bool {
	if t.moved[inode] {
		return true
	}
	for _, files := range []journal.Files{was, t.files} {
		for _, f := range files {
			if f.Inode == inode && f.Inode != 0 {
				return true
			}
		}
	}
	return false
}

// openDirs opens folders of a workspace, no link on the way. It keeps the last one open.
type openDirs struct {
	workspace string
	rel       string
	dir       *os.Root
}

func (d *openDirs) close() {
	if d.dir != nil {
		d.dir.Close()
		d.dir = nil
	}
}

// open returns a folder; nil if it is none.
func (d *openDirs) open(rel string) *os.Root {
	if d.dir != nil && d.rel == rel {
		return d.dir
	}
	d.close()
	dir, err := os.OpenRoot(d.workspace)
	if err != nil {
		return nil
	}
	if rel != "." {
		for name := range strings.SplitSeq(rel, "/") {
			next, err := tree.Descend(dir, name)
			dir.Close()
			if err != nil {
				return nil
			}
			dir = next
		}
	}
	d.dir, d.rel = dir, rel
	return dir
}

// read returns the content of a path that is as f says; of a link, where it leads. Or it says why not.
func (d *openDirs) read(rel string, f journal.File) (content []byte, left string) {
	dir := d.open(path.Dir(rel))
	if dir == nil {
		return nil, "cannot be read"
	}
	if f.Kind() == journal.KindLink {
		target, err := dir.Readlink(path.Base(rel))
		if err != nil {
			return nil, "cannot be read"
		}
		return []byte(filepath.ToSlash(target)), ""
	}
	if f.Size > journal.MaxFile {
		return nil, "is larger than " + text.Size(journal.MaxFile)
	}
	file, _, err := tree.OpenRegular(dir, path.Base(rel))
	if err != nil {
		return nil, "cannot be read"
	}
	defer file.Close()
	content, err = io.ReadAll(io.LimitReader(file, journal.MaxFile+1))
	switch {
	case err != nil:
		return nil, "cannot be read"
	case len(content) > journal.MaxFile:
		return nil, "is larger than " + text.Size(journal.MaxFile)
	}
	if content == nil {
		content = []byte{}
	}
	return content, ""
}

// bornBefore reports whether the file at a path was made before a time, as far as the file system says.
func (d *openDirs) bornBefore(rel string, at time.Time) bool {
	dir := d.open(path.Dir(rel))
	if dir == nil {
		return false
	}
	f, _, err := tree.OpenRegular(dir, path.Base(rel))
	if err != nil {
		return false
	}
	defer f.Close()
	born, ok := bornAt(f)
	return ok && born.Before(at)
}
