package postgres

import (
	"context"
	"fmt"

	"pawl/run"
	"pawl/store"
)

// SetServed implements [store.Database].
func (s *Store) SetServed(ctx context.Context, id run.ID, host string) error {
	if err := s.checkWrite(ctx, id); err != nil {
		return err
	}
	if err := s.transact(ctx, func(tx *tx) error { return store.SetServed(tx, id, host) }); err != nil {
		return fmt.Errorf("note that run %s is served: %w", id, err)
	}
	return nil
}
