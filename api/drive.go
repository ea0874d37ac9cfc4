package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"pawl/app"
	"pawl/run"
	"pawl/store"
	"pawl/worker"
)

// A driver drives the runs that requests start or continue, for as long as they work or wait
// for a person. A run whose turn has ended is released, so that another process can drive
// it. What is said to a run goes through its inbox, whichever process drives it.
type driver struct {
	ws       *app.Workspace
	sessions *sessions
	log      *slog.Logger

	ctx context.Context // of the server

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // what attends to sessions
}

func newDriver(ctx context.Context, ws *app.Workspace, all *sessions, log *slog.Logger) *driver {
	return &driver{ws: ws, ctx: ctx, sessions: all, log: log}
}

// close waits until all runs have stopped. The context of the driver is done.
func (d *driver) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.work.Wait()
}

// enter counts a session that is attended to. It reports false if the driver is closed.
func (d *driver) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.work.Add(1)
	}
	return !d.closed
}

// start starts a run with the prompt that said returns for it.
func (d *driver) start(ctx context.Context, t app.Task, said func(run.State) ([]run.Part, error)) (run.ID, error) {
	session, err := d.ws.Start(ctx, t)
	if err != nil {
		return "", err
	}
	prompt, err := said(session.State())
	if err != nil {
		return "", errors.Join(err, session.Close())
	}
	return session.ID(), d.begin(session, func() error { return session.Prompt(context.WithoutCancel(ctx), prompt...) })
}

// ensure lets a run be driven here, unless a process drives it: an open turn continues, and
// what is in its inbox is read.
func (d *driver) ensure(ctx context.Context, id run.ID) error {
	_, driven, err := d.ws.Owner(ctx, id)
	if driven || err != nil {
		return err
	}
	session, err := d.ws.Resume(ctx, string(id), app.Task{Keeps: true})
	if errors.As(err, new(*store.OwnedError)) {
		return nil // by another request, or another process, meanwhile
	} else if err != nil {
		return err
	}
	return d.begin(session, func() error { return session.Begin(context.WithoutCancel(ctx)) })
}

// pollLeft is how often a server looks for runs that another has left.
const pollLeft = 2 * time.Second

// takeUp drives the runs that servers have left, until the server ends: those of this one before it was started again, and
// those of others that die.
func (d *driver) takeUp() {
	if !d.enter() {
		return
	}
	defer d.work.Done()
	said := map[string]bool{} // what is wrong, which stays so for a while
	warn := func(problem string, err error) {
		if text := err.Error(); d.ctx.Err() == nil && !said[text] {
			said[text] = true
			d.log.Warn(problem, "error", err)
		}
	}
	tick := time.NewTicker(pollLeft)
	defer tick.Stop()
	for {
		left, err := d.ws.LeftRuns(d.ctx)
		if err != nil && !errors.Is(err, store.ErrNoRuns) {
			warn("runs that were left are not known", err)
		}
		for _, id := range left {
			if err := d.ensure(d.ctx, id); err != nil {
				warn("a run that was left is not continued", fmt.Errorf("run %s: %w", id, err))
			}
		}
		select {
		case <-tick.C:
		case <-d.ctx.Done():
			return
		}
	}
}

// begin lets a session work, and attends to it until it is released.
func (d *driver) begin(session *app.Session, begin func() error) error {
	if !d.enter() {
		return errors.Join(worker.ErrClosed, session.Close())
	}
	d.sessions.add(session)
	err := d.ws.SetServed(d.ctx, session.ID(), true)
	if err == nil {
		err = begin()
	}
	if err != nil {
		d.sessions.remove(session)
		err = errors.Join(err, session.Close())
		d.work.Done()
		return err
	}
	go d.attend(session)
	return nil
}

// attend releases the run when its turn has ended and nothing of it runs. One that is released before, as the server
// ends, is continued by the next.
func (d *driver) attend(session *app.Session) {
	defer func() {
		defer d.work.Done()
		_ = session.Close() // its log says what became of it
		d.sessions.remove(session)
	}()
	for {
		state, err := session.Wait(d.ctx)
		if err != nil || d.ctx.Err() != nil {
			return
		}
		if !state.Turn.Open() && len(state.Turn.End.Jobs) == 0 {
			if err := d.ws.SetServed(d.ctx, session.ID(), false); err != nil {
				d.log.Warn("a run that is at rest will be looked at again by the next server", "run", session.ID(), "error", err)
			}
			return
		}
		if !happens(d.ctx, session, state.Seq) {
			return
		}
	}
}

// happens waits for an event of a session that is at rest. It reports false if there will
// be none.
func happens(ctx context.Context, session *app.Session, after int64) bool {
	for u, err := range session.Follow(ctx, after) {
		if err != nil {
			return false
		}
		if u.Event != nil {
			return true
		}
	}
	return false
}

const (
	// patience is how long a request waits until the process that drives a run has taken
	// what it says. After that it is answered that it waits.
	patience = 5 * time.Second
	// pollTaken is how often that is looked for.
	pollTaken = 5 * time.Millisecond
)

// deliver lets a run be driven until it has taken a message. It reports false if that takes
// too long: the message then stays in the inbox.
func (d *driver) deliver(ctx context.Context, id run.ID, message string) (taken bool, err error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	poll := time.NewTicker(pollTaken)
	defer poll.Stop()
	for {
		waits, err := d.ws.Waits(ctx, id, message)
		if err != nil || !waits {
			return err == nil, err
		}
		if err := d.ensure(ctx, id); err != nil {
			return false, err
		}
		select {
		case <-poll.C:
		case <-late.C:
			return false, nil
		case <-ctx.Done():
			return false, fmt.Errorf("the message %s waits in the inbox of run %s: %w", message, id, context.Cause(ctx))
		}
	}
}

// get returns the session of a run that this process drives; nil: it does not. changed is
// closed when that may be otherwise.
func (s *sessions) get(id run.ID) (session *app.Session, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.all[id], s.changed
}

// remove forgets a session.
func (s *sessions) remove(session *app.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[session.ID()] == session {
		delete(s.all, session.ID())
	}
}
