package postgres

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"

	"pawl/run"
)

// RunRules implements policy.Shared.
func (s *Store) RunRules(ctx context.Context, id run.ID) (content []byte, err error) {
	if err := s.check(ctx, id); err != nil {
		return nil, err
	}
	err = s.db.QueryRowContext(ctx, `SELECT content FROM run_rules WHERE run = $1`, string(id)).Scan(&content)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fs.ErrNotExist
	}
	return content, s.fault(err)
}

// PutRunRules implements policy.Shared.
func (s *Store) PutRunRules(ctx context.Context, id run.ID, content []byte) error {
	if err := s.checkWrite(ctx, id); err != nil {
		return err
	}
	return s.transact(ctx, func(tx *tx) error {
		return tx.Exec(`INSERT INTO run_rules (run, content) VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET content = excluded.content`, string(id), content)
	})
}
