package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pawl/internal/helper"
)

// runVariables are the variables of commands of a run, and of an external agent.
var runVariables = []string{"PAWL_RUN", "PAWL_PROC", "PAWL_EXTERNAL_AGENT"}

// AsPerson refuses what a person alone may do when a run's command does it. The sandbox and
// the rules keep a run from it; this says why, where neither does.
func (inv *Invocation) AsPerson(what string) error {
	is := RunAbove("/proc", os.Getppid())
	for _, name := range runVariables {
		v, _ := inv.Env(name)
		is = is || v != ""
	}
	if is {
		return Exit{Code: ExitPerson, Err: fmt.Errorf("this is a command of a run, and a run cannot %s: a person does, in a terminal of their own", what)}
	}
	return nil
}

// RunAbove is [findRunAbove]; tests replace it, for a run may run them.
var RunAbove = findRunAbove

// findRunAbove reports whether a process or one that started it has a variable of
// [runVariables] or is the helper that commands are started by, where the system tells: a
// command of a run may have removed the variable for what it starts (env -u).
func findRunAbove(procDir string, pid int) bool {
	for range 1000 {
		if pid <= 0 {
			return false
		}
		dir := filepath.Join(procDir, strconv.Itoa(pid))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		for variable := range bytes.SplitSeq(environ, []byte{0}) {
			for _, name := range runVariables {
				if value, ok := bytes.CutPrefix(variable, []byte(name+"=")); ok && len(value) > 0 {
					return true
				}
			}
		}
		if line, _ := os.ReadFile(filepath.Join(dir, "cmdline")); bytes.HasPrefix(line, []byte("pawl\x00"+helper.Proc+"\x00")) {
			return true
		}
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			return false
		}
		// pid (name) state ppid: the name may have anything in it.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 {
			return false
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return false
		}
	}
	return false
}
