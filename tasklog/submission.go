package tasklog

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"pawl/inbox"
	"pawl/internal/text"
	"pawl/metrics"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/submission"
	"pawl/task"
	"pawl/tool"
)

// A Request submits a result for a task from outside of the run: by the tools of an
// external agent.
type Request struct {
	Task task.ID
	Run  run.ID
	Tool string // with hyphens or underscores
	// Key identifies the request, so that one that is repeated because its answer was lost has
	// no second effect; empty: it is not repeated.
	Key string
	// Assignment is the number of the task's assignment that the caller was started for; 0:
	// it does not say.
	Assignment int
	Payload    json.RawMessage
}

// A Receipt says that a result was accepted.
type Receipt struct {
	Run        run.ID    `json:"run"`
	Tool       string    `json:"tool"`
	AcceptedAt time.Time `json:"accepted_at"`
	// Duplicate: it was accepted before, in the same request.
	Duplicate bool `json:"duplicate"`
}

// Submit submits a result from outside of the run and returns when it is applied to the task, or when it is
// recorded there that it was not. Any process may use it; the owner of the run decides. The error is a [*task.SubmissionError] if
// the result is not taken, and a [*task.InputError] if it is not valid, which does not use up
// the chance to submit.
func (t *Tasks) Submit(ctx context.Context, r Request) (Receipt, error) {
	r.Tool = strings.ReplaceAll(r.Tool, "_", "-")
	if r.Key == "" {
		r.Key = "submit-" + rand.Text()
	}
	receipt, err := t.submit(ctx, r)
	if err != nil {
		t.RecordRefused(context.WithoutCancel(ctx), r, err)
	}
	return receipt, err
}

func (t *Tasks) submit(ctx context.Context, r Request) (Receipt, error) {
	done, kind, err := t.accepted(ctx, r)
	if err == nil && done.Run == "" {
		err = t.fits(kind, r.Payload)
	}
	if done.Run != "" || err != nil {
		t.count(err)
		return done, err
	}
	answer, err := inbox.Call(ctx, t.Store, r.Run, request.Call{Key: r.Key, Tool: r.Tool, Arguments: string(r.Payload)})
	if err != nil {
		return Receipt{}, err
	}
	// The database says whose result counts, whatever the call was answered.
	done, _, err = t.accepted(ctx, r)
	if err == nil && done.Run == "" {
		err = &task.InputError{What: run.PlainText(answer.Content)}
	}
	done.Duplicate = false
	return done, err
}

// maxRefusal bounds what a task keeps of why a result was not accepted, in characters.
const maxRefusal = 500

// RecordRefused records that a result of a run was not accepted, as a call of a run in this process would be.
// Not recorded are the result that was accepted, handed in again, and the same refusal again, so that an agent
// that repeats it does not fill the history. A failure to record it does not change the answer.
func (t *Tasks) RecordRefused(ctx context.Context, r Request, refusal error) {
	fact := task.ToolExecuted{Tool: strings.ReplaceAll(r.Tool, "_", "-"), Outcome: run.Invalid, IsError: true, Detail: text.Clip(refusal.Error(), maxRefusal)}
	if e, ok := errors.AsType[*task.SubmissionError](refusal); ok {
		if fact.Outcome = run.Refused; e.Kind == task.AlreadySubmitted && e.SamePayload {
			return
		}
	} else if !errors.As(refusal, new(*task.InputError)) {
		return // it could not be looked at
	}
	l, err := Load(ctx, t.Store, r.Task)
	if err != nil {
		return
	}
	if _, ok := l.State.Run(r.Run); !ok {
		return
	}
	last, err := Events(ctx, t.Store, r.Task, l.State.Seq-1, 1)
	if err == nil && len(last) == 1 && last[0].Run == r.Run && last[0].Payload == task.Payload(fact) {
		return
	}
	_, _ = t.Do(ctx, r.Task, "", task.Note{Run: r.Run, Fact: fact})
}

// count counts a submission that was answered without the run: one that was
// accepted before, or is refused with err.
func (t *Tasks) count(err error) {
	switch {
	case t.Metrics == nil:
	case err == nil:
		t.Metrics.Submission(metrics.Duplicate)
	case errors.As(err, new(*task.SubmissionError)):
		t.Metrics.Submission(metrics.Refused)
	case errors.As(err, new(*task.InputError)):
		t.Metrics.Submission(metrics.Invalid)
	}
}

// accepted returns the receipt of a request whose result was accepted, or why no result is taken. Both
// are zero if one can be submitted, by an agent of the kind.
func (t *Tasks) accepted(ctx context.Context, r Request) (Receipt, task.Kind, error) {
	of, err := t.Store.TaskOf(ctx, r.Run)
	switch {
	case err != nil:
		return Receipt{}, "", err
	case of != string(r.Task) || of == "":
		return Receipt{}, "", &task.SubmissionError{Kind: task.NotGranted, Tool: r.Tool, Why: fmt.Sprintf("run %s is not one of task %s", r.Run, r.Task)}
	}
	l, err := Load(ctx, t.Store, r.Task)
	if err != nil {
		return Receipt{}, "", err
	}
	chained, _ := l.State.Run(r.Run)
	if number := len(chained.Assignments); r.Assignment != 0 && r.Assignment != number {
		return Receipt{}, "", &task.SubmissionError{Kind: task.WrongAssignment, Tool: r.Tool, Why: fmt.Sprintf("assignment %d of run %s is over: it is at its assignment %d", r.Assignment, r.Run, number)}
	}
	err = l.State.Takes(r.Run, r.Tool)
	if e, ok := errors.AsType[*task.SubmissionError](err); ok && e.Kind == task.AlreadySubmitted {
		done, err := t.again(ctx, r, chained.Kind, e)
		return done, chained.Kind, err
	}
	return Receipt{}, chained.Kind, err
}

// fits returns why a payload is not a result of an agent of the kind.
func (t *Tasks) fits(k task.Kind, payload json.RawMessage) error {
	o, _ := submission.Kind(k).Output()
	value, err := normal(o, payload)
	if err != nil {
		return err
	}
	_, err = t.read(k, value)
	return err
}

// read reads a result of an agent of the kind, in the form in which it is stored.
func (t *Tasks) read(k task.Kind, value string) (task.Output, error) {
	o, err := task.ParseOutput(k, value)
	if err == nil && t.Check != nil {
		err = t.Check(o)
	}
	return o, err
}

// again answers a request when a result was accepted already.
func (t *Tasks) again(ctx context.Context, r Request, k task.Kind, e *task.SubmissionError) (Receipt, error) {
	o, _ := submission.Kind(k).Output()
	accepted, ok, err := t.Store.Submitted(ctx, r.Run, r.Tool, 0)
	if err != nil {
		return Receipt{}, err
	}
	if !ok {
		return Receipt{}, fmt.Errorf("task %s: a submission of run %s is in its log and not in the table: %w", r.Task, r.Run, store.ErrCorrupt)
	}
	e.AcceptedAt, e.SamePayload = accepted.At, SamePayload(o, accepted.Value, r.Payload)
	if e.SamePayload && (accepted.Key == r.Key || string(accepted.Call) == r.Key) {
		return Receipt{Run: r.Run, Tool: r.Tool, AcceptedAt: accepted.At, Duplicate: true}, nil
	}
	return Receipt{}, e
}

// SamePayload reports whether a payload of the tool of an output is the result that was stored.
func SamePayload(o run.Output, stored string, payload json.RawMessage) bool {
	value, err := normal(o, payload)
	if err != nil {
		return false // it is none
	}
	return reflect.DeepEqual(numbersKept(stored), numbersKept(value))
}

// normal returns a payload in the form in which it is stored, or a [*task.InputError] with what is
// wrong with each field.
func normal(o run.Output, payload json.RawMessage) (string, error) {
	s, err := tool.NewSubmission(o.Tool, json.RawMessage(o.Schema))
	if err != nil {
		return "", err
	}
	value, err := s.Value(payload)
	if e, ok := errors.AsType[*submission.Error](err); ok {
		wrong := &task.InputError{What: e.Error(), Fields: map[string]string{}}
		for _, p := range e.Problems {
			field := cmp.Or(p.Field, "body")
			wrong.Fields[field] = strings.TrimPrefix(wrong.Fields[field]+"; "+p.What, "; ")
		}
		err = wrong
	}
	return value, err
}

// numbersKept returns a JSON value whose numbers are as they were written.
func numbersKept(text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&v) // it was checked
	return v
}
