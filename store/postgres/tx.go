package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"pawl/store"
)

// A tx is a transaction that writes. What needs no answer is sent with what does, or with the
// commit: an append is two exchanges with the server.
type tx struct {
	ctx   context.Context
	conn  *pgx.Conn
	batch *pgx.Batch
}

// ask adds a query to what is sent next; found is called with the row if there is one.
func (t *tx) ask(query string, args []any, found func(pgx.Row) error) {
	t.batch.Queue(rebind(query), inBytes(args)...).QueryRow(func(row pgx.Row) error {
		if err := found(row); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return nil
	})
}

// flush sends what was added, and reads the answers.
func (t *tx) flush() error {
	batch := t.batch
	t.batch = &pgx.Batch{}
	return t.conn.SendBatch(t.ctx, batch).Close()
}

// maxQueued is how many queries wait to be sent: the runs that are imported may have any number of events.
const maxQueued = 200

// Exec implements [store.Tx]: the query is sent with the next that needs an answer.
func (t *tx) Exec(query string, args ...any) error {
	t.batch.Queue(rebind(query), inBytes(args)...)
	if t.batch.Len() < maxQueued {
		return nil
	}
	return t.flush()
}

// Find implements [store.Tx].
func (t *tx) Find(query string, args []any, dest ...any) (found bool, err error) {
	t.ask(query, args, func(row pgx.Row) error {
		err := row.Scan(dest...)
		found = err == nil
		return err
	})
	return found, t.flush()
}

// Strings implements [store.Tx].
func (t *tx) Strings(query string, args ...any) (all []string, err error) {
	t.batch.Queue(rebind(query), inBytes(args)...).Query(func(rows pgx.Rows) error {
		all, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return all, t.flush()
}

// inBytes returns args with texts as bytes, which fit columns of both kinds.
func inBytes(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		if text, ok := a.(string); ok {
			a = []byte(text)
		}
		out[i] = a
	}
	return out
}

// A text scans a text that may be any bytes.
type text struct{ to *string }

func (t text) Scan(src any) error {
	switch src := src.(type) {
	case string:
		*t.to = src
	case []byte:
		*t.to = string(src)
	default:
		return fmt.Errorf("%T is not a text", src)
	}
	return nil
}

// writeTimeout bounds one try of a transaction: a server that does not answer, and whose connection
// does not end, is away.
const writeTimeout = 30 * time.Second

// transact runs do in a transaction, and commits it unless it returns an error. While the server is
// away it is tried again, as long as nothing can have been written: do may run more than once.
// Once it has begun, ctx does not end it.
func (s *Store) transact(ctx context.Context, do func(*tx) error) error {
	return s.transactWithin(ctx, writeTimeout, do)
}

// transactWithin is transact with another bound for one try.
func (s *Store) transactWithin(ctx context.Context, within time.Duration, do func(*tx) error) error {
	began := time.Now()
	for {
		committing, err := s.try(ctx, within, do)
		again := !committing && isAway(err) || isCode(err, "40001", "40P01") // rolled back by the server, to be done again
		if !again || time.Since(began) > s.opt.Patience {
			return s.fault(err)
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closed:
			return store.ErrClosed
		}
	}
}

// retryEvery is how often a server that is away is tried.
const retryEvery = 100 * time.Millisecond

// try is one try of transact. committing says that the transaction may have been committed
// although there is an error.
func (s *Store) try(ctx context.Context, within time.Duration, do func(*tx) error) (committing bool, err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return false, err
	}
	defer conn.Close()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	err = conn.Raw(func(c any) error {
		t := &tx{limited, c.(*stdlib.Conn).Conn(), &pgx.Batch{}}
		defer wait(t.conn, within)()
		t.batch.Queue(`begin`)
		err := do(t)
		if err == nil {
			committing = true
			t.batch.Queue(`commit`)
			err = t.flush()
		}
		if err != nil && !t.conn.IsClosed() {
			if _, rerr := t.conn.Exec(limited, `rollback`); rerr != nil {
				t.conn.Close(limited)
			}
		}
		if limited.Err() != nil {
			err = fmt.Errorf("no answer within %v: %w", within, os.ErrDeadlineExceeded)
		}
		if errors.As(err, new(*pgconn.PgError)) && !isAway(err) {
			committing = false // a statement was refused, and with it the transaction
		}
		return err
	})
	return committing, err
}

func isCode(err error, codes ...string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	for _, code := range codes {
		if ok && strings.HasPrefix(e.Code, code) {
			return true
		}
	}
	return false
}

// isAway reports whether an error says that the server cannot be reached, or ends. Codes:
// postgresql.org/docs/15/errcodes-appendix.html, read 2026-11-27.
func isAway(err error) bool {
	if errors.As(err, new(*pgconn.PgError)) {
		return isCode(err, "08", "57P01", "57P02", "57P03", "53300")
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if errors.As(err, new(*pgconn.ConnectError)) {
		return true // also when that took too long
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return false // a caller's
	}
	return errors.As(err, new(net.Error)) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, sql.ErrConnDone) || pgconn.SafeToRetry(err)
}

// fault makes an error of the database one that a person can act on.
func (s *Store) fault(err error) error {
	switch {
	case err == nil || errors.As(err, new(*store.FileError)):
		return err
	case isCode(err, "53100"):
		return &store.FileError{Kind: store.ErrDiskFull, Path: s.name, Err: err}
	case isCode(err, "28", "3D000", "42501"):
		return fmt.Errorf("%s: %w", s.name, err) // it says what to do
	case isAway(err):
		// Not the error itself: it may be that of a context which is not the caller's.
		return &store.FileError{Kind: store.ErrAway, Path: s.name, Err: errors.New(err.Error())}
	}
	return err
}
