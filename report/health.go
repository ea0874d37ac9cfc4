package report

import (
	"context"
	"errors"
	"os"

	"pawl/app"
	"pawl/store"
	"pawl/tasklog"
)

// A Health says whether runs can be driven in a workspace, as JSON.
type Health struct {
	OK bool `json:"ok"`
	// Problem is why not: the log cannot be written.
	Problem string `json:"problem,omitempty"`
	// DiskFull: it is because there is no room on the disk.
	DiskFull bool `json:"disk_full"`
	// Free is how many bytes this user may still write where the log is; left out: unknown.
	Free *uint64 `json:"free_bytes,omitempty"`
	// Board is the process that drives the tasks; left out: none.
	Board int `json:"board_pid,omitempty"`
}

// HealthOf writes to the folder of the log of a workspace as a run would, and takes it away.
func HealthOf(ctx context.Context, w *app.Workspace) Health {
	h := Health{OK: true}
	if free, err := store.FreeSpace(w.State); err == nil {
		h.Free = &free
	}
	if err := probeLog(w); err != nil {
		h.OK, h.Problem, h.DiskFull = false, err.Error(), errors.Is(err, store.ErrDiskFull)
	}
	if owner, owned, err := w.Owner(ctx, tasklog.Board); err == nil && owned {
		h.Board = owner.PID
	}
	return h
}

// probeLog opens the log for writing, and writes a page beside it.
func probeLog(w *app.Workspace) error {
	if _, err := w.Tasks(); err != nil {
		return err
	}
	f, err := os.CreateTemp(w.State, "health-")
	if err != nil {
		return store.FileFault(w.State, err)
	}
	_, err = f.Write(make([]byte, 4096))
	if err == nil {
		err = f.Sync()
	}
	return store.FileFault(w.State, errors.Join(err, f.Close(), os.Remove(f.Name())))
}
