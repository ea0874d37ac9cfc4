package tree

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

// A Folder is an open folder of the workspace and the ignore rules that hold in
// it. Opening what is in it follows no link, so a walk stays in the workspace
// and ends.
type Folder struct {
	Root  *os.Root
	Rel   string // as a tool calls it; "." is the workspace
	rules *Rules
	users atomic.Int32 // who have not closed it yet
}

// Open opens a folder in root, an absolute path, which is called so; rest leads from there, with slashes and no link in it. Rules
// that would ignore the folder itself, or one it is in, do not hold in it: whoever names an ignored folder wants to see it.
func Open(root, called, rest string) (*Folder, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("the workspace %s cannot be opened: %w", root, InWords(err))
	}
	f := newFolder(dir, called, OuterRules(root).with(dir, called))
	if rest == "." {
		return f, nil
	}
	for name := range strings.SplitSeq(rest, "/") {
		next, err := f.Open(name)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s cannot be opened: %w", path.Join(called, rest), InWords(err))
		}
		f = next
	}
	return f, nil
}

func newFolder(root *os.Root, rel string, r *Rules) *Folder {
	f := &Folder{Root: root, Rel: rel, rules: r}
	f.users.Store(1)
	return f
}

// Open opens a folder in f.
func (f *Folder) Open(name string) (*Folder, error) {
	root, err := Descend(f.Root, name)
	if err != nil {
		return nil, err
	}
	rel := path.Join(f.Rel, name)
	r := f.rules
	if r.Ignores(rel, true) {
		r = nil
	}
	return newFolder(root, rel, r.with(root, rel)), nil
}

// Use keeps f open for one more.
func (f *Folder) Use() { f.users.Add(1) }

// Close ends one use of f.
func (f *Folder) Close() {
	if f.users.Add(-1) == 0 {
		f.Root.Close()
	}
}

// Entries returns what is in f and not ignored, by name, and how many are. A
// repository's own folder is passed over and not counted.
func (f *Folder) Entries() (shown []fs.DirEntry, ignored int, err error) {
	d, err := f.Root.Open(".")
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
		case f.rules.Ignores(path.Join(f.Rel, e.Name()), e.IsDir()):
			ignored++
		default:
			shown = append(shown, e)
		}
	}
	stable.Sort(shown, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return shown, ignored, nil
}

// ErrEnough ends a walk early.
var ErrEnough = errors.New("enough")

// A Walking says what a walk passes over, and counts it.
type Walking struct {
	Hidden     bool // names that begin with a dot are visited too
	Unreadable *int // folders that could not be read; may be nil
}

// Walk visits everything below f that is not ignored, in the order of names; a
// folder before what is in it. visit gets the open folder an entry is in, which
// it may use beyond its return only after [Folder.Use]. Links are visited, not
// followed. Walk ends when ctx does, or with visit's error.
func Walk(ctx context.Context, f *Folder, w Walking, visit func(in *Folder, rel string, e fs.DirEntry) error) error {
	entries, _, err := f.Entries()
	if err != nil {
		if w.Unreadable != nil {
			*w.Unreadable++
		}
		return nil
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !w.Hidden && strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := visit(f, path.Join(f.Rel, e.Name()), e); err != nil {
			return err
		}
		if !e.IsDir() {
			continue
		}
		below, err := f.Open(e.Name())
		if err != nil {
			if w.Unreadable != nil {
				*w.Unreadable++
			}
			continue
		}
		err = Walk(ctx, below, w, visit)
		below.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
