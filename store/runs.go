package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

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
	if limit > 0 {
		heads, err := s.heads(ctx, `INDEXED BY runs_used WHERE parent = '' ORDER BY used DESC LIMIT ?`, limit)
		return summaries(heads), err
	}
	// For all of them the order of the table is read faster than that of the index.
	heads, err := s.heads(ctx, `WHERE parent = ''`)
	slices.SortFunc(heads, func(a, b head) int { return cmp.Compare(b.used, a.used) })
	return summaries(heads), err
}

// Children implements [Store].
func (s *SQLite) Children(ctx context.Context, id run.ID) ([]Summary, error) {
	if err := s.check(ctx, id); err != nil {
		return nil, err
	}
	heads, err := s.heads(ctx, `WHERE parent = ? AND parent != '' ORDER BY created, id`, string(id))
	return summaries(heads), err
}

// Conversation implements [Store].
func (s *SQLite) Conversation(ctx context.Context, root run.ID) ([]Summary, error) {
	if err := s.check(ctx, root); err != nil {
		return nil, err
	}
	heads, err := s.heads(ctx, `WHERE root = ? ORDER BY parent != '', created, id`, string(root))
	return summaries(heads), err
}

// heads returns what the clauses after FROM select.
func (s *SQLite) heads(ctx context.Context, clauses string, args ...any) ([]head, error) {
	rows, err := s.reader.QueryContext(ctx, `SELECT `+headColumns+` FROM runs `+clauses, args...)
	if err != nil {
		return nil, s.fault(err)
	}
	heads, err := scanHeads(rows)
	return heads, s.fault(err)
}

func summaries(heads []head) []Summary {
	var all []Summary
	for _, h := range heads {
		all = append(all, h.Summary)
	}
	return all
}
