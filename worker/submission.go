package worker

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

	"pawl/metrics"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/submission"
	"pawl/task"
	"pawl/tool"
)

// A SubmitRequest submits a result for a task from outside of the run: by the tools of an
// external agent.
type SubmitRequest struct {
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

// Submit submits a result from outside of the run and returns when it is applied to the task. Any
// process may use it; the owner of the run decides. The error is a [*task.SubmissionError] if
// the result is not taken, and a [*task.InputError] if it is not valid, which does not use up
// the chance to submit.
func (w *Worker) Submit(ctx context.Context, r SubmitRequest) (Receipt, error) {
	r.Tool = strings.ReplaceAll(r.Tool, "_", "-")
	if r.Key == "" {
		r.Key = "submit-" + rand.Text()
	}
	if done, err := w.submitted(ctx, r); done.Run != "" || err != nil {
		w.countSubmission(err)
		return done, err
	}
	answer, err := w.Call(ctx, r.Run, request.Call{Key: r.Key, Tool: r.Tool, Arguments: string(r.Payload)})
	if err != nil {
		return Receipt{}, err
	}
	// The database says whose result counts, whatever the call was answered.
	done, err := w.submitted(ctx, r)
	switch {
	case err != nil:
		return done, err
	case done.Run != "":
		done.Duplicate = false
		return done, nil
	}
	return done, &task.InputError{What: run.PlainText(answer.Content)}
}

// countSubmission counts a submission that was answered without the run: one that was
// accepted before, or is refused with err.
func (w *Worker) countSubmission(err error) {
	switch {
	case w.Metrics == nil:
	case err == nil:
		w.Metrics.Submission(metrics.Duplicate)
	case errors.As(err, new(*task.SubmissionError)):
		w.Metrics.Submission(metrics.Refused)
	case errors.As(err, new(*task.InputError)):
		w.Metrics.Submission(metrics.Invalid)
	}
}

// submitted returns the receipt of a request whose result was accepted, or why it is not
// taken. Both are zero if it can be submitted.
func (w *Worker) submitted(ctx context.Context, r SubmitRequest) (Receipt, error) {
	of, err := w.Store.TaskOf(ctx, r.Run)
	switch {
	case err != nil:
		return Receipt{}, err
	case of != string(r.Task) || of == "":
		return Receipt{}, &task.SubmissionError{Kind: task.NotGranted, Tool: r.Tool, Why: fmt.Sprintf("run %s is not one of task %s", r.Run, r.Task)}
	}
	l, err := LoadTask(ctx, w.Store, r.Task)
	if err != nil {
		return Receipt{}, err
	}
	chained, _ := l.State.Run(r.Run)
	if number := len(chained.Assignments); r.Assignment != 0 && r.Assignment != number {
		return Receipt{}, &task.SubmissionError{Kind: task.WrongAssignment, Tool: r.Tool, Why: fmt.Sprintf("assignment %d of run %s is over: it is at its assignment %d", r.Assignment, r.Run, number)}
	}
	output, _ := submission.Kind(chained.Kind).Output()
	if err := l.State.Takes(r.Run, r.Tool); err != nil {
		e, ok := errors.AsType[*task.SubmissionError](err)
		if !ok || e.Kind != task.AlreadySubmitted {
			return Receipt{}, err
		}
		return w.again(ctx, r, output, e)
	}
	value, err := normal(output, r.Payload)
	if err != nil {
		return Receipt{}, err
	}
	o, err := task.ParseOutput(chained.Kind, value)
	if err == nil && w.CheckOutput != nil {
		err = w.CheckOutput(o)
	}
	return Receipt{}, err
}

// again answers a request when a result was accepted already.
func (w *Worker) again(ctx context.Context, r SubmitRequest, o run.Output, e *task.SubmissionError) (Receipt, error) {
	accepted, ok, err := w.Store.Submitted(ctx, r.Run, r.Tool, 0)
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
