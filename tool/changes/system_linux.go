package changes

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func changedOf(info fs.FileInfo) time.Time {
	if t, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(t.Ctim.Unix())
	}
	return info.ModTime()
}

func inodeOf(info fs.FileInfo) uint64 {
	if t, ok := info.Sys().(*syscall.Stat_t); ok {
		return t.Ino
	}
	return 0
}

func deviceOf(info fs.FileInfo) uint64 {
	if t, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(t.Dev)
	}
	return 0
}

// namesOf returns how many names a file has.
func namesOf(info fs.FileInfo) uint64 {
	if t, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(t.Nlink)
	}
	return 1
}

// bornAt returns when a file was made; false if the file system does not say.
func bornAt(f *os.File) (time.Time, bool) {
	var s unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &s)
	return time.Unix(s.Btime.Sec, int64(s.Btime.Nsec)), err == nil && s.Mask&unix.STATX_BTIME != 0
}

// maxWatches bounds the folders that are watched: the kernel's bound for a user is shared with editors, and with
// the sandbox.
const maxWatches = 20_000

// A watch tells a tracker which paths were changed: inotify(7). The kernel queues an event before the call that
// caused it returns. What is written through a mapping has one when it is unmapped and closed.
type watch struct {
	root string
	fd   int
	dirs map[int32]string
	lost bool // something is not watched
}

// newWatch returns a watch for a workspace; nil if there can be none.
func newWatch(root string) *watch {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	return &watch{root: root, fd: fd, dirs: map[int32]string{}}
}

// add watches a folder.
func (w *watch) add(rel string) {
	if w == nil || w.lost {
		return
	}
	if len(w.dirs) >= maxWatches {
		w.lost = true
		return
	}
	wd, err := syscall.InotifyAddWatch(w.fd, filepath.Join(w.root, rel), syscall.IN_CREATE|syscall.IN_MOVED_TO|syscall.IN_MOVED_FROM|
		syscall.IN_DELETE|syscall.IN_MODIFY|syscall.IN_CLOSE_WRITE|syscall.IN_ATTRIB|syscall.IN_ONLYDIR|syscall.IN_DONT_FOLLOW)
	switch err {
	case nil:
		w.dirs[int32(wd)] = rel
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP: // gone by now
	default:
		w.lost = true
	}
}

// drain returns the paths that had an event; false if others may have changed, too.
func (w *watch) drain() (touched map[string]bool, ok bool) {
	touched = map[string]bool{}
	if w == nil || w.lost {
		return touched, false
	}
	var queued int32
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(w.fd), syscall.TIOCINQ, uintptr(unsafe.Pointer(&queued))); errno != 0 {
		return touched, false
	}
	ok = true
	for left := int(queued); left > 0; {
		buf := make([]byte, 64<<10)
		n, err := syscall.Read(w.fd, buf)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return touched, ok
		case err != nil || n <= 0:
			return touched, false
		}
		left -= n
		for b := buf[:n]; len(b) >= syscall.SizeofInotifyEvent; {
			wd := int32(binary.NativeEndian.Uint32(b))
			mask := binary.NativeEndian.Uint32(b[4:])
			length := int(binary.NativeEndian.Uint32(b[12:]))
			name := strings.TrimRight(string(b[syscall.SizeofInotifyEvent:syscall.SizeofInotifyEvent+length]), "\x00")
			b = b[syscall.SizeofInotifyEvent+length:]
			dir, known := w.dirs[wd]
			switch {
			case mask&syscall.IN_Q_OVERFLOW != 0:
				ok = false // and the rest is taken in
			case mask&syscall.IN_IGNORED != 0:
				delete(w.dirs, wd)
			case known && name != "" && !strings.EqualFold(name, ".git"):
				touched[path.Join(dir, name)] = true
			}
		}
	}
	return touched, ok
}

func (w *watch) close() {
	if w != nil {
		syscall.Close(w.fd)
	}
}
