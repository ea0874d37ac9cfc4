package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A guard watches over what must stay as it is in one workspace while commands run
// there. Where they have a file tree of their own it cannot be changed in its
// place, but a folder above it could be exchanged, and what is not there yet has
// no place; elsewhere nothing but the guard keeps it. So it is remembered before
// the first of the commands that run beside each other, and compared and put back
// after each.
//
// What a person changes meanwhile cannot be told from what a command changed where
// there is no file tree: it is put back too. Nothing is lost, the other version is
// kept.
type guard struct {
	mu      sync.Mutex
	running int
	before  map[string]*kept
	holders []string // placeholders that were made for the commands running
}

// guards has one for each workspace of this process: runs share them.
var guards sync.Map // workspace -> *guard

func guardOf(workspace string) *guard {
	g, _ := guards.LoadOrStore(workspace, &guard{})
	return g.(*guard)
}

// Bounds of what is remembered of one path; what is more can be told to have
// changed, and not be put back.
const (
	maxKeptFile  = 1 << 20
	maxKeptFiles = 200
)

// A kept is a path as it was.
type kept struct {
	mode    fs.FileMode // 0: not there
	content []byte      // of a file; where a link leads
	stamp   string      // of a file too large to remember
	files   map[string]*kept
	parent  fs.FileInfo // the folder it is in; nil: there is none
	placed  bool        // commands have it in their file tree, unchangeable
}

func (k *kept) isThere() bool { return k.mode != 0 }

func (k *kept) equals(o *kept) bool {
	return k.mode == o.mode && k.stamp == o.stamp && bytes.Equal(k.content, o.content) &&
		maps.EqualFunc(k.files, o.files, (*kept).equals)
}

// placeholderBit marks the folders that stand where something must not come into
// being: on an empty folder it means nothing else.
const placeholderBit = fs.ModeSticky

// remember returns what is at a path in root. A placeholder is nothing; of .git
// itself only what it is counts, and where it leads.
func remember(root *os.Root, path string) *kept {
	if info, err := root.Lstat(path); err == nil && info.IsDir() && filepath.Base(path) == ".git" {
		return &kept{mode: info.Mode()}
	}
	k := look(root, path, new(int))
	if k.mode.IsDir() && k.mode&placeholderBit != 0 && len(k.files) == 0 {
		return &kept{}
	}
	return k
}

func look(root *os.Root, path string, seen *int) *kept {
	k := &kept{}
	info, err := root.Lstat(path)
	if err != nil {
		return k
	}
	if *seen++; *seen > maxKeptFiles {
		k.mode, k.stamp = fs.ModeIrregular, "many"
		return k
	}
	k.mode = info.Mode()
	switch {
	case k.mode.IsDir():
		dir, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return k
		}
		names, _ := dir.Readdirnames(-1)
		dir.Close()
		k.files = map[string]*kept{}
		for _, name := range names {
			k.files[name] = look(root, filepath.Join(path, name), seen)
		}
	case k.mode&fs.ModeSymlink != 0:
		to, _ := root.Readlink(path)
		k.content = []byte(to)
	case k.mode.IsRegular() && info.Size() <= maxKeptFile:
		// By now it may be a pipe without a writer, or have no end.
		f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return k
		}
		k.content, _ = io.ReadAll(io.LimitReader(f, maxKeptFile))
		f.Close()
	case k.mode.IsRegular():
		k.stamp = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	}
	return k
}

// write puts what was remembered at a path where nothing is.
func (k *kept) write(root *os.Root, path string) error {
	switch {
	case !k.isThere():
		return nil
	case k.stamp != "":
		return errors.New("it was too large to be remembered")
	case k.mode.IsDir():
		if err := root.Mkdir(path, k.mode.Perm()); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(k.files)) {
			if err := k.files[name].write(root, filepath.Join(path, name)); err != nil {
				return err
			}
		}
		return nil
	case k.mode&fs.ModeSymlink != 0:
		return root.Symlink(string(k.content), path)
	}
	f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, k.mode.Perm())
	if err != nil {
		return err
	}
	_, err = f.Write(k.content)
	return errors.Join(err, f.Close(), root.Chmod(path, k.mode.Perm())) // the umask may have taken from it
}

// save writes what was remembered to a folder outside, for a person to look at:
// files without their right to run, links as text.
func (k *kept) save(path string) error {
	if k.mode.IsDir() {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		for name, f := range k.files {
			if err := f.save(filepath.Join(path, name)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, k.content, 0o600)
}

// enter counts a command in and remembers what is not yet remembered. With hold
// the command has a file tree of its own: then placeholders keep from coming into
// being what is not there, and enter returns what the tree has to have unchangeable.
func (g *guard) enter(root *os.Root, paths []string, hold bool) (there []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running == 0 {
		g.before = map[string]*kept{}
	}
	g.running++
	for _, path := range paths {
		k := g.before[path]
		if k == nil {
			if k = remember(root, path); isNobodys(path) {
				k = &kept{}
			}
			k.parent, _ = root.Lstat(filepath.Dir(path))
			g.before[path] = k
		}
		if !hold {
			continue
		}
		if !k.isThere() && k.parent != nil && canHold(path) && !slices.Contains(g.holders, path) {
			err := root.Mkdir(path, 0o755)
			if err == nil {
				err = root.Chmod(path, 0o755|placeholderBit)
			}
			// It may be left from a process that was killed.
			if err == nil || errors.Is(err, fs.ErrExist) && !remember(root, path).isThere() {
				g.holders = append(g.holders, path)
			}
		}
		// What another command has made meanwhile is nobody's place: it is to go.
		ours := k.isThere() || slices.Contains(g.holders, path)
		if info, err := root.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 && ours {
			there = append(there, path)
			k.placed = true
		}
	}
	return there
}

// isNobodys reports whether a path is that of a commondir where git never makes one:
// only the folder of a worktree has it. One that is there is left from a command whose
// process was killed before it could be put back, or came with the repository; both
// make the next git outside obey settings and hooks of their choice.
func isNobodys(path string) bool {
	return filepath.Base(path) == "commondir" && filepath.Base(filepath.Dir(filepath.Dir(path))) != "worktrees"
}

// canHold reports whether an empty folder may stand at a path that must not come
// into being. Git fails over a commondir or config.worktree that is a folder, and
// over a .git that is one go fails.
func canHold(path string) bool {
	switch filepath.Base(path) {
	case "hooks", ".pawl", ".mcp.json":
		return true
	}
	return false
}

// leave counts a command out, and puts back what it changed. It says what, a
// sentence each.
func (g *guard) leave(root *os.Root, aside string, harmless func(config []byte) bool) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var told []string
	for _, path := range slices.Sorted(maps.Keys(g.before)) {
		was := g.before[path]
		parent, err := root.Lstat(filepath.Dir(path))
		if err != nil {
			continue // what it was in is gone
		}
		if was.placed && os.SameFile(parent, was.parent) {
			continue // in its place it cannot have been changed; a person may have
		}
		now := remember(root, path)
		if now.equals(was) || filepath.Base(path) == ".git" && harmlessGitFolder(root, path, was, now, harmless) {
			continue
		}
		told = append(told, restore(root, path, was, now, aside))
	}
	g.running--
	if g.running == 0 {
		for _, path := range g.holders {
			root.Remove(path) // fails if something was put in it meanwhile: then it stays
		}
		g.before, g.holders = nil, nil
	}
	return told
}

// harmlessGitFolder reports whether .git, which is remembered only as what it is,
// may stay: a folder that was one, or a new repository that runs nothing.
func harmlessGitFolder(root *os.Root, path string, was, now *kept, harmless func(config []byte) bool) bool {
	if !now.isThere() {
		return true // removed: no program outside obeys it
	}
	if !now.mode.IsDir() {
		return false
	}
	if was.isThere() {
		return was.mode.IsDir()
	}
	for _, name := range []string{"commondir", "config.worktree"} {
		if _, err := root.Lstat(filepath.Join(path, name)); err == nil {
			return false
		}
	}
	hooks := look(root, filepath.Join(path, "hooks"), new(int))
	for name := range hooks.files {
		if !strings.HasSuffix(name, ".sample") {
			return false
		}
	}
	config := look(root, filepath.Join(path, "config"), new(int))
	return (!hooks.isThere() || hooks.mode.IsDir()) &&
		(!config.isThere() || config.mode.IsRegular() && config.stamp == "" && harmless(config.content))
}

// restore puts a path back and says so.
func restore(root *os.Root, path string, was, now *kept, aside string) string {
	if now.mode.IsDir() && filepath.Base(path) == ".git" {
		now = look(root, path, new(int)) // to be kept with all that is in it
	}
	what := "changed " + path
	switch {
	case !was.isThere():
		what = "made " + path
	case !now.isThere():
		what = "removed " + path
	}
	kept := ""
	if now.isThere() {
		to := filepath.Join(aside, time.Now().UTC().Format("20060102-150405.000000"), path)
		if err := now.save(to); err == nil {
			kept = "; what it had made of it is kept in " + to
		}
		if err := root.RemoveAll(path); err != nil {
			return fmt.Sprintf("The command %s, which it must not, and that could not be undone (%v): look at it before any program uses it", what, err)
		}
	}
	if err := was.write(root, path); err != nil {
		return fmt.Sprintf("The command %s, which it must not; what was there could not be put back (%v)%s", what, err, kept)
	}
	return fmt.Sprintf("The command %s, which it must not: that was undone%s", what, kept)
}
