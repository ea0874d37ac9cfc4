package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"pawl/internal/stable"
	"pawl/run"
)

// Run implements [Store].
func (s *Tables) Run(ctx context.Context, id run.ID) (Summary, error) {
	h, err := s.lookup(ctx, id)
	return h.Summary, err
}

func (s *Tables) lookup(ctx context.Context, id run.ID) (head, error) {
	if err := s.check(ctx, id); err != nil {
		return head{}, err
	}
	return s.head(id)
}

// head reads the head of a run and compares it with its mark. With an error the head
// has the mark only.
func (s *fileStore) head(id run.ID) (head, error) {
	m, marked := markAt(lockPath(s.dir, id), s.id)
	h, err := s.row(id)
	switch {
	case err == sql.ErrNoRows && !marked:
		return head{}, notFound(id)
	case err == sql.ErrNoRows:
		h = head{Summary: Summary{ID: id, Root: id}, hash: noHash, used: m.used}
	case err != nil:
		return head{mark: m}, s.fault(err)
	}
	h.compare(m, marked)
	return h, nil
}

// anyRun is a valid id, for check in methods without one.
const anyRun run.ID = "any"

// Runs implements [Store].
func (s *fileStore) Runs(ctx context.Context, limit int) ([]Summary, error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	var lost []*head
	var lostErr error
	var wait sync.WaitGroup
	wait.Go(func() { lost, lostErr = s.lost(ctx) })
	// Without a limit a scan of the table is faster than the index.
	clauses := `WHERE parent = ''`
	if limit > 0 {
		clauses = `INDEXED BY runs_used ` + clauses + fmt.Sprintf(` ORDER BY used DESC LIMIT %d`, limit)
	}
	heads, err := s.heads(ctx, clauses)
	wait.Wait()
	if err := cmp.Or(err, lostErr); err != nil {
		return nil, err
	}
	heads = append(heads, lost...)
	stable.Sort(heads, func(a, b *head) int { return cmp.Compare(b.used, a.used) })
	if limit > 0 {
		heads = heads[:min(limit, len(heads))]
	}
	return summaries(heads), nil
}

// Children implements [Store].
func (s *Tables) Children(ctx context.Context, id run.ID) ([]Summary, error) {
	if err := s.check(ctx, id); err != nil {
		return nil, err
	}
	heads, err := s.heads(ctx, `WHERE parent = ? AND parent != '' ORDER BY created, id`, string(id))
	return summaries(heads), err
}

// Conversation implements [Store].
func (s *Tables) Conversation(ctx context.Context, root run.ID) ([]Summary, error) {
	if err := s.check(ctx, root); err != nil {
		return nil, err
	}
	heads, err := s.heads(ctx, `WHERE root = ? ORDER BY parent != '', created, id`, string(root))
	return summaries(heads), err
}

// Said implements [Store].
func (s *Tables) Said(ctx context.Context, id run.ID) (said []string, err error) {
	if _, err := s.lookup(ctx, id); err != nil {
		return nil, err
	}
	rows, err := s.db().QueryContext(ctx, `SELECT seq, type, version, data FROM events WHERE run = ? AND type IN ('prompted', 'said') ORDER BY seq`, string(id))
	if err != nil {
		return nil, s.fault(err)
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var typ string
		var version int
		var data []byte
		if err := rows.Scan(&seq, &typ, &version, &data); err != nil {
			return said, s.fault(err)
		}
		if e, err := Decode(seq, time.Time{}, typ, version, data); err == nil { // else it cannot be searched
			said = append(said, SaidIn(e)...)
		}
	}
	return said, s.fault(rows.Err())
}

// SaidIn returns what a person says to the agent with an event.
func SaidIn(e run.Event) []string {
	var parts []run.Part
	switch p := e.Payload.(type) {
	case run.Prompted:
		parts = p.Parts
	case run.Said:
		parts = p.Parts
	}
	if text := run.ShownText(parts); text != "" {
		return []string{text}
	}
	return nil
}

// heads returns what the clauses after FROM select.
func (s *Tables) heads(ctx context.Context, clauses string, args ...any) ([]*head, error) {
	rows, err := s.db().QueryContext(ctx, `SELECT `+headColumns+` FROM runs `+clauses, args...)
	if err != nil {
		return nil, s.fault(err)
	}
	heads, err := scanHeads(s.base.key, rows)
	return heads, s.fault(err)
}

// ids returns the ids that the query selects; with an error those before it.
func (s *Tables) ids(ctx context.Context, query string, args ...any) (ids []run.ID, err error) {
	ids, err = collect(ctx, s.db(), query, args, scanValue[run.ID])
	return ids, s.fault(err)
}

func summaries(heads []*head) []Summary {
	all := make([]Summary, len(heads))
	for i, h := range heads {
		all[i] = h.Summary
	}
	return all
}
