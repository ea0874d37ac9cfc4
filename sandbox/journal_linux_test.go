package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// killed leaves the journal of a process that was killed while commands ran in the workspace
// of p, as it is now.
func killed(t *testing.T, p *Policy) {
	t.Helper()
	p.index.refresh()
	b := &baseline{Repositories: map[string]string{}, Paths: map[string]*snapshot{}, Links: map[string]string{}}
	repositories, _ := p.index.gitPaths()
	for _, dir := range repositories {
		b.Repositories[dir] = idOf(dir)
	}
	for _, path := range p.guarded() {
		root, rel := p.rootAt(path)
		b.Paths[path] = takeGuarded(root, path, rel)
	}
	j, err := openJournal(p.journals)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.begin(b); err != nil {
		t.Fatal(err)
	}
	j.beat.Stop()
	if err := errors.Join(unlockFile(j.file), j.file.Close(), j.locking.Close()); err != nil {
		t.Fatal(err)
	}
}

// A process that is killed while it recovers what another one left leaves it to the next.
func TestARecoveryThatIsKilledIsDoneByTheNext(t *testing.T) {
	t.Parallel()
	p := repository(t)
	config := filepath.Join(p.Workspace, ".git/config")
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	killed(t, p)
	if err := os.WriteFile(config, []byte("[core]\n\tfsmonitor = evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	second, err := openJournal(p.journals)
	if err != nil {
		t.Fatal(err)
	}
	if dead, running := second.others(); len(dead) != 1 || len(running) != 0 {
		t.Fatalf("there are %d dead and %d running", len(dead), len(running))
	}
	if err := errors.Join(unlockFile(second.file), second.file.Close(), second.locking.Close()); err != nil { // here it is killed
		t.Fatal(err)
	}

	told, err := p.Recover()
	if err != nil || len(told) != 1 || !strings.Contains(told[0], "changed .git/config") {
		t.Errorf("told %q, %v", told, err)
	}
	if text, err := os.ReadFile(config); err != nil || string(text) != string(before) {
		t.Errorf("the configuration is %q, %v", text, err)
	}
	if told, err := p.Recover(); err != nil || len(told) != 0 {
		t.Errorf("the second time: %q, %v", told, err)
	}
}

// After a write that failed the journal has a part of something, and what was written before
// is not in it any more.
func TestAJournalThatCouldNotBeWrittenIsWrittenAnew(t *testing.T) {
	t.Parallel()
	p := repository(t)
	j, err := openJournal(p.journals)
	if err != nil {
		t.Fatal(err)
	}
	first := &baseline{Paths: map[string]*snapshot{"/a": {Mode: 0o600, Content: []byte("one")}}}
	if err := j.begin(first); err != nil {
		t.Fatal(err)
	}
	j.end()
	whole := j.file
	if j.file, err = os.Open(whole.Name()); err != nil { // which cannot be written
		t.Fatal(err)
	}
	second := &baseline{Paths: map[string]*snapshot{"/b": {Mode: 0o600, Content: []byte("two")}}}
	if err := j.begin(second); err == nil {
		t.Fatal("it was written")
	}
	if j.active {
		t.Error("commands are said to run")
	}
	j.file.Close()
	j.file = whole
	if _, err := whole.WriteAt([]byte("{half"), 1); err != nil { // what a full disk leaves
		t.Fatal(err)
	}
	if err := j.begin(first); err != nil {
		t.Fatal(err)
	}
	j.beat.Stop()
	if err := errors.Join(unlockFile(j.file), j.file.Close()); err != nil {
		t.Fatal(err)
	}
	next, err := openJournal(p.journals)
	if err != nil {
		t.Fatal(err)
	}
	if dead, _ := next.others(); len(dead) != 1 || string(dead[0].Paths["/a"].Content) != "one" {
		t.Errorf("the dead are %+v", dead)
	}
}

// stoppedProcess returns the id of a process that is stopped, as a journal's lock has it.
func stoppedProcess(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it is not stopped: %v, %v", status, err)
	}
	return fmt.Sprintf("%-10d", cmd.Process.Pid)
}

// A process that is stopped while it looks at the workspace is named, and not waited for.
func TestAStoppedProcessThatHasTheJournalsIsNamed(t *testing.T) {
	t.Parallel()
	p := repository(t)
	j, err := openJournal(p.journals)
	if err != nil {
		t.Fatal(err)
	}
	other, err := openJournal(p.journals)
	if err != nil {
		t.Fatal(err)
	}
	stopped := stoppedProcess(t)
	unlock, err := other.lock()
	if err != nil {
		t.Fatal(err)
	}
	if other.holder() != os.Getpid() {
		t.Errorf("the journals are held by %d", other.holder())
	}
	if _, err := other.locking.WriteAt([]byte(stopped), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := j.lock(); err == nil || !strings.Contains(err.Error(), "process "+strings.TrimSpace(stopped)+" ") || !strings.Contains(err.Error(), "kill -CONT") {
		t.Errorf("got %v", err)
	}
	unlock()
	if unlock, err = j.lock(); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// What a person makes while a command runs, and is too large to be remembered, is kept too.
func TestWhatIsTooLargeToBeRememberedIsKept(t *testing.T) {
	t.Parallel()
	p := repository(t)
	v := enter(t, p)
	hook := filepath.Join(p.Workspace, ".husky/pre-push")
	large := strings.Repeat("x", maxSnapshotFile+1)
	if err := os.WriteFile(hook, []byte(large), 0o755); err != nil {
		t.Fatal(err)
	}
	told := strings.Join(v.End(), "\n")
	_, kept, _ := strings.Cut(told, "is kept in ")
	if text, err := os.ReadFile(filepath.Join(kept, "pre-push")); err != nil || string(text) != large {
		t.Errorf("told %q, kept are %d bytes, %v", told, len(text), err)
	}
	if _, err := os.Lstat(hook); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := os.Lstat(filepath.Dir(hook) + "/pre-commit"); err != nil {
		t.Errorf("what was there is not: %v", err)
	}
}

// What was there is put back though the disk has no room for what the command has made of it,
// too; and nothing is said to be kept that is not.
func TestOnAFullDiskWhatWasThereComesFirst(t *testing.T) {
	t.Parallel()
	const name = "PAWL_TEST_DISK"
	disk := os.Getenv(name)
	if disk == "" {
		inner := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		inner.Env = append(os.Environ(), name+"="+t.TempDir())
		inner.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
		out, err := inner.CombinedOutput()
		switch {
		case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || strings.Contains(string(out), "no mount"):
			t.Skipf("needs user namespaces: %v %s", err, out)
		case err != nil:
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=512k"); err != nil {
		t.Fatalf("no mount: %v", err)
	}
	p := &Policy{refused: filepath.Join(disk, "refused")}
	root, err := os.OpenRoot(disk)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	was := &snapshot{Mode: 0o600, Content: bytes.Repeat([]byte("w"), 200<<10)}
	if err := os.WriteFile(disk+"/config", bytes.Repeat([]byte("n"), 150<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(disk+"/other", make([]byte, 180<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	told := p.restore(root, "config", was, take(root, "config"))
	if text, err := os.ReadFile(disk + "/config"); err != nil || !bytes.Equal(text, was.Content) {
		t.Errorf("told %q: there are %d bytes, %v", told, len(text), err)
	}
	if !strings.HasSuffix(told, "that was undone") {
		t.Errorf("told %q", told)
	}
	if left, _ := filepath.Glob(p.refused + "/*/*"); len(left) != 0 {
		t.Errorf("kept is %q", left)
	}

	// Not even that has room: what is left is not taken for what was there.
	if err := os.WriteFile(disk+"/more", make([]byte, 120<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	was.Content = bytes.Repeat([]byte("w"), 250<<10)
	told = p.restore(root, "config", was, take(root, "config"))
	if _, err := os.Lstat(disk + "/config"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(told, "could not be put back") || strings.Contains(told, "kept in") {
		t.Errorf("told %q, %v", told, err)
	}

	// A repository on another disk is not kept whole.
	elsewhere := t.TempDir()
	if err := errors.Join(os.MkdirAll(elsewhere+"/sub/hooks", 0o700), os.WriteFile(elsewhere+"/sub/hooks/pre-commit", make([]byte, 400<<10), 0o700)); err != nil {
		t.Fatal(err)
	}
	workspace, err := os.OpenRoot(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	defer workspace.Close()
	if told := p.takeAway(workspace, "sub", "hooks", nil); !strings.Contains(told, "not all of what it had made of it could be kept") {
		t.Errorf("told %q", told)
	}
	if _, err := os.Lstat(elsewhere + "/sub"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// A run whose predecessors left nothing to put back does not read the workspace for it: its
// first request would wait.
func TestWhereNothingIsLeftTheWorkspaceIsNotRead(t *testing.T) {
	t.Parallel()
	p := repository(t)
	j, err := openJournal(p.journals)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.begin(&baseline{}); err != nil {
		t.Fatal(err)
	}
	j.end()
	if err := errors.Join(unlockFile(j.file), j.file.Close(), j.locking.Close()); err != nil {
		t.Fatal(err)
	}
	if told, err := p.Recover(); err != nil || len(told) != 0 {
		t.Fatal(told, err)
	}
	if p.index.begun {
		t.Error("the workspace was read")
	}
}
