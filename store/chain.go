package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"

	"pawl/run"
)

// chainHash returns the hash of one event row: SHA-256 over the hash of the row
// before (32 bytes, zeros for the first), then run, seq, at, type, version, data.
// Numbers are eight bytes, big endian; texts have their length before them, so that
// no two rows have the same bytes. It never changes: old logs are checked with it.
func chainHash(prev []byte, id run.ID, seq, at int64, typ string, version int, data []byte) []byte {
	sum := sha256.Sum256(chainBytes(nil, prev, id, seq, at, typ, version, data))
	return sum[:]
}

// chainBytes appends what chainHash is computed over to buf.
func chainBytes(buf, prev []byte, id run.ID, seq, at int64, typ string, version int, data []byte) []byte {
	buf = slices.Grow(buf, sha256.Size+6*8+len(id)+len(typ)+len(data))
	buf = append(buf, prev...)
	buf = appendText(buf, id)
	buf = binary.BigEndian.AppendUint64(buf, uint64(seq))
	buf = binary.BigEndian.AppendUint64(buf, uint64(at))
	buf = appendText(buf, typ)
	buf = binary.BigEndian.AppendUint64(buf, uint64(version))
	return appendText(buf, data)
}

func appendText[T ~string | ~[]byte](buf []byte, text T) []byte {
	buf = binary.BigEndian.AppendUint64(buf, uint64(len(text)))
	return append(buf, text...)
}

// noHash stands before the first event.
var noHash = make([]byte, sha256.Size)

// Verify implements [Store]. What is wrong is a [*ChainError]: an event that is
// missing or changed, one after the last that the summary knows, or the summary.
//
// It detects damage, and changes made by hand; a change after which every hash, the summary's and the mark's included, was
// computed again only if the store has a key that who changed it does not have.
func (s *Tables) Verify(ctx context.Context, id run.ID) error {
	h, err := s.lookup(ctx, id)
	if err != nil {
		return err
	}
	last := h.Seq
	for e, err := range s.eventsOf(ctx, h, 0, false) {
		if err != nil {
			return err
		}
		last = e.Seq
	}
	var after int64
	err = s.db().QueryRow(`SELECT seq FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT 1`, string(id), last).Scan(&after)
	if err == sql.ErrNoRows {
		return nil
	} else if err != nil {
		return s.fault(err)
	}
	h, err = s.head(id) // it may have been appended while Verify read
	if err == nil && h.Seq < after {
		err = &ChainError{Run: id, Seq: after, What: fmt.Sprintf("is after the last one, %d", h.Seq)}
	}
	return err
}
