package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/internal/text"
	"pawl/run"
	"pawl/store"
	"pawl/task"
	"pawl/tool"
)

// A TaskLog is a task as it was read from the store, and where its log ended then.
type TaskLog struct {
	State task.State
	store store.Store
}

// LoadTask reads a task; [store.ErrNoTask] if there is no such task.
func LoadTask(ctx context.Context, st store.Store, id task.ID) (TaskLog, error) {
	l := TaskLog{store: st}
	return l, l.Read(ctx, id)
}

// Read applies what is new in the log of the task.
func (l *TaskLog) Read(ctx context.Context, id task.ID) error {
	for row, err := range l.store.TaskEvents(ctx, string(id), l.State.Seq) {
		if err != nil {
			return err
		}
		e, err := decodeTask(id, row)
		if err != nil {
			return err
		}
		if l.State, err = l.State.Apply(e); err != nil {
			return fmt.Errorf("task %s: event %d: the log is inconsistent: %w", id, row.Seq, err)
		}
	}
	return nil
}

func decodeTask(id task.ID, row store.TaskEvent) (task.Event, error) {
	p, known, err := task.Decode(row.Type, row.Version, []byte(row.Data))
	switch {
	case err != nil:
		return task.Event{}, fmt.Errorf("task %s: event %d (%s): %w: %w", id, row.Seq, row.Type, store.ErrCorrupt, err)
	case !known:
		return task.Event{}, fmt.Errorf("task %s: event %d (%s, version %d) was written by a newer pawl and cannot be read by this one", id, row.Seq, row.Type, row.Version)
	}
	return task.Event{Seq: row.Seq, At: row.At, Run: row.Run, By: row.By, Payload: p}, nil
}

// TaskEvents returns the events of a task after the number, at most limit of them; 0: all.
func TaskEvents(ctx context.Context, st store.Store, id task.ID, after int64, limit int) ([]task.Event, error) {
	var events []task.Event
	for row, err := range st.TaskEvents(ctx, string(id), after) {
		if err != nil {
			return events, err
		}
		e, err := decodeTask(id, row)
		if err != nil {
			return events, err
		}
		if events = append(events, e); len(events) == limit {
			break
		}
	}
	return events, nil
}

// A FeedEntry is an event of a task among those of all tasks; see [store.Tasks].
type FeedEntry struct {
	Position int64
	Task     task.ID
	Event    task.Event // without a payload: the task was removed
}

// TaskFeed returns the events of all tasks after a position, at most limit of them.
func TaskFeed(ctx context.Context, st store.Store, after int64, limit int) ([]FeedEntry, error) {
	rows, err := st.TaskFeed(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	feed := make([]FeedEntry, len(rows))
	for i, row := range rows {
		feed[i] = FeedEntry{Position: row.Position, Task: task.ID(row.Task)}
		if row.Event.Seq == 0 {
			continue
		}
		if feed[i].Event, err = decodeTask(feed[i].Task, row.Event); err != nil {
			return feed[:i], err
		}
	}
	return feed, nil
}

// A taskBatch is what is about to be appended to the log of a task.
type taskBatch struct {
	id     task.ID
	now    time.Time
	before task.State
	state  task.State // after events
	events []task.Event
	store.TaskAppend
}

func (l TaskLog) batch(id task.ID, now time.Time) *taskBatch {
	return &taskBatch{id: id, now: now.UTC().Round(0), before: l.State, state: l.State}
}

// do adds the events of an action; see [task.State.Do].
func (b *taskBatch) do(by string, a task.Action) error {
	events, err := b.state.Do(by, a)
	if err != nil {
		return err
	}
	for _, e := range events {
		e.At = b.now
		if b.state, err = b.state.Apply(e); err != nil {
			return err
		}
		b.events = append(b.events, e)
	}
	return nil
}

// append returns the batch in the form of the store.
func (b *taskBatch) append() (store.TaskAppend, error) {
	b.Task, b.After = string(b.id), b.before.Seq
	b.Events = nil
	for _, e := range b.events {
		typ, version, data, err := task.Encode(e.Payload)
		if err != nil {
			return b.TaskAppend, err
		}
		b.Events = append(b.Events, store.TaskEvent{At: e.At, Type: typ, Version: version, Run: e.Run, By: e.By, Data: string(data)})
		switch p := e.Payload.(type) {
		case task.PlanningStarted, task.AgentStarted, task.AgentHandoffStarted:
			b.Runs = append(b.Runs, e.Run)
		case task.Created:
			b.Check = dependencyCheck(b.id, p.DependsOn)
		case task.Edited:
			if p.DependsOn != nil {
				b.Check = dependencyCheck(b.id, *p.DependsOn)
			}
		}
	}
	sum := b.state.Summary()
	data, err := json.Marshal(sum)
	b.Row = store.TaskRow{Status: string(sum.Status), Agent: sum.Agent, Run: sum.Run, Priority: sum.Priority, Owes: sum.Owes, Labels: sum.Labels, Summary: string(data)}
	return b.TaskAppend, err
}

// dependencyCheck returns a check that the tasks that a task is to depend on exist, and that none
// of them depends on it. It is made in the transaction of the change: of two changes that
// would close a cycle together, the second finds it.
func dependencyCheck(id task.ID, on []task.ID) func(row func(string) (store.TaskRow, error)) error {
	return func(row func(string) (store.TaskRow, error)) error {
		wrong := func(what string) error {
			return &task.InputError{What: "depends_on: " + what, Fields: map[string]string{"depends_on": what}}
		}
		var failed error
		dependsOn := func(other task.ID) []task.ID {
			var sum task.Summary
			r, err := row(string(other))
			switch {
			case err == nil:
				err = json.Unmarshal([]byte(r.Summary), &sum)
			case errors.Is(err, store.ErrNoTask) && slices.Contains(on, other):
				err = wrong(fmt.Sprintf("there is no task %s", other))
			case errors.Is(err, store.ErrNoTask): // removed since
				err = nil
			}
			failed = cmp.Or(failed, err)
			return sum.DependsOn
		}
		cycle := task.Cycle(id, on, dependsOn)
		if failed != nil || cycle == nil {
			return failed
		}
		names := make([]string, len(cycle))
		for i, c := range cycle {
			names[i] = string(c)
		}
		return wrong("the dependencies would be a cycle: " + strings.Join(names, " → "))
	}
}

// DoTask does something to a task and returns it when that is durable. If another writer was first, it is
// done to the task as that has left it. The error says why it is not possible: see
// [task.State.Do].
func DoTask(ctx context.Context, st store.Store, id task.ID, by string, now func() time.Time, a task.Action) (task.State, error) {
	l := TaskLog{store: st}
	return l.do(ctx, id, by, now, a)
}

// do is DoTask for a task that was read before: only what is new in its log is read.
func (l *TaskLog) do(ctx context.Context, id task.ID, by string, now func() time.Time, a task.Action) (task.State, error) {
	for {
		if err := l.Read(ctx, id); err != nil {
			if _, create := a.(task.Create); !create || !errors.Is(err, store.ErrNoTask) {
				return l.State, err
			}
		}
		if _, create := a.(task.Create); create && l.State.Status != nil {
			return l.State, fmt.Errorf("task %s is there already", id)
		}
		b := l.batch(id, now())
		if err := b.do(by, a); err != nil || len(b.events) == 0 {
			return l.State, err
		}
		t, err := b.append()
		if err != nil {
			return l.State, err
		}
		err = l.store.AppendTask(ctx, t)
		if err == nil {
			return b.state, nil
		}
		if wrong, ok := errors.AsType[*task.InputError](err); ok { // of the check, without what the store was doing
			return l.State, wrong
		}
		if !errors.Is(err, store.ErrTaskConflict) {
			return l.State, err
		}
	}
}

// errTaskChanged says that a step has to be made again, because the task of the run does not
// take what follows from it any more.
var errTaskChanged = errors.New("the task has changed")

// joinTask finds the task that a run belongs to: this one, or its parent.
func (d *Runner) joinTask(ctx context.Context, of run.ID) error {
	id, err := d.w.Store.TaskOf(ctx, of)
	if err != nil || id == "" {
		return err
	}
	d.taskID = task.ID(id)
	d.task, err = LoadTask(ctx, d.w.Store, d.taskID)
	if errors.Is(err, store.ErrNoTask) {
		d.taskID, err = "", nil // it was removed since
	}
	return err
}

// along returns what the events, which are about to be appended, mean for the task of the
// run. The error is errTaskChanged if the task does not take it: the step is then made
// again with the task as it is now.
func (d *Runner) along(events []run.Event) (*taskBatch, error) {
	b := d.task.batch(d.taskID, d.w.now())
	for _, l := range d.letters {
		if l.note == nil || l.err != nil {
			continue
		}
		for _, a := range l.note(d.core.State.Turn.N + 1) {
			if err := b.do("", a); err != nil {
				l.refused = err
				return nil, errTaskChanged
			}
		}
	}
	tools := map[run.CallID]string{}
	for i, e := range events {
		if err := d.alongEvent(b, e, events[i+1:], tools, events); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// alongEvent adds what one event means. tools has the names of the calls of the batch.
func (d *Runner) alongEvent(b *taskBatch, e run.Event, rest []run.Event, tools map[run.CallID]string, all []run.Event) error {
	toolOf := func(id run.CallID) string {
		if c, ok := d.core.State.Turn.Call(id); ok {
			return c.Tool
		}
		return tools[id]
	}
	note := func(fact task.Payload) error { return b.do("", task.Note{Run: d.id, Fact: fact}) }
	switch p := e.Payload.(type) {
	case run.Prompted:
		return d.alongChild(b, run.PlainText(p.Parts))
	case run.Replied:
		for _, part := range p.Parts {
			if part.Call != nil {
				tools[part.Call.ID] = part.Call.Tool
			}
		}
	case run.CallReceived:
		tools[p.Call.ID] = p.Call.Tool
	case run.CallSettled:
		return note(task.ToolExecuted{Call: p.Call, Tool: toolOf(p.Call), Outcome: p.Outcome, IsError: p.IsError})
	case run.CallDecided:
		for _, q := range b.state.Permissions {
			if q.Run == d.id && q.Call == p.Call {
				return b.do(p.Decision.By, task.Note{Run: d.id, Fact: task.PermissionDecided{Call: p.Call, Answer: p.Decision.Answer}})
			}
		}
	case run.Told:
		if r, ok := b.state.Run(d.id); ok && p.Reason == run.TellOutput && r.Kind != "" {
			return note(task.OutputReminderSent{Tool: d.core.State.Config.Output.Tool, Number: r.Reminders + 1})
		}
	case run.Interrupted:
		return b.do(p.By, task.Note{Run: d.id, Fact: task.Interrupted{Cause: p.Cause}})
	case run.Submitted:
		return d.alongSubmission(b, p, all)
	case run.Ended:
		for _, later := range rest {
			if _, ok := later.Payload.(run.Prompted); ok {
				return nil // it continues with what the person has said
			}
		}
		return d.alongEnd(b, p, all)
	}
	return nil
}

// alongChild lists a child run that begins, or is continued.
func (d *Runner) alongChild(b *taskBatch, words string) error {
	c := d.core.State.Created
	if c.Parent == "" {
		return nil
	}
	if r, ok := b.state.Run(d.id); ok && !r.Ended {
		return nil
	}
	return b.do("", task.HandOff{Run: d.id, AgentHandoffStarted: task.AgentHandoffStarted{Parent: c.Parent, Call: c.ParentCall, Agent: c.Agent, Input: cutText(words)}})
}

// maxInTask bounds what the log of a task keeps of words that the log of the run has, in characters.
const maxInTask = 8 << 10

func cutText(s string) string { return text.Clip(s, maxInTask) }

// alongSubmission hands in for the task.
func (d *Runner) alongSubmission(b *taskBatch, p run.Submitted, events []run.Event) error {
	r, ok := b.state.Run(d.id)
	if !ok || r.Kind == "" {
		return nil // of a child run: it is the result of its parent's call
	}
	o, err := task.ParseOutput(r.Kind, p.Value)
	if err == nil {
		err = b.do(r.Agent, task.Submit{Run: d.id, Submission: task.Submission{Assignment: p.Assignment, Call: p.Call}, Output: o})
	}
	switch {
	case err != nil && p.Call == "": // an answer by schema, which is accepted without asking the task
		return err
	case err != nil:
		return errTaskChanged
	}
	b.Submission = &store.Submission{Run: d.id, Tool: r.Kind.Tool(), Assignment: p.Assignment, Task: string(d.taskID), Call: p.Call, Key: d.keyOf(p.Call, events), Value: p.Value, At: b.now}
	return nil
}

// keyOf returns the key of the request that a call from outside came with.
func (d *Runner) keyOf(id run.CallID, events []run.Event) string {
	for _, e := range events {
		if p, ok := e.Payload.(run.CallReceived); ok && p.Call.ID == id {
			return p.Key
		}
	}
	c, _ := d.core.State.Turn.Call(id)
	return c.External
}

// alongEnd ends the turn of the run for the task.
func (d *Runner) alongEnd(b *taskBatch, p run.Ended, events []run.Event) error {
	s := d.core.State.Clone()
	for _, e := range events {
		next, err := s.Apply(e)
		if err != nil {
			break // the first event of a new run: the state has it
		}
		s = next
	}
	for _, w := range s.Returned {
		if err := b.do("", task.Return{ID: w.ID}); err != nil {
			return err
		}
	}
	said := s.Answer()
	r, ok := b.state.Run(d.id)
	if !ok {
		return nil
	}
	end := EndOf(d.id, r.Prompted, s, p)
	p = end.End
	if r.Kind == "" {
		if v := s.Submission().Value; v != "" {
			said = v
		}
		return b.do("", task.EndHandoff{Run: d.id, AgentHandoffCompleted: task.AgentHandoffCompleted{End: p, Submitted: s.Submission().Value != "", Output: cutText(said), Usage: s.Usage}})
	}
	return b.do("", end)
}

// EndOf returns what the end of the last turn of a run, which leaves it in s, is for its task. number is
// that of the task's assignment.
func EndOf(id run.ID, number int, s run.State, end run.Ended) task.End {
	end.Driven = 0 // a fact of the run alone
	e := task.End{Run: id, Number: number, Begun: true, End: end, Said: s.Said(), Usage: s.Usage, Steps: s.Turn.Steps}
	if q := s.Questions(); end.End == run.Asked && len(q) > 0 { // who answers has to know what
		question, options := tool.Asked(q[0].Call)
		e.Question = task.QuestionAsked{Question: cutText(question), Options: options}
		if e.End.Detail = e.Question.Question; len(options) > 0 {
			e.End.Detail = cutText(question + " (" + strings.Join(options, ", ") + ")")
		}
	}
	return e
}

// taskTakes returns why the task of the run does not take a result; "" if it does, or there
// is no task.
func (d *Runner) taskTakes(s run.State, c run.CallState, value string) string {
	if d.taskID == "" {
		return ""
	}
	if err := d.task.Read(context.Background(), d.taskID); err != nil {
		return err.Error() // the append would fail too
	}
	r, ok := d.task.State.Run(d.id)
	if !ok || r.Kind == "" {
		return ""
	}
	o, err := task.ParseOutput(r.Kind, value)
	if err == nil && d.w.CheckOutput != nil {
		err = d.w.CheckOutput(o)
	}
	if err == nil {
		_, err = d.task.State.Do(r.Agent, task.Submit{Run: d.id, Submission: task.Submission{Assignment: s.Assignment(), Call: c.ID}, Output: o})
	}
	if e, ok := errors.AsType[*task.SubmissionError](err); ok {
		return e.Error() + ". Nothing more is to be done: end your turn."
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// appendWithTask makes the events durable together with what they mean for the task.
func (d *Runner) appendWithTask(after int64, events, all []run.Event, taken []store.Taken) error {
	ctx := context.Background() // not the caller's: its cancellation must still be recorded
	again := 0
	for {
		// What others have done is known first: a refusal on what was true before would be wrong.
		if err := d.task.Read(ctx, d.taskID); err != nil && !errors.Is(err, store.ErrNoTask) {
			return err
		} else if err != nil {
			d.taskID = "" // it was removed: the run continues without it
			return d.w.Store.Append(ctx, d.id, after, events, taken...)
		}
		b, err := d.along(all)
		if err != nil {
			if errors.Is(err, errTaskChanged) {
				return err
			}
			// A fact of a run that its task cannot take is a mistake in pawl. The run's log
			// counts: it continues, and the task's driver sees that the run has ended.
			if d.w.Log != nil {
				d.w.Log.Error("the task of the run was not updated", "run", d.id, "task", d.taskID, "error", err)
			}
			return d.w.Store.Append(ctx, d.id, after, events, taken...)
		}
		if len(b.events) == 0 {
			return d.w.Store.Append(ctx, d.id, after, events, taken...)
		}
		t, err := b.append()
		if err != nil {
			return err
		}
		err = d.w.Store.AppendWithTask(ctx, d.id, after, events, t, taken...)
		switch {
		case err == nil:
			d.task.State = b.state
			if d.w.TaskChanged != nil {
				d.w.TaskChanged(d.taskID)
			}
			return nil
		case errors.Is(err, store.ErrTaskConflict), errors.Is(err, store.ErrSubmitted):
			if again++; again > maxConflicts {
				return err // unreachable unless the two logs were changed by hand: what conflicts is not there
			}
		default:
			return err
		}
	}
}

// maxConflicts bounds how often a step or an append is made again because others write to the task
// at the same time, or the task does not take what follows from the run.
const maxConflicts = 1000

// noteWaiting records in the task which calls wait for a person.
func (d *Runner) noteWaiting(waiting []run.CallID) {
	if d.taskID == "" {
		return
	}
	for _, id := range waiting {
		c, _ := d.core.State.Turn.Call(id)
		d.doTask(task.Note{Run: d.id, Fact: task.PermissionRequested{Call: id, Tool: c.Tool, Arguments: cutText(c.Arguments)}})
	}
}

// doTask does something to the task, apart from the run. What fails is told to the log alone:
// the run does not depend on it.
func (d *Runner) doTask(a task.Action) {
	s, err := d.task.do(context.Background(), d.taskID, "", d.w.now, a)
	if err != nil {
		d.w.debug("task", "run", d.id, "task", d.taskID, "error", err)
		return
	}
	d.task.State = s
	if d.w.TaskChanged != nil {
		d.w.TaskChanged(d.taskID)
	}
}
