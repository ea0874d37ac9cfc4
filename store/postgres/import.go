package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pawl/run"
	"pawl/store"
)

// Import implements [store.Database]. Whoever has lost the lease of one of the runs gets ErrConflict.
func (s *Store) Import(ctx context.Context, runs []store.Moved, t *store.TaskAppend) error {
	if err := s.checkWrite(ctx, anyRun); err != nil {
		return err
	}
	events := int64(0)
	for _, m := range runs {
		events += m.Seq
	}
	const slowest = 500 // events a second
	err := s.transactWithin(ctx, writeTimeout+time.Duration(events/slowest)*time.Second, func(tx *tx) error {
		for _, m := range runs {
			if err := s.importRun(tx, m); err != nil {
				return err
			}
		}
		if t != nil {
			if err := appendTask(tx, *t); err != nil {
				return err
			}
		}
		// At the end: while a lease is looked at, it is not renewed.
		for _, m := range runs {
			if err := s.checkLease(tx, m.Run); err != nil {
				return err
			}
		}
		return nil
	})
	return conflict(err)
}

func (s *Store) importRun(tx *tx, m store.Moved) error {
	h := store.NewHead(m.Run)
	var used int64
	there := false
	tx.ask(`SELECT 1 FROM runs WHERE id = ?`, []any{string(m.Run)}, func(row pgx.Row) error {
		err := row.Scan(new(int))
		there = err == nil
		return err
	})
	tx.ask(`SELECT nextval('appends')`, nil, func(row pgx.Row) error { return row.Scan(&used) })
	if err := tx.flush(); err != nil {
		return err
	}
	if there {
		return fmt.Errorf("%w: run %s is there", store.ErrConflict, m.Run)
	}
	if err := h.ImportRun(tx, m); err != nil {
		return err
	}
	for _, from := range []run.ID{h.Forked, h.Parent} { // they are not removed meanwhile
		tx.Exec(`SELECT 1 FROM runs WHERE id = ? FOR KEY SHARE`, string(from))
	}
	return tx.Exec(setHead, h.Seal(s.opt.Version, used)...)
}
