package tasks

import (
	"context"
	"fmt"
	"sync"

	"pawl/app"
	"pawl/board"
	"pawl/cli/command"
	"pawl/cli/console"
	"pawl/config"
	"pawl/render"
	"pawl/run"
	"pawl/runlog"
	tasks "pawl/task"
)

// A taskAsker asks a person at the terminal what the agents of tasks wait for, one thing at a
// time: whether a call may run, and the answers to their questions.
type taskAsker struct {
	inv   *command.Invocation
	ws    *app.Workspace
	input *console.LineReader
	held  *console.HeldWriter // standard error

	asking sync.Mutex // held while a prompt is open
}

// newTaskAsker returns an asker, or nil if no person can be asked, or the settings say what
// happens to calls that need approval.
func newTaskAsker(inv *command.Invocation, ws *app.Workspace, asJSON bool) (*taskAsker, error) {
	asks, err := ws.Asks()
	if err != nil || !asks || asJSON || !console.CanAsk(inv) {
		return nil, err
	}
	return &taskAsker{inv: inv, ws: ws, input: console.NewLineReader(inv.Stdin), held: &console.HeldWriter{To: inv.Stderr}}, nil
}

// of returns the part of the asker for one run.
func (a *taskAsker) of(s *app.Session, out *console.Printer) *console.Asker {
	one := console.NewAsker(a.inv, a.ws, s, out)
	one.Input = a.input
	if f, ok := command.TerminalFile(a.inv.Stderr); ok {
		one.Style, one.Width = render.StyleOf(config.Env(a.inv.Env).Get), command.SizeOf(f)
	}
	return one
}

// calls asks whether the calls of a run may run, each time that it waits for that, until
// changed is closed. A value in changed says that the run may have come to wait.
func (a *taskAsker) calls(ctx context.Context, s *app.Session, out *console.Printer, changed <-chan struct{}) {
	one := a.of(s, out)
	for range changed {
		for {
			state, err := s.State(), error(nil)
			if !state.Created.External {
				state, err = s.Wait(ctx)
			}
			if err != nil || !asksNow(state) {
				break
			}
			a.asking.Lock()
			again := asksNow(s.State()) && one.Ask(ctx, s.State())
			a.asking.Unlock()
			if !again {
				break
			}
		}
	}
}

// asksNow reports whether a person is asked now for a run that is at rest. The run of an external agent is
// not at rest while a call waits, because the agent keeps working: it asks as soon as one does.
func asksNow(s run.State) bool {
	if s.Created.External {
		return len(runlog.Undecided(s)) > 0
	}
	return s.Turn.Open()
}

// answers asks the questions that a task at rest waits for, and returns what the answers do to
// the task; nil: it does not wait for answers, or input has ended. moved: it was answered elsewhere,
// or does not wait any more for another reason, which the person is told.
func (a *taskAsker) answers(ctx context.Context, s tasks.State) (answer tasks.Action, moved bool, err error) {
	waiting, left := context.WithCancel(ctx)
	how := ""
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for e, err := range board.Of(a.ws).Follow(waiting, s.Created.Task, s.Seq) {
			if p, ok := e.Payload.(tasks.StatusChanged); ok && p.Trigger == tasks.OnAnswers {
				how = "answered elsewhere"
			} else if ok || err != nil {
				how = "not asked any more: the task was changed elsewhere"
			}
			if how != "" {
				left()
				return
			}
		}
	}()
	answer, err = a.asks(waiting, s)
	left()
	<-watched
	if answer != nil || err != nil || how == "" {
		return answer, false, err
	}
	fmt.Fprintln(a.held, "  "+how)
	return nil, true, nil
}

// asks is like answers, but stops when ctx is done.
func (a *taskAsker) asks(ctx context.Context, s tasks.State) (tasks.Action, error) {
	out := &console.Printer{Output: "text", Stdout: a.inv.Stdout, Stderr: a.held}
	defer out.Resume(false)
	one := a.of(nil, out)
	switch st := s.Status; st.Name {
	case tasks.AwaitingInput:
		open := s.OpenQuestions()
		answers := make([]string, len(open))
		for i, q := range open {
			heading := []string{"", fmt.Sprintf("%d of %d: %s", i+1, len(open), command.Visible(q))}
			answer, ok := one.Words(ctx, heading, nil, "  answer: ")
			if !ok {
				return nil, nil
			}
			answers[i] = answer
		}
		return tasks.SubmitAnswers{Answers: answers, Questions: open}, nil
	case tasks.Waiting:
		if st.Reason == string(run.EndInterrupted) {
			return a.instead(ctx, one, st.Run)
		}
		if st.Reason != string(run.Asked) {
			return nil, nil
		}
		open := openQuestions(s)
		if len(open) == 0 {
			return nil, nil
		}
		q := runlog.Question{Text: open[0].Question, Options: open[0].Options}
		width, _ := one.Width()
		answer, ok := one.Words(ctx, one.Style.QuestionLines(q, width), q.Options, console.QuestionPrompt(q))
		if !ok {
			return nil, nil
		}
		return tasks.SubmitAnswers{Answers: []string{answer}, Questions: s.OpenQuestions()}, nil
	}
	return nil, nil
}

// instead asks what an agent does after this person has stopped it at an approval; nil: nothing, or
// something else has stopped it.
func (a *taskAsker) instead(ctx context.Context, one *console.Asker, id run.ID) (tasks.Action, error) {
	_, s, err := a.ws.Load(ctx, id)
	if i := s.Turn.Interrupt; err != nil || i.Cause != run.ByWait || i.By != config.Person() {
		return nil, err
	}
	line, ok := one.Prompt(nil, "  "+console.InsteadPrompt, ctx.Done())
	if !ok || line == "" {
		return nil, nil
	}
	return tasks.Resume{Words: line}, nil
}
