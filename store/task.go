package store

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"pawl/run"
)

// Tasks is the part of a [Store] that keeps tasks. It does not interpret their events:
// that is package task.
type Tasks interface {
	// AppendTask adds events to the log of a task after event number t.After (0: the task
	// is new). When it returns nil, that is durable. ErrTaskConflict means that another
	// writer was first: nothing was written, and the caller must load the task again.
	AppendTask(ctx context.Context, t TaskAppend) error
	// AppendWithTask is Append and AppendTask in one transaction: both are written, or
	// neither. After ErrConflict, ErrTaken, ErrTaskConflict and ErrSubmitted nothing was.
	AppendWithTask(ctx context.Context, id run.ID, after int64, events []run.Event, t TaskAppend, taken ...Taken) error

	// TaskEvents yields a task's events with numbers greater than after, in order;
	// ErrNoTask if there is no such task. Where the log was changed, it yields the events
	// before that place and then an error that is ErrCorrupt.
	TaskEvents(ctx context.Context, id string, after int64) iter.Seq2[TaskEvent, error]
	// Task returns the row of a task; ErrNoTask if there is no such task.
	Task(ctx context.Context, id string) (TaskRow, error)
	// Tasks returns the tasks that the query selects, those with a higher priority first,
	// then the newest first; and where the next page begins, "" at the end.
	Tasks(ctx context.Context, q TaskQuery) (rows []TaskRow, next string, err error)
	// TaskFeed returns the events of all tasks that were appended after position after, in
	// the order in which they became durable, at most limit of them. Positions grow and are
	// never used again; that a task was removed is in the feed too, and then its events are
	// not in it any more.
	TaskFeed(ctx context.Context, after int64, limit int) ([]FeedEntry, error)
	// TaskFeedEnd returns the position of the last entry of the feed; 0: there was none.
	TaskFeedEnd(ctx context.Context) (int64, error)
	// TaskOf returns the task that a run belongs to; "" for none.
	TaskOf(ctx context.Context, id run.ID) (string, error)
	// Submitted returns the result that a run has handed in with a tool in an assignment;
	// 0: in its last one that has any. ok is false if there is none.
	Submitted(ctx context.Context, id run.ID, tool string, assignment int) (s Submission, ok bool, err error)
	// RemoveTask removes a task with its submissions. Its runs stay. ErrNoTask if there is no
	// such task.
	RemoveTask(ctx context.Context, id string) error
}

// A TaskAppend is what is appended to the log of a task.
type TaskAppend struct {
	Task   string // id
	After  int64  // number of the last event that the writer knows
	Events []TaskEvent
	// Row is that of the task after the events; its ID, Seq, Created and Updated are set by
	// the store.
	Row TaskRow
	// Check, if not nil, is called before the first change, while no one else writes, with a
	// function that returns the row of a task as it is then, or ErrNoTask. If it returns an error
	// nothing is written. It must not use the store.
	Check func(row func(id string) (TaskRow, error)) error
	// Runs belong to the task from now on.
	Runs []run.ID
	// Submission, if not nil, is handed in with it. ErrSubmitted means that there is one for
	// the assignment: nothing was written.
	Submission *Submission
}

// A TaskEvent is an event of a task as it is stored.
type TaskEvent struct {
	Seq     int64     `json:"seq"` // assigned by the store
	At      time.Time `json:"at"`
	Type    string    `json:"type"`
	Version int       `json:"version"`
	Run     run.ID    `json:"run,omitempty"`
	By      string    `json:"by,omitempty"`
	Data    string    `json:"data"` // JSON
}

// A TaskRow is what a list of tasks is selected by and shows.
type TaskRow struct {
	ID       string
	Seq      int64
	Status   string
	Agent    string
	Run      run.ID
	Priority int
	Owes     bool
	Labels   []string // only to be written
	Created  time.Time
	Updated  time.Time
	Summary  string // JSON
}

// A FeedEntry is an event of a task among those of all tasks.
type FeedEntry struct {
	Position int64
	Task     string
	Event    TaskEvent // Seq 0: the task was removed
}

// A TaskQuery selects tasks. A field that is empty selects all.
type TaskQuery struct {
	Status []string
	Label  string
	Agent  string
	Owes   bool // those that a driver has something to do for
	// From is where the page begins, as the page before has said; Limit is its length; 0:
	// all.
	From  string
	Limit int
}

// A Submission is a result that a run has handed in.
type Submission struct {
	Run        run.ID     `json:"run"`
	Tool       string     `json:"tool"`
	Assignment int        `json:"assignment"`
	Task       string     `json:"task,omitempty"` // empty: of no task
	Call       run.CallID `json:"call,omitempty"`
	Key        string     `json:"key,omitempty"` // of the request, if it came from outside
	Value      string     `json:"value"`         // JSON
	At         time.Time  `json:"at"`
}

var (
	ErrNoTask       = errors.New("no such task")
	ErrTaskConflict = errors.New("the task was changed meanwhile")
	ErrSubmitted    = errors.New("a result was submitted for this assignment already")
	errBadPage      = errors.New("not the beginning of a page")
)

// MaxTaskID bounds a task's id: with a prefix it names a lock, as a run's does.
const maxTaskID = 60

func checkTaskID(id string) error {
	if len(id) > maxTaskID || CheckID(run.ID(id)) != nil {
		return fmt.Errorf("%w: %.100q", ErrNoTask, id)
	}
	return nil
}

// TaskLease is the id under which the lease of a task is owned; see [Store.Own].
func TaskLease(id string) run.ID { return run.ID("task-" + id) }

// AppendTask implements [Tasks].
func (s *fileStore) AppendTask(ctx context.Context, t TaskAppend) error {
	if err := s.check(ctx, anyRun); err != nil {
		return err
	}
	if err := checkTaskID(t.Task); err != nil {
		return err
	}
	err := s.write(ctx, func(w *writer) error {
		tasks := taskWriter{w, w.key}
		head, err := tasks.taskHead(t)
		if err != nil {
			return err
		}
		return tasks.appendTask(t, head)
	})
	if err != nil {
		return fmt.Errorf("append task %s #%d: %w", t.Task, t.After+1, err)
	}
	return nil
}

// AppendWithTask implements [Tasks].
func (s *fileStore) AppendWithTask(ctx context.Context, id run.ID, after int64, events []run.Event, t TaskAppend, taken ...Taken) error {
	if err := checkTaskID(t.Task); err != nil {
		return err
	}
	return s.append(ctx, id, after, events, &t, taken)
}

// taskHead is the end of a task's chain.
type taskHead struct {
	seq     int64
	hash    []byte
	created time.Time
}

// A taskWriter writes the tables of tasks.
type taskWriter struct {
	Tx
	key []byte // as [Options].Key
}

// taskHead checks everything that can reject t, before the first change.
func (w taskWriter) taskHead(t TaskAppend) (h taskHead, err error) {
	h.hash = beginning(w.key)
	_, err = w.Find(`SELECT seq, hash, created FROM tasks WHERE id = ?`, []any{t.Task}, &h.seq, &h.hash, timeColumn{&h.created})
	switch {
	case err != nil:
		return h, err
	case h.seq != t.After:
		return h, rejection{fmt.Errorf("%w: it has %d events", ErrTaskConflict, h.seq)}
	}
	if t.Check != nil {
		if err := t.Check(w.taskRow); err != nil {
			return h, rejection{err}
		}
	}
	if sub := t.Submission; sub != nil {
		found, err := w.Find(`SELECT 1 FROM submissions WHERE run = ? AND tool = ? AND assignment = ?`, []any{string(sub.Run), sub.Tool, sub.Assignment}, new(int))
		if found {
			err = rejection{fmt.Errorf("%w: run %s, assignment %d", ErrSubmitted, sub.Run, sub.Assignment)}
		}
		if err != nil {
			return h, err
		}
	}
	for _, id := range t.Runs {
		var other string
		found, err := w.Find(`SELECT task FROM task_runs WHERE run = ? AND task != ?`, []any{string(id), t.Task}, &other)
		if found {
			err = rejection{fmt.Errorf("run %s belongs to task %s", id, other)}
		}
		if err != nil {
			return h, err
		}
	}
	return h, nil
}

// taskRow is [Tables.Task] in the transaction.
func (w taskWriter) taskRow(id string) (r TaskRow, err error) {
	found, err := w.Find(selectTask, []any{id}, r.fields()...)
	if err == nil && !found {
		err = fmt.Errorf("task %s: %w", id, ErrNoTask)
	}
	return r, err
}

func (w taskWriter) appendTask(t TaskAppend, h taskHead) error {
	row := t.Row
	for i, e := range t.Events {
		e.Seq = t.After + int64(i) + 1
		h.hash = taskHash(h.hash, t.Task, e)
		err := w.Exec(`INSERT INTO task_events (task, seq, at, type, version, run, by, data, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			t.Task, e.Seq, toNano(e.At), e.Type, e.Version, string(e.Run), e.By, e.Data, h.hash)
		if err != nil {
			return err
		}
		if err := w.Exec(`INSERT INTO task_feed (task, seq) VALUES (?, ?)`, t.Task, e.Seq); err != nil {
			return err
		}
		if e.Seq == 1 {
			h.created = e.At
		}
		h.seq, row.Updated = e.Seq, e.At
	}
	if len(t.Events) > 0 {
		err := w.Exec(`INSERT INTO tasks (id, seq, hash, status, agent, run, priority, owes, created, updated, summary) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) `+
			`ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, status = excluded.status, agent = excluded.agent, run = excluded.run, `+
			`priority = excluded.priority, owes = excluded.owes, created = excluded.created, updated = excluded.updated, summary = excluded.summary`,
			t.Task, h.seq, h.hash, row.Status, row.Agent, string(row.Run), row.Priority, row.Owes, toNano(h.created), toNano(row.Updated), row.Summary)
		if err != nil {
			return err
		}
		if err := w.setLabels(t.Task, row.Labels); err != nil {
			return err
		}
	}
	for _, id := range t.Runs {
		if err := w.Exec(`INSERT INTO task_runs (run, task) VALUES (?, ?) ON CONFLICT DO NOTHING`, string(id), t.Task); err != nil {
			return err
		}
	}
	if sub := t.Submission; sub != nil {
		return addSubmission(w, *sub, t.Task)
	}
	return nil
}

func addSubmission(tx Tx, s Submission, task string) error {
	return tx.Exec(`INSERT INTO submissions (run, tool, assignment, task, call, key, value, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		string(s.Run), s.Tool, s.Assignment, task, string(s.Call), s.Key, s.Value, toNano(s.At))
}

// setLabels writes the labels of a task that have changed.
func (w taskWriter) setLabels(id string, labels []string) error {
	before, err := w.Strings(`SELECT label FROM task_labels WHERE task = ?`, id)
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, l := range before {
		have[l] = true
	}
	for _, l := range labels {
		if have[l] {
			delete(have, l)
		} else if err := w.Exec(`INSERT INTO task_labels (label, task) VALUES (?, ?) ON CONFLICT DO NOTHING`, l, id); err != nil {
			return err
		}
	}
	for l := range have {
		if err := w.Exec(`DELETE FROM task_labels WHERE label = ? AND task = ?`, l, id); err != nil {
			return err
		}
	}
	return nil
}

// beginning returns the hash that precedes the first event of a task. With a key, only its owner can make that event.
func beginning(key []byte) []byte {
	if key == nil {
		return noHash
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("tasks"))
	return mac.Sum(nil)
}

// taskHash returns the hash of a task's event: SHA-256 over the hash before, then the
// columns of the row, as chainHash does for events of runs. It never changes.
func taskHash(prev []byte, id string, e TaskEvent) []byte {
	buf := append(make([]byte, 0, 256+len(e.Data)), prev...)
	buf = appendText(buf, id)
	buf = binary.BigEndian.AppendUint64(buf, uint64(e.Seq))
	buf = binary.BigEndian.AppendUint64(buf, uint64(toNano(e.At)))
	buf = appendText(buf, e.Type)
	buf = binary.BigEndian.AppendUint64(buf, uint64(e.Version))
	for _, text := range []string{string(e.Run), e.By, e.Data} {
		buf = appendText(buf, text)
	}
	sum := sha256.Sum256(buf)
	return sum[:]
}

// TaskEvents implements [Tasks]. The events are read before the first is yielded.
func (s *Tables) TaskEvents(ctx context.Context, id string, after int64) iter.Seq2[TaskEvent, error] {
	return func(yield func(TaskEvent, error) bool) {
		after = max(after, 0)
		row, err := s.Task(ctx, id)
		for err == nil && after < row.Seq {
			var events []TaskEvent
			events, err = s.taskEvents(ctx, id, after, min(row.Seq, after+taskPage))
			for _, e := range events {
				if after = e.Seq; !yield(e, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(TaskEvent{}, err)
		}
	}
}

// taskPage is how many events of a task are read at once.
const taskPage = 256

// taskEvents returns the events after a number up to another, which is there; with an error those before it.
func (s *Tables) taskEvents(ctx context.Context, id string, after, last int64) ([]TaskEvent, error) {
	const query = `SELECT seq, at, type, version, run, by, data, hash FROM task_events WHERE task = ? AND seq BETWEEN ? AND ? ORDER BY seq`
	rows, err := s.db().QueryContext(ctx, query, id, after, last)
	if err != nil {
		return nil, s.fault(err)
	}
	defer rows.Close()
	bad := func(seq int64, what string) error {
		return &FileError{Kind: ErrCorrupt, Path: s.base.Name, Err: fmt.Errorf("task %s: event %d %s", id, seq, what)}
	}
	var events []TaskEvent
	prev, seq := beginning(s.base.key), after
	for rows.Next() {
		var e TaskEvent
		var hash []byte
		if err := rows.Scan(&e.Seq, timeColumn{&e.At}, &e.Type, &e.Version, &e.Run, &e.By, &e.Data, &hash); err != nil {
			return events, s.fault(err)
		}
		if e.Seq == after { // only its hash is wanted
			prev = hash
			continue
		}
		switch {
		case e.Seq != seq+1:
			return events, bad(seq+1, "is missing")
		case e.Seq == 1 && !bytes.Equal(hash, taskHash(prev, id, e)):
			return events, bad(1, changedEvent+", or the history is from another state folder")
		case !bytes.Equal(hash, taskHash(prev, id, e)):
			return events, bad(e.Seq, changedEvent)
		}
		prev, seq = hash, e.Seq
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		return events, s.fault(err)
	}
	if seq < last {
		return events, bad(seq+1, "is missing")
	}
	return events, nil
}

const taskColumns = `tasks.id, tasks.seq, tasks.status, tasks.agent, tasks.run, tasks.priority, tasks.owes, tasks.created, tasks.updated, tasks.summary`

const selectTask = `SELECT ` + taskColumns + ` FROM tasks WHERE id = ?`

func (r *TaskRow) fields() []any {
	return []any{&r.ID, &r.Seq, &r.Status, &r.Agent, &r.Run, &r.Priority, &r.Owes, timeColumn{&r.Created}, timeColumn{&r.Updated}, &r.Summary}
}

// Task implements [Tasks].
func (s *Tables) Task(ctx context.Context, id string) (TaskRow, error) {
	if err := s.check(ctx, anyRun); err != nil {
		return TaskRow{}, err
	}
	if err := checkTaskID(id); err != nil {
		return TaskRow{}, err
	}
	var r TaskRow
	err := s.db().QueryRowContext(ctx, selectTask, id).Scan(r.fields()...)
	if err == sql.ErrNoRows {
		return r, fmt.Errorf("task %s: %w", id, ErrNoTask)
	}
	return r, s.fault(err)
}

// Tasks implements [Tasks].
func (s *Tables) Tasks(ctx context.Context, q TaskQuery) (found []TaskRow, next string, err error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, "", err
	}
	query, args, err := q.sql()
	if err != nil {
		return nil, "", err
	}
	var r TaskRow
	fields := r.fields() // made once: there may be thousands of rows
	found, err = collect(ctx, s.db(), query, args, func(row *sql.Rows, to *TaskRow) error {
		r = TaskRow{}
		err := row.Scan(fields...)
		*to = r
		return err
	})
	if err != nil {
		return nil, "", s.fault(err)
	}
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
		next = found[q.Limit-1].page()
	}
	return found, next, nil
}

// TaskCounts returns how many tasks have each status.
func (s *Tables) TaskCounts(ctx context.Context) (map[string]int, error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	_, err := collect(ctx, s.db(), `SELECT status, count(*) FROM tasks GROUP BY status`, nil, func(row *sql.Rows, status *string) error {
		var n int
		err := row.Scan(status, &n)
		counts[*status] = n
		return err
	})
	return counts, s.fault(err)
}

// page names the place after a row in the order of [Tasks.Tasks].
func (r TaskRow) page() string {
	return fmt.Sprintf("%d.%d.%s", r.Priority, toNano(r.Created), r.ID)
}

func parsePage(from string) (priority, created int64, id string, err error) {
	parts := strings.SplitN(from, ".", 3)
	if len(parts) != 3 {
		return 0, 0, "", fmt.Errorf("%w: %.100q", errBadPage, from)
	}
	priority, err1 := strconv.ParseInt(parts[0], 10, 64)
	created, err2 := strconv.ParseInt(parts[1], 10, 64)
	if err1 != nil || err2 != nil {
		return 0, 0, "", fmt.Errorf("%w: %.100q", errBadPage, from)
	}
	return priority, created, parts[2], nil
}

func (q TaskQuery) sql() (string, []any, error) {
	var where []string
	var args []any
	from := `tasks`
	and := func(clause string, values ...any) {
		where, args = append(where, clause), append(args, values...)
	}
	if q.Label != "" {
		from = `task_labels JOIN tasks ON tasks.id = task_labels.task`
		and(`task_labels.label = ?`, q.Label)
	}
	if len(q.Status) > 0 {
		var names []any
		for _, name := range q.Status {
			names = append(names, name)
		}
		and(`status IN (?`+strings.Repeat(`, ?`, len(names)-1)+`)`, names...)
	}
	if q.Agent != "" {
		and(`agent = ? AND agent != ''`, q.Agent)
	}
	if q.Owes {
		and(`owes`)
	}
	if q.From != "" {
		priority, created, id, err := parsePage(q.From)
		if err != nil {
			return "", nil, err
		}
		and(`(priority, created, id) < (?, ?, ?)`, priority, created, id)
	}
	query := `SELECT ` + taskColumns + ` FROM ` + from
	if len(where) > 0 {
		query += ` WHERE ` + strings.Join(where, ` AND `)
	}
	query += ` ORDER BY priority DESC, created DESC, id DESC`
	if q.Limit > 0 {
		query += fmt.Sprintf(` LIMIT %d`, q.Limit+1) // one more says that there is a next page
	}
	return query, args, nil
}

// TaskFeed implements [Tasks].
func (s *Tables) TaskFeed(ctx context.Context, after int64, limit int) ([]FeedEntry, error) {
	if err := s.check(ctx, anyRun); err != nil {
		return nil, err
	}
	feed, err := collect(ctx, s.db(), `SELECT f.id, f.task, f.seq, coalesce(e.at, 0), coalesce(e.type, ''), coalesce(e.version, 0), coalesce(e.run, ''), coalesce(e.by, ''), coalesce(e.data, '') `+
		`FROM task_feed f LEFT JOIN task_events e ON e.task = f.task AND e.seq = f.seq WHERE f.id > ? ORDER BY f.id LIMIT ?`, []any{after, limit}, func(row *sql.Rows, f *FeedEntry) error {
		e := &f.Event
		return row.Scan(&f.Position, &f.Task, &e.Seq, timeColumn{&e.At}, &e.Type, &e.Version, &e.Run, &e.By, &e.Data)
	})
	return feed, s.fault(err)
}

// TaskFeedEnd implements [Tasks].
func (s *Tables) TaskFeedEnd(ctx context.Context) (end int64, err error) {
	if err := s.check(ctx, anyRun); err != nil {
		return 0, err
	}
	err = s.db().QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM task_feed`).Scan(&end)
	return end, s.fault(err)
}

// TaskOf implements [Tasks].
func (s *Tables) TaskOf(ctx context.Context, id run.ID) (task string, err error) {
	if err := s.check(ctx, id); err != nil {
		return "", err
	}
	err = s.db().QueryRowContext(ctx, `SELECT task FROM task_runs WHERE run = ?`, string(id)).Scan(&task)
	if err == sql.ErrNoRows {
		return "", nil
	}
	return task, s.fault(err)
}

const selectSubmissions = `SELECT run, tool, assignment, task, call, key, value, at FROM submissions `

func (s *Submission) fields() []any {
	return []any{&s.Run, &s.Tool, &s.Assignment, &s.Task, &s.Call, &s.Key, &s.Value, timeColumn{&s.At}}
}

// Submitted implements [Tasks].
func (s *Tables) Submitted(ctx context.Context, id run.ID, tool string, assignment int) (sub Submission, ok bool, err error) {
	if err := s.check(ctx, id); err != nil {
		return sub, false, err
	}
	err = s.db().QueryRowContext(ctx, selectSubmissions+
		`WHERE run = ? AND tool = ? AND (assignment = ? OR ? = 0) ORDER BY assignment DESC LIMIT 1`, string(id), tool, assignment, assignment).
		Scan(sub.fields()...)
	if err == sql.ErrNoRows {
		return Submission{}, false, nil
	}
	return sub, err == nil, s.fault(err)
}

// RemoveTask implements [Tasks].
func (s *fileStore) RemoveTask(ctx context.Context, id string) error {
	if err := s.check(ctx, anyRun); err != nil {
		return err
	}
	err := s.write(ctx, func(w *writer) error { return taskWriter{w, w.key}.removeTask(id) })
	if err != nil {
		return fmt.Errorf("remove task %s: %w", id, err)
	}
	return nil
}

func (w taskWriter) removeTask(id string) error {
	found, err := w.Find(`SELECT 1 FROM tasks WHERE id = ?`, []any{id}, new(int))
	if err == nil && !found {
		err = rejection{ErrNoTask}
	}
	if err != nil {
		return err
	}
	for _, query := range []string{`DELETE FROM task_feed WHERE task = ?`, `INSERT INTO task_feed (task, seq) VALUES (?, 0)`, `DELETE FROM task_events WHERE task = ?`, `DELETE FROM task_labels WHERE task = ?`, `DELETE FROM task_runs WHERE task = ?`,
		`DELETE FROM submissions WHERE task = ?`, `DELETE FROM tasks WHERE id = ?`} {
		if err := w.Exec(query, id); err != nil {
			return err
		}
	}
	return nil
}
