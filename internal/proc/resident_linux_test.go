package proc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pawl/internal/helper"
)

// confinement is a file tree with the system, the program of the test and a folder that
// may be written.
func confinement(t testing.TB, dir string) *helper.Confinement {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &helper.Confinement{Network: helper.ClosedNetwork, Mounts: []helper.Mount{{Kind: helper.Devices, Target: "/dev"}}}
	for _, path := range []string{"/bin", "/etc", "/lib", "/lib64", "/usr", filepath.Dir(program)} {
		if to, err := os.Readlink(path); err == nil {
			c.Mounts = append(c.Mounts, helper.Mount{Kind: helper.Link, Source: to, Target: path})
		} else if _, err := os.Stat(path); err == nil {
			c.Mounts = append(c.Mounts, helper.Mount{Kind: helper.ReadOnly, Source: path, Target: path})
		}
	}
	c.Mounts = append(c.Mounts, helper.Mount{Kind: helper.Writable, Source: dir, Target: "/work"})
	return c
}

func newResident(t testing.TB) (r *Resident, dir string) {
	t.Helper()
	if a := Probe(); a.Isolation != Namespace || !a.Tree {
		t.Skip("needs namespaces: root, or unprivileged user namespaces")
	}
	return newResidentIn(t, t.TempDir())
}

// newResidentIn returns a helper whose /work is a folder.
func newResidentIn(t testing.TB, folder string) (r *Resident, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(folder)
	if err != nil {
		t.Fatal(err)
	}
	r, err = NewResident(confinement(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		<-r.Done()
	})
	if !r.Intact(always) {
		t.Fatal("the sandbox was not built")
	}
	return r, dir
}

func always() bool { return true }

// inside runs a script in a resident helper.
func inside(t testing.TB, r *Resident, script string) (Status, string) {
	t.Helper()
	var out bytes.Buffer
	p, err := Start(t.Context(), Command{Argv: []string{"sh", "-c", script}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Output: &out, Resident: r})
	if err != nil {
		t.Fatal(err)
	}
	status, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return status, out.String()
}

func TestCommandsOfAResidentHelperEndAsOthersDo(t *testing.T) {
	t.Parallel()
	r, _ := newResident(t)
	for script, want := range map[string]Status{
		"exit 0": {}, "exit 3": {Code: 3}, "kill -KILL $$": {Code: 137}, "kill -TERM $$": {Code: 143}, "exit 255": {Code: 255},
	} {
		if status, printed := inside(t, r, script); status != want {
			t.Errorf("%s: got %+v, printed %q", script, status, printed)
		}
	}
	p, err := Start(t.Context(), Command{Argv: []string{"/no/such/program"}, Dir: "/", Resident: r})
	if err == nil {
		p.Wait()
		t.Error("a program that is not there was started")
	}
	// It is there for the owner, and not in the file tree.
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if p, err = Start(t.Context(), Command{Argv: []string{outside}, Dir: "/", Output: &out, Resident: r}); err != nil {
		t.Fatal(err)
	}
	if status, _ := p.Wait(); status.Code != 126 || !strings.Contains(out.String(), "cannot start "+outside) {
		t.Errorf("got %+v, printed %q", status, out.String())
	}
}

// What a command makes for itself is gone with it; it is the first process but one, and
// sees those of no other.
func TestCommandsOfAResidentHelperHaveProcessesAndMemoryOfTheirOwn(t *testing.T) {
	t.Parallel()
	r, dir := newResident(t)
	var out bytes.Buffer
	other, err := Start(t.Context(), Command{Argv: []string{"sh", "-c", "echo x > /dev/shm/other; echo > /work/ready; read -r line < /work/go"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Output: &out, Resident: r})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the other command", func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	for range 2 {
		status, printed := inside(t, r, `echo $$ /proc/[0-9]*; cat /proc/sys/kernel/pid_max; ls /dev/shm /dev/pts; echo x > /dev/shm/mine; echo no > /proc/sys/kernel/domainname; ls /run/.old; test /proc/self/ns/ipc -ef /proc/1/ns/ipc`)
		if status.Code != 1 || !strings.HasPrefix(printed, "2 /proc/1 /proc/2\n") || strings.Contains(printed, "mine") || strings.Contains(printed, "other") {
			t.Errorf("got %+v, printed %q", status, printed)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	other.Stop("enough")
	other.Wait()
}

func TestAResidentHelperEndsEveryKindOfChild(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Resident, *Process){
		"stop":              func(_ *Resident, p *Process) { p.Stop("enough") },
		"the helper's end":  func(r *Resident, _ *Process) { r.Close() },
		"the helper's kill": func(r *Resident, _ *Process) { r.helper.cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := newResident(t)
			p, mark := startConfined(t, r, "confined-tree")
			if !awaitMarked(mark, confinedLeaves+1) {
				t.Fatal("the tree did not grow")
			}
			status, printed := inside(t, r, "echo beside it")
			if status.Code != 0 || printed != "beside it\n" {
				t.Errorf("beside it: %+v, %q", status, printed)
			}
			end(r, p)
			if ended, _ := p.Wait(); ended.Lost != (name != "stop") {
				t.Errorf("it ended as %+v", ended)
			}
			if n, _ := running(mark); n != 0 {
				t.Errorf("%d processes run when Wait returns", n)
			}
			if name != "stop" {
				return
			}
			if status, printed := inside(t, r, "echo after it"); status.Code != 0 || printed != "after it\n" {
				t.Errorf("after it: %+v, %q", status, printed)
			}
		})
	}
}

func TestAResidentHelperEndsWhatACommandLeavesBehind(t *testing.T) {
	t.Parallel()
	r, _ := newResident(t)
	p, mark := startConfined(t, r, "confined-leave")
	if status, err := p.Wait(); err != nil || status != (Status{}) {
		t.Errorf("got %+v, %v", status, err)
	}
	if n, _ := running(mark); n != 0 {
		t.Errorf("%d processes run when Wait returns", n)
	}
}

func TestKillingTheOwnerEndsTheCommandsOfAResidentHelper(t *testing.T) {
	t.Parallel()
	newResident(t) // or skip
	mark := mark(t)
	owner := exec.Command("/proc/self/exe", "resident-owner", mark, t.TempDir())
	owner.Stderr = os.Stderr
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	if !awaitMarked(mark, confinedLeaves+1) {
		t.Error("the tree did not grow")
	}
	owner.Process.Kill()
	owner.Wait()
	wantNoSurvivor(t, mark)
}

// ownResident is an owner that is going to be killed.
func ownResident(mark, dir string) {
	var t testing.T
	r, err := NewResident(confinement(&t, dir))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	program, _ := os.Executable()
	p, err := Start(context.Background(), Command{Argv: []string{program, "confined-tree", mark}, Dir: "/", Resident: r})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	p.Wait()
}

func startConfined(t *testing.T, r *Resident, part string) (*Process, string) {
	t.Helper()
	mark := mark(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), Command{Argv: []string{program, part, mark}, Dir: "/", Resident: r})
	if err != nil {
		t.Fatal(err)
	}
	return p, mark
}

// A file that was mounted and is replaced outside loses its mount: the helper says so.
func TestAResidentHelperSeesThatAMountIsLost(t *testing.T) {
	t.Parallel()
	r, dir := newResident(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := confinement(t, dir)
	c.Mounts = append(c.Mounts, helper.Mount{Kind: helper.ReadOnly, Source: file, Target: "/work/file"})
	guarded, err := NewResident(c)
	if err != nil {
		t.Fatal(err)
	}
	defer guarded.Close()
	if status, printed := inside(t, guarded, "echo evil > /work/file"); status.Code == 0 || !guarded.Intact(always) {
		t.Fatalf("got %+v, %q", status, printed)
	}
	if guarded.Intact(func() bool { return false }) {
		t.Error("it is intact though the owner found a change")
	}
	if err := os.WriteFile(file+".new", []byte("y"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	for range 2 { // once changed, it stays so
		if guarded.Intact(always) {
			t.Error("the file is no longer mounted, and the tree is called intact")
		}
	}
	// Nor does a thread that was prepared before the change start anything.
	if status, printed := inside(t, guarded, "echo ran"); status.Code != 126 || !strings.Contains(printed, "file tree has changed") {
		t.Errorf("in the changed tree: %+v, %q", status, printed)
	}
	if !r.Intact(always) {
		t.Error("the other tree is called changed")
	}
}

func TestASandboxThatCannotBeBuiltRunsNothing(t *testing.T) {
	t.Parallel()
	_, dir := newResident(t)
	c := confinement(t, dir)
	c.Mounts = append(c.Mounts, helper.Mount{Kind: "nonsense", Target: "/x"})
	r, err := NewResident(c)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	status, printed := inside(t, r, "echo ran")
	if status.Code != 126 || !strings.Contains(printed, "cannot give the command its own file tree: /x") || r.Intact(always) {
		t.Errorf("got %+v, %q", status, printed)
	}
}

// Many at once: each gets its own output and exit code, and none outlives it.
func TestAResidentHelperRunsManyCommandsAtOnce(t *testing.T) {
	t.Parallel()
	r, _ := newResident(t)
	for i := range 40 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			status, printed := inside(t, r, fmt.Sprintf("(sleep 60 &) ; echo %d; exit %d", i, i))
			if status.Code != i || printed != fmt.Sprintln(i) {
				t.Errorf("command %d: %+v, %q", i, status, printed)
			}
		})
	}
}

func BenchmarkResident(b *testing.B) {
	r, _ := newResident(b)
	for b.Loop() {
		inside(b, r, ":")
	}
}

// Whoever kills an init while it starts does not make a command, or what its owner waits for, hang.
func TestACommandWhoseInitIsKilledEnds(t *testing.T) {
	t.Parallel()
	r, _ := newResident(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		self := r.helper.cmd.Process.Pid
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, pid := range childrenOf(self) {
				_ = syscall.Kill(pid, syscall.SIGKILL) // or it has ended
			}
		}
	}()
	for range 30 {
		inside(t, r, "true")
	}
	close(stop)
	<-stopped
	for range 3 { // a thread that was prepared meanwhile may be of a dead init
		inside(t, r, "true")
	}
	if status, printed := inside(t, r, "echo after it"); status.Code != 0 || printed != "after it\n" {
		t.Errorf("after it: %+v, %q", status, printed)
	}
}

// childrenOf returns the children of a process.
func childrenOf(parent int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, list := range lists {
		content, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(content)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
