package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"pawl/run"
	"pawl/store"
)

// partSize is how many bytes of a file are in one row: about what is read of an output at once.
const partSize = 256 << 10

// slowest is how many bytes a second a file is taken at the least: otherwise the server is away.
const slowest = 1 << 20

// PutOutput implements output.Shared. It is one transaction, so that an output is there as a whole or not at all, however large
// it is; of the file one part is in memory.
func (s *Store) PutOutput(ctx context.Context, conversation, owner run.ID, call run.CallID, created time.Time, head []byte, content io.ReaderAt, size int64) error {
	if err := s.checkWrite(ctx, owner); err != nil {
		return err
	}
	var file int64
	key := []any{string(conversation), string(owner), []byte(call)}
	within := writeTimeout + time.Duration(size/slowest)*time.Second
	err := s.transactWithin(ctx, within, func(tx *tx) error {
		if _, err := tx.Find(`SELECT nextval('output_files')`, nil, &file); err != nil {
			return err
		}
		buf := make([]byte, min(partSize, size))
		for at := int64(0); at < size; at += partSize {
			part := buf[:min(partSize, size-at)]
			if n, err := content.ReadAt(part, at); n < len(part) {
				return err
			}
			tx.Exec(`INSERT INTO output_parts (file, part, data) VALUES (?, ?, ?)`, file, at/partSize, part)
			if err := tx.flush(); err != nil {
				return err
			}
		}
		// At the end: while a lease is looked at, it is not renewed.
		if err := s.checkLease(tx, owner); err != nil {
			return err
		}
		tx.Exec(`DELETE FROM output_parts WHERE file IN (SELECT file FROM outputs WHERE conversation = ? AND run = ? AND call = ?)`, key...)
		return tx.Exec(`INSERT INTO outputs (conversation, run, call, file, size, created, head) VALUES (?, ?, ?, ?, ?, ?, ?) `+
			`ON CONFLICT (conversation, run, call) DO UPDATE SET file = excluded.file, size = excluded.size, created = excluded.created, head = excluded.head`,
			append(key[:3:3], file, size, created.UnixNano(), head)...)
	})
	if errors.Is(err, store.ErrAway) && file > 0 {
		if have, _, ferr := s.outputFile(ctx, conversation, owner, call); ferr == nil && have == file {
			return nil
		}
	}
	return err
}

// checkLease returns ErrConflict if this store had the lease of a run and has it no more. Others may store what they give a run.
func (s *Store) checkLease(tx *tx, id run.ID) error {
	mine, owner := s.token(id), ""
	if mine == "" {
		return nil
	}
	tx.ask(`SELECT token FROM leases WHERE run = ? AND until > clock_timestamp() FOR SHARE`, []any{string(id)}, func(row pgx.Row) error { return row.Scan(&owner) })
	if err := tx.flush(); err != nil {
		return err
	}
	if owner != mine {
		return lost(true)
	}
	return nil
}

// outputFile returns the number of the file of an output, and its size; [fs.ErrNotExist] if there is none.
func (s *Store) outputFile(ctx context.Context, conversation, owner run.ID, call run.CallID) (file, size int64, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT file, size FROM outputs WHERE conversation = $1 AND run = $2 AND call = $3`,
		string(conversation), string(owner), []byte(call)).Scan(&file, &size)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, fs.ErrNotExist
	}
	return file, size, s.fault(err)
}

// OpenOutput implements output.Shared.
func (s *Store) OpenOutput(ctx context.Context, conversation, owner run.ID, call run.CallID) (io.ReaderAt, int64, error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, 0, err
	}
	file, size, err := s.outputFile(ctx, conversation, owner, call)
	if err != nil {
		return nil, 0, err
	}
	return &outputReader{store: s, file: file, size: size}, size, nil
}

// An outputReader reads any part of a file. It keeps the row that it has read last: the index at the end of a file is read in
// pieces. It is safe for concurrent use.
type outputReader struct {
	store      *Store
	file, size int64

	mu   sync.Mutex
	part int64
	data []byte // of part; nil: none
}

func (r *outputReader) ReadAt(p []byte, off int64) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(p) {
		at := off + int64(n)
		if at >= r.size {
			return n, io.EOF
		}
		if r.data == nil || r.part != at/partSize {
			if err := r.read(at / partSize); err != nil {
				return n, err
			}
		}
		n += copy(p[n:], r.data[at%partSize:])
	}
	return n, nil
}

// read reads a part.
func (r *outputReader) read(part int64) error {
	var data []byte
	err := r.store.db.QueryRowContext(r.store.ctx, `SELECT data FROM output_parts WHERE file = $1 AND part = $2`, r.file, part).Scan(&data)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return errors.New("the output was removed or replaced meanwhile")
	case err != nil:
		return r.store.fault(err)
	case int64(len(data)) != min(partSize, r.size-part*partSize):
		return fmt.Errorf("part %d of the output has %d bytes", part, len(data))
	}
	r.part, r.data = part, data
	return nil
}

// Outputs implements output.Shared.
func (s *Store) Outputs(ctx context.Context, conversation, owner run.ID, found func(head []byte, size int64)) error {
	if err := s.check(ctx, anyRun); err != nil {
		return err
	}
	query, args := `SELECT head, size FROM outputs`, []any(nil)
	switch {
	case owner != "":
		query, args = query+` WHERE conversation = $1 AND run = $2`, []any{string(conversation), string(owner)}
	case conversation != "":
		query, args = query+` WHERE conversation = $1`, []any{string(conversation)}
	}
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return s.fault(err)
	}
	defer rows.Close()
	for rows.Next() {
		var head []byte
		var size int64
		if err := rows.Scan(&head, &size); err != nil {
			return s.fault(err)
		}
		found(head, size)
	}
	return s.fault(rows.Err())
}

// RemoveOutputs implements output.Shared.
func (s *Store) RemoveOutputs(ctx context.Context, conversation, owner run.ID, call run.CallID) error {
	if err := s.checkWrite(ctx, owner); err != nil {
		return err
	}
	return s.transact(ctx, func(tx *tx) error {
		removeOutputs(tx, `conversation = ? AND run = ? AND (call = ? OR ? = 0)`, string(conversation), string(owner), []byte(call), len(call))
		return nil
	})
}

// removeOutputs removes those that a condition selects.
func removeOutputs(tx *tx, where string, args ...any) {
	tx.Exec(`WITH gone AS (DELETE FROM outputs WHERE `+where+` RETURNING file) DELETE FROM output_parts WHERE file IN (SELECT file FROM gone)`, args...)
}

// TotalOfOutputs implements output.Shared.
func (s *Store) TotalOfOutputs(ctx context.Context) (size int64, oldest time.Time, err error) {
	if err := s.check(ctx, anyRun); err != nil {
		return 0, oldest, err
	}
	var created int64
	err = s.db.QueryRowContext(ctx, `SELECT coalesce(sum(size), 0)::bigint, coalesce(min(created), 0) FROM outputs`).Scan(&size, &created)
	return size, time.Unix(0, created), s.fault(err)
}
