package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"pawl/app"
	"pawl/approval"
	"pawl/permission"
	"pawl/report"
	"pawl/request"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
	"pawl/view"
)

// A conversation is a run that is shown and talked to: an [app.Session], which this process
// drives, or an [app.Attached], which another does.
type conversation interface {
	ID() run.ID
	State() run.State
	Follow(ctx context.Context, after int64) iter.Seq2[view.Update, error]
	Say(ctx context.Context, id string, delivery run.Delivery, parts ...run.Part) error
	Withdraw(ctx context.Context, id string) error
	Configure(ctx context.Context, c run.ConfigChange) error
	Decide(ctx context.Context, of run.ID, d request.Decide) error
	Approvals() ([]approval.Approval, error)
	Answer(ctx context.Context, q runlog.Question, parts ...run.Part) error
	Questions() ([]runlog.Question, error)
	Interrupt(f run.Interrupted) bool
	Close() error
}

var (
	_ conversation = (*app.Session)(nil)
	_ conversation = (*app.Attached)(nil)
)

// A backend is what effects work with: the workspace, and the conversation that is open. What is
// done to the conversation is done in order.
type backend struct {
	ws   *app.Workspace
	post func(message) // hands a message to the model, from any goroutine

	terminal terminalUser // nil in tests

	loading sync.Mutex // held while is found out what the conversation waits for

	mu      sync.Mutex
	shells  []context.CancelFunc // commands of the person that run
	allowed string               // the prompt that is about to be sent, and its commands, which the person has allowed
	open    conversation         // nil: none yet
	n       int                  // counts conversations: messages of an earlier one are dropped
	unfold  context.CancelFunc
	done    chan struct{} // closed when the open conversation is not followed any more
}

// guard posts a panic of the goroutine that defers it: what ends the process has to give the
// terminal back first.
func (b *backend) guard() {
	if r := recover(); r != nil {
		b.post(panicked{fmt.Sprintf("%v\n\n%s", r, debug.Stack())})
	}
}

// current returns the open conversation and its number; nil if there is none.
func (b *backend) current() (conversation, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open, b.n
}

// leave closes the open conversation: a run that this process drives is released. why is for the person's hooks.
func (b *backend) leave(why app.Reason) error {
	b.mu.Lock()
	c, stop, done := b.open, b.unfold, b.done
	b.open, b.unfold = nil, nil
	b.n++
	b.mu.Unlock()
	if c == nil {
		return nil
	}
	if s, drives := c.(*app.Session); drives {
		s.Ends(why)
	}
	err := c.Close()
	stop()
	<-done
	return err
}

// part leaves the open conversation for another one. If it waits for the person, they are told how to continue it.
func (b *backend) part(why app.Reason) error {
	open, _ := b.current()
	s, drives := open.(*app.Session)
	var turn run.Turn
	if drives {
		turn = s.State().Turn
	}
	if err := b.leave(why); err != nil || !turn.Open() {
		return err
	}
	b.post(notice{fmt.Sprintf("run %s is left waiting: /resume %s continues it", s.ID(), s.ID())})
	return nil
}

// enter makes c the open conversation and follows it from event after.
func (b *backend) enter(c conversation, after int64) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	b.mu.Lock()
	b.n++
	b.open, b.unfold, b.done = c, cancel, done
	n := b.n
	b.mu.Unlock()
	_, attached := c.(*app.Attached)
	b.post(opened{n: n, id: c.ID(), state: c.State(), attached: attached, config: configOf(c)})
	state := c.State() // after each event; the conversation's own may be further
	from := state
	if after == 0 {
		state = run.State{}
	}
	show := func(id run.ID, u view.Update) {
		defer b.guard()
		if u = report.WithDiff(b.ws, u); id != c.ID() {
			b.post(childNews{n, id, u})
			return
		}
		b.post(news{n, u, state})
		if _, ended := payload[run.Ended](u); ended { // before what the next turn has
			denials, err := b.ws.Denials(ctx, state)
			if err != nil {
				b.post(failed{err})
			}
			b.post(finished{n, state, denials})
		}
	}
	go func() {
		defer close(done)
		defer b.guard()
		err := b.ws.FollowTree(ctx, from, func(yield func(view.Update, error) bool) {
			for u, err := range c.Follow(ctx, after) {
				if err == nil && u.Event != nil && u.Event.Seq > state.Seq {
					state, err = state.Apply(*u.Event)
				}
				if !yield(u, err) {
					return
				}
			}
		}, show)
		if err != nil {
			b.post(failed{err})
			return
		}
		if ctx.Err() == nil {
			b.post(unfollowed{n})
		}
	}()
}

// configOf returns the configuration in which a conversation continues.
func configOf(c conversation) run.Config {
	if s, ok := c.(*app.Session); ok {
		return s.Config()
	}
	return c.State().Config
}

// payload returns what an update's event says, if that is a P.
func payload[P run.Payload](u view.Update) (p P, ok bool) {
	if u.Event != nil {
		p, ok = u.Event.Payload.(P)
	}
	return p, ok
}

// takeOver opens the run that another process has driven until now.
func (b *backend) takeOver(ctx context.Context, id run.ID) error {
	c, _ := b.current()
	if c == nil || c.ID() != id {
		return nil
	}
	state := c.State()
	next, err := b.find(ctx, id, app.Task{Keeps: true})
	if err != nil {
		return err
	}
	if err := b.leave(app.ForResume); err != nil {
		return errors.Join(err, next.Close())
	}
	b.enter(next, state.Seq)
	return nil
}

// find opens a run that exists: to be driven here with t, or, if another process drives it, as that
// process does.
func (b *backend) find(ctx context.Context, id run.ID, t app.Task) (conversation, error) {
	s, err := b.ws.Resume(ctx, string(id), t)
	if errors.As(err, new(*store.OwnedError)) {
		return b.ws.Attach(ctx, id)
	}
	return s, err
}

// start begins a new run. Nothing of it is on disk before its first prompt.
func (b *backend) start(ctx context.Context, t app.Task) (conversation, error) {
	s, err := b.ws.Start(ctx, t)
	if err != nil {
		return nil, err
	}
	b.enter(s, 0)
	return s, nil
}

// resume makes a run that exists the open conversation, with t as for [app.Workspace.Resume]. It is in no
// wider mode than that of t, if t has one, whichever process drives it. What it has said so far is shown
// if tell is set.
func (b *backend) resume(ctx context.Context, which string, t app.Task, tell bool) error {
	sum, err := b.ws.Find(ctx, which)
	if err != nil {
		return err
	}
	if open, _ := b.current(); open != nil && open.ID() == sum.ID {
		b.post(notice{fmt.Sprintf("run %s is the one that is open", sum.ID)})
		return nil
	}
	c, err := b.find(ctx, sum.ID, t)
	if err != nil {
		return err
	}
	if err := b.part(app.ForResume); err != nil {
		return errors.Join(err, c.Close())
	}
	state := c.State()
	events, _, err := b.ws.Load(ctx, sum.ID)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	// What the log has gained since is followed.
	for len(events) > 0 && events[len(events)-1].Seq > state.Seq {
		events = events[:len(events)-1]
	}
	h := history{tell: tell}
	for i := range events {
		u := view.Update{Event: &events[i]}
		if len(events)-i <= maxHistory { // the end is what is shown
			u = report.WithDiff(b.ws, u)
		}
		h.updates = append(h.updates, u)
	}
	b.post(h)
	b.enter(c, state.Seq)
	if t.Mode != "" {
		own := cmp.Or(configOf(c).Mode, modes[0])
		if mode := string(permission.Stricter(permission.Mode(own), permission.Mode(t.Mode))); mode != own {
			return b.setMode(ctx, mode)
		}
	}
	return nil
}

// setMode changes the mode of the open conversation.
func (b *backend) setMode(ctx context.Context, mode string) error {
	c, n := b.current()
	if c == nil {
		return nil
	}
	err := c.Configure(ctx, run.ConfigChange{Mode: &mode})
	b.post(configured{n, configOf(c)})
	return err
}

// findCommands finds the commands that people have written.
func (b *backend) findCommands() {
	own, untrusted, problems := b.ws.PromptCommands()
	b.post(commandsKnown{own, untrusted})
	if len(untrusted) > 0 {
		b.post(notice{untrustedWords(untrusted)})
	}
	for _, p := range problems {
		b.post(notice{p})
	}
}

// untrustedWords says that commands in folders are not there, and what to do.
func untrustedWords(folders []string) string {
	return "commands in " + strings.Join(folders, " and ") + " are not loaded: review them with /trust"
}

// A terminalUser gives the terminal to another program for a time.
type terminalUser interface {
	pause() error
	resume() error
}

// shell remembers how a command of the person is stopped. To stop one that has ended does nothing.
func (b *backend) shell(stop context.CancelFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shells = append(b.shells, stop)
}

// stopShell stops the commands of the person.
func (b *backend) stopShell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, stop := range b.shells {
		stop()
	}
	b.shells = nil
}

// parts returns what a prompt consists of: what commands of the person have printed, the text,
// the files that it names with @, and its pictures.
func (b *backend) parts(ctx context.Context, text string, before, pictures []run.Part) ([]run.Part, error) {
	if text == "" {
		return slices.Concat(before, pictures), nil
	}
	var of run.State
	if c, _ := b.current(); c != nil {
		of = c.State()
	}
	typed, err := b.ws.Typed(ctx, text)
	if err != nil {
		return nil, err
	}
	said, err := b.ws.Parts(ctx, typed, of, func(_ context.Context, commands []app.PromptCommand) error {
		return b.approved(text, pictures, commands)
	})
	if err == nil {
		b.mu.Lock()
		b.allowed = ""
		b.mu.Unlock()
	}
	for _, n := range said.Notes {
		b.post(notice{n})
	}
	return slices.Concat(before, said.Parts, pictures), err
}

// approved reports whether the person has allowed the commands of the prompt that was typed, and asks them otherwise. If
// they allow them then, the prompt is sent again.
func (b *backend) approved(typed string, pictures []run.Part, commands []app.PromptCommand) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, title, it := typed, "Run the command of the prompt?", "it"
	for _, c := range commands {
		all += "\n" + c.Command
	}
	if b.allowed == all {
		return nil
	}
	reason := commands[0].Reason
	if n := len(commands); n > 1 {
		title, it, reason = fmt.Sprintf("Run all %d commands of the prompt?", n), "them", ""
	}
	for _, c := range commands {
		text := "the prompt runs: " + c.Command
		if reason == "" {
			text += " (" + c.Reason + ")"
		}
		b.post(notice{text})
	}
	b.post(picked{picker: newDurable(title, []entry{
		{text: "No", more: oneLine(reason), do: func(*model) []effect { return nil }},
		{text: "Yes", more: "run " + it + ", and send the prompt with what is printed", do: func(m *model) []effect {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.allowed = all
			d := m.input.editor.Draft() // it came back, below what was typed since
			m.input.editor.SetText(strings.TrimSuffix(strings.TrimSuffix(d.Text(), typed), "\n"), d.Images()...)
			return m.send(typed, imagesOf(append([]run.Part{run.Text(typed)}, pictures...))...)
		}},
	})})
	return errors.New("answer Yes to the question about what it runs to send it")
}
