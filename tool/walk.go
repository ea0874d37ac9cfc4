package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync/atomic"

	"pawl/internal/stable"
)

// A folder is an open folder of the workspace and the ignore rules that hold in
// it. Opening what is in it follows no link, so a walk stays in the workspace
// and ends.
type folder struct {
	root  *os.Root
	rel   string // "." is the workspace
	rules *rules
	users atomic.Int32 // who have not closed it yet
}

// openFolder opens a folder by its resolved path. Rules that would ignore the
// folder itself, or one it is in, do not hold in it: whoever names an ignored
// folder wants to see it.
func openFolder(env Env, rel string) (*folder, error) {
	at, called, rest, err := env.rootOf(rel)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return nil, fmt.Errorf("the workspace %s cannot be opened: %w", at, inWords(err))
	}
	f := newFolder(root, called, outerRules(at).with(root, called))
	if rest == "." {
		return f, nil
	}
	for name := range strings.SplitSeq(rest, "/") {
		next, err := f.open(name)
		f.close()
		if err != nil {
			return nil, fmt.Errorf("%s cannot be opened: %w", rel, inWords(err))
		}
		f = next
	}
	return f, nil
}

func newFolder(root *os.Root, rel string, r *rules) *folder {
	f := &folder{root: root, rel: rel, rules: r}
	f.users.Store(1)
	return f
}

// open opens a folder in f.
func (f *folder) open(name string) (*folder, error) {
	root, err := descend(f.root, name)
	if err != nil {
		return nil, err
	}
	rel := path.Join(f.rel, name)
	r := f.rules
	if r.ignores(rel, true) {
		r = nil
	}
	return newFolder(root, rel, r.with(root, rel)), nil
}

// use keeps f open for one more.
func (f *folder) use() { f.users.Add(1) }

// close ends one use of f.
func (f *folder) close() {
	if f.users.Add(-1) == 0 {
		f.root.Close()
	}
}

// entries returns what is in f and not ignored, by name, and how many are. A
// repository's own folder is passed over and not counted.
func (f *folder) entries() (shown []fs.DirEntry, ignored int, err error) {
	d, err := f.root.Open(".")
	if err != nil {
		return nil, 0, err
	}
	all, err := d.ReadDir(-1)
	d.Close()
	if err != nil {
		return nil, 0, err
	}
	shown = all[:0]
	for _, e := range all {
		switch {
		case strings.EqualFold(e.Name(), ".git"):
		case f.rules.ignores(path.Join(f.rel, e.Name()), e.IsDir()):
			ignored++
		default:
			shown = append(shown, e)
		}
	}
	stable.Sort(shown, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return shown, ignored, nil
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// A walking says what a walk passes over, and counts it.
type walking struct {
	hidden     bool // names that begin with a dot are visited too
	unreadable *int // folders that could not be read; may be nil
}

// walk visits everything below f that is not ignored, in the order of names; a
// folder before what is in it. visit gets the open folder an entry is in, which
// it may use beyond its return only after [folder.use]. Links are visited, not
// followed. walk ends when ctx does, or with visit's error.
func walk(ctx context.Context, f *folder, w walking, visit func(in *folder, rel string, e fs.DirEntry) error) error {
	entries, _, err := f.entries()
	if err != nil {
		if w.unreadable != nil {
			*w.unreadable++
		}
		return nil
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !w.hidden && strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := visit(f, path.Join(f.rel, e.Name()), e); err != nil {
			return err
		}
		if !e.IsDir() {
			continue
		}
		below, err := f.open(e.Name())
		if err != nil {
			if w.unreadable != nil {
				*w.unreadable++
			}
			continue
		}
		err = walk(ctx, below, w, visit)
		below.close()
		if err != nil {
			return err
		}
	}
	return nil
}
