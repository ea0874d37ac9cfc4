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
	h, err := s.head(id)
	return h.Summary, err
}

func (s *SQLite) head(id run.ID) (head, error) {
	h, err := scanHead(s.reader.QueryRow(`SELECT `+headColumns+` FROM runs WHERE id = ?`, string(id)).Scan)
	if err == sql.ErrNoRows {
		return head{}, notFound(id)
	}
	return h, s.fault(err)
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

// summaries returns the summaries that the clauses after FROM select.
func (s *SQLite) summaries(ctx context.Context, clauses string, args ...any) ([]Summary, error) {
	rows, err := s.reader.QueryContext(ctx, `SELECT `+headColumns+` FROM runs `+clauses, args...)
	if err != nil {
		return nil, s.fault(err)
	}
	heads, err := scanHeads(rows)
	var all []Summary
	for _, h := range heads {
		all = append(all, h.Summary)
	}
	return all, s.fault(err)
}
