package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"

	"pawl/run"
)

// chainHash returns the hash of one event row: SHA-256 over the hash of the row
// before (32 bytes, zeros for the first), then run, seq, at, type, version, data.
// Numbers are eight bytes, big endian; texts have their length before them, so that
// no two rows have the same bytes. It never changes: old logs are checked with it.
func chainHash(prev []byte, id run.ID, seq, at int64, typ string, version int, data []byte) []byte {
	buf := make([]byte, 0, sha256.Size+6*8+len(id)+len(typ)+len(data))
	buf = append(buf, prev...)
	buf = appendText(buf, id)
	buf = binary.BigEndian.AppendUint64(buf, uint64(seq))
	buf = binary.BigEndian.AppendUint64(buf, uint64(at))
	buf = appendText(buf, typ)
	buf = binary.BigEndian.AppendUint64(buf, uint64(version))
	buf = appendText(buf, data)
	sum := sha256.Sum256(buf)
	return sum[:]
}

func appendText[T ~string | ~[]byte](buf []byte, text T) []byte {
	buf = binary.BigEndian.AppendUint64(buf, uint64(len(text)))
	return append(buf, text...)
}

// noHash stands before the first event.
var noHash = make([]byte, sha256.Size)

// Verify recomputes the chain of a run. What is wrong is a [*ChainError]: an event
// that is missing, changed, or beyond the last one the summary knows.
//
// It shows that rows were changed by accident or by hand; against someone who
// recomputes every hash behind the change it is no proof.
func (s *SQLite) Verify(ctx context.Context, id run.ID) error {
	if err := s.check(ctx, id); err != nil {
		return err
	}
	// One read transaction, so that an append in the middle is not taken for damage.
	tx, err := s.reader.BeginTx(context.Background(), nil)
	if err != nil {
		return s.fault(err)
	}
	defer tx.Rollback() // it only reads

	var last int64
	var lastHash []byte
	err = tx.QueryRow(`SELECT seq, hash FROM runs WHERE id = ?`, string(id)).Scan(&last, &lastHash)
	if err == sql.ErrNoRows {
		return notFound(id)
	} else if err != nil {
		return s.fault(err)
	}
	rows, err := tx.Query(`SELECT seq, at, type, version, data, hash FROM events WHERE run = ? ORDER BY seq`, string(id))
	if err != nil {
		return s.fault(err)
	}
	defer rows.Close()

	bad := func(seq int64, what string) error { return &ChainError{Run: id, Seq: seq, What: what} }
	prev, next := noHash, int64(1)
	for ; rows.Next(); next++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		var seq, at int64
		var version int
		var typ string
		var data, hash sql.RawBytes
		if err := rows.Scan(&seq, &at, &typ, &version, &data, &hash); err != nil {
			return s.fault(err)
		}
		switch want := chainHash(prev, id, seq, at, typ, version, data); {
		case seq != next:
			return bad(next, "is missing")
		case seq > last:
			return bad(seq, fmt.Sprintf("is behind the last one, %d", last))
		case !bytes.Equal(hash, want):
			return bad(seq, "does not have the content its hash was made of")
		default:
			prev = want
		}
	}
	if err := rows.Err(); err != nil {
		return s.fault(err)
	}
	switch {
	case next <= last:
		return bad(next, "is missing")
	case !bytes.Equal(prev, lastHash):
		return bad(last, "is not the one that was appended last")
	}
	return nil
}
