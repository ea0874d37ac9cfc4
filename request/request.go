// Package request defines what can be asked of a run, as data: by a person, a program or an external agent,
// from the process that drives the run or from another.
//
// A request says what it means in a state of the run: the events to record, or why there are none. It
// records nothing itself. The process that drives the run takes requests of its own faces from its
// memory, and those of other processes from the run's inbox, where each is a row; see [Encode]. Both
// are the same values, so that both mean the same.
package request

import (
	"cmp"
	"errors"
	"fmt"

	"pawl/permission"
	"pawl/run"
)

// A Request is one thing that is asked of a run: one of the types below.
type Request interface {
	// Events returns what the request means in s, or why it means nothing there. w answers what
	// depends on more than the state.
	Events(s run.State, w World) ([]run.Payload, error)
	// Begins reports whether it says something to the agent: it then may begin a turn, and waits while
	// the turn before is being interrupted.
	Begins() bool
	// Settles reports whether it is read, when it was made while no process drove the run, before what
	// the next process drives the run for: what that process was given overrides it, and finds its calls answered.
	Settles() bool
	kind() kind
}

// A World answers for the process that drives a run.
type World interface {
	// CheckConfig returns why a change of the run's configuration cannot be made in s.
	CheckConfig(s run.State, c run.ConfigChange) error
	// Decided returns the events of an answer to a call that waits for one in s.
	Decided(s run.State, d Decide) ([]run.Payload, error)
	// Picked returns an answer to the question of a call. If the answer is only the number of an option, that
	// is replaced by the option.
	Picked(c run.CallState, answer []run.Part) []run.Part
	// ToolNamed returns the tool that an external agent means by a name.
	ToolNamed(s run.State, name string) string
}

// Say says something to the agent: it begins a turn, answers the open question, or is delivered to the
// open turn.
type Say struct {
	ID       string       `json:"id"` // by which it can be withdrawn until it is delivered
	Delivery run.Delivery `json:"delivery"`
	Parts    []run.Part   `json:"parts"`
}

// Continue begins a turn without words. An open one goes on.
type Continue struct {
	Turn int `json:"turn,omitempty"` // that was open when it was asked for: if it has ended since, no other begins
}

// Answer answers a question of the agent that is open although its turn has ended, or one that a call asks while it
// runs.
type Answer struct {
	Call  run.CallID `json:"call"`
	Parts []run.Part `json:"parts"`
}

// Withdraw takes back what was said and is not delivered yet, or says that an external agent does not wait
// any more for the answer to its call.
type Withdraw struct {
	ID string `json:"id"` // of Say, or the key of Call
}

// Configure changes the run's configuration from the next step on.
type Configure struct {
	Change run.ConfigChange `json:"change"`
}

// Decide is a person's answer to a call that needs approval. The first one for a call counts.
type Decide struct {
	Call   run.CallID `json:"call"`
	Answer run.Answer `json:"answer"` // allow, always, wait, never, deny
	By     string     `json:"by,omitempty"`
	// Text is for the model: with wait it is the prompt of the next turn, with never and
	// deny it is part of the result.
	Text string `json:"text,omitempty"`
	// Rules are stored with always and never; none: those that are proposed.
	Rules permission.Rules `json:"rules,omitempty"`
	// Digest is the digest, or a prefix of it, of what the person was shown. The answer has
	// no effect if the call would do something else by now.
	Digest string `json:"digest,omitempty"`
}

// Interrupt stops the open turn.
type Interrupt struct {
	Turn  int        `json:"turn,omitempty"`  // 0: the one that is open when it is read
	Cause run.Cause  `json:"cause,omitempty"` // empty: a person
	By    string     `json:"by,omitempty"`
	Then  []run.Part `json:"then,omitempty"` // begins the next turn
}

// Call is a call that an external agent makes through pawl's tools. It is answered with a [Result].
type Call struct {
	Key       string `json:"key"` // identifies the request: a second one with it is the same call
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"` // a JSON object
}

// A Result tells another process the outcome of its request. The zero value says that it is recorded.
type Result struct {
	Refused string     `json:"refused,omitempty"` // why nothing was recorded
	Content []run.Part `json:"content,omitempty"` // of a [Call]
	IsError bool       `json:"is_error,omitempty"`
}

// A QuestionError says that a run does not continue without words: its agent has asked something.
type QuestionError struct{ Call run.Call }

func (e *QuestionError) Error() string { return "the agent waits for the answer to its question" }

// Why a request comes too late.
var (
	ErrNoTurn     = errors.New("the turn has ended")
	ErrNoQuestion = errors.New("the question was answered already, or was none")
	ErrDelivered  = errors.New("it was delivered or taken back already")
)

func (r Say) Events(s run.State, w World) ([]run.Payload, error) {
	return []run.Payload{picked(s, w, run.Say(s, r.ID, r.Delivery, r.Parts))}, nil
}

// picked returns p; if it answers an open question, with the answer that [World.Picked] returns.
func picked(s run.State, w World, p run.Payload) run.Payload {
	for _, q := range s.Questions() {
		switch f := p.(type) {
		case run.Prompted:
			if f.Answers == q.ID {
				f.Parts = w.Picked(q, f.Parts)
				return f
			}
		case run.CallAnswered:
			if f.Call == q.ID {
				f.Parts = w.Picked(q, f.Parts)
				return f
			}
		}
	}
	return p
}

func (r Continue) Events(s run.State, _ World) ([]run.Payload, error) {
	switch questions := s.Questions(); {
	case s.Turn.Open(), r.Turn != 0 && r.Turn == s.Turn.N:
		return nil, nil
	case len(questions) > 0:
		return nil, &QuestionError{questions[0].Call}
	}
	return []run.Payload{run.Prompted{Continue: true}}, nil
}

func (r Answer) Events(s run.State, w World) ([]run.Payload, error) {
	if s.Turn.Open() {
		return following(s, picked(s, w, run.CallAnswered{Call: r.Call, Parts: r.Parts}), ErrNoQuestion)
	}
	return following(s, picked(s, w, run.Prompted{Parts: r.Parts, Answers: r.Call}), ErrNoQuestion)
}

func (r Withdraw) Events(s run.State, _ World) ([]run.Payload, error) {
	return following(s, run.Withdrawn{ID: r.ID}, ErrDelivered)
}

// following returns p, or an error if p cannot follow s.
func following(s run.State, p run.Payload, otherwise error) ([]run.Payload, error) {
	if _, err := s.Apply(run.Event{At: s.At, Payload: p}); err != nil {
		return nil, otherwise
	}
	return []run.Payload{p}, nil
}

func (r Configure) Events(s run.State, w World) ([]run.Payload, error) {
	if err := w.CheckConfig(s, r.Change); err != nil {
		return nil, err
	}
	return []run.Payload{run.Configured{Change: r.Change}}, nil
}

func (r Decide) Events(s run.State, w World) ([]run.Payload, error) { return w.Decided(s, r) }

func (r Interrupt) Events(s run.State, _ World) ([]run.Payload, error) {
	if !s.Turn.Open() || r.Turn != 0 && r.Turn != s.Turn.N {
		return nil, ErrNoTurn
	}
	return []run.Payload{run.Interrupted{Turn: s.Turn.N, Cause: cmp.Or(r.Cause, run.ByPerson), By: r.By, Then: r.Then}}, nil
}

func (r Call) Events(s run.State, w World) ([]run.Payload, error) {
	if s.Turn.Received(r.Key) != "" {
		return nil, nil // a process before this one has received it
	}
	call := run.Call{ID: run.CallID(fmt.Sprintf("c_%d", s.NextCall())), Tool: w.ToolNamed(s, r.Tool), Arguments: r.Arguments}
	return []run.Payload{run.CallReceived{Key: r.Key, Call: call}}, nil
}

func (Say) Begins() bool       { return true }
func (Continue) Begins() bool  { return true }
func (Answer) Begins() bool    { return true }
func (Withdraw) Begins() bool  { return false }
func (Configure) Begins() bool { return false }
func (Decide) Begins() bool    { return false }
func (Interrupt) Begins() bool { return false }
func (Call) Begins() bool      { return false }

func (Say) Settles() bool       { return false }
func (Continue) Settles() bool  { return false }
func (Answer) Settles() bool    { return false }
func (Withdraw) Settles() bool  { return false }
func (Configure) Settles() bool { return true }
func (Decide) Settles() bool    { return true }
func (Interrupt) Settles() bool { return false }
func (Call) Settles() bool      { return true }

// All returns what requests mean in s, one after the other: all of them, or an error and nothing.
func All(s run.State, w World, requests ...Request) ([]run.Payload, error) {
	var all []run.Payload
	for _, r := range requests {
		payloads, err := r.Events(s, w)
		for _, p := range payloads {
			if _, ok := p.(run.Interrupted); err != nil || ok {
				break // the rules of an interrupt are the runner's
			}
			s, err = s.Apply(run.Event{At: s.At, Payload: p})
		}
		if err != nil {
			return nil, err
		}
		all = append(all, payloads...)
	}
	return all, nil
}
