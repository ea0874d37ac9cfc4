package postgres

import (
	"context"
	"time"

	"pawl/store"
)

// Users implements [store.Users].
func (s *Store) Users(ctx context.Context) (all []store.User, err error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	rows, err := s.db.QueryContext(ctx, `SELECT name, role, token, since FROM users ORDER BY name`)
	if err != nil {
		return nil, s.fault(err)
	}
	defer rows.Close()
	for rows.Next() {
		var u store.User
		var since int64
		if err := rows.Scan(&u.Name, &u.Role, &u.Token, &since); err != nil {
			return nil, s.fault(err)
		}
		u.Since = time.Unix(0, since)
		all = append(all, u)
	}
	return all, s.fault(rows.Err())
}

// PutUser implements [store.Users].
func (s *Store) PutUser(ctx context.Context, u store.User) error {
	if err := s.checkWrite(ctx, anyRun); err != nil {
		return err
	}
	return s.transact(ctx, func(tx *tx) error {
		return tx.Exec(`INSERT INTO users (name, role, token, since) VALUES (?, ?, ?, ?) `+
			`ON CONFLICT (name) DO UPDATE SET role = excluded.role, token = excluded.token, since = excluded.since`, u.Name, u.Role, u.Token, u.Since.UnixNano())
	})
}

// RemoveUser implements [store.Users].
func (s *Store) RemoveUser(ctx context.Context, name string) (was bool, err error) {
	if err := s.checkWrite(ctx, anyRun); err != nil {
		return false, err
	}
	err = s.transact(ctx, func(tx *tx) (err error) {
		was, err = tx.Find(`DELETE FROM users WHERE name = ? RETURNING 1`, []any{name}, new(int))
		return err
	})
	return was, err
}
