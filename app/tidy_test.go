package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/board"
	"pawl/task"
)

// A process that is killed while it removes a task leaves files that Prune removes.
func TestPruneRemovesTheFilesOfTasksThatAreGone(t *testing.T) {
	t.Parallel()
	ws := newPlace(t, "").open(nil)
	s, err := board.Of(ws).Add(t.Context(), "anna", task.Created{Description: "count"})
	ok(t, err)
	id := s.Created.Task
	s, err = board.Of(ws).Attach(t.Context(), id, "anna", "a.txt", strings.NewReader("a"))
	ok(t, err)
	left := filepath.Join(ws.State, "attachments", "t-gone", "f-1", "a.txt")
	ok(t, os.MkdirAll(left, 0o700))
	_, err = ws.Prune(t.Context(), 0, false)
	ok(t, err)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("of a task that is gone: %v", err)
	}
	if content, err := board.Of(ws).Content(t.Context(), id, s.Attachments[0]); string(content) != "a" {
		t.Errorf("of a task that is there: %q, %v", content, err)
	}
}
