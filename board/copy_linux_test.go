package board_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"pawl/board"
	"pawl/internal/helper"
	"pawl/sandbox"
	"pawl/task"
)

// A server works on thousands of tasks, and a user may have some hundred watches.
func TestADiscardedCopyHoldsNoHelperAndNoWatch(t *testing.T) {
	// Not parallel: it counts what the process has.
	if !sandbox.Probe().Confines() {
		t.Skip("needs a sandbox")
	}
	p := newPlace(t, plan+`
{"when":{"first":"in a copy"},"repeat":true,"calls":[{"tool":"shell","args":{"command":"pwd"}},{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}
`)
	p.env["PAWL_MODE"] = "accept-edits"
	p.repository()
	ws := p.open()
	p.drives(ws, board.Options{})
	helpers, watches := holds(t)
	var ids []task.ID
	for range 3 {
		id := p.isolated(ws, "work in a copy")
		wait(t, ws, id, task.Planned)
		_, err := board.Of(ws).Start(t.Context(), id, "anna", "")
		ok(t, err)
		wait(t, ws, id, task.Completed)
		ids = append(ids, id)
	}
	if h, w := holds(t); h < helpers+len(ids) || w < watches+len(ids) {
		t.Fatalf("%d helpers and %d watches, %d and %d before: no command was run in a copy", h, w, helpers, watches)
	}
	other := p.open() // a copy may be discarded by another process
	for i, id := range ids {
		discards := other
		if i == 0 {
			discards = ws
		}
		_, err := board.Of(discards).Discard(t.Context(), id, "anna")
		ok(t, err)
	}

	// What read the workspace itself may be there.
	for h, w := holds(t); h > helpers+1 || w > watches+1; h, w = holds(t) {
		if t.Context().Err() != nil {
			t.Fatalf("%d helpers and %d watches are left, %d and %d before", h, w, helpers, watches)
		}
		runtime.Gosched()
	}
}

// holds returns how many resident helpers and inotify instances this process has.
func holds(t *testing.T) (helpers, watches int) {
	t.Helper()
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for _, pid := range bytes.Fields(children) {
			line, _ := os.ReadFile("/proc/" + string(pid) + "/cmdline")
			if bytes.Contains(line, []byte(helper.Resident)) {
				helpers++
			}
		}
	}
	descriptors, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range descriptors {
		if to, _ := os.Readlink(fd); to == "anon_inode:inotify" {
			watches++
		}
	}
	return helpers, watches
}
