package store

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
)

// ErrNoRuns is returned by Open with ReadOnly if there is no database.
var ErrNoRuns = errors.New("there are no runs in this folder yet")

var errForReading = errors.New("the store was opened for reading only")

// openForReading opens a database that exists, and neither creates, locks nor
// migrates anything. It works on a read-only and on a full file system.
//
// Usually SQLite shares the -shm file, its index of the -wal file, with the processes
// that write; it can create that file, or use one that it cannot write. If it can do
// neither, no process of this machine has the database open. The index is then made in
// memory, for which SQLite must be in exclusive mode and takes no locks. Without a -wal
// file there is no index, and the database is opened as immutable.
func (s *SQLite) openForReading() error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return ErrNoRuns
	} else if err != nil {
		return err
	}
	if err := s.checkFileSystem(); err != nil {
		return err
	}
	version, err := s.tryReading(url.Values{"mode": {"ro"}})
	if kind := faultKind(s.path, err); kind == ErrReadOnly || kind == ErrDiskFull {
		alone := url.Values{"mode": {"ro"}, "vfs": {"unix-none"}, "_pragma": {"locking_mode(EXCLUSIVE)"}}
		if wal, err := os.Stat(s.path + "-wal"); err != nil || wal.Size() == 0 {
			alone = url.Values{"immutable": {"1"}}
		}
		version, err = s.tryReading(alone)
	}
	switch {
	case err != nil:
		return err
	case version == 0:
		err = ErrNoRuns // it is being created
	case version > len(migrations):
		err = newerError(s.path, version)
	case version < sealedVersion:
		err = s.asNew()
	}
	if err != nil {
		err = errors.Join(err, s.reader.Close())
	}
	return err
}

// tryReading opens the database with the parameters and reads its version and id.
func (s *SQLite) tryReading(params url.Values) (version int, err error) {
	// Not cache_size, which reads the database before locking_mode is set.
	params["_pragma"] = append(params["_pragma"], "busy_timeout(10000)", "mmap_size(0)", "temp_store(MEMORY)")
	if s.reader, err = openDB(s.path, params); err != nil {
		return 0, err
	}
	err = s.reader.QueryRow(`SELECT user_version, application_id FROM pragma_user_version, pragma_application_id`).Scan(&version, &s.id)
	if err != nil {
		return 0, errors.Join(err, s.reader.Close())
	}
	return version, nil
}

// asNew adds views that give a database of the first version the columns of this one.
// Views are of one connection, so there is only one.
func (s *SQLite) asNew() error {
	s.old = true
	s.reader.SetMaxOpenConns(1)
	_, err := s.reader.Exec(`
		CREATE TEMP VIEW runs AS SELECT *, CASE parent WHEN '' THEN id ELSE parent END AS root, updated AS used, x'' AS seal FROM main.runs;
		CREATE TEMP VIEW inbox AS SELECT *, '' AS answer FROM main.inbox`)
	return err
}
