package helper

import (
	"runtime"
	"syscall"
)

// probe tries what a sandbox is made of, prints what works, and ends the helper.
// What it does to itself ends with it. Its first process id says whether it was
// given namespaces.
func probe() {
	words := ""
	say := func(word string, err syscall.Errno) bool {
		if err == 0 {
			words += word + " "
		}
		return err == 0
	}
	if syscall.Getpid() == 1 && say(CanMountProc, ownProc()) {
		say(CanNetwork, loopbackUp())
		say(CanMount, probeTree())
	}
	words += Landlock + decimal(landlockABI()) + " "
	syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0)
	say(CanFilter, seccomp(filter(filterPlan{})))
	syscall.Write(1, []byte(words))
	exit(0)
}

// probeTree tries what a resident helper does: a file tree, and in it the namespaces of
// one command.
func probeTree() syscall.Errno {
	fresh, _, err := build([]Mount{{Kind: Devices, Target: "/dev"}, {Kind: ReadOnly, Source: "/etc", Target: "/etc"}, {Kind: Empty, Target: "/nothing"}})
	if err != 0 {
		return err
	}
	tried := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unshareForCommand(); err != 0 {
			tried <- err
			return
		}
		if _, err := mountFresh(fresh); err != 0 {
			tried <- err
			return
		}
		init, err := startInit()
		if err == errInitDied {
			exit(codeKilled) // that says nothing about the machine; the owner tries again
		}
		if err == 0 {
			init.kill()
			init.collect()
		}
		tried <- err
	}()
	return <-tried
}
