package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"

	"pawl/internal/helper"
	"pawl/internal/inside"
)

// maxOverlays is how many commands of a workspace can have overlays at the same time:
// two mounts must not share one. The first has what the last command left in it.
const maxOverlays = 16

// overlay gives a command what it may change of caches with programs: a folder of its
// own where nothing is there, and an overlay else. It returns a function that lets
// others have the overlays, when the command has ended. Where there are none left, or
// they cannot be made, the caches can only be read.
func (p *Policy) overlay(g places) (release func()) {
	var slot *os.File
	dir := ""
	for path, n := range g {
		if n.kind != helper.Overlay {
			continue
		}
		sum := sha256.Sum256([]byte(path))
		name := hex.EncodeToString(sum[:8])
		if isEmpty(path) {
			n.kind, n.source = helper.Writable, filepath.Join(p.overlays, "own", name)
			if makeIn(filepath.Dir(n.source), name) == nil {
				g[path] = n
			} else {
				delete(g, path)
			}
			continue
		}
		for i := 0; slot == nil && i < maxOverlays; i++ {
			dir = filepath.Join(p.overlays, strconv.Itoa(i))
			slot = p.lockSlot(dir)
		}
		n.upper = filepath.Join(dir, name)
		if slot == nil || makeIn(n.upper, "upper") != nil || p.newWork(n.upper+"/work") != nil {
			n.kind, n.upper = helper.ReadOnly, ""
		}
		g[path] = n
	}
	return func() {
		if slot != nil {
			unlockFile(slot) // a process that is just being started may have it open too
			slot.Close()
			slot = nil
		}
	}
}

// ownCaches gives a command without a file tree caches of its own instead of those of data that have programs in them:
// of a folder that is written Landlock can take nothing out. What is there it reads. It returns them by the variables
// that name them.
func (p *Policy) ownCaches(g places) map[string]string {
	own := map[string]string{}
	for variable, path := range p.mixed {
		n, ok := g[path]
		if !ok || n.kind != helper.Writable {
			continue
		}
		n.kind = helper.ReadOnly
		g[path] = n
		sum := sha256.Sum256([]byte(path))
		folder := filepath.Join(p.overlays, "own", hex.EncodeToString(sum[:8]))
		if makeIn(filepath.Dir(folder), filepath.Base(folder)) == nil {
			g.put(grant{path: folder, source: folder, kind: helper.Writable})
			own[variable] = folder
		}
	}
	return own
}

// isEmpty reports whether there is nothing in a folder, or no folder.
func isEmpty(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return os.IsNotExist(err)
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	return err != nil
}

// makeIn makes a folder as caches are, in one that is closed to others.
func makeIn(parent, name string) error {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Join(parent, name), 0o755)
}

// newWork makes the work folder of an overlay. What the last one left in it says that
// its changes may not be whole after a crash of the machine, and would not be mounted
// again.
func (p *Policy) newWork(dir string) error {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		os.Chmod(dir+"/work", 0o700) // the kernel gives it no rights
	}
	if err := inside.RemoveAll(p.options.StateDir, dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o700)
}

// lockSlot returns a folder's lock; nil if another has it.
func (p *Policy) lockSlot(dir string) *os.File {
	if os.MkdirAll(dir, 0o700) != nil {
		return nil
	}
	f, err := inside.OpenFile(p.options.StateDir, filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil
	}
	if tryLockFile(f) != nil {
		f.Close()
		return nil
	}
	return f
}
