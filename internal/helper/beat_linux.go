package helper

import (
	"sync"
	"syscall"
)

// A beat sets the time of a file each second while commands run. Their owner may stand still
// meanwhile, stopped or without memory; what holds the commands together ends with them.
type beat struct {
	mu  sync.Mutex
	set bool // it is being set
}

// cut returns the descriptors that come with an order for its command, and that of the file
// whose time is to be set; -1: there is none.
func (o Order) cut(files []int) (forCommand []int, fd int) {
	if !o.Beats || len(files) == 0 {
		return files, -1
	}
	last := len(files) - 1
	return files[:last], files[last]
}

// begin sets the time of a file from now on, until over says that no command runs; a
// descriptor of -1 is none. It closes the descriptor then, or at once if one is set already.
func (b *beat) begin(fd int, over func() bool) {
	if fd < 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.set {
		syscall.Close(fd)
		return
	}
	b.set = true
	go func() {
		defer syscall.Close(fd)
		for {
			poll(-1, 0, &syscall.Timespec{Sec: 1}) // of no descriptor: a second passes
			if b.ends(over) {
				return
			}
			syscall.Syscall6(syscall.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0, 0, 0)
		}
	}()
}

func (b *beat) ends(over func() bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set = !over()
	return !b.set
}
