package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
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

// damage returns the damage that the head, in the database of a server or a file, shows, which is some.
func (h *head) damage(server bool) error {
	return &ChainError{Run: h.ID, Seq: h.bad, What: h.what, Server: server}
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

// scanHead reads headColumns.
func scanHead(key []byte, scan func(dest ...any) error) (head, error) {
	h := head{hash: noHash}
	if err := scan(h.fields()...); err != nil {
		return h, err
	}
	h.checkSeal(key)
	return h, nil
}

// checkSeal sets the head's damage if the row was changed after it was written, or was not written with the key.
func (h *head) checkSeal(key []byte) {
	if !hmac.Equal(h.seal, h.sum(key)) {
		h.Damage, h.what = ChangedSummary, ChangedSummary
	}
}

// ChangedSummary is the damage of a log whose summary does not have the seal of the store.
const ChangedSummary = "its summary was changed after it was written, or the log is from another state folder"

// sum returns the SHA-256 of the row; with a key, its HMAC. The row has the hash of the last event, so that with a
// key nobody else can make a log that fits.
func (h *head) sum(key []byte) []byte {
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
	buf = binary.BigEndian.AppendUint64(buf, uint64(h.Turns))
	buf = appendText(buf, h.Forked)
	buf = appendText(buf, h.Name)
	if key == nil {
		sum := sha256.Sum256(buf)
		return sum[:]
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(buf)
	return mac.Sum(nil)
}

func (w *writer) head(id run.ID) (head, error) {
	m, ok := markAt(lockPath(w.dir, id), w.id)
	h, err := scanHead(w.key, func(dest ...any) error {
		return w.row(selectHead, []any{string(id)}, dest...)
	})
	if err == sql.ErrNoRows {
		h, err = head{Summary: Summary{ID: id}, hash: noHash}, nil
	}
	h.compare(m, ok)
	return h, err
}

func (w *writer) setHead(h head) error {
	_, err := w.exec(`REPLACE INTO runs (`+headColumns+`) `+
		`VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, h.values(w.key)...)
	return err
}

// values returns what headColumns are set to.
func (h *head) values(key []byte) []any {
	u := h.Usage
	return []any{
		string(h.ID), string(h.Parent), string(h.Root), h.Workspace, h.Model, h.Title, toNano(h.Created), toNano(h.Updated),
		h.Seq, string(h.End), h.Reason, h.Steps,
		u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Cost, u.Priced, h.hash, h.writer, h.used, h.sum(key), h.Turns, string(h.Forked), h.Name,
	}
}

// scanHeads reads headColumns of all rows and closes them.
func scanHeads(key []byte, rows *sql.Rows) (all []*head, err error) {
	defer rows.Close()
	var row head
	fields := row.fields() // made once: there may be thousands of rows
	for rows.Next() {
		row = head{}
		if err := rows.Scan(fields...); err != nil {
			return all, err
		}
		h := row
		h.checkSeal(key)
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
