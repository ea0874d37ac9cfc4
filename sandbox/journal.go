package sandbox

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl/internal/atomicfile"
	"pawl/internal/inside"
	"pawl/internal/proc"
)

// A journal is a file in pawl's state folder, one for each process that runs commands
// in a workspace. While commands run it holds the baseline, so that the process's
// death in between can be made good, and other processes know what stood there. Its
// process has it locked; its time says until when commands ran.
type journal struct {
	dir      string
	file     *os.File
	unlocked *os.File // the same file without its lock, for what holds commands together to set its time
	locking  *os.File // of all the journals of the workspace
	written  baseline // what is in it
	mu       sync.Mutex
	active   bool
	beat     *time.Timer
}

// beatEvery is how often the time of a journal is set while commands run, by its process, and on Linux by what holds the
// commands together ([proc.Command].Beat), which stands still only with them. What was
// changed later than that after the last time, a person has changed.
const beatEvery = time.Second

// A deadJournal is that of a process that was killed while commands ran.
type deadJournal struct {
	baseline
	path  string
	until time.Time // what was changed later was not changed by them
	told  []string  // what was undone while they ran and was not told
}

// openJournal makes the journal of this process.
func openJournal(dir string) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	j := &journal{dir: dir}
	locking, err := inside.OpenFile(j.above(), filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j.locking = locking
	unlock, err := j.lock() // else another process could take it for a dead one's
	if err != nil {
		return nil, err
	}
	defer unlock()
	if j.file, err = inside.OpenFile(j.above(), filepath.Join(dir, rand.Text()+journalSuffix), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	if j.unlocked, err = inside.OpenFile(j.above(), j.file.Name(), os.O_WRONLY, 0); err != nil {
		return nil, err
	}
	return j, lockFile(j.file)
}

// above is pawl's state folder, out of which nothing is followed.
func (j *journal) above() string { return filepath.Dir(filepath.Dir(j.dir)) }

// lock keeps other processes from looking at the workspace at the same time. It waits for one
// that does, and not for one that is stopped.
func (j *journal) lock() (unlock func(), err error) {
	const longestPause = 10 * time.Millisecond
	began := time.Now()
	for pause := longestPause / 32; ; pause = min(2*pause, longestPause) {
		err := tryLockFile(j.locking)
		if err == nil {
			j.locking.WriteAt(fmt.Appendf(nil, "%-10d", os.Getpid()), 0) // for those that wait
			return func() { unlockFile(j.locking) }, nil
		}
		if !isLocked(err) {
			return nil, err
		}
		if time.Since(began) > lockPatience {
			if pid := j.holder(); strings.EqualFold(proc.State(pid), "T") {
				return nil, fmt.Errorf("process %d looks at it and is stopped: continue it with `kill -CONT %[1]d`, or end it with `kill -KILL %[1]d`", pid)
			}
		}
		time.Sleep(pause)
	}
}

// lockPatience is how long a process that is stopped is waited for.
const lockPatience = time.Second

// holder returns which process has locked the journals last.
func (j *journal) holder() int {
	var pid [10]byte
	n, _ := j.locking.ReadAt(pid[:], 0)
	number, _ := strconv.Atoi(strings.TrimSpace(string(pid[:n])))
	return number
}

// A journal begins with one of these.
const (
	journalRunning = '+' // commands run, and what follows is what stood there before
	journalIdle    = '-'
)

// begin writes down what stands in the workspace, and that commands run.
func (j *journal) begin(b *baseline) error {
	if err := j.write(b); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.active = true
	j.beat = time.AfterFunc(beatEvery, j.setTime)
	return nil
}

// write writes down what stands in the workspace, as far as it is not written yet.
func (j *journal) write(b *baseline) error {
	if !b.equals(&j.written) {
		text, err := json.Marshal(b)
		if err != nil {
			return err
		}
		j.written = baseline{} // a write that fails may have written a part
		if err := j.mark(journalIdle); err != nil {
			return err
		}
		if _, err := j.file.WriteAt(text, 1); err != nil {
			return err
		}
		if err := j.file.Truncate(int64(len(text)) + 1); err != nil {
			return err
		}
		j.written = baseline{Repositories: maps.Clone(b.Repositories), Paths: maps.Clone(b.Paths), Links: maps.Clone(b.Links), Obeyed: maps.Clone(b.Obeyed), Folders: b.Folders}
	}
	return j.mark(journalRunning)
}

const journalSuffix = ".json"

// isIdle reports whether the journal at a path says that no command runs, or ran when its
// process ended. An empty one was not begun yet.
func isIdle(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	var state [1]byte
	n, err := f.Read(state[:])
	return n == 1 && state[0] == journalIdle || err == io.EOF
}

func (j *journal) mark(state byte) error {
	_, err := j.file.WriteAt([]byte{state}, 0)
	return err
}

// setTime says that commands still run.
func (j *journal) setTime() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.active {
		now := time.Now()
		os.Chtimes(j.file.Name(), now, now)
		j.beat.Reset(beatEvery)
	}
}

// toldSuffix ends the name of the file, beside a journal, with what was undone and is not
// told yet.
const toldSuffix = ".told"

// keep writes down what was undone while commands run. That it cannot be written changes
// nothing but what is told after a kill.
func (j *journal) keep(told []string) {
	if text, err := json.Marshal(told); err == nil {
		os.WriteFile(j.file.Name()+toldSuffix, text, 0o600)
	}
}

// end says that no command runs any more.
func (j *journal) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.active {
		j.active = false
		j.beat.Stop()
		j.mark(journalIdle)
		inside.Remove(j.above(), j.file.Name()+toldSuffix)
	}
}

// forget removes the journal of a process that has ended.
func (j *journal) forget(path string) {
	inside.Remove(j.above(), path)
	inside.Remove(j.above(), path+toldSuffix)
}

// others returns the journals of other processes in which commands run, or ran when
// they were killed: those are to be recovered, and forgotten then. The journals must be
// locked.
func (j *journal) others() (dead []deadJournal, running []baseline) {
	entries, _ := inside.ReadDir(j.above(), j.dir)
	for _, e := range entries {
		path := filepath.Join(j.dir, e.Name())
		if !strings.HasSuffix(path, journalSuffix) || path == j.file.Name() {
			continue
		}
		f, err := inside.OpenFile(j.above(), path, os.O_RDONLY, 0)
		if err != nil {
			continue
		}
		var b baseline
		text, _ := atomicfile.Read(path)
		active := len(text) > 0 && text[0] == journalRunning && json.Unmarshal(text[1:], &b) == nil
		switch err := tryLockFile(f); {
		case err == nil:
			info, err := f.Stat()
			if err != nil || !active {
				j.forget(path)
				break
			}
			d := deadJournal{baseline: b, path: path, until: info.ModTime().Add(2 * beatEvery)}
			if text, err := atomicfile.Read(path + toldSuffix); err == nil {
				json.Unmarshal(text, &d.told)
			}
			dead = append(dead, d)
		case active:
			running = append(running, b)
		}
		f.Close()
	}
	return dead, running
}
