package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// sayAhead prints what a program finds out that was started as one that runs agents, and
// whether a probe was started ahead; killed says that this one is ended before it is asked.
func sayAhead(how string) {
	begun := 0
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, child := range strings.Fields(string(text)) {
			pid, _ := strconv.Atoi(child)
			if begun++; how == "killed" {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	fmt.Print(begun, Probe())
}

// A program that will start runs tries the machine's sandbox while it initializes, and finds
// what one finds that tries it when it asks; also where that first try was killed.
func TestTheProbeAheadFindsTheSame(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"whole", "killed"} {
		out, err := exec.Command(self, "run", how).CombinedOutput()
		if want := fmt.Sprint(1, Probe()); err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s\nwant %s", how, err, out, want)
		}
	}
}
