package store

import (
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
)

// schema makes the tables of a new database.
//
//go:embed schema.sql
var schema string

// formatVersion is the version of the database, kept in SQLite's user_version. Lower ones were
// written before the first release, which began with this one.
const formatVersion = 101

// ready reports whether the database is a WAL database of this version; not if it is new.
func (w *writer) ready() (bool, error) {
	have, err := w.version()
	if err != nil || have == 0 {
		return false, err
	}
	var mode string
	err = w.conn.QueryRowContext(background, `PRAGMA journal_mode`).Scan(&mode)
	return mode == "wal", err
}

// create makes the tables of a new database, in one transaction. The caller holds the lock;
// another process may have made them while this one waited for that.
func (w *writer) create() error {
	have, err := w.version()
	if err != nil || have == formatVersion {
		return err
	}
	// The id is not in a table: a damaged page must not keep the store from being opened.
	_, err = w.conn.ExecContext(background, "BEGIN IMMEDIATE;\n"+schema+
		fmt.Sprintf("\nPRAGMA application_id = %d; PRAGMA user_version = %d;\nCOMMIT;", 1+rand.Int32N(math.MaxInt32), formatVersion))
	if err != nil {
		w.conn.ExecContext(background, "ROLLBACK") // fails if SQLite has rolled back already
		return fmt.Errorf("creating its tables: %w", err)
	}
	// The tables and the id must not be lost with the -wal file.
	_, err = w.conn.ExecContext(background, "PRAGMA wal_checkpoint")
	return err
}

// version returns the database's version, 0 if it is new, or an error if it is another one.
func (w *writer) version() (v int, err error) {
	if err = w.conn.QueryRowContext(background, `PRAGMA user_version`).Scan(&v); err != nil || v == 0 {
		return v, err
	}
	return v, checkVersion(w.path, v)
}

func checkVersion(path string, version int) error {
	switch {
	case version > formatVersion:
		return &FileError{Kind: ErrNewer, Path: path, Err: fmt.Errorf("its format is version %d, and this pawl knows up to %d", version, formatVersion)}
	case version < formatVersion:
		return &FileError{Kind: ErrUnreleased, Path: path, Err: fmt.Errorf("its format is version %d, and releases began with %d", version, formatVersion)}
	}
	return nil
}
