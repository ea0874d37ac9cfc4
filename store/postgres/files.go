package postgres

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"time"
)

// PutTaskFile implements tasklog.SharedFiles.
func (s *Store) PutTaskFile(ctx context.Context, task, file string, content []byte) error {
	if err := s.checkWrite(ctx, anyRun); err != nil {
		return err
	}
	if content == nil {
		content = []byte{} // nil would be NULL
	}
	within := writeTimeout + time.Duration(len(content)/slowest)*time.Second
	return s.transactWithin(ctx, within, func(tx *tx) error {
		return tx.Exec(`INSERT INTO task_files (task, file, content) VALUES (?, ?, ?) ON CONFLICT (task, file) DO UPDATE SET content = excluded.content`, task, file, content)
	})
}

// TaskFile implements tasklog.SharedFiles.
func (s *Store) TaskFile(ctx context.Context, task, file string) (content []byte, err error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	err = s.db.QueryRowContext(ctx, `SELECT content FROM task_files WHERE task = $1 AND file = $2`, task, file).Scan(&content)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fs.ErrNotExist
	}
	return content, s.fault(err)
}

// RemoveTaskFile implements tasklog.SharedFiles.
func (s *Store) RemoveTaskFile(ctx context.Context, task, file string) error {
	if err := s.checkWrite(ctx, anyRun); err != nil {
		return err
	}
	return s.transact(ctx, func(tx *tx) error {
		return tx.Exec(`DELETE FROM task_files WHERE task = ? AND file = ?`, task, file)
	})
}
