package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/run"
)

// Salvaged is what became of one run.
type Salvaged struct {
	Run   run.ID
	Title string
	Kept  int64 // events
	// Written is how many events there were, as far as that is known; at least Kept.
	Written int64
	Lost    string // what was lost, and why; empty: nothing
}

// Salvage copies what can be read of the store in dir, whose database may be damaged,
// into a new database at out. Of each run it keeps the events up to the first that
// cannot be read or does not fit the chain, as far as SQLite finds a way to them, and
// its inbox. A run that has lost events keeps its mark in dir, so that in the new
// database, put in the place of the old one, it is read but not continued.
//
// The old database is copied first and not changed. No store in dir may be open in
// this process (see the trap at [SQLite]); other processes are kept from writing.
func Salvage(ctx context.Context, dir, out string, opt Options) ([]Salvaged, error) {
	if _, err := os.Lstat(out); err == nil {
		return nil, fmt.Errorf("salvage: %w", &os.PathError{Op: "create", Path: out, Err: fs.ErrExist})
	}
	temp, err := os.MkdirTemp(filepath.Dir(out), "recover-")
	if err != nil {
		return nil, fileError(out, err)
	}
	defer os.RemoveAll(temp)
	from, to := filepath.Join(temp, "old"), filepath.Join(temp, "new")
	opt.patience = cmp.Or(opt.patience, defaultPatience)
	if err := copyDatabase(dir, from, openPatience*opt.patience); err != nil {
		return nil, err
	}
	opt.ReadOnly = true
	old, err := Open(from, opt)
	if err != nil {
		return nil, err
	}
	defer old.Close()
	old.dir = dir // the marks are there
	opt.ReadOnly = false
	made, err := Open(to, opt)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	made.writer.id = cmp.Or(old.id, made.id)
	// Nothing of it is used before it is complete and was synced.
	begin := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA synchronous = OFF", made.writer.id)
	if _, err := made.writer.conn.ExecContext(ctx, begin); err != nil {
		return nil, fileError(out, err)
	}

	heads := old.findRuns()
	slices.SortFunc(heads, func(a, b head) int { return cmp.Or(cmp.Compare(a.used, b.used), cmp.Compare(a.ID, b.ID)) })
	var all []Salvaged
	for _, h := range heads {
		s, err := made.salvage(ctx, old, h)
		if err != nil {
			return all, fmt.Errorf("salvage run %s: %w", h.ID, err)
		}
		all = append(all, s)
	}
	_, err = made.writer.conn.ExecContext(ctx, "PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)")
	if err := errors.Join(err, made.Close()); err != nil {
		return all, fileError(out, err)
	}
	if _, err := os.Stat(made.path + "-wal"); err == nil {
		return all, fmt.Errorf("salvage: %s could not be finished", out)
	}
	return all, fileError(out, os.Rename(made.path, out))
}

// copyDatabase copies the database of the store in dir to the folder to, while no
// other process writes to it.
func copyDatabase(dir, to string, patience time.Duration) error {
	lock, err := openLock(filepath.Join(dir, "write.lock"))
	if err == nil { // else the folder cannot be written, by others neither
		defer lock.Close()
		unlock, err := lock.AcquireWithin(patience)
		if err != nil {
			return err
		}
		defer unlock()
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return fileError(to, err)
	}
	for _, name := range []string{"pawl.db", "pawl.db-wal"} {
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

// findRuns looks for runs in every place that names them, because each may be damaged.
// Of a run whose row cannot be read there is no more than the id, and its mark.
func (s *SQLite) findRuns() []head {
	heads := map[run.ID]head{}
	add := func(id run.ID) {
		if _, ok := heads[id]; ok || CheckID(id) != nil {
			return
		}
		h, err := s.head(id)
		if err != nil {
			m, ok := markAt(lockPath(s.dir, id), s.id)
			h = head{Summary: Summary{ID: id, Damage: err.Error()}, used: m.used}
			if h.mark = m; !ok {
				h.mark = mark{}
			}
		}
		heads[id] = h
	}
	// A scan from each end finds the rows on both sides of a damaged page.
	for _, query := range []string{
		`SELECT id FROM runs ORDER BY id`, `SELECT id FROM runs ORDER BY id DESC`, `SELECT id FROM runs ORDER BY used`,
	} {
		var ids []run.ID
		if rows, err := s.reader.Query(query); err == nil {
			for rows.Next() {
				var id run.ID
				if rows.Scan(&id) == nil {
					ids = append(ids, id)
				}
			}
			rows.Close()
		}
		for _, id := range ids {
			add(id)
		}
	}
	for _, query := range []string{
		`SELECT run FROM events WHERE run > ? ORDER BY run LIMIT 1`, `SELECT run FROM events WHERE run < ? ORDER BY run DESC LIMIT 1`,
	} {
		id := run.ID("")
		if strings.Contains(query, "DESC") {
			id = "~" // after every id
		}
		for s.reader.QueryRow(query, string(id)).Scan(&id) == nil {
			add(id)
		}
	}
	entries, _ := os.ReadDir(filepath.Join(s.dir, "locks")) // without them there are no marks
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".lock")
		if _, marked := markAt(filepath.Join(s.dir, "locks", e.Name()), s.id); ok && marked {
			add(run.ID(id))
		}
	}
	found := make([]head, 0, len(heads))
	for _, h := range heads {
		found = append(found, h)
	}
	return found
}

// salvage copies a run of the old store.
func (s *SQLite) salvage(ctx context.Context, old *SQLite, h head) (Salvaged, error) {
	events, bad := old.intactRows(ctx, h.ID)
	kept := int64(len(events))
	sealed := h.Damage != changedSummary && h.hash != nil // the row of the run is to be trusted
	written := max(kept, h.mark.seq)
	if sealed {
		written = max(written, h.Seq)
	}
	if bad != nil {
		written = max(written, kept+1)
	}
	inbox, inboxErr := old.allRows(ctx, h.ID)

	var made head
	err := s.write(ctx, func(w *writer) (err error) {
		if kept == 0 {
			return nil
		}
		if err := w.append(h.ID, 0, events, nil, cmp.Or(h.writer, s.opt.Version)); err != nil {
			return err
		}
		if made, err = w.head(h.ID); err != nil {
			return err
		}
		if sealed {
			if kept == h.Seq {
				h.used, h.hash = made.used, made.hash
				made = h // as it was, whatever made it
			}
			made.Root = h.Root
			if err := w.setHead(made); err != nil {
				return err
			}
		}
		for _, row := range inbox {
			if _, err := w.exec(`INSERT OR IGNORE INTO inbox (id, run, key, kind, payload, at, taken, answer) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, row...); err != nil {
				return err
			}
		}
		return nil
	})
	out := Salvaged{Run: h.ID, Title: cmp.Or(made.Title, h.Title), Kept: kept, Written: written}
	switch {
	case err != nil:
		return out, err
	case bad != nil:
		out.Lost = bad.Error()
	case kept < written:
		out.Lost = lostEnd(kept, written)
	case inboxErr != nil:
		out.Lost = "not all of its inbox can be read: " + inboxErr.Error()
	}
	if kept < written && h.mark.seq < written {
		m := mark{h.ID, s.writer.id, h.used, written, noHash}
		if sealed && written == h.Seq {
			m.hash = h.hash
		}
		setMark(old.dir, m)
	}
	return out, nil
}

// intactRows reads the events of a run up to the first that cannot be read or does not
// fit the chain, and says what is wrong with that.
func (s *SQLite) intactRows(ctx context.Context, id run.ID) (events []eventRow, bad error) {
	rows, err := s.reader.QueryContext(ctx, `SELECT seq, at, type, version, data, hash FROM events WHERE run = ? ORDER BY seq`, string(id))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	prev := noHash
	for rows.Next() {
		var r eventRow
		var seq, at int64
		var hash []byte
		if err := rows.Scan(&seq, &at, &r.typ, &r.version, &r.data, &hash); err != nil {
			return events, err
		}
		next := int64(len(events)) + 1
		if seq != next {
			return events, fmt.Errorf("event %d is missing", next)
		}
		if prev = chainHash(prev, id, seq, at, r.typ, r.version, r.data); !bytes.Equal(prev, hash) {
			return events, fmt.Errorf("event %d %s", seq, changedEvent)
		}
		e, err := Decode(seq, fromNano(at), r.typ, r.version, r.data)
		if err != nil { // of a newer pawl: it is kept as it is, and counts as nothing in the summary
			e = run.Event{Seq: seq, At: fromNano(at)}
		}
		r.event = e
		events = append(events, r)
	}
	if err := rows.Err(); err != nil {
		return events, fmt.Errorf("event %d cannot be read: %w", len(events)+1, err)
	}
	return events, nil
}

// allRows reads a run's inbox, rows that were taken too, with all columns.
func (s *SQLite) allRows(ctx context.Context, id run.ID) (all [][]any, err error) {
	rows, err := s.reader.QueryContext(ctx, `SELECT id, run, key, kind, payload, at, taken, answer FROM inbox WHERE run = ? ORDER BY id`, string(id))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		row := make([]any, 8)
		dest := make([]any, len(row))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return all, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
