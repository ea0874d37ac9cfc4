package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"pawl/run"
)

// ErrNoKey means that a row has no idempotency key: it could not be repeated safely.
var ErrNoKey = errors.New("an inbox row needs a key")

// Put implements [Store].
func (s *fileStore) Put(ctx context.Context, id run.ID, row Row) error {
	if err := s.check(ctx, id); err != nil {
		return err
	}
	if row.Key == "" {
		return fmt.Errorf("put to %s: %w", id, ErrNoKey)
	}
	if row.At.IsZero() {
		row.At = time.Now()
	}
	err := s.write(ctx, func(w *writer) error {
		ok, err := w.exists(id)
		if err != nil {
			return err
		}
		if !ok {
			return rejection{ErrNotFound}
		}
		_, err = w.exec(`INSERT OR IGNORE INTO inbox (run, key, kind, payload, at) VALUES (?, ?, ?, ?, ?)`,
			string(id), row.Key, row.Kind, row.Payload, toNano(row.At))
		return err
	})
	if err != nil {
		return fmt.Errorf("put to %s: %w", id, err)
	}
	return nil
}

// Inbox implements [Store].
func (s *Tables) Inbox(ctx context.Context, id run.ID) ([]Row, error) {
	if err := s.check(ctx, id); err != nil {
		return nil, err
	}
	rows, err := s.db().Query(`SELECT id, key, kind, payload, at FROM inbox `+
		`WHERE run = ? AND taken IS NULL ORDER BY id`, string(id))
	if err != nil {
		return nil, s.fault(err)
	}
	defer rows.Close()
	var waiting []Row
	for rows.Next() {
		var r Row
		var at int64
		if err := rows.Scan(&r.ID, &r.Key, &r.Kind, &r.Payload, &at); err != nil {
			return nil, s.fault(err)
		}
		r.At = fromNano(at)
		waiting = append(waiting, r)
	}
	return waiting, s.fault(rows.Err())
}

// Inboxes implements [Store].
func (s *Tables) Inboxes(ctx context.Context) ([]run.ID, error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	return s.ids(background, `SELECT DISTINCT run FROM inbox WHERE taken IS NULL ORDER BY run`)
}

// Answer implements [Store].
func (s *Tables) Answer(ctx context.Context, id run.ID, key string) (answer string, taken bool, err error) {
	if err := s.check(ctx, id); err != nil {
		return "", false, err
	}
	err = s.db().QueryRow(`SELECT answer, taken IS NOT NULL FROM inbox WHERE run = ? AND key = ?`, string(id), key).Scan(&answer, &taken)
	if err == sql.ErrNoRows {
		return "", false, fmt.Errorf("run %s: %w: %q", id, ErrNoRow, key)
	}
	return answer, taken, s.fault(err)
}
