package external

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"pawl/run"
)

// lock keeps other turns off a conversation and ends what the last one has left. It keeps out
// other runs, also of other processes: a fork of a run has the conversation of its original. It
// lasts until unlock is called or this process ends. A conversation without an id needs none.
//
// The file of the lock names the run that had it last: that says what to end after a kill. It is
// removed by [RemoveLocks], while it is locked: whoever has opened it before finds that it is
// not the file at its path any more and tries again.
func (t Turn) lock(conversation string) (unlock func(), err error) {
	if conversation == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(locks(t.State), 0o700); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(t.Kind.Name + "/" + conversation))
	path := filepath.Join(locks(t.State), hex.EncodeToString(sum[:8]))
	var f *os.File
	for tries := 0; f == nil; tries++ {
		f, err = openLocked(path, os.O_CREATE)
		switch held := errors.Is(err, syscall.EWOULDBLOCK); {
		case held && tries < 3: // RemoveLocks has it for a moment
			time.Sleep(10 * time.Millisecond)
		case held:
			return nil, fmt.Errorf("the conversation %s of %s is in use by another run: wait for it, or stop it", conversation, t.Kind.Title)
		case err != nil:
			return nil, err
		}
	}
	// The run that had it last may have left processes, if its pawl was killed.
	if last := markIn(path); last != "" && last != t.mark() {
		endTree(last, t.Patience)
	}
	if err := os.WriteFile(path, []byte(t.mark()), 0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { giveUp(f) }, nil
}

// AtWork returns the runs of which processes of an agent are there, in a [Turn.State]: those of
// turns, and those that a killed pawl has left.
func AtWork(state string) []run.ID { return slices.Sorted(maps.Keys(processesOf(state))) }

// Memory returns how much memory the processes of each agent take, of [AtWork], in bytes; 0 where that is not known, as on
// macOS.
func Memory(state string) map[run.ID]int64 {
	all := map[run.ID]int64{}
	for id, m := range processesOf(state) {
		all[id] = m.memory()
	}
	return all
}

func processesOf(state string) map[run.ID]members {
	if _, err := os.Stat(filepath.Join(state, "runs")); err != nil {
		return nil // there has been no turn
	}
	return atWork(markName + "=" + state + ":")
}

// End ends the processes of the agent of a run, in a [Turn.State]: SIGINT, SIGTERM and SIGKILL, with
// DefaultPatience between them. No process may drive the run.
func End(state string, id run.ID) {
	endTree(Turn{State: state, Run: id}.mark(), DefaultPatience)
}

func locks(state string) string { return filepath.Join(state, "locks") }

// openLocked opens a file and locks it; nil if it is not at its path any more. The error is
// EWOULDBLOCK if another process has locked it.
func openLocked(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	opened, _ := f.Stat()
	if now, _ := os.Stat(path); !os.SameFile(opened, now) { // false, too, if one of them is not there
		return nil, f.Close()
	}
	return f, nil
}

// giveUp gives a lock up. By hand, not by closing alone: a child process that is just being
// started may still share the descriptor.
func giveUp(f *os.File) { _ = errors.Join(unlockFile(f), f.Close()) }

// markIn returns the mark of the run that had a lock last; empty: there was none.
func markIn(path string) string {
	mark, _ := os.ReadFile(path)
	return string(mark)
}

// RemoveLocks removes the files of the locks in a [Turn.State] that no turn has, but for those of
// which processes are left.
func RemoveLocks(state string) error {
	entries, err := os.ReadDir(locks(state))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(locks(state), e.Name())
		mark := markIn(path)
		if isLeft(mark) {
			continue
		}
		f, err := openLocked(path, 0)
		if err != nil || f == nil {
			continue // it is in use, or was removed
		}
		if markIn(path) == mark {
			_ = os.Remove(path) // else it is tried again the next time
		}
		giveUp(f)
	}
	return err
}
