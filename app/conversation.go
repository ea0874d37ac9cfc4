package app

import (
	"context"
	"crypto/rand"

	"pawl/config"
	"pawl/inbox"
	"pawl/request"
	"pawl/run"
	"pawl/runlog"
)

// A conversation is a run that a face talks to, whichever process drives it: a [Session] or an
// [Attached].
type conversation struct {
	w  *Workspace
	id run.ID
	by transport
}

// A transport hands requests to the process that drives a run.
type transport interface {
	State() run.State
	Interrupt(f run.Interrupted) bool
	// hand hands in requests of a key. A session returns when they are in the log, and records them
	// together or not at all.
	hand(ctx context.Context, key string, requests ...request.Request) error
	// decide hands in the answer to a call of the run itself.
	decide(ctx context.Context, d request.Decide) error
	// attend sees to it that the run is driven, so that what is said to the runs below it is read.
	attend(ctx context.Context) error
}

// ID returns the run's id.
func (c *conversation) ID() run.ID { return c.id }

// Say says something to the agent as message id, by which it can be withdrawn until it is
// delivered: with the next results, or when the turn has ended. Without an open turn it is a
// prompt.
func (c *conversation) Say(ctx context.Context, id string, delivery run.Delivery, parts ...run.Part) error {
	return c.by.hand(ctx, id, request.Say{ID: id, Delivery: delivery, Parts: parts})
}

// Withdraw takes back a message that was not delivered yet.
func (c *conversation) Withdraw(ctx context.Context, id string) error {
	return c.by.hand(ctx, "withdraw-"+rand.Text(), request.Withdraw{ID: id})
}

// Configure changes the run's configuration from the next step on.
func (c *conversation) Configure(ctx context.Context, change run.ConfigChange) error {
	return c.by.hand(ctx, "set-"+rand.Text(), request.Configure{Change: change})
}

// Decide answers a call that waits for a person, of this run or of one below it, and returns when
// the answer is in the log. The first answer counts; an error says that this one does not.
func (c *conversation) Decide(ctx context.Context, of run.ID, d request.Decide) error {
	if d.By == "" {
		d.By = config.Person()
	}
	if of == c.id {
		return c.by.decide(ctx, d)
	}
	if err := c.by.attend(ctx); err != nil {
		return err
	}
	_, err := c.w.Decide(ctx, of, d)
	return err
}

// Answer answers an open question of the agent, or of one that it has started.
func (c *conversation) Answer(ctx context.Context, q runlog.Question, parts ...run.Part) error {
	key, answer := "answer-"+rand.Text(), request.Answer{Call: q.Call, Parts: parts} // to this question and to no other
	if q.Run == "" || q.Run == c.id {
		return c.by.hand(ctx, key, answer)
	}
	// It is there before the run is driven, which without a person to ask would not wait for it.
	if err := c.w.put(ctx, q.Run, key, answer); err != nil {
		return err
	}
	if err := c.by.attend(ctx); err != nil {
		return err
	}
	st, err := c.w.writing()
	if err != nil {
		return err
	}
	_, err = inbox.Await(ctx, st, q.Run, key)
	return err
}

// Questions returns the questions that the runs below this one wait with while its turn is open.
func (c *conversation) Questions() ([]runlog.Question, error) {
	return c.w.QuestionsBelow(c.by.State())
}
