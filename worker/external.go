package worker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"pawl/internal/visible"
	"pawl/run"
	"pawl/view"
)

// An Agent runs the turns of an external agent, a program with its own agent loop.
type Agent interface {
	// Turn starts the agent with a message, in its existing conversation if there is one.
	// It yields what the agent reports as [run.Observed], its id for the conversation
	// first, and finally [run.Replied] or [run.RequestFailed]. An event is durable when
	// yield returns. When ctx is done, Turn ends the agent's processes and returns when
	// they have ended; until then no other turn of the run is started.
	Turn(ctx context.Context, t AgentTurn) iter.Seq2[run.Payload, error]
}

// An AgentTurn is the input of a turn of an external agent.
type AgentTurn struct {
	Run          run.ID
	Workspace    string
	Model        string
	System       string
	Conversation string // the agent's own id for it; empty before it is known
	Message      []run.Part
	Mode         string // permission mode
	// Summary says what was said and done before in the run, for an agent that does not know
	// the conversation any more; empty: nothing was.
	Summary string
	// Notice shows those who follow the run a sentence.
	Notice func(string)
}

// agentPatience is how long Run waits for a stopped agent to end. An agent is asked to
// stop, sent SIGTERM after 5 s and SIGKILL after another 5 s.
const agentPatience = 15 * time.Second

// external performs an external turn after the previous one has ended, and reports what
// the agent does. It closes ended when the agent has ended.
func (r *Runner) external(ctx context.Context, op *operation, c run.ExternalTurn, before <-chan struct{}, ended chan<- struct{}) {
	done := run.Completion{Key: op.key}
	if before != nil { // two processes must not work on one conversation
		select {
		case <-before:
		case <-ctx.Done():
			go func() { <-before; close(ended) }()
			done.Events = []run.Payload{run.RequestFailed{Kind: run.ErrAborted, Reason: "not started: the agent of the turn before has not ended"}}
			r.done <- done
			return
		}
	}
	s := r.State()
	for p, err := range r.turnOf(ctx, s, c) {
		if err != nil {
			p = run.RequestFailed{Kind: run.ErrInvalid, Reason: err.Error()}
		}
		switch p := p.(type) {
		case run.Observed:
			hide(r.hidden(), p.Parts)
			if slices.ContainsFunc(p.Parts, func(p run.Part) bool { return p.Result != nil }) {
				r.save(ctx)
			}
			r.report(ctx, op, p)
			continue
		case run.Replied:
			hide(r.hidden(), p.Parts)
		}
		done.Events = []run.Payload{p}
		break
	}
	close(ended)
	if done.Events == nil {
		done.Events = []run.Payload{run.RequestFailed{Kind: run.ErrBrokenStream, Reason: "the agent ended without saying how its turn ended"}}
	}
	r.done <- done
}

// report records what an agent has reported. It returns when that is durable or ctx is
// done.
func (r *Runner) report(ctx context.Context, op *operation, o run.Observed) {
	if ctx.Err() != nil {
		return
	}
	r.done <- run.Completion{Key: op.key, Events: []run.Payload{o}, More: true}
	select {
	case <-op.recorded:
	case <-ctx.Done():
	}
}

// join waits for a stopped agent to end.
func (r *Runner) join() {
	if r.agent == nil {
		return
	}
	timer := time.NewTimer(agentPatience)
	defer timer.Stop()
	select {
	case <-r.agent:
	case <-timer.C:
		r.w.debug("the agent did not end", "run", r.id)
	}
}

func (r *Runner) turnOf(ctx context.Context, s run.State, c run.ExternalTurn) iter.Seq2[run.Payload, error] {
	if r.w.Agent == nil {
		return func(yield func(run.Payload, error) bool) {
			yield(nil, errors.New("this run belongs to an external agent, which this release of pawl cannot drive"))
		}
	}
	if r.gateClosed() || ctx.Err() != nil {
		return func(yield func(run.Payload, error) bool) {
			yield(nil, fmt.Errorf("not started: %w", context.Cause(ctx)))
		}
	}
	mode, err := r.mode(s)
	if err != nil {
		return func(yield func(run.Payload, error) bool) { yield(nil, err) }
	}
	return r.w.Agent.Turn(ctx, AgentTurn{Run: r.id, Workspace: s.Created.Workspace, Model: s.Config.Model,
		System: s.Created.System, Conversation: c.Conversation, Message: c.Message, Mode: string(mode), Summary: r.account(ctx, s),
		Notice: func(note string) { r.feed.show(view.Update{Notice: note}) }})
}

// maxSummary bounds the account of a lost conversation, in bytes: its end counts most.
const maxSummary = 24 << 10

// maxCalled bounds what the account has of a call, and of its result, in bytes.
const maxCalled = 300

// account is what an agent is told of a run whose conversation it does not know any more: what was said, and what it did in the
// turn that was cut off, so that it does not do that again.
func (r *Runner) account(ctx context.Context, s run.State) string {
	heard := s.Heard()
	if len(heard) == 0 {
		return "" // it begins
	}
	var did []run.Part
	for e, err := range r.w.Store.Events(ctx, r.id, 0) {
		if err != nil {
			break // the turn fails of it
		}
		switch p := e.Payload.(type) {
		case run.Observed:
			did = append(did, p.Parts...)
		case run.Replied:
			did = nil // its words say it
		}
	}
	if calls := calledBefore(did); calls != "" {
		heard = append(heard, run.Message{Role: run.Assistant, Parts: []run.Part{run.Text("[cut off. These tools were used before:]\n" + calls)}})
	}
	return summary(heard)
}

// calledBefore lists calls, with the beginning of what became of them.
func calledBefore(parts []run.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Call == nil {
			continue
		}
		became := "what became of it is not known"
		for _, q := range parts {
			if q.Result != nil && q.Result.Call == p.Call.ID {
				became = "done: "
				if !run.Succeeded(q.Result.IsError, q.Result.ExitCode) {
					became = "failed: "
				}
				became += beginning(run.PlainText(q.Result.Content))
			}
		}
		fmt.Fprintf(&b, "- %s %s - %s\n", p.Call.Tool, beginning(p.Call.Arguments), became)
	}
	return b.String()
}

// beginning returns that of a text, on one line.
func beginning(text string) string {
	if text = visible.Line(strings.TrimSpace(text)); len(text) > maxCalled {
		return strings.ToValidUTF8(text[:maxCalled], "") + "…"
	}
	return text
}

// summary is what an agent is told of messages that it does not know any more.
func summary(messages []run.Message) string {
	var b strings.Builder
	for _, m := range messages {
		text := strings.TrimSpace(run.PlainText(m.Parts))
		if text == "" {
			continue
		}
		who := "The person"
		if m.Role == run.Assistant {
			who = "The agent"
		}
		fmt.Fprintf(&b, "%s: %s\n\n", who, text)
	}
	text := strings.TrimSpace(b.String())
	if over := len(text) - maxSummary; over > 0 {
		return "[the beginning is left out]\n" + strings.ToValidUTF8(text[over:], "")
	}
	return text
}
