package store

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"pawl/run"
)

// head is the row of a run: its summary and the end of its chain. The zero head,
// with noHash, is that of a run that does not exist yet.
type head struct {
	Summary
	hash   []byte // of the last event
	writer string // the pawl that appended last
	used   int64  // increases with every append to any run of the store
	seal   []byte // sum when the row was written

	mark mark   // of the run; zero: there is none
	bad  int64  // the event that Damage is about; 0: the summary
	what string // what is wrong with it
}

// damage returns the damage that the head shows, or nil.
func (h *head) damage() error {
	if h.Damage == "" {
		return nil
	}
	return &ChainError{Run: h.ID, Seq: h.bad, What: h.what}
}

const headColumns = `id, parent, root, workspace, model, title, created, updated, seq, ended, reason, steps, ` +
	`input, cache_read, cache_write, output, cost, priced, hash, writer, used, seal, turns, forked, name`

// fields returns where to scan headColumns to.
func (h *head) fields() []any {
	u := &h.Usage
	return []any{
		&h.ID, &h.Parent, &h.Root, &h.Workspace, &h.Model, &h.Title, timeColumn{&h.Created}, timeColumn{&h.Updated},
		&h.Seq, &h.End, &h.Reason, &h.Steps,
		&u.Input, &u.CacheRead, &u.CacheWrite, &u.Output, &u.Cost, &u.Priced, &h.hash, &h.writer, &h.used, &h.seal,
		&h.Turns, &h.Forked, &h.Name,
	}
}

// scanHead reads headColumns from a database of the version.
func scanHead(scan func(dest ...any) error, version int) (head, error) {
	h := head{hash: noHash}
	if err := scan(h.fields()...); err != nil {
		return h, err
	}
	h.checkSeal(version)
	return h, nil
}

// checkSeal sets the head's damage if the row was changed after it was written. Rows of the
// first version have no seal.
func (h *head) checkSeal(version int) {
	if version >= sealedVersion && !bytes.Equal(h.seal, h.sum(version)) {
		h.Damage, h.what = changedSummary, changedSummary
	}
}

const changedSummary = "its summary was changed after it was written"

// sum returns the SHA-256 of the row as the version of the database seals it. It detects a summary that was changed without
// computing it again, with the same limits as the chain (see [SQLite.Verify]).
func (h *head) sum(version int) []byte {
	u := h.Usage
	buf := make([]byte, 0, 512)
	for _, text := range []string{
		string(h.ID), string(h.Parent), string(h.Root), h.Workspace, h.Model, h.Title, string(h.End), h.Reason, string(h.hash), h.writer,
	} {
		buf = appendText(buf, text)
	}
	for _, n := range []int64{
		toNano(h.Created), toNano(h.Updated), h.Seq, h.used, int64(h.Steps),
		u.Input, u.CacheRead, u.CacheWrite, u.Output, int64(math.Float64bits(u.Cost)),
	} {
		buf = binary.BigEndian.AppendUint64(buf, uint64(n))
	}
	if u.Priced {
		buf = append(buf, 1)
	}
	if version >= turnsVersion {
		buf = binary.BigEndian.AppendUint64(buf, uint64(h.Turns))
		buf = appendText(buf, h.Forked)
	}
	if version >= namesVersion && h.Name != "" {
		buf = appendText(buf, h.Name)
	}
	sum := sha256.Sum256(buf)
	return sum[:]
}

func (w *writer) head(id run.ID) (head, error) {
	m, ok := markAt(lockPath(w.dir, id), w.id)
	h, err := scanHead(func(dest ...any) error {
		return w.row(`SELECT `+headColumns+` FROM runs WHERE id = ?`, []any{string(id)}, dest...)
	}, len(migrations))
	if err == sql.ErrNoRows {
		h, err = head{Summary: Summary{ID: id}, hash: noHash}, nil
	}
	h.compare(m, ok)
	return h, err
}

func (w *writer) setHead(h head) error {
	u := h.Usage
	_, err := w.exec(`REPLACE INTO runs (`+headColumns+`) `+
		`VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(h.ID), string(h.Parent), string(h.Root), h.Workspace, h.Model, h.Title, toNano(h.Created), toNano(h.Updated),
		h.Seq, string(h.End), h.Reason, h.Steps,
		u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Cost, u.Priced, h.hash, h.writer, h.used, h.sum(len(migrations)), h.Turns, string(h.Forked), h.Name)
	return err
}

// sealHeads seals the rows of a database that was just brought to the version. Rows whose
// seal of the version before does not hold stay as they are.
func (w *writer) sealHeads(version int) error {
	columns := strings.ReplaceAll(headColumns, ", name", ", ''")
	if version < turnsVersion {
		columns = strings.ReplaceAll(columns, "turns, forked", "0, ''")
	}
	rows, err := w.conn.QueryContext(background, `SELECT `+columns+` FROM runs`)
	if err != nil {
		return err
	}
	heads, err := scanHeads(rows, version-1)
	for _, h := range heads {
		if err == nil && h.Damage == "" {
			_, err = w.conn.ExecContext(background, `UPDATE runs SET seal = ? WHERE id = ?`, h.sum(version), string(h.ID))
		}
	}
	return err
}

// scanHeads reads headColumns of all rows and closes them.
func scanHeads(rows *sql.Rows, version int) (all []*head, err error) {
	defer rows.Close()
	var row head
	fields := row.fields() // made once: there may be thousands of rows
	for rows.Next() {
		row = head{}
		if err := rows.Scan(fields...); err != nil {
			return all, err
		}
		h := row
		h.checkSeal(version)
		all = append(all, &h)
	}
	return all, rows.Err()
}

// A timeColumn scans a time: nanoseconds since 1970. The zero time, which has no
// such number, is 0.
type timeColumn struct{ *time.Time }

func (c timeColumn) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("%v is not a time", src)
	}
	*c.Time = fromNano(n)
	return nil
}

func toNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
