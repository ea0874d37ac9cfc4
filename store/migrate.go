package store

import (
	"embed"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
)

// Migrations go forward only. File n brings a database of version n-1 to version n;
// a released one is never changed.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations are the scripts in order; the version of a database, kept in SQLite's
// user_version, is how many of them it has had.
var migrations = func() []string {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		panic(err) // unreachable: the pattern is a constant
	}
	var scripts []string
	for _, name := range names { // sorted, so named 0001, 0002, …
		script, err := migrationFiles.ReadFile(name)
		if err != nil {
			panic(err) // unreachable: it is embedded
		}
		scripts = append(scripts, string(script))
	}
	return scripts
}()

// ready reports whether the database is a WAL database of this pawl's version.
func (w *writer) ready() (bool, error) {
	have, err := w.version()
	if err != nil || have < len(migrations) {
		return false, err
	}
	var mode string
	err = w.conn.QueryRowContext(background, `PRAGMA journal_mode`).Scan(&mode)
	return mode == "wal", err
}

// migrate brings the database to this pawl's version. The caller holds the lock;
// another process may have migrated it while this one waited for that.
func (w *writer) migrate() error {
	have, err := w.version()
	if err != nil {
		return err
	}
	for n := have; n < len(migrations); n++ {
		if err := w.step(n); err != nil {
			w.conn.ExecContext(background, "ROLLBACK") // fails if SQLite has rolled back already
			return fmt.Errorf("migration %d: %w", n+1, err)
		}
	}
	// The new form, and the id of a new database, must not be lost with the -wal file.
	_, err = w.conn.ExecContext(background, "PRAGMA wal_checkpoint")
	return err
}

// step brings the database from version n to n+1 in one transaction.
func (w *writer) step(n int) error {
	if _, err := w.conn.ExecContext(background, "BEGIN IMMEDIATE;\n"+migrations[n]); err != nil {
		return err
	}
	if n+1 == sealedVersion || n+1 == turnsVersion {
		if err := w.sealHeads(n + 1); err != nil {
			return err
		}
	}
	if n+1 == sealedVersion {
		// Not in a table: a damaged page must not keep the store from being opened.
		if _, err := w.conn.ExecContext(background, fmt.Sprintf("PRAGMA application_id = %d", 1+rand.Int32N(math.MaxInt32))); err != nil {
			return err
		}
	}
	_, err := w.conn.ExecContext(background, fmt.Sprintf("PRAGMA user_version = %d;\nCOMMIT;", n+1))
	return err
}

// sealedVersion is the first whose runs have a seal, and whose databases have an id:
// SQLite's application_id, which is in the header of the file.
const sealedVersion = 2

// turnsVersion is the first whose runs have their number of turns and the run that they
// were forked from.
const turnsVersion = 3

// namesVersion is the first whose runs have a name.
const namesVersion = 4

// version returns the database's version, or ErrNewer.
func (w *writer) version() (v int, err error) {
	err = w.conn.QueryRowContext(background, `PRAGMA user_version`).Scan(&v)
	if err == nil && v > len(migrations) {
		err = newerError(w.path, v)
	}
	return v, err
}

func newerError(path string, version int) error {
	return &FileError{Kind: ErrNewer, Path: path, Err: fmt.Errorf("its format is version %d, and this pawl knows up to %d", version, len(migrations))}
}
