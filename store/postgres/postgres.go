// Package postgres keeps runs and tasks in a PostgreSQL database, which many machines share.
//
// It is a [store.Database] with the rows of the one that [store.Open] opens, hash for hash, and its guarantees: when
// Append returns, its events are durable, as far as the server's setting synchronous_commit says.
// What is known by the lock of a file there is a lease here, by the clock of the database: the
// owner renews it, and when the owner dies it ends after [Options].Lease. The transaction that
// appends to a run checks that no other process has its lease, and that the caller's has not
// ended; so a process that was thought dead cannot write.
//
// A database, or the schema that search_path names in its address, holds the runs of one
// workspace, with their stored outputs. Edits are not here but in the workspace's state folder.
//
// A server that restarts is waited for, for [Options].Patience; what was going on then is either
// written once or not at all. Nothing is repeated that may have been written, but for events that
// can be told by their hash.
package postgres

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"pawl/run"
	"pawl/store"
)

// Options configure [Open].
type Options struct {
	Version  string // as in [store.Options]
	ReadOnly bool   // nothing is created or changed; [store.ErrNoRuns] if there are no tables

	// Lease is how long a run is owned by a process that is not heard of; 0: DefaultLease. It is
	// the same in all processes that share a database.
	Lease time.Duration
	// Patience is how long a write waits for a server that is away; 0: the half of Lease.
	Patience time.Duration
}

// DefaultLease is how long a run waits for an owner that was killed.
const DefaultLease = 10 * time.Second

// connectTimeout is how long one try to connect takes, unless the address says otherwise.
const connectTimeout = 5 * time.Second

// maxConns bounds the connections of a process, beside the one that listens.
const maxConns = 16

// A Store is the store in a database. It is safe for concurrent use.
type Store struct {
	store.Tables
	opt    Options
	config *pgx.ConnConfig
	name   string // the address without a password
	host   string // of this process
	db     *sql.DB

	closed chan struct{}
	close  func() error

	mu      sync.Mutex
	leases  map[run.ID]*lease
	keep    sync.Once      // begins to renew leases
	keeping sync.WaitGroup // what renews them
	ctx     context.Context
	cancel  func() // ends ctx, and what renews leases
}

var (
	_ store.Database = (*Store)(nil)
	_ store.Users    = (*Store)(nil)
)

// Open opens the store at an address: postgres://USER@HOST:PORT/DATABASE, with the parameters of
// libpq. What the address does not say is taken from its environment variables (PGPASSWORD,
// PGSSLMODE, …), from ~/.pgpass and ~/.pg_service.conf. Tables are created, or migrated if they are
// of an older pawl, but for opt.ReadOnly; for those of a newer one the error is [store.ErrNewer].
func Open(ctx context.Context, address string, opt Options) (*Store, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err) // it names the address without the password
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "pawl"
	}
	if opt.Lease == 0 {
		opt.Lease = DefaultLease
	}
	if opt.Patience == 0 {
		opt.Patience = opt.Lease / 2
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	host, _ := os.Hostname() // without a name the process is named alone
	s := &Store{
		opt: opt, config: config, host: host, closed: make(chan struct{}), leases: map[run.ID]*lease{},
		name: "postgres://" + net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database,
		db:   stdlib.OpenDB(*impatient(config, max(opt.Lease, connectTimeout))),
	}
	s.db.SetMaxOpenConns(maxConns)
	s.db.SetMaxIdleConns(maxConns)
	s.close = sync.OnceValue(s.shut)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.Tables = store.NewTables(store.Base{
		Name: s.name, DB: func() store.Querier { return querier{s.db} },
		Check: s.check, Fault: s.fault, Owner: s.Owner, Remove: s.Remove,
	})
	if err := s.prepare(ctx); err != nil {
		s.db.Close()
		return nil, fmt.Errorf("open store: %w", s.fault(err))
	}
	return s, nil
}

// Close implements [store.Store]. The connections are closed when the last lease is released.
func (s *Store) Close() error { return s.close() }

func (s *Store) shut() error {
	s.mu.Lock()
	close(s.closed)
	last := len(s.leases) == 0
	s.mu.Unlock()
	if last {
		return s.end()
	}
	return nil
}

// end ends what a closed store without leases still does.
func (s *Store) end() error {
	s.cancel()
	s.keeping.Wait()
	return s.db.Close()
}

func (s *Store) check(ctx context.Context, id run.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.isClosed() {
		return store.ErrClosed
	}
	return store.CheckID(id)
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// checkWrite is check, for methods that write.
func (s *Store) checkWrite(ctx context.Context, id run.ID) error {
	if s.opt.ReadOnly {
		return store.ErrForReading
	}
	if s.isLost(id) {
		return lost(true) // the server, if it is away, is not waited for
	}
	return s.check(ctx, id)
}

// anyRun is a valid id, for check in methods without one.
const anyRun run.ID = "any"

// Runs implements [store.Store].
func (s *Store) Runs(ctx context.Context, limit int) ([]store.Summary, error) {
	return s.Recent(ctx, limit)
}

// A querier is a database for reading, with placeholders as in SQLite.
type querier struct{ *sql.DB }

func (q querier) Query(query string, args ...any) (*sql.Rows, error) {
	return q.DB.Query(rebind(query), args...)
}

func (q querier) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return q.DB.QueryContext(ctx, rebind(query), args...)
}

func (q querier) QueryRow(query string, args ...any) *sql.Row {
	return q.DB.QueryRow(rebind(query), args...)
}

func (q querier) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return q.DB.QueryRowContext(ctx, rebind(query), args...)
}

var rebound sync.Map // of query to query

// rebind numbers the placeholders of a query: $1 for the first ?.
func rebind(query string) string {
	if have, ok := rebound.Load(query); ok {
		return have.(string)
	}
	parts := strings.Split(query, "?")
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	rebound.Store(query, b.String())
	return b.String()
}

//go:embed schema.sql
var schema string

//go:embed outputs.sql
var outputs string

//go:embed files.sql
var files string

//go:embed users.sql
var users string

//go:embed rules.sql
var rules string

//go:embed served.sql
var served string

// migrations make a database of version n, counted from 0, one of the next.
var migrations = []string{schema, outputs, files, users, rules, served}

// prepare creates or migrates the tables.
func (s *Store) prepare(ctx context.Context) error {
	have, err := s.version(ctx)
	switch {
	case err != nil || have == len(migrations):
		return err
	case have > len(migrations):
		return &store.FileError{Kind: store.ErrNewer, Path: s.name, Err: fmt.Errorf("its tables are of version %d, and this pawl knows up to %d", have, len(migrations))}
	case s.opt.ReadOnly && have == 0:
		return store.ErrNoRuns
	case s.opt.ReadOnly:
		return fmt.Errorf("its tables are of version %d: they are migrated when a run is started with this pawl", have)
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(c any) error {
		db := c.(*stdlib.Conn).Conn()
		defer wait(db, migrationTime)()
		// Of many processes one migrates. The lock is this one's until its connection ends, or the last line.
		if _, err := db.Exec(ctx, `SELECT pg_advisory_lock($1)`, migrationLock); err != nil {
			return err
		}
		defer db.Exec(ctx, `SELECT pg_advisory_unlock($1)`, migrationLock)
		have, err := s.version(ctx)
		if err != nil || have >= len(migrations) {
			return err
		}
		statements := `CREATE TABLE IF NOT EXISTS pawl_version (version BIGINT NOT NULL); DELETE FROM pawl_version;`
		for _, m := range migrations[have:] {
			statements += m
		}
		// Statements that are sent together are one transaction.
		_, err = db.PgConn().Exec(ctx, statements+fmt.Sprintf(`; INSERT INTO pawl_version VALUES (%d)`, len(migrations))).ReadAll()
		return err
	})
}

// migrationTime bounds a migration, and how long others wait for it.
const migrationTime = time.Hour

// migrationLock is the key of the advisory lock that is held while tables are created: "pawl".
const migrationLock = 0x7061776c

// version returns the version of the tables; 0: there are none.
func (s *Store) version(ctx context.Context) (v int, err error) {
	var there bool
	if err := s.db.QueryRowContext(ctx, `SELECT to_regclass('pawl_version') IS NOT NULL`).Scan(&there); err != nil || !there {
		return 0, err
	}
	return v, s.db.QueryRowContext(ctx, `SELECT version FROM pawl_version`).Scan(&v)
}
