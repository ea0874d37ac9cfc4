package sandbox

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// maxWatches bounds the folders that are watched; the kernel's own bound for a user
// (fs.inotify.max_user_watches) is shared with editors.
const maxWatches = 60_000

// A watcher tells an index which names came into the workspace's folders, and which
// left them: inotify(7). The kernel queues an event before the call that caused it
// returns, so whoever has read the queue knows all that was done before.
type watcher struct {
	index *index
	fd    int
	file  *os.File // the same
	dirs  map[int32]string
	buf   []byte
}

// newWatcher returns a watcher for an index; nil if there can be none.
func newWatcher(x *index) *watcher {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	return &watcher{index: x, fd: fd, file: os.NewFile(uintptr(fd), "inotify"), dirs: map[int32]string{}, buf: make([]byte, 64<<10)}
}

// add watches a folder; with contents also what is written to the files in it. It
// reports false if there is no room for more.
func (w *watcher) add(dir string, contents bool) bool {
	if w == nil {
		return true
	}
	if len(w.dirs) == maxWatches {
		return false
	}
	mask := uint32(syscall.IN_CREATE | syscall.IN_MOVED_TO | syscall.IN_MOVED_FROM | syscall.IN_DELETE | syscall.IN_ONLYDIR | syscall.IN_DONT_FOLLOW)
	if contents {
		mask |= syscall.IN_MODIFY | syscall.IN_CLOSE_WRITE
	}
	wd, err := syscall.InotifyAddWatch(w.fd, dir, mask)
	switch err {
	case nil:
		w.dirs[int32(wd)] = dir // a folder that was renamed keeps its number
		return true
	case syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES, syscall.ELOOP:
		return true // gone by now, or closed to its owner: then scan says so
	}
	return false
}

// drain takes in all events that are queued when it is called: a command may cause more of them
// without end, as fast as they are taken in. It reports false if some were lost.
func (w *watcher) drain() bool {
	var queued int32
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(w.fd), syscall.TIOCINQ, uintptr(unsafe.Pointer(&queued))); errno != 0 {
		return false
	}
	for left := int(queued); left > 0; {
		n, err := syscall.Read(w.fd, w.buf)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return true
		case err != nil || n <= 0:
			return false
		}
		left -= n
		for b := w.buf[:n]; len(b) >= syscall.SizeofInotifyEvent; {
			wd := int32(binary.NativeEndian.Uint32(b))
			mask := binary.NativeEndian.Uint32(b[4:])
			size := int(binary.NativeEndian.Uint32(b[12:]))
			name := strings.TrimRight(string(b[syscall.SizeofInotifyEvent:syscall.SizeofInotifyEvent+size]), "\x00")
			b = b[syscall.SizeofInotifyEvent+size:]
			dir, known := w.dirs[wd]
			switch {
			case mask&syscall.IN_Q_OVERFLOW != 0:
				return false
			case mask&syscall.IN_IGNORED != 0:
				delete(w.dirs, wd)
			case known && mask&(syscall.IN_MODIFY|syscall.IN_CLOSE_WRITE) != 0:
				w.index.written(filepath.Join(dir, name))
			case known && name != "":
				w.index.event(filepath.Join(dir, name), mask&(syscall.IN_CREATE|syscall.IN_MOVED_TO) != 0, mask&syscall.IN_ISDIR != 0)
				if w.index.watch != w {
					return false // there were too many folders
				}
			}
		}
	}
	return true
}

func (w *watcher) close() {
	if w != nil {
		w.file.Close()
	}
}

// wait returns true when there may be events, when limit is over if it is not 0, or when the
// watcher is closed, and false when stop is.
func (w *watcher) wait(stop <-chan struct{}, limit time.Duration) bool {
	raw, err := w.file.SyscallConn()
	if err != nil {
		<-stop
		return false
	}
	if limit > 0 {
		w.file.SetReadDeadline(time.Now().Add(limit))
	}
	done, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		select {
		case <-stop:
			w.file.SetReadDeadline(time.Unix(1, 0)) // wakes the wait
		case <-done:
		}
	}()
	raw.Read(func(fd uintptr) bool {
		var queued int32
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&queued)))
		return errno != 0 || queued > 0
	})
	close(done)
	<-left
	w.file.SetReadDeadline(time.Time{})
	select {
	case <-stop:
		return false
	default:
		return true
	}
}
