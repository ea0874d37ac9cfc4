package external

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock keeps other turns off a conversation and ends what the last one has left. It keeps out
// other runs, also of other processes: a fork of a run has the conversation of its original. It
// lasts until unlock is called or this process ends. A conversation without an id needs none.
func (t Turn) lock(conversation string) (unlock func(), err error) {
	if conversation == "" {
		return func() {}, nil
	}
	dir := filepath.Join(t.State, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(t.Kind.Name + "/" + conversation))
	f, err := os.OpenFile(filepath.Join(dir, hex.EncodeToString(sum[:8])), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("the conversation %s of %s is in use by another run: wait for it, or stop it", conversation, t.Kind.Title)
		}
		return nil, errors.Join(err, f.Close())
	}
	// The run that had it last may have left processes, if its pawl was killed.
	last := make([]byte, 4<<10)
	n, _ := f.ReadAt(last, 0)
	if last := string(last[:n]); last != "" && last != t.mark() {
		endTree(last, t.Patience)
	}
	if err := errors.Join(f.Truncate(0), writeAt(f, t.mark())); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// By hand, not by closing alone: a child process that is just being started may still share
	// the descriptor.
	return func() { _ = errors.Join(unlockFile(f), f.Close()) }, nil
}

func writeAt(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}
