package proc

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
)

// everyHelper tells a story once for each way in which a command can be held together. The command's folder is one of a
// small disk, and has a second name in the sandbox. One comes after the other: they would fill it for each other.
func everyHelper(t *testing.T, story func(t *testing.T, c Command, folder string)) {
	shared := func(t *testing.T) string {
		dir, err := os.MkdirTemp("/dev/shm", "pawl-bounds-")
		if err != nil {
			t.Skip("needs /dev/shm")
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	t.Run("resident", func(t *testing.T) {
		if a := Probe(); a.Isolation != Namespace || !a.Tree {
			t.Skip("needs namespaces: root, or unprivileged user namespaces")
		}
		r, dir := newResidentIn(t, shared(t))
		story(t, Command{Resident: r, Dir: "/work"}, dir)
	})
	for _, isolation := range []string{Namespace, Sweeping} {
		t.Run(isolation, func(t *testing.T) {
			if isolation == Namespace && Probe().Isolation != Namespace {
				t.Skip("needs namespaces: root, or unprivileged user namespaces")
			}
			dir := shared(t)
			story(t, Command{Isolation: isolation, Dir: dir}, dir)
		})
	}
}

// ends runs a line of a shell's until it ends.
func ends(t *testing.T, c Command, line string) (Status, string) {
	t.Helper()
	var printed strings.Builder
	c.Argv, c.Env, c.Output = []string{"bash", "-c", line}, []string{"PATH=/usr/bin:/bin"}, &printed
	p, err := Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	status, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return status, printed.String()
}

func TestACommandWithoutEndInMemoryIsStopped(t *testing.T) {
	t.Parallel()
	everyHelper(t, func(t *testing.T, c Command, _ string) {
		c.Memory = 100 << 20
		// One process that takes more and more, and many that take a part each; sleep keeps the shell there.
		for _, line := range []string{"tail /dev/zero; sleep 600", "for i in 1 2 3 4; do (x=$(head -c 40000000 /dev/zero | tr '\\0' x); sleep 600; : $x) & done; wait"} {
			if status, printed := ends(t, c, line); !strings.Contains(status.Stopped, "more than 104.9 MB of memory") || status.Lost {
				t.Errorf("%s: %+v\n%s", line, status, printed)
			}
		}
	})
}

// Memory that forks of a process share is there once.
func TestMemoryThatProcessesShareCountsOnce(t *testing.T) {
	t.Parallel()
	everyHelper(t, func(t *testing.T, c Command, _ string) {
		c.Memory = 150 << 20
		line := "x=$(head -c 40000000 /dev/zero | tr '\\0' x); for i in 1 2 3 4 5 6 7 8; do (sleep 2.5; : $i) & done; wait; echo whole"
		if status, printed := ends(t, c, line); status.Stopped != "" || printed != "whole\n" {
			t.Errorf("%+v\n%s", status, printed)
		}
	})
}

func TestACommandThatFillsTheDiskIsStopped(t *testing.T) {
	t.Parallel()
	everyHelper(t, func(t *testing.T, c Command, folder string) {
		var s syscall.Statfs_t
		if err := syscall.Statfs(folder, &s); err != nil {
			t.Fatal(err)
		}
		free := int64(s.Bavail) * s.Bsize
		if free < 100<<20 {
			t.Skip("needs 100 MB in /dev/shm")
		}
		c.Disk = free - 30<<20
		if status, _ := ends(t, c, "while head -c 10000000 /dev/zero; do sleep 0.1; done > big"); !strings.Contains(status.Stopped, "of the disk free") {
			t.Errorf("%+v", status)
		}
		c.Disk = free + 1<<40 // less was free before: the command may be there to make room
		if status, _ := ends(t, c, "rm -f big; sleep 1.5"); status.Stopped != "" {
			t.Errorf("%+v", status)
		}
	})
}
