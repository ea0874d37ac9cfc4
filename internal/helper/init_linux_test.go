package helper

import (
	"runtime"
	"syscall"
	"testing"
)

// The OOM killer, or a person, can kill an init at any of its calls.
func TestAnInitThatDiesBeforeItIsReadyIsAnError(t *testing.T) {
	t.Parallel()
	p, errno := newInit()
	if errno != 0 {
		t.Fatal(errno)
	}
	defer syscall.Close(p.ready[0])
	defer syscall.Close(p.ready[1])
	const atTheEnd = 2 // it has said that it is ready: a close and a wait
	for at := range len(p.calls) - atTheEnd {
		errno, missing := startInitThatDies(at)
		if missing {
			t.Skip("needs namespaces: root, or unprivileged user namespaces")
		}
		if errno != errInitDied {
			t.Errorf("an init that dies at call %d: %v, want %v", at, errno, errInitDied)
		}
	}
}

// startInitThatDies starts an init, in namespaces of its own, that exits in place of one of its
// calls. missing says that there are no namespaces.
func startInitThatDies(at int) (errno syscall.Errno, missing bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if unshareForCommand() != 0 || syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_SLAVE, "") != nil {
			missing = true
			return
		}
		var p *initProcess
		if p, errno = newInit(); errno != 0 {
			return
		}
		p.calls[at].number = syscall.SYS_EXIT_GROUP
		errno = p.start()
	}()
	<-done
	return errno, missing
}
