package helper

import (
	"sync"
	"syscall"
)

// A beat comes each second while commands run: their bounds are looked at, and the time of a file is set. Their owner may
// stand still meanwhile, stopped or without memory; what holds the commands together ends with them.
type beat struct {
	mu   sync.Mutex
	set  bool // it comes
	file int  // whose time is set; 0: none
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

// begin lets it come from now on, until over says that no command runs. Each time look is called, and the time of a file
// is set; a descriptor of -1 is none. It closes the descriptor in the end, or at once if there is one already.
func (b *beat) begin(fd int, look func(), over func() bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case fd >= 0 && b.file > 0:
		syscall.Close(fd)
	case fd >= 0:
		b.file = fd
	}
	if b.set {
		return
	}
	b.set = true
	go func() {
		for {
			poll(-1, 0, &syscall.Timespec{Sec: 1}) // of no descriptor: a second passes
			look()
			if b.ends(over) {
				return
			}
		}
	}()
}

// ends sets the time of the file, or ends it with the beat.
func (b *beat) ends(over func() bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set = !over()
	switch {
	case b.file <= 0:
	case b.set:
		syscall.Syscall6(syscall.SYS_UTIMENSAT, uintptr(b.file), 0, 0, 0, 0, 0)
	default:
		syscall.Close(b.file)
		b.file = 0
	}
	return !b.set
}
