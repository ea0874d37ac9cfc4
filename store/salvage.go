package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl/internal/stable"
	"pawl/run"
)

// Salvaged is what became of one run.
type Salvaged struct {
	Run     run.ID
	Title   string
	Kept    int64  // events
	Written int64  // events there were, as far as that is known; at least Kept
	Lost    string // what was lost, and why; empty: nothing
}

// recoverPattern is the name of the folder that Salvage works in.
const recoverPattern = "recover-*"

// Salvage copies what can be read of the store in dir, whose database may be damaged,
// into a new database at out. Of each run it keeps the events up to the first that
// cannot be read or does not fit the chain, as far as SQLite finds a way to them, and
// its inbox. A run that has lost events keeps its mark in dir, so that in the new
// database, put in the place of the old one, it is read but not continued.
//
// The old database is copied first and not changed. No store in dir may be open in
// this process (see the trap at [fileStore]); other processes are kept from writing.
func Salvage(ctx context.Context, dir, out string, opt Options) ([]Salvaged, error) {
	if _, err := os.Lstat(out); err == nil {
		return nil, fmt.Errorf("salvage: %w", &os.PathError{Op: "create", Path: out, Err: fs.ErrExist})
	}
	temp, err := os.MkdirTemp(filepath.Dir(out), recoverPattern)
	if err != nil {
		return nil, fileError(out, err)
	}
	defer os.RemoveAll(temp)
	opt.patience = cmp.Or(opt.patience, defaultPatience)
	copied := filepath.Join(temp, "old")
	if err := copyDatabase(dir, copied, openPatience*opt.patience); err != nil {
		return nil, err
	}
	made, err := openFile(filepath.Join(temp, "new"), opt)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	opt.ReadOnly = true
	old, err := openFile(copied, opt)
	if err != nil {
		return nil, err
	}
	defer old.Close()
	old.dir = dir // the marks are there
	made.id = cmp.Or(old.id, made.id)
	// Nothing of the new database is used before it is complete and was synced.
	if err := made.exec(`ATTACH DATABASE ? AS old`, old.path); err != nil {
		return nil, err
	}
	if err := made.exec(fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA synchronous = OFF`, made.id)); err != nil {
		return nil, err
	}
	heads, err := old.findRuns()
	if err != nil {
		return nil, err
	}
	var all []Salvaged
	for i, h := range heads {
		s, err := made.salvage(ctx, old, h, int64(i)+1)
		if err != nil {
			return all, fmt.Errorf("salvage run %s: %w", h.ID, err)
		}
		all = append(all, s)
	}
	made.salvageTasks(old)
	if err := made.sealTasks(ctx); err != nil {
		return all, fmt.Errorf("salvage tasks: %w", err)
	}
	err = made.exec(`DETACH DATABASE old; PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)`)
	return all, fileError(out, errors.Join(err, made.Close(), os.Rename(made.path, out)))
}

// salvageTasks copies what can be read of the old store's tasks, table by table.
func (s *fileStore) salvageTasks(old *fileStore) {
	for _, table := range []string{"tasks", "task_events", "task_labels", "task_runs", "submissions"} {
		// Without an index: a damaged page of one does not lose the rows.
		_ = s.exec(`INSERT OR IGNORE INTO main.` + table + ` SELECT * FROM old.` + table + ` NOT INDEXED`)
	}
	_ = s.exec(`INSERT INTO main.task_feed (task, seq) SELECT task, seq FROM main.task_events ORDER BY at, task, seq`)
}

// sealTasks makes the histories that begin with the key of another state folder, and are whole, ones of this store.
func (s *fileStore) sealTasks(ctx context.Context) error {
	rows, _, err := s.Tasks(ctx, TaskQuery{})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := s.taskEvents(ctx, row.ID, 0, 1); !errors.Is(err, ErrCorrupt) {
			continue
		}
		events, err := s.taskEvents(ctx, row.ID, 1, row.Seq)
		if err != nil {
			continue // who reads it is told
		}
		first := TaskEvent{Seq: 1}
		err = s.write(ctx, func(w *writer) error {
			err := w.row(`SELECT at, type, version, run, by, data FROM task_events WHERE task = ? AND seq = 1`, []any{row.ID},
				timeColumn{&first.At}, &first.Type, &first.Version, &first.Run, &first.By, &first.Data)
			hash := beginning(w.key)
			for _, e := range append([]TaskEvent{first}, events...) {
				if err != nil {
					return err
				}
				hash = taskHash(hash, row.ID, e)
				_, err = w.exec(`UPDATE task_events SET hash = ? WHERE task = ? AND seq = ?`, hash, row.ID, e.Seq)
			}
			if err == nil {
				_, err = w.exec(`UPDATE tasks SET hash = ? WHERE id = ?`, hash, row.ID)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *fileStore) exec(query string, args ...any) error {
	_, err := s.writer.conn.ExecContext(background, query, args...)
	return s.fault(err)
}

// copyDatabase copies the database of the store in dir to the folder to, while no
// other process writes to it.
func copyDatabase(dir, to string, patience time.Duration) error {
	if lock, err := openLock(filepath.Join(dir, "write.lock")); err == nil { // else the folder is read-only, for every process
		defer lock.Close()
		unlock, err := lock.AcquireWithin(patience)
		if err != nil {
			return err
		}
		defer unlock()
	}
	if err := makeDir(to); err != nil {
		return fileError(to, err)
	}
	for _, name := range []string{File, File + "-wal"} {
		from, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return fileError(dir, err)
		}
		copied, err := os.OpenFile(filepath.Join(to, name), os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = io.Copy(copied, from)
			err = errors.Join(err, copied.Close())
		}
		if err := errors.Join(err, from.Close()); err != nil {
			return fileError(filepath.Join(dir, name), err)
		}
	}
	return nil
}

// findRuns returns the runs that are named anywhere, because each of the places may be
// damaged, in the order of their use. Of a run whose row cannot be read it returns no
// more than the id and the mark.
func (s *fileStore) findRuns() ([]head, error) {
	ids, err := s.marked()
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id run.ID) bool {
		_, ok := markAt(lockPath(s.dir, id), s.id)
		return !ok
	})
	// A scan from each end finds the rows on both sides of a damaged page.
	for _, query := range []string{
		`SELECT id FROM runs ORDER BY id`, `SELECT id FROM runs ORDER BY id DESC`, `SELECT id FROM runs ORDER BY used`,
		`SELECT DISTINCT run FROM events ORDER BY run`, `SELECT DISTINCT run FROM events ORDER BY run DESC`,
	} {
		found, _ := s.ids(background, query) // those before the damage
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	var heads []head
	for _, id := range slices.Compact(ids) {
		h, err := s.head(id)
		if CheckID(id) != nil {
			continue
		}
		if err != nil {
			h.Summary, h.used = Summary{ID: id, Damage: ChangedSummary}, h.mark.used
		}
		heads = append(heads, h)
	}
	stable.Sort(heads, func(a, b head) int { return cmp.Compare(a.used, b.used) })
	return heads, nil
}

// salvage copies a run of the old store, as the n-th.
func (s *fileStore) salvage(ctx context.Context, old *fileStore, h head, n int64) (Salvaged, error) {
	made := head{Summary: Summary{ID: h.ID, Root: h.Root}, writer: h.writer}
	all := h
	all.Damage = ChangedSummary // all events there are, whatever the head says
	var bad error
	for e, err := range old.eventsOf(ctx, all, 0, false) {
		if bad = err; err == nil {
			made.Add(e)
		}
	}
	kept, written := made.Seq, max(made.Seq, h.mark.seq)
	changed := h.Damage == ChangedSummary
	if !changed {
		written = max(written, h.Seq)
	}
	c, ok := errors.AsType[*ChainError](bad)
	if ok && c.Seq == 0 {
		bad = nil // that is mended here
	} else if bad != nil {
		written = max(written, kept+1)
	}
	err := s.write(ctx, func(w *writer) error {
		if kept == 0 {
			return nil
		}
		if _, err := w.exec(`INSERT INTO events SELECT * FROM old.events WHERE run = ? ORDER BY seq LIMIT ?`, string(h.ID), kept); err != nil {
			return err
		}
		if err := w.row(`SELECT hash FROM events WHERE run = ? AND seq = ?`, []any{string(h.ID), kept}, &made.hash); err != nil {
			return err
		}
		switch root, err := w.rootOf(made.Summary); {
		case err != nil:
			return err
		case !changed && kept == h.Seq:
			made = h // as it was, by whatever pawl
		default:
			made.Root = cmp.Or(made.Root, root)
		}
		made.used = n
		return w.setHead(made)
	})
	var inboxErr error
	if kept > 0 && err == nil {
		inboxErr = s.exec(`INSERT INTO inbox SELECT id, run, key, kind, payload, at, taken, answer FROM old.inbox WHERE run = ?`, string(h.ID))
	}
	out := Salvaged{Run: h.ID, Title: cmp.Or(made.Title, h.Title), Kept: kept, Written: written}
	switch {
	case err != nil:
		return out, err
	case ok && bad != nil:
		out.Lost = fmt.Sprintf("event %d %s", c.Seq, c.What)
	case bad != nil:
		out.Lost = bad.Error()
	case kept < written:
		out.Lost = fmt.Sprintf("event %d %s", kept+1, lostEnd(kept, written))
	case inboxErr != nil:
		out.Lost = "its inbox: " + inboxErr.Error()
	}
	if h.mark.seq < written && kept < written {
		m := mark{h.ID, s.id, h.used, written, h.hash}
		if written != h.Seq {
			m.hash = noHash // that event was never seen
		}
		setMark(old.dir, m)
	}
	return out, nil
}
