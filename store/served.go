package store

import (
	"context"
	"fmt"

	"pawl/run"
)

// Served implements [Database].
func (s *Tables) Served(ctx context.Context) (map[run.ID]string, error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	rows, err := s.db().QueryContext(ctx, `SELECT run, host FROM served`)
	if err != nil {
		return nil, s.fault(err)
	}
	defer rows.Close()
	all := map[run.ID]string{}
	for rows.Next() {
		var id run.ID
		var host string
		if err := rows.Scan(&id, &host); err != nil {
			return nil, s.fault(err)
		}
		all[id] = host
	}
	return all, s.fault(rows.Err())
}

// SetServed implements [Database].
func (s *fileStore) SetServed(ctx context.Context, id run.ID, host string) error {
	if err := s.check(ctx, id); err != nil {
		return err
	}
	if err := s.write(ctx, func(w *writer) error { return SetServed(w, id, host) }); err != nil {
		return fmt.Errorf("note that run %s is served: %w", id, err)
	}
	return nil
}

// SetServed writes the row of [Database].SetServed.
func SetServed(tx Tx, id run.ID, host string) error {
	if err := tx.Exec(`DELETE FROM served WHERE run = ?`, string(id)); err != nil || host == "" {
		return err
	}
	return tx.Exec(`INSERT INTO served (run, host) VALUES (?, ?)`, string(id), host)
}
