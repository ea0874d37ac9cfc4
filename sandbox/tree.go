package sandbox

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/internal/helper"
	"pawl/internal/proc"
	"pawl/run"
)

// A tree is a file tree that was built for commands at one level. It serves all of them
// as long as they are to have the same mounts, and what those are made of is what it
// was.
type tree struct {
	places   places         // as planned, before overlays were given their places
	mounts   []helper.Mount // of places
	resident *proc.Resident
	seen     map[string]pathState // what the tree is made of, by path
	users    int                  // commands that run in it
	wanted   int                  // runs it was built ahead for that may yet have a first command in it
	replaced bool                 // no more commands are started in it
	release  func()               // lets others have its overlays
}

// A treeKind says which commands a tree is for. Others of the same kind, under other rules, replace it.
type treeKind struct {
	level run.Confinement
	git   bool // they are git's own work, and something in the tree is left to git
	// repository: they run unasked, and can write the repository; see [Fence].
	repository bool
	owns       string // what they own, see [Fence]
}

// trees are those of a policy, one for each kind at most that commands are started in.
type trees struct {
	mu      sync.Mutex
	current map[treeKind]*tree
}

// enter returns a tree with the mounts of places, to be left when the command has ended.
func (t *trees) enter(p *Policy, kind treeKind, places places) (*tree, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.current[kind]; old != nil {
		if old.resident.Intact(func() bool { return old.serves(places) && old.holds() }) {
			old.users++
			old.wanted = 0
			return old, nil
		}
		t.drop(kind, old)
	}
	n, err := t.build(context.Background(), p, kind, places)
	if err != nil {
		return nil, err
	}
	n.users++
	return n, nil
}

// build builds a tree. The end of ctx ends that early, with a tree that serves no command.
func (t *trees) build(ctx context.Context, p *Policy, kind treeKind, places places) (*tree, error) {
	built := maps.Clone(places)
	n := &tree{places: places, mounts: places.mounts(), release: p.overlay(built)}
	confine := *confinementAt(kind.level)
	confine.Mounts = built.mounts()
	// What is replaced while the tree is built is seen to be another the next time.
	n.seen = pathStatesOf(confine.Mounts)
	var err error
	if n.resident, err = proc.NewResident(&confine); err != nil {
		n.release()
		return nil, err
	}
	stop := context.AfterFunc(ctx, n.resident.Close)
	if n.resident.Intact(func() bool { return true }) { // it is built, and what that needs is made
		maps.Copy(n.seen, sightsInTemp(p.Temp, confine.Mounts))
	}
	stop()
	if t.current == nil {
		t.current = map[treeKind]*tree{}
	}
	for other, old := range t.current { // of those that are for some hosts alone no more than one is kept
		if kind.level.Hosts() != nil && other.level.Hosts() != nil && other != kind {
			t.drop(other, old)
		}
	}
	t.current[kind] = n
	return n, nil
}

// serves reports whether the tree has the mounts of places.
func (n *tree) serves(places places) bool {
	return maps.Equal(n.places, places) || slices.Equal(n.mounts, places.mounts())
}

// leave says that a command in the tree has ended.
func (t *trees) leave(n *tree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.users--; n.replaced && n.users == 0 {
		n.close()
	}
}

// ahead builds a tree for commands that may come until ctx is done. If none has come by then,
// for any run that it was built for, the tree is taken away.
func (t *trees) ahead(ctx context.Context, p *Policy, kind treeKind, places places) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.current[kind]
	switch {
	case ctx.Err() != nil || n != nil && n.wanted == 0: // commands use it
		return
	case n == nil:
		var err error
		if n, err = t.build(ctx, p, kind, places); err != nil {
			return // the first command says why
		}
	}
	n.wanted++
	context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if n.wanted == 0 || t.current[kind] != n {
			return
		}
		if n.wanted--; n.wanted == 0 {
			t.drop(kind, n)
		}
	})
}

// drop keeps commands from being started in a tree that is the current one.
func (t *trees) drop(kind treeKind, n *tree) {
	delete(t.current, kind)
	n.replace()
}

// close lets go of the trees in which no command runs; the others when their last one
// has ended.
func (t *trees) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for kind, n := range t.current {
		t.drop(kind, n)
	}
}

// replace keeps commands from being started in the tree.
func (n *tree) replace() {
	if n.replaced = true; n.users == 0 {
		n.close()
	}
}

func (n *tree) close() {
	n.resident.Close()
	go func() {
		<-n.resident.Done()
		n.release()
	}()
}

// holds reports whether what the tree is made of is what it was.
func (n *tree) holds() bool {
	for path, was := range n.seen {
		if pathStateOf(path, was.content) != was {
			return false
		}
	}
	return true
}

// A pathState is what a path was found to be. The zero value is nothing.
type pathState struct {
	device, inode uint64
	mode          fs.FileMode
	content       bool // a change of what is in it counts too
	changed       time.Time
}

// pathStateOf looks at a path. Of anything but a folder the time of its last change counts:
// it may have been given another name and the name back, which a mount does not follow.
func pathStateOf(path string, content bool) pathState {
	info, err := os.Lstat(path)
	if err != nil {
		return pathState{content: content}
	}
	s := statOf(info)
	found := pathState{device: s.device, inode: s.inode, mode: info.Mode(), content: content}
	if content || !info.IsDir() {
		found.changed = s.changed
	}
	return found
}

// pathStatesOf looks at what mounts show or cover.
func pathStatesOf(mounts []helper.Mount) map[string]pathState {
	seen := map[string]pathState{}
	for _, m := range mounts {
		switch m.Kind {
		case helper.ReadOnly, helper.Writable, helper.Temporary, helper.TemporaryReadOnly:
			seen[m.Source] = pathStateOf(m.Source, false)
		case helper.Overlay: // what is below an overlay must not change
			seen[m.Source] = pathStateOf(m.Source, true)
		case helper.Empty, helper.NoFile:
			seen[m.Target] = pathStateOf(m.Target, false)
		}
	}
	return seen
}

// sightsInTemp looks at the folders in the temporary one that mounts are put on. Other
// commands, in trees of their own, can move them.
func sightsInTemp(temp string, mounts []helper.Mount) map[string]pathState {
	seen := map[string]pathState{}
	for _, m := range mounts {
		for _, tmp := range []string{"/tmp/", "/var/tmp/"} {
			below, ok := strings.CutPrefix(m.Target, tmp)
			for ok && below != "." && below != "/" {
				path := filepath.Join(temp, below)
				if _, done := seen[path]; done {
					break
				}
				seen[path] = pathStateOf(path, false)
				below = filepath.Dir(below)
			}
		}
	}
	return seen
}
