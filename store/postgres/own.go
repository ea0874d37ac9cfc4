package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"pawl/run"
	"pawl/store"
	"pawl/store/socket"
)

// A lease is a row of leases, for as long as it is renewed.
type lease struct {
	store  *Store
	run    run.ID
	token  string
	socket string
	until  *time.Timer   // closes lost
	lost   chan struct{} // closed when it was not renewed in time, by the clock of this machine
	end    func()        // closes lost, once
}

// granted notes that a lease was granted or renewed at a moment of this machine before the database did so.
func (l *lease) granted(at time.Time) {
	left := l.store.opt.Lease - time.Since(at)
	if l.until == nil {
		l.until = time.AfterFunc(left, l.end)
	} else {
		l.until.Reset(left)
	}
}

// Lost implements [store.Lease].
func (l *lease) Lost() <-chan struct{} { return l.lost }

// Own implements [store.Store]. The lease is also lost when it could not be renewed in time,
// because this process was stopped or the server was away: then Append returns ErrConflict.
func (s *Store) Own(ctx context.Context, id run.ID, socket string) (store.Lease, error) {
	if err := s.checkWrite(ctx, id); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	l := &lease{store: s, run: id, token: rand.Text(), socket: socket, lost: ended, end: sync.OnceFunc(func() { close(ended) })}
	for {
		var got bool
		began := time.Now()
		err := s.transact(ctx, func(tx *tx) (err error) {
			got, err = tx.Find(`INSERT INTO leases (run, token, host, pid, socket, until) VALUES (?, ?, ?, ?, ?, clock_timestamp() + ?::bigint * interval '1 microsecond') `+
				`ON CONFLICT (run) DO UPDATE SET token = excluded.token, host = excluded.host, pid = excluded.pid, socket = excluded.socket, waits = '', until = excluded.until `+
				`WHERE leases.until <= clock_timestamp() RETURNING 1`,
				[]any{string(id), l.token, s.host, os.Getpid(), socket, s.opt.Lease.Microseconds()}, new(int))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("own %s: %w", id, err)
		}
		if got {
			s.mu.Lock()
			s.leases[id] = l
			l.granted(began)
			s.mu.Unlock()
			s.keep.Do(func() {
				s.keeping.Go(func() { s.renew(s.ctx) })
				s.keeping.Go(func() { s.listen(s.ctx) })
			})
			return l, nil
		}
		switch owner, left, err := s.owner(ctx, id); {
		case err != nil:
			return nil, fmt.Errorf("own %s: %w", id, err)
		case left > 0:
			return nil, fmt.Errorf("own %s: %w", id, &store.OwnedError{Run: id, PID: owner.PID, Host: owner.Host, Socket: owner.Socket, Left: left})
		}
		// It was released in between.
	}
}

// Owner implements [store.Store].
func (s *Store) Owner(ctx context.Context, id run.ID) (store.Owner, bool, error) {
	o, left, err := s.owner(ctx, id)
	return o, left > 0, err
}

// owner returns the owner of a run's lease, and the time until the lease expires unless it is renewed; 0 if there is no owner.
// It cannot tell whether the owner is still alive, even on a host of the same name: containers can share a host name and
// have separate processes.
func (s *Store) owner(ctx context.Context, id run.ID) (o store.Owner, left time.Duration, err error) {
	if err := s.check(ctx, id); err != nil {
		return o, 0, err
	}
	var micros int64
	err = s.db.QueryRowContext(ctx, `SELECT host, pid, socket, waits, ceil(extract(epoch FROM until - clock_timestamp()) * 1e6)::bigint FROM leases WHERE run = $1 AND until > clock_timestamp()`, string(id)).
		Scan(&o.Host, &o.PID, &o.Socket, &o.Waits, &micros)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Owner{}, 0, nil
	}
	if err != nil {
		return store.Owner{}, 0, s.fault(err)
	}
	return o, max(1, time.Duration(micros)*time.Microsecond), nil
}

// Owned implements [store.Database].
func (s *Store) Owned(ctx context.Context) (owned []run.ID, err error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	rows, err := s.db.QueryContext(ctx, `SELECT run FROM leases WHERE until > clock_timestamp() ORDER BY run`)
	if err != nil {
		return nil, s.fault(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id run.ID
		if err := rows.Scan(&id); err != nil {
			return owned, s.fault(err)
		}
		owned = append(owned, id)
	}
	return owned, s.fault(rows.Err())
}

// isLost reports whether this store had the lease of a run and may have it no more.
func (s *Store) isLost(id run.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[id]
	if l == nil {
		return false
	}
	select {
	case <-l.lost:
		return true
	default:
		return false
	}
}

// token returns that of the lease that this store has on a run; "" if it has none.
func (s *Store) token(id run.ID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.leases[id]; l != nil {
		return l.token
	}
	return ""
}

// lost is the error of an append by a process that may not: it had the lease, or another has it.
func lost(had bool) error {
	if had {
		return fmt.Errorf("%w, or may have: the lease was not renewed in time", store.ErrConflict)
	}
	return fmt.Errorf("%w: it has the lease", store.ErrConflict)
}

// Wait implements [store.Lease].
func (l *lease) Wait(why string) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	_, err := l.store.db.ExecContext(ctx, `UPDATE leases SET waits = $3 WHERE run = $1 AND token = $2`, string(l.run), l.token, why)
	if err != nil {
		return fmt.Errorf("wait: %w", l.store.fault(err))
	}
	return nil
}

// Held implements [store.Lease].
func (l *lease) Held(ctx context.Context) (held bool, err error) {
	err = l.store.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM leases WHERE run = $1 AND token = $2 AND until > clock_timestamp())`, string(l.run), l.token).Scan(&held)
	return held, l.store.fault(err)
}

// Release implements [store.Lease].
func (l *lease) Release() error {
	s := l.store
	s.mu.Lock()
	released := s.leases[l.run] != l
	s.mu.Unlock()
	if released {
		return nil
	}
	var err error
	if !s.isLost(l.run) { // else it has ended, and the server may be away
		ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
		defer cancel()
		_, err = s.db.ExecContext(ctx, `DELETE FROM leases WHERE run = $1 AND token = $2`, string(l.run), l.token)
		err = s.fault(err) // it ends by itself
	}
	s.mu.Lock()
	last := false
	if s.leases[l.run] == l {
		l.until.Stop()
		delete(s.leases, l.run)
		last = len(s.leases) == 0 && s.isClosed()
	}
	s.mu.Unlock()
	if last {
		err = errors.Join(err, s.end())
	}
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

// renew renews all leases, until ctx ends.
func (s *Store) renew(ctx context.Context) {
	every := s.opt.Lease / 3
	for wait := every; ; {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = every
		if err := s.renewOnce(ctx); err != nil {
			wait = min(every, retryEvery)
		}
	}
}

// renewOnce renews the leases that have not ended. One that has ended cannot be taken back: another
// process may have seen that.
func (s *Store) renewOnce(ctx context.Context) error {
	asked := map[string]*lease{}
	s.mu.Lock()
	for _, l := range s.leases {
		asked[l.token] = l
	}
	s.mu.Unlock()
	if len(asked) == 0 {
		return nil
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, s.opt.Lease)
	defer cancel()
	rows, err := s.db.QueryContext(limited, `UPDATE leases SET until = clock_timestamp() + $1::bigint * interval '1 microsecond' `+
		`WHERE token = ANY($2) AND until > clock_timestamp() RETURNING token`, s.opt.Lease.Microseconds(), slices.Collect(maps.Keys(asked)))
	if err != nil {
		return err
	}
	defer rows.Close()
	var renewed []*lease
	for rows.Next() {
		var token string
		if err := rows.Scan(&token); err != nil {
			return err
		}
		renewed = append(renewed, asked[token])
		delete(asked, token)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range renewed {
		if s.leases[l.run] == l {
			l.granted(began)
		}
	}
	for _, l := range asked {
		l.end()
	}
	return nil
}

// channel is what rows of an inbox are announced on, with the id of the run.
const channel = "pawl"

// notify wakes the process that owns a run, wherever it is, when the transaction is committed. Appends
// to runs do not: the server commits one transaction at a time that notifies.
func notify(tx *tx, id run.ID) error {
	return tx.Exec(`SELECT pg_notify(?, ?)`, channel, string(id))
}

// listen wakes the owners in this process through their sockets, as a process of this machine would,
// until ctx ends. Nothing depends on it: owners also poll.
func (s *Store) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if conn, err := pgx.ConnectConfig(ctx, s.config); err == nil {
			s.hear(ctx, conn)
			conn.Close(context.Background())
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}

func (s *Store) hear(ctx context.Context, conn *pgx.Conn) {
	if _, err := conn.Exec(ctx, `LISTEN `+channel); err != nil {
		return
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		s.mu.Lock()
		l := s.leases[run.ID(n.Payload)]
		s.mu.Unlock()
		if l == nil || l.socket == "" {
			continue
		}
		if v, err := socket.Dial(ctx, l.socket); err == nil {
			_ = v.Wake()
			_ = v.Close()
		}
	}
}
