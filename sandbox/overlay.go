package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"

	"pawl/internal/helper"
)

// maxOverlays is how many commands of a workspace can have overlays at the same time:
// two mounts must not share one. The first has what the last command left in it.
const maxOverlays = 16

// overlay gives the overlays among a command's places the folders for what it changes
// there. It returns a function that lets others have them, when the command has
// ended. Where there are none left, or they cannot be made, the places can only be
// read.
func (p *Policy) overlay(g places) (release func()) {
	var slot *os.File
	dir := ""
	for path, n := range g {
		if n.kind != helper.Overlay {
			continue
		}
		for i := 0; slot == nil && i < maxOverlays; i++ {
			dir = filepath.Join(p.overlays, strconv.Itoa(i))
			slot = lockSlot(dir)
		}
		sum := sha256.Sum256([]byte(path))
		n.upper = filepath.Join(dir, hex.EncodeToString(sum[:8]))
		if slot == nil || os.MkdirAll(n.upper+"/upper", 0o755) != nil || os.MkdirAll(n.upper+"/work", 0o700) != nil {
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

// lockSlot returns a folder's lock; nil if another has it.
func lockSlot(dir string) *os.File {
	if os.MkdirAll(dir, 0o700) != nil {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil
	}
	if tryLockFile(f) != nil {
		f.Close()
		return nil
	}
	return f
}
