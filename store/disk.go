package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"pawl/run"
)

// The disk form of an event is apart from run's Go types, so that those may be
// renamed while old logs still load. What is stable is the name of the type, its
// version, and the keys of its JSON; a type only ever gains optional keys. A change
// that an older pawl must not overlook raises the version of the type.
//
// Where a private struct has the fields of the fact and differs in its tags only,
// it is converted as a whole: a field added to the fact then does not compile
// here until it has a key.
//
// An empty list comes back as nil, a time in UTC; everything else comes back as it was,
// strings that are not UTF-8 included (see latin1.go).

// version1 is the version of every type so far.
const version1 = 1

// Encode returns the disk form of e's fact.
func Encode(e run.Event) (typ string, version int, data []byte, err error) {
	typ, version, form := diskForm(e.Fact)
	if typ == "" {
		return "", 0, nil, fmt.Errorf("encode event: no disk form for %T", e.Fact)
	}
	data, err = marshal(form)
	if err != nil {
		return "", 0, nil, fmt.Errorf("encode event %s: %w", typ, err)
	}
	return typ, version, data, nil
}

// Decode is the inverse of [Encode]. An event of an unknown type or a newer version
// is an [*UnreadableError] without its run; data that is not what its type says is
// [ErrCorrupt].
func Decode(seq int64, at time.Time, typ string, version int, data []byte) (run.Event, error) {
	fact, err := decodeFact(typ, version, data)
	switch {
	case errors.Is(err, errUnknown):
		return run.Event{}, &UnreadableError{Seq: seq, Type: typ, Version: version}
	case err != nil:
		return run.Event{}, fmt.Errorf("%w: event %d (%s): %w", ErrCorrupt, seq, typ, err)
	}
	return run.Event{Seq: seq, At: at.UTC(), Fact: fact}, nil
}

// diskForm gives every fact its name on disk, its version, and the struct that is
// written. The names never change.
func diskForm(f run.Fact) (typ string, version int, form any) {
	switch f := f.(type) {
	case run.Created:
		return "run_created", version1, createdForm(f)
	case run.Configured:
		return "run_configured", version1, configured{configForm(f.Config)}
	case run.Prompted:
		return "prompted", version1, prompted{partForms(f.Parts), f.Continue, f.Queued}
	case run.QuestionAnswered:
		return "question_answered", version1, questionAnswered(f)
	case run.Steered:
		return "steered", version1, said{f.ID, partForms(f.Parts)}
	case run.Queued:
		return "queued", version1, said{f.ID, partForms(f.Parts)}
	case run.Withdrawn:
		return "withdrawn", version1, withdrawn(f)
	case run.RequestStarted:
		return "request_started", version1, requestStarted{f.Purpose, f.Attempt, f.Model, turnEnded(f.End)}
	case run.RequestFailed:
		return "request_failed", version1, requestFailedForm(f)
	case run.RequestLost:
		return "request_lost", version1, empty(f)
	case run.Replied:
		return "replied", version1, repliedForm(f)
	case run.PlanOpened:
		return "plan_opened", version1, planOpened(f)
	case run.StepChosen:
		return "step_chosen", version1, stepChosen(f)
	case run.StepRefused:
		return "step_refused", version1, stepRefused(f)
	case run.CallReceived:
		return "call_received", version1, callReceived{call(f.Call)}
	case run.CallAsked:
		return "call_asked", version1, callAsked(f)
	case run.CallAllowed:
		return "call_allowed", version1, callAllowed{f.Call, decision(f.Decision)}
	case run.CallRefused:
		return "call_refused", version1, callRefused{f.Call, decision(f.Decision), f.Content}
	case run.DecisionVoided:
		return "decision_voided", version1, decisionVoided(f)
	case run.CallStarted:
		return "call_started", version1, callStarted(f)
	case run.CallLost:
		return "call_lost", version1, callLost(f)
	case run.CallSettled:
		return "call_settled", version1, callSettledForm(f)
	case run.CallNoted:
		return "call_noted", version1, callNoted(f)
	case run.Nudged:
		return "nudged", version1, nudged(f)
	case run.Submitted:
		return "submitted", version1, submitted(f)
	case run.SubmissionRefused:
		return "submission_refused", version1, submissionRefused(f)
	case run.Reminded:
		return "reminded", version1, reminded(f)
	case run.Interrupted:
		return "interrupted", version1, interrupted{f.Cause, f.Call, f.By, partForms(f.Then), partForms(f.Partial)}
	case run.Compacted:
		return "compacted", version1, compacted(f)
	case run.Synthesized:
		return "synthesized", version1, synthesized{f.Text, turnEnded(f.End)}
	case run.Ended:
		return "turn_ended", version1, turnEnded(f)
	case run.DriveStarted:
		return "drive_started", version1, driveStarted(f)
	case run.Observed:
		return "observed", version1, observed{f.Conversation, partForms(f.Parts), usage(f.Usage)}
	case run.DriveEnded:
		return "drive_ended", version1, driveEnded(f)
	}
	return "", 0, nil
}

// errUnknown is what decodeFact says of a type or version it has no case for.
var errUnknown = errors.New("unknown type or version")

// decodeFact reads what diskForm gave.
func decodeFact(typ string, version int, data []byte) (run.Fact, error) {
	if version != version1 {
		return nil, errUnknown
	}
	switch typ {
	case "run_created":
		return read(data, created.fact)
	case "run_configured":
		return read(data, configured.fact)
	case "prompted":
		return read(data, prompted.fact)
	case "question_answered":
		return read(data, func(d questionAnswered) run.QuestionAnswered { return run.QuestionAnswered(d) })
	case "steered":
		return read(data, said.steered)
	case "queued":
		return read(data, said.queued)
	case "withdrawn":
		return read(data, func(d withdrawn) run.Withdrawn { return run.Withdrawn(d) })
	case "request_started":
		return read(data, requestStarted.fact)
	case "request_failed":
		return read(data, func(d requestFailed) run.RequestFailed { return run.RequestFailed(d) })
	case "request_lost":
		return read(data, func(d empty) run.RequestLost { return run.RequestLost(d) })
	case "replied":
		return read(data, replied.fact)
	case "plan_opened":
		return read(data, func(d planOpened) run.PlanOpened { return run.PlanOpened(d) })
	case "step_chosen":
		return read(data, func(d stepChosen) run.StepChosen { return run.StepChosen(d) })
	case "step_refused":
		return read(data, func(d stepRefused) run.StepRefused { return run.StepRefused(d) })
	case "call_received":
		return read(data, callReceived.fact)
	case "call_asked":
		return read(data, func(d callAsked) run.CallAsked { return run.CallAsked(d) })
	case "call_allowed":
		return read(data, callAllowed.fact)
	case "call_refused":
		return read(data, callRefused.fact)
	case "decision_voided":
		return read(data, func(d decisionVoided) run.DecisionVoided { return run.DecisionVoided(d) })
	case "call_started":
		return read(data, func(d callStarted) run.CallStarted { return run.CallStarted(d) })
	case "call_lost":
		return read(data, func(d callLost) run.CallLost { return run.CallLost(d) })
	case "call_settled":
		return read(data, callSettled.fact)
	case "call_noted":
		return read(data, func(d callNoted) run.CallNoted { return run.CallNoted(d) })
	case "nudged":
		return read(data, func(d nudged) run.Nudged { return run.Nudged(d) })
	case "submitted":
		return read(data, func(d submitted) run.Submitted { return run.Submitted(d) })
	case "submission_refused":
		return read(data, func(d submissionRefused) run.SubmissionRefused { return run.SubmissionRefused(d) })
	case "reminded":
		return read(data, func(d reminded) run.Reminded { return run.Reminded(d) })
	case "interrupted":
		return read(data, interrupted.fact)
	case "compacted":
		return read(data, func(d compacted) run.Compacted { return run.Compacted(d) })
	case "synthesized":
		return read(data, synthesized.fact)
	case "turn_ended":
		return read(data, func(d turnEnded) run.Ended { return run.Ended(d) })
	case "drive_started":
		return read(data, func(d driveStarted) run.DriveStarted { return run.DriveStarted(d) })
	case "observed":
		return read(data, observed.fact)
	case "drive_ended":
		return read(data, func(d driveEnded) run.DriveEnded { return run.DriveEnded(d) })
	}
	return nil, errUnknown
}

// read decodes data as a D and turns it into the fact it stands for.
func read[D any, F run.Fact](data []byte, fact func(D) F) (run.Fact, error) {
	var d D
	if inner, ok := latin1Inner(data); ok {
		if err := json.Unmarshal(inner, &d); err != nil {
			return nil, err
		}
		return fact(mapStrings(d, fromLatin1)), nil
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	return fact(d), nil
}

// encoders keeps the buffers of marshal.
var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.buf)
	e.json.SetEscapeHTML(false) // the log is no web page; code is full of < and &
	return e
}}

type encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

// maxKept bounds the buffers that are kept for the next event.
const maxKept = 64 << 10

// marshal returns form as JSON, or, when a string in it is not UTF-8, as the
// Latin-1 form of it.
func marshal(form any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer func() {
		if e.buf.Cap() <= maxKept {
			e.buf.Reset()
			encoders.Put(e)
		}
	}()
	if err := e.json.Encode(form); err != nil {
		return nil, err
	}
	if replacedBytes(e.buf.Bytes()) {
		e.buf.Reset()
		if err := e.json.Encode(latin1{mapStrings(form, toLatin1)}); err != nil {
			return nil, err
		}
	}
	return bytes.Clone(bytes.TrimSuffix(e.buf.Bytes(), []byte("\n"))), nil
}
