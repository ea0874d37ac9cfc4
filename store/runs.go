package store

import (
	"context"
	"database/sql"

	"pawl/run"
)

// Run implements [Store].
func (s *SQLite) Run(ctx context.Context, id run.ID) (Summary, error) {
	if err := s.check(ctx, id); err != nil {
		return Summary{}, err
	}
	var sum Summary
	dest, finish := summaryFields(&sum)
	err := s.reader.QueryRow(`SELECT `+summaryColumns+` FROM runs WHERE id = ?`, string(id)).Scan(dest...)
	if err == sql.ErrNoRows {
		return Summary{}, notFound(id)
	} else if err != nil {
		return Summary{}, s.fault(err)
	}
	finish()
	return sum, nil
}

// anyRun is an id that passes where a method has none of its own.
const anyRun run.ID = "any"

// Runs implements [Store].
func (s *SQLite) Runs(ctx context.Context, limit int) ([]Summary, error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = -1 // SQLite: no limit
	}
	return s.summaries(ctx, `WHERE parent = '' ORDER BY created DESC, id DESC LIMIT ?`, limit)
}

// Children implements [Store].
func (s *SQLite) Children(ctx context.Context, id run.ID) ([]Summary, error) {
	if err := s.check(ctx, id); err != nil {
		return nil, err
	}
	return s.summaries(ctx, `WHERE parent = ? ORDER BY created, id`, string(id))
}

// Conversation implements [Store].
func (s *SQLite) Conversation(ctx context.Context, root run.ID) ([]Summary, error) {
	if err := s.check(ctx, root); err != nil {
		return nil, err
	}
	return s.summaries(ctx, `WHERE root = ? ORDER BY parent != '', created, id`, string(root))
}

// summaries returns the summaries that the clauses behind FROM select.
func (s *SQLite) summaries(ctx context.Context, clauses string, args ...any) ([]Summary, error) {
	rows, err := s.reader.Query(`SELECT `+summaryColumns+` FROM runs `+clauses, args...)
	if err != nil {
		return nil, s.fault(err)
	}
	defer rows.Close()
	var all []Summary
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var sum Summary
		dest, finish := summaryFields(&sum)
		if err := rows.Scan(dest...); err != nil {
			return nil, s.fault(err)
		}
		finish()
		all = append(all, sum)
	}
	return all, s.fault(rows.Err())
}
