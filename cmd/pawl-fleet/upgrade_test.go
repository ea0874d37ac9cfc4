//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl/store/postgres/pgtest"
	"pawl/task"
)

// The workers of a fleet are replaced one after the other by those of a newer pawl, which has other tables and events. Old ones
// finish what they have, leave what a newer one has worked on to another newer one, and say so.
func TestWorkersAreUpgradedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	const waits = `{"when":{"first":"it NAME"},"repeat":true,"calls":[{"tool":"shell","args":{"command":"echo $PPID >> NAME; while [ ! -e end-NAME ]; do sleep 0.1; done; echo step ended"}}]}
`
	script := planned + `{"when":{"first":"Carry out this task","contains":"step ended"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}
` + strings.ReplaceAll(waits, "NAME", "moves") + strings.ReplaceAll(waits, "NAME", "stays")
	s := newSite(t, pgtest.Shared(t).Address(t))
	newer := build(t,
		change{"store/postgres/postgres.go", "// prepare creates or", "func init() { migrations = append(migrations, `CREATE TABLE newer (x BIGINT)`) }\n\n// prepare creates or"},
		change{"store/codec.go", `of[run.Prompted]("prompted")`, `kind{"prompted", 2, reflect.TypeFor[run.Prompted]()}`},
		change{"store/codec.go", "version != k.version", "version > k.version"},
	)
	s.programs = map[string]string{"new": newer, "newest": newer}
	first := s.worker("first", script, "--runs", "1")
	moves := s.add("it moves")
	until(t, "the first task is worked on", func() bool { return s.file("moves") != "" })
	second := s.worker("second", script, "--runs", "1")
	stays := s.add("it stays")
	until(t, "the second task is worked on", func() bool { return s.file("stays") != "" })

	third := s.worker("new", script, "--runs", "1")
	s.programs["desk"] = newer
	first.end(syscall.SIGTERM)
	until(t, "a newer worker continues the first task", func() bool { return strings.Count(s.file("moves"), "\n") == 2 })
	third.end(syscall.SIGKILL)
	ok(t, os.WriteFile(filepath.Join(s.dir, s.folder, "end-stays"), nil, 0o600))
	until(t, "an old worker finishes what it has", func() bool { return s.status(stays).Status == task.Completed })
	until(t, "it leaves what a newer one has worked on", func() bool { return strings.Contains(second.said.String(), moves) })
	if said := second.said.String(); !strings.Contains(said, "was written by") || s.status(moves).Status != task.Active {
		t.Errorf("the task is %+v, and the old worker says\n%s", s.status(moves), said)
	}
	s.worker("newest", script)
	second.end(syscall.SIGTERM)
	ok(t, os.WriteFile(filepath.Join(s.dir, s.folder, "end-moves"), nil, 0o600))
	until(t, "the first task is completed", func() bool { return s.status(moves).Status == task.Completed })
	s.pawl("runs", "verify", "last")
	delete(s.programs, "desk")
	if out, err := s.command("desk", "", "task", "list").CombinedOutput(); err == nil || !strings.Contains(string(out), "newer pawl") {
		t.Errorf("an old desk ends with %v:\n%s", err, out)
	}
}
