package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// An index knows what of a workspace the sandbox has to know by name: files and
// folders that hold secrets, and all that git takes for a repository, at any depth.
// It reads the workspace once, when it is first asked or told to begin, and from
// then on only the folders in which something was made or moved, as far as the
// system tells (see watcher); otherwise it reads the workspace again each time it is
// asked.
//
// An index is safe for concurrent use.
type index struct {
	roots    []string               // the folders it is about, the workspace first
	works    []string               // of them those that files with secrets are looked for in
	isSecret func(path string) bool // a path relative to one of these, with slashes
	isObeyed func(path string) bool // the same

	mu      sync.Mutex
	begun   bool
	ids     []string        // which folders the roots are
	ctx     context.Context // of begin, while it reads
	watch   *watcher        // nil: there is none, each refresh reads everything
	secrets map[string]bool // by path; true: a folder
	obeyed  map[string]bool // what programs obey by themselves, without what is in such a folder; true: a folder
	// repositories are folders that git would take for that of a repository, called
	// .git or not; links are files and symbolic links called .git, or of [isForeignLink].
	repositories, links map[string]bool
	// foreign are the folders of repositories of other version control; see [foreignConfigs].
	foreign map[string]bool
	// closed are folders whose permissions kept something in them from being seen. That
	// they change is no event, so each refresh tries them again.
	closed      map[string]bool
	unwatchable bool     // there are too many folders to watch
	came        []string // what a git obeys that came or changed since follow asked: paths of [fixedNames], of hooks, and links
	replaced    []string // what programs obey by themselves and that left its place since then, or made room for another
}

func newIndex(roots, works []string, isSecret, isObeyed func(string) bool) *index {
	none := func(string) bool { return false }
	if isSecret == nil {
		isSecret = none
	}
	if isObeyed == nil {
		isObeyed = none
	}
	return &index{roots: roots, works: works, isSecret: isSecret, isObeyed: isObeyed}
}

// refresh brings the index up to date: what was in the workspace when it was called
// is in the index when it returns.
func (x *index) refresh() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.begun || x.watch == nil || !slices.Equal(x.ids, idsOf(x.roots)) || !x.watch.drain() {
		x.rebuild()
		return
	}
	x.scanClosed()
}

// begin reads the workspace if that was not done yet. It reports false if ctx is done before
// it ends: then nothing is known.
func (x *index) begin(ctx context.Context) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.begun {
		x.ctx = ctx
		x.rebuild()
		if x.ctx = nil; ctx.Err() != nil {
			x.forget()
		}
	}
	return x.begun
}

// scanClosed tries the folders again that could not be read.
func (x *index) scanClosed() {
	for _, dir := range sortedKeys(x.closed) {
		if x.closed[dir] {
			delete(x.closed, dir)
			x.scan(dir)
		}
	}
}

// rebuild reads the whole workspace.
func (x *index) rebuild() {
	x.secrets, x.obeyed, x.repositories, x.links, x.foreign, x.closed = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	x.watch.close()
	if x.watch = nil; !x.unwatchable {
		x.watch = newWatcher(x)
	}
	x.begun, x.ids = true, idsOf(x.roots)
	for _, root := range x.roots {
		if isDotGit(filepath.Base(root)) {
			x.repositories[root] = true
		}
		x.scan(root)
	}
}

// close lets go of what watches the workspace. The index can be used on.
func (x *index) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forget()
}

func (x *index) forget() {
	x.watch.close()
	x.watch, x.begun = nil, false
}

// scan reads a folder and those below it.
func (x *index) scan(dir string) {
	if x.ctx != nil && x.ctx.Err() != nil {
		return
	}
	inGit := isDotGit(filepath.Base(dir))
	x.watchFolder(dir, inGit)
	entries, err := os.ReadDir(dir)
	if err != nil {
		x.isClosed(dir, err)
		return // it is gone, or closed to commands too, for now
	}
	for _, e := range entries {
		x.enter(filepath.Join(dir, e.Name()), e.Type(), inGit)
	}
	x.classify(dir)
}

// enter takes in one name of a folder, and what is below it. Of a .git only what
// can hold further repositories is read, and hooks to be watched.
func (x *index) enter(path string, kind os.FileMode, inGit bool) {
	name := filepath.Base(path)
	switch {
	case inGit:
		switch {
		case !kind.IsDir():
		case name == "modules" || name == "worktrees":
			x.scan(path)
		case name == "hooks":
			x.watchFolder(path, true)
		}
		return
	case isDotGit(name) && kind.IsDir():
		x.isRepositoryNow(path)
		x.scan(path)
		return
	case isDotGit(name):
		x.links[path] = true
		x.came = append(x.came, path)
		x.watchFolder(filepath.Dir(path), true) // it is made empty, and written then
		return
	}
	if isForeignLink(path) && !kind.IsDir() && (name == "repo" || kind&os.ModeSymlink != 0) {
		x.links[path] = true
	} else if kind.IsDir() && foreignConfigs[name] != nil {
		x.foreign[path] = true
	}
	for _, work := range x.works {
		if !isBelow(path, work) {
			continue
		}
		rel, _ := filepath.Rel(work, path)
		// What packages bring along is nobody's secret.
		if rel = filepath.ToSlash(rel); !strings.Contains("/"+rel, "/node_modules/") && x.isSecret(rel) {
			x.secrets[path] = kind.IsDir()
		}
		if x.isObeyed(rel) && !isInPackages(rel) && !x.isInObeyed(path) {
			x.obeyed[path] = kind.IsDir()
		}
	}
	if kind.IsDir() {
		x.scan(path)
	}
}

// isInPackages reports whether a path is of what a package brings along: not the folder of its programs.
func isInPackages(rel string) bool {
	dir, name := filepath.Split("/" + rel)
	return strings.Contains(dir, "/node_modules/") && (name != ".bin" || strings.Count(dir, "/node_modules/") > 1)
}

// isInObeyed reports whether a path is below a folder that programs obey.
func (x *index) isInObeyed(path string) bool {
	for dir := filepath.Dir(path); len(dir) > 1; dir = filepath.Dir(dir) {
		if x.obeyed[dir] {
			return true
		}
	}
	return false
}

// obeyedPaths returns what programs obey by themselves; true: a folder. ok is false if mounts cannot keep all of it
// from being changed: it is too much, or some of it has a second name.
func (x *index) obeyedPaths() (paths map[string]bool, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ok = len(x.obeyed) <= maxObeyed
	for path, isDir := range x.obeyed {
		if info, err := os.Lstat(path); ok && !isDir && err == nil && namesOf(info) > 1 {
			ok = false
		}
	}
	return maps.Clone(x.obeyed), ok
}

// classify sees whether a folder is that of a repository, whatever its name: git
// takes it for one if it has a HEAD, and objects and refs or a commondir.
func (x *index) classify(dir string) {
	if isDotGit(filepath.Base(dir)) {
		return
	}
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		x.isClosed(dir, err)
		return err == nil
	}
	if has("HEAD") && (has("objects") && has("refs") || has("commondir")) {
		x.isRepositoryNow(dir)
	} else {
		delete(x.repositories, dir)
	}
}

// watchFolder watches a folder, with contents what is written to its files too.
func (x *index) watchFolder(dir string, contents bool) {
	if !x.watch.add(dir, contents) {
		x.watch.close()
		x.watch, x.unwatchable = nil, true // from now on everything is read each time
	}
}

// isRepositoryNow takes in that a folder is that of a repository.
func (x *index) isRepositoryNow(dir string) {
	if x.repositories[dir] {
		return
	}
	x.repositories[dir] = true
	x.watchFolder(dir, true)
	for name := range fixedNames {
		x.came = append(x.came, filepath.Join(dir, name))
	}
	if info, err := os.Lstat(filepath.Join(dir, "hooks")); err == nil && info.IsDir() {
		x.watchFolder(filepath.Join(dir, "hooks"), true)
	}
}

// written takes in that a file has changed.
func (x *index) written(path string) {
	if dir, name := filepath.Dir(path), filepath.Base(path); x.links[path] || x.repositories[dir] && fixedNames[name] {
		x.came = append(x.came, path)
	} else if filepath.Base(dir) == "hooks" && x.repositories[filepath.Dir(dir)] {
		x.came = append(x.came, dir)
	}
}

// isClosed remembers that something in a folder could not be seen, if err says so.
func (x *index) isClosed(dir string, err error) {
	if errors.Is(err, fs.ErrPermission) {
		x.closed[dir] = true
	}
}

// gone takes out what was at a path and below it.
func (x *index) gone(path string) {
	for _, m := range []map[string]bool{x.secrets, x.obeyed, x.repositories, x.links, x.foreign, x.closed} {
		for p := range m {
			if isBelow(p, path) {
				delete(m, p)
			}
		}
	}
}

// event takes in that a name has come into a folder, or left it.
func (x *index) event(path string, came, isDir bool) {
	dir, name := filepath.Dir(path), filepath.Base(path)
	if _, ok := x.obeyed[path]; ok {
		x.replaced = append(x.replaced, path)
	}
	if isDir {
		x.gone(path)
	} else {
		delete(x.secrets, path)
		delete(x.obeyed, path)
		delete(x.links, path)
	}
	if came {
		x.written(path)
	}
	// Where a name has left another may be: of two that are exchanged each comes before the other leaves.
	info, err := os.Lstat(path)
	if x.isClosed(dir, err); err == nil {
		x.enter(path, info.Mode().Type(), isDotGit(filepath.Base(dir)))
	}
	switch name {
	case "HEAD", "objects", "refs", "commondir":
		x.classify(dir)
	}
}

// isRepository reports whether a folder is that of a repository.
func (x *index) isRepository(dir string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.repositories[dir]
}

// pollShare bounds the time spent on reading a workspace that cannot be watched again and
// again: at most one part of so many. leastPoll is the shortest time between two.
const (
	pollShare = 20
	leastPoll = time.Second
)

// forgetChanges drops what came or changed so far: it is what stands there.
func (x *index) forgetChanges() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.came = nil
}

// forgetReplaced drops what was replaced so far: a command that begins now is kept from what stands there.
func (x *index) forgetReplaced() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.replaced = nil
}

// follow calls took with what came or changed of what git obeys in repositories, and with what programs obey that was
// replaced, soon after, until stop is closed. Where nothing can be watched it reads the workspace from
// time to time.
func (x *index) follow(stop <-chan struct{}, took func(came, replaced []string)) {
	pause := leastPoll
	for {
		x.mu.Lock()
		w, limit := x.watch, time.Duration(0)
		if len(x.closed) > 0 {
			limit = leastPoll
		}
		x.mu.Unlock()
		if w == nil {
			select {
			case <-stop:
				return
			case <-time.After(pause):
			}
		} else if !w.wait(stop, limit) {
			return
		}
		x.mu.Lock()
		began := time.Now()
		if x.watch == nil || x.watch == w && !w.drain() {
			x.rebuild() // all that there is counts as new
			pause = max(leastPoll, pollShare*time.Since(began))
		}
		x.scanClosed()
		came, replaced := x.came, x.replaced
		x.came, x.replaced = nil, nil
		x.mu.Unlock()
		if len(came)+len(replaced) > 0 {
			took(came, replaced)
		}
	}
}

// sees reports whether a folder, its links resolved, would be in the index if it became
// that of a repository.
func (x *index) sees(dir string) bool {
	if !slices.ContainsFunc(x.roots, func(root string) bool { return isBelow(dir, root) }) {
		return false
	}
	names := strings.Split(dir, "/")
	for i, name := range names[:len(names)-1] {
		if next := names[i+1]; isDotGit(name) && next != "modules" && next != "worktrees" {
			return false
		}
	}
	return true
}

// isDotGit reports whether git takes a name for .git on some file system.
func isDotGit(name string) bool { return strings.EqualFold(name, ".git") }

// secretPaths returns the files and folders that hold secrets, sorted; of those in
// a folder that is one the folder only.
func (x *index) secretPaths() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return sortedKeys(x.secrets)
}

// gitPaths returns the folders of repositories, and the files and links that lead to such.
func (x *index) gitPaths() (repositories, links []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return sortedKeys(x.repositories), sortedKeys(x.links)
}

// foreignRepositories returns the folders of repositories of other version control.
func (x *index) foreignRepositories() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return sortedKeys(x.foreign)
}

func sortedKeys(m map[string]bool) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
