package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"pawl/internal/diskuse"
	"pawl/run"
)

// Usage is how many bytes a part of the store occupies.
type Usage struct {
	Log   int64 // of runs: their events and inbox rows; of the store: the database files
	Free  int64 // of the store: in the database files, unused
	Locks int64 // lock files
}

// UsageOf returns what runs occupy: what removing them would free.
func (s *fileStore) UsageOf(ctx context.Context, ids ...run.ID) (Usage, error) {
	u, err := s.Tables.UsageOf(ctx, ids...)
	if err != nil {
		return u, err
	}
	for _, id := range ids {
		u.Locks += diskuse.File(lockPath(s.dir, id))
	}
	return u, nil
}

// UsageOf returns what runs occupy in the tables.
func (s *Tables) UsageOf(ctx context.Context, ids ...run.ID) (u Usage, err error) {
	// Beside its data a row has a hash of 32 bytes, numbers and the id of the run.
	const eventSize = `SELECT coalesce(sum(octet_length(data) + octet_length(type) + octet_length(run) + 50), 0) FROM events WHERE run = ?`
	const inboxSize = `SELECT coalesce(sum(octet_length(payload) + octet_length(key) + octet_length(run) + 30), 0) FROM inbox WHERE run = ?`
	const summarySize = 500
	for _, id := range ids {
		if err := s.check(ctx, id); err != nil {
			return u, err
		}
		for _, query := range []string{eventSize, inboxSize} {
			var bytes int64
			if err := s.db().QueryRowContext(ctx, query, string(id)).Scan(&bytes); err != nil {
				return u, s.fault(err)
			}
			u.Log += bytes
		}
		u.Log += summarySize
	}
	return u, nil
}

// Usage returns what the store occupies.
func (s *fileStore) Usage(ctx context.Context) (u Usage, err error) {
	if err := s.check(ctx, anyRun); err != nil {
		return u, err
	}
	var free, size int64
	err = s.db().QueryRowContext(ctx, `SELECT freelist_count, page_size FROM pragma_freelist_count, pragma_page_size`).Scan(&free, &size)
	if err != nil {
		return u, s.fault(err)
	}
	u.Free = free * size
	for _, suffix := range sideFiles {
		u.Log += diskuse.File(s.path + suffix)
	}
	u.Locks = diskuse.Tree(filepath.Join(s.dir, "locks")) + diskuse.File(filepath.Join(s.dir, "write.lock"))
	return u, nil
}

// compactPages is how many pages one transaction of Compact gives back: it holds up the
// writes of other processes for some milliseconds.
const compactPages = 2000

// Compact gives the room of removed runs back to the file system. Other processes may read
// and write meanwhile; the file becomes shorter when no process reads an older state. It
// does nothing to a database created by a pawl without Remove: there the room is used for
// new runs.
func (s *fileStore) Compact(ctx context.Context) error {
	for {
		var before, after int64
		err := s.write(ctx, func(w *writer) error {
			if err := w.row(`SELECT freelist_count FROM pragma_freelist_count`, nil, &before); err != nil {
				return err
			}
			rows, err := w.conn.QueryContext(background, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, compactPages))
			if err != nil {
				return err
			}
			for rows.Next() { // each step is a page
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				return err
			}
			return w.row(`SELECT freelist_count FROM pragma_freelist_count`, nil, &after)
		})
		if err != nil {
			return fmt.Errorf("compact: %w", err)
		}
		if after == 0 || after == before {
			break
		}
	}
	err := s.whileLocked(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(background, `PRAGMA wal_checkpoint(PASSIVE)`)
		return err
	})
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	return nil
}
