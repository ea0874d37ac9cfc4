package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// meterVariable makes this test binary the meter of a command.
const meterVariable = "PAWL_BENCH_METER"

func TestMain(m *testing.M) {
	if os.Getenv(meterVariable) != "" {
		os.Exit(meter())
	}
	if filepath.Base(os.Args[0]) == standIn {
		if err := playClaude(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A usage is what a command took with every process that it started.
type usage struct {
	Began time.Time     // of the command; the meter was started before
	Whole time.Duration // until the command itself ended
	CPU   time.Duration // of all processes, those included that ended after the command
	Peak  int64         // KiB, of the largest process
}

// metered runs a command and returns its output, its error and its usage. What the processor
// time of the command alone leaves out is what its children did that it did not wait for: the
// resident helper ends after pawl does.
//
// The command is started by a process that adopts orphans and waits for all of them. Not
// counted is what the kernel collects by itself: orphans below a process that ignores SIGCHLD,
// such as those of a shell command in its namespace.
func metered(cmd *exec.Cmd) (out []byte, used usage, err error) {
	m, err := startMetered(cmd)
	if err != nil {
		return nil, used, err
	}
	return m.wait()
}

// A running is a command under a meter.
type running struct {
	meter  *exec.Cmd
	output bytes.Buffer
	report *os.File
}

// startMetered starts a command of which nothing but path, arguments, folder and environment
// is set.
func startMetered(cmd *exec.Cmd) (*running, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	report, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	r := &running{report: report, meter: exec.Command(self, append([]string{cmd.Path}, cmd.Args[1:]...)...)}
	r.meter.Dir, r.meter.Env = cmd.Dir, append(cmd.Environ(), meterVariable+"=1")
	r.meter.Stdout, r.meter.Stderr, r.meter.ExtraFiles = &r.output, &r.output, []*os.File{theirs}
	if err := r.meter.Start(); err != nil {
		report.Close()
		return nil, err
	}
	return r, nil
}

// wait waits until no process of the command is left.
func (r *running) wait() (out []byte, used usage, err error) {
	text, readErr := io.ReadAll(r.report)
	r.report.Close()
	err = r.meter.Wait()
	return r.output.Bytes(), used, errors.Join(err, readErr, json.Unmarshal(text, &used))
}

// meter is the process between: it runs the command that its arguments are, and writes what
// was used to descriptor 3.
func meter() int {
	const prSetChildSubreaper = 36 // linux/prctl.h, read 2026-11-20
	syscall.CloseOnExec(3)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		fmt.Fprintln(os.Stderr, "bench: cannot adopt orphans:", errno)
		return 1
	}
	os.Unsetenv(meterVariable)
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	used := usage{Began: time.Now()}
	err := cmd.Run()
	used.Whole = time.Since(used.Began)
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	for err = nil; err != syscall.ECHILD; {
		_, err = syscall.Wait4(-1, nil, 0, nil)
	}
	var all syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &all); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	used.CPU, used.Peak = time.Duration(all.Utime.Nano()+all.Stime.Nano()), all.Maxrss
	if err := json.NewEncoder(os.NewFile(3, "report")).Encode(used); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// below returns the processes that a process has started, and those that these have.
func below(pid int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list) // empty: the thread has ended
		for _, child := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(child); err == nil {
				pids = append(append(pids, n), below(n)...)
			}
		}
	}
	return pids
}

// proportional returns the memory in KiB of the processes that a process has started; what
// several processes of the machine share counts for each by its part.
func proportional(pid int) (sum int64) {
	for _, p := range below(pid) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p))
		if _, rest, ok := strings.Cut(string(text), "\nPss:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			sum += n
		}
	}
	return sum
}

// burning is the processor time of the helper process in the test of the meter.
const burning = 100 * time.Millisecond

// TestTheMeterCountsWhatEndsAfterItsParent: a process that works for 100 ms after its parent has ended counts.
func TestTheMeterCountsWhatEndsAfterItsParent(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^TestAParentLeavesAProcessThatWorks$")
	cmd.Env = append(os.Environ(), "PAWL_BENCH_PART=parent")
	out, used, err := metered(cmd)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if used.CPU < burning {
		t.Errorf("the meter counted %v of processor time, want at least the %v of the process that was left", used.CPU, burning)
	}
	if used.Peak == 0 || used.Whole == 0 || used.Began.IsZero() {
		t.Errorf("the meter says %+v", used)
	}
}

// TestAParentLeavesAProcessThatWorks is both processes of the test of the meter.
func TestAParentLeavesAProcessThatWorks(t *testing.T) {
	switch os.Getenv("PAWL_BENCH_PART") {
	case "parent":
		child := exec.Command(os.Args[0], os.Args[1:]...)
		child.Env = append(os.Environ(), "PAWL_BENCH_PART=child")
		if _, err := child.StdinPipe(); err != nil { // its end is the end of this process
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	case "child":
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			t.Fatal(err)
		}
		var used syscall.Rusage
		for from := int64(-1); used.Utime.Nano()-from < int64(burning); {
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
				t.Fatal(err)
			}
			if from < 0 {
				from = used.Utime.Nano()
			}
		}
	default:
		t.Skip("this is a part of TestTheMeterCountsWhatEndsAfterItsParent")
	}
}
