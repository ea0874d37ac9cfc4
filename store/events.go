package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"

	"pawl/run"
)

// A batch of events is read before its first is yielded, so that no connection and no
// snapshot of the database is held while the caller works: an open snapshot makes the
// -wal file grow. A batch ends at either limit.
const (
	batchEvents = 2000
	batchBytes  = 4 << 20 // of data
)

// chunkEvents is how many events are checked and decoded together, while the next
// are read. 50,000 events took 214 ms when read and decoded in turn, and took 145 ms
// so (2 cores, November 2026).
const chunkEvents = 100

// Events implements [Store].
//
// Every event is checked against the chain before it is yielded, from the event
// after the number given; those up to that number are not read.
func (s *Tables) Events(ctx context.Context, id run.ID, after int64) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		h, err := s.lookup(ctx, id)
		if err != nil {
			yield(run.Event{}, err)
			return
		}
		s.eventsOf(ctx, h, after, true)(yield)
	}
}

// eventsOf reads and checks the events of the run with the head. If not strict it also
// yields events that cannot be decoded, without their payload.
func (s *Tables) eventsOf(ctx context.Context, h head, after int64, strict bool) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		l := &logReader{store: s, head: h, last: h.Seq, seq: max(after, 0), strict: strict, types: map[string]string{}}
		err := l.begin()
		var batch []run.Event
		for err == nil && l.seq < l.last {
			batch, err = l.next(ctx, batch[:0])
			for _, e := range batch {
				if !yield(e, nil) {
					return
				}
			}
		}
		if err == nil {
			err = l.check()
		}
		if u, ok := errors.AsType[*UnreadableError](err); ok {
			u.Run, u.Writer = h.ID, h.writer
		}
		if err != nil {
			yield(run.Event{}, err)
		}
	}
}

// A logReader reads the events of a run in order, up to the last one at its creation.
type logReader struct {
	store  *Tables
	head   head
	last   int64  // number of the last event to read
	seq    int64  // of the event read last
	hash   []byte // of the event read last; nil if unknown
	strict bool
	types  map[string]string // the names of types seen, so that each is kept once
}

func (l *logReader) typeName(b []byte) string {
	name, ok := l.types[string(b)]
	if !ok {
		name = string(b)
		l.types[name] = name
	}
	return name
}

// begin finds the hash of the event before the first.
func (l *logReader) begin() error {
	if l.head.Damage == ChangedSummary {
		l.last = math.MaxInt64 // the end of the log is unknown: read all of it
	}
	switch {
	case l.seq == 0:
		l.hash = noHash
	case l.seq < l.last:
		err := l.store.db().QueryRow(`SELECT hash FROM events WHERE run = ? AND seq = ?`, string(l.head.ID), l.seq).Scan(&l.hash)
		if err == sql.ErrNoRows {
			return l.bad(l.seq, "is missing")
		}
		return l.store.fault(err)
	}
	return nil
}

func (l *logReader) bad(seq int64, what string) error {
	return &ChainError{Run: l.head.ID, Seq: seq, What: what, Server: ofServer(l.store.base.Name)}
}

// check checks, after the last event, that the log ends where the head says.
func (l *logReader) check() error {
	switch {
	case l.head.mark.seq > l.last:
		return l.bad(l.last+1, lostEnd(l.last, l.head.mark.seq))
	case l.head.Damage == ChangedSummary:
		return l.bad(0, ChangedSummary)
	case l.hash != nil && l.seq == l.last && !bytes.Equal(l.hash, l.head.hash):
		return l.bad(l.last, changedEnd)
	}
	return nil
}

// next appends the next events to batch. With an error it returns those before it.
func (l *logReader) next(ctx context.Context, batch []run.Event) ([]run.Event, error) {
	rows, err := l.store.db().Query(`SELECT seq, at, type, version, data, hash FROM events `+
		`WHERE run = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, string(l.head.ID), l.seq, l.last, batchEvents)
	if err != nil {
		return batch, l.store.fault(err)
	}
	var chunks []*chunk
	var decoding sync.WaitGroup
	seq, hash := l.seq, l.hash
	part := &chunk{reader: l, prev: hash}
	flush := func() {
		full := part
		chunks, part = append(chunks, full), &chunk{reader: l, prev: hash}
		part.stored, part.bytes = make([]storedEvent, 0, chunkEvents), make([]byte, 0, 5*len(full.bytes)/4)
		decoding.Go(full.read)
	}
	var typ, data, sum sql.RawBytes // valid until the next row
	readErr := func() error {
		defer rows.Close()
		for size := 0; size < batchBytes && rows.Next(); {
			if err := ctx.Err(); err != nil {
				return err
			}
			var r storedEvent
			if err := rows.Scan(&r.seq, &r.at, &typ, &r.version, &data, &sum); err != nil {
				return l.store.fault(err)
			}
			r.typ, r.data, r.hash = l.typeName(typ), part.keep(data), part.keep(sum)
			if r.seq != seq+1 {
				return l.bad(seq+1, "is missing")
			}
			seq, hash, size = r.seq, r.hash, size+len(r.data)
			if part.stored = append(part.stored, r); len(part.stored) == chunkEvents {
				flush()
			}
		}
		return l.store.fault(rows.Err())
	}()
	flush()
	decoding.Wait()

	for _, c := range chunks {
		if batch = append(batch, c.events...); c.err != nil {
			return batch, c.err
		}
	}
	switch {
	case readErr != nil || seq > l.seq:
	case l.last == math.MaxInt64:
		l.last = seq
	default:
		readErr = l.bad(seq+1, "is missing")
	}
	l.seq, l.hash = seq, hash
	return batch, readErr
}

// storedEvent is a row of events.
type storedEvent struct {
	seq, at int64
	typ     string
	version int
	data    []byte
	hash    []byte
}

// A chunk is a part of a batch. Its rows can be checked without those of the chunks
// before it: each row is checked against the stored hash of the row before, and that
// hash against the row it belongs to, so all links hold exactly if the chain does.
type chunk struct {
	reader *logReader
	prev   []byte // stored hash of the event before the first
	stored []storedEvent
	bytes  []byte      // data and hashes of all of them
	events []run.Event // those before err
	err    error
}

func (c *chunk) keep(b []byte) []byte {
	start := len(c.bytes)
	c.bytes = append(c.bytes, b...)
	return c.bytes[start:]
}

func (c *chunk) read() {
	l := c.reader
	c.events = make([]run.Event, 0, len(c.stored))
	var buf []byte
	for _, r := range c.stored {
		buf = chainBytes(buf[:0], c.prev, l.head.ID, r.seq, r.at, r.typ, r.version, r.data)
		if sum := sha256.Sum256(buf); !bytes.Equal(r.hash, sum[:]) {
			c.err = l.bad(r.seq, changedEvent)
			return
		}
		if m := l.head.mark; r.seq == m.seq && !bytes.Equal(r.hash, m.hash) {
			c.err = l.bad(r.seq, changedEnd)
			return
		}
		c.prev = r.hash
		e, err := Decode(r.seq, fromNano(r.at), r.typ, r.version, r.data)
		switch {
		case err == nil:
		case !l.strict:
			e = run.Event{Seq: r.seq, At: fromNano(r.at)}
		case errors.Is(err, ErrCorrupt):
			c.err = &FileError{Kind: ErrCorrupt, Path: l.store.base.Name, Err: fmt.Errorf("run %s: %w", l.head.ID, err)}
			return
		default:
			c.err = err
			return
		}
		c.events = append(c.events, e)
	}
}
