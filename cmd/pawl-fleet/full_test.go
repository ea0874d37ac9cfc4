//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pawl/store/postgres/pgtest"
	"pawl/task"
)

// The disk of the database is full while workers work, so that not even what it keeps before it answers can be written. When
// there is room again all tasks end, each effect was made once, and their logs are whole.
func TestADiskThatIsFullLosesNoTask(t *testing.T) {
	t.Parallel()
	small, err := os.MkdirTemp("", "pawl-small-") // not below a folder that the server's user cannot enter
	ok(t, err)
	t.Cleanup(func() { os.Remove(small) })
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=160m,mode=755", "pawl-test", small).CombinedOutput(); err != nil {
		t.Skipf("a small disk needs root, and leave to mount one: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", small).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	server := pgtest.StartIn(t, small, "min_wal_size=32MB", "max_wal_size=32MB", "wal_recycle=off")
	s := newSite(t, server.Address(t))
	const tasks = 6
	for _, name := range []string{"a", "b"} {
		s.worker(name, stepping(tasks))
	}
	var ids []string
	for i := range tasks {
		ids = append(ids, s.add(numbered(i)))
	}
	until(t, "something is written", func() bool { return s.file("file-0") != "" })
	ballast := filepath.Join(small, "ballast")
	exec.Command("sh", "-c", `cat /dev/zero > "$1" 2>/dev/null`, "sh", ballast).Run() // "No space left on device"
	until(t, "a command is told so", func() bool {
		_, err := s.command("desk", "", "task", "add", "one more").Output()
		return err != nil
	})
	time.Sleep(5 * time.Second) // the workers try meanwhile
	ok(t, os.Remove(ballast))
	server.Kill() // it may have ended by itself
	ok(t, server.Up())
	until(t, "every task has ended", func() bool {
		return !slices.ContainsFunc(s.tasks(), func(sum task.Summary) bool { return sum.Status == task.Active || sum.Status == task.Planning })
	})
	for i, id := range ids {
		s.once(id, s.file(fmt.Sprintf("file-%d", i)))
	}
	s.pawl("runs", "verify", "last")
}
