package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pawl/app"
	"pawl/board"
	"pawl/config"
	"pawl/render"
	"pawl/run"
	tasks "pawl/task"
)

// A taskAsker asks a person at the terminal what the agents of tasks wait for, one thing at a
// time: whether a call may run, and the answers to their questions.
type taskAsker struct {
	inv   *invocation
	ws    *app.Workspace
	input *lineReader
	held  *heldWriter // standard error

	asking sync.Mutex // held while a prompt is open
}

// newTaskAsker returns an asker, or nil if no person can be asked, or the settings say what
// happens to calls that need approval.
func (inv *invocation) newTaskAsker(ws *app.Workspace, asJSON bool) (*taskAsker, error) {
	asks, err := ws.Asks()
	if err != nil || !asks || asJSON || !inv.canAsk() {
		return nil, err
	}
	return &taskAsker{inv: inv, ws: ws, input: newLineReader(inv.Stdin), held: &heldWriter{w: inv.Stderr}}, nil
}

// of returns the part of the asker for one run.
func (a *taskAsker) of(s *app.Session, out *printer) *asker {
	one := newAsker(a.inv, a.ws, s, out)
	one.input = a.input
	if f, ok := terminalFile(a.inv.Stderr); ok {
		one.style, one.width = render.StyleOf(config.Env(a.inv.Env).Get), sizeOf(f)
	}
	return one
}

// calls asks whether the calls of a run may run, each time that it waits for that, until
// changed is closed. A value in changed says that the run may have come to wait.
func (a *taskAsker) calls(ctx context.Context, s *app.Session, out *printer, changed <-chan struct{}) {
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
			again := asksNow(s.State()) && one.ask(ctx, s.State())
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
		return len(app.Undecided(s)) > 0
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
	out := &printer{output: "text", stdout: a.inv.Stdout, stderr: a.held}
	defer out.resume(false)
	one := a.of(nil, out)
	switch st := s.Status; st.Name {
	case tasks.AwaitingInput:
		open := s.OpenQuestions()
		answers := make([]string, len(open))
		for i, q := range open {
			heading := []string{"", fmt.Sprintf("%d of %d: %s", i+1, len(open), visible(q))}
			answer, ok := one.words(ctx, heading, nil, "  answer: ")
			if !ok {
				return nil, nil
			}
			answers[i] = answer
		}
		return tasks.SubmitAnswers{Answers: answers}, nil
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
		q := app.Question{Text: open[0].Question, Options: open[0].Options}
		width, _ := one.width()
		answer, ok := one.words(ctx, one.style.QuestionLines(q, width), q.Options, questionPrompt(q))
		if !ok {
			return nil, nil
		}
		return tasks.SubmitAnswers{Answers: []string{answer}}, nil
	}
	return nil, nil
}

// instead asks what an agent does after this person has stopped it at an approval; nil: nothing, or
// something else has stopped it.
func (a *taskAsker) instead(ctx context.Context, one *asker, id run.ID) (tasks.Action, error) {
	_, s, err := a.ws.Load(ctx, id)
	if i := s.Turn.Interrupt; err != nil || i.Cause != run.ByWait || i.By != app.Person() {
		return nil, err
	}
	line, ok := one.prompt(nil, "  "+insteadPrompt, ctx.Done())
	if !ok || line == "" {
		return nil, nil
	}
	return tasks.Resume{Words: line}, nil
}

// words asks for a line that is not empty.
func (a *asker) words(ctx context.Context, lines, options []string, ask string) (string, bool) {
	for {
		line, ok := a.prompt(lines, ask, ctx.Done())
		if !ok {
			return line, ok
		}
		line, err := chosen(line, options)
		if err == nil && line != "" {
			return line, true
		}
		lines = []string{"  type an answer; Ctrl-D leaves the question open"}
		if err != nil {
			lines = []string{"  " + visible(err.Error())}
		}
	}
}

// chosen returns the option that an answer is the number of, or the answer. A number that no option has is an error.
func chosen(answer string, options []string) (string, error) {
	_, err := strconv.Atoi(answer)
	if picked := choice(answer, options); len(options) == 0 || err != nil || picked != answer || slices.Contains(options, answer) {
		return picked, nil
	}
	numbered := make([]string, len(options))
	for i, o := range options {
		numbered[i] = fmt.Sprintf("%d) %s", i+1, oneLine(o, maxTitle))
	}
	return "", fmt.Errorf("there is no option %s: give one of %s, or an answer in words", answer, strings.Join(numbered, ", "))
}

// questionPrompt is what stands before the answer to a question.
func questionPrompt(q app.Question) string {
	if len(q.Options) > 0 {
		return "  answer (a number, or your own words): "
	}
	return "  answer: "
}

// A heldWriter holds what is written to it while a prompt is open, and writes it when that has ended: what a
// person has typed in the meantime cannot be drawn again, so nothing may be printed into its line.
type heldWriter struct {
	w io.Writer

	mu   sync.Mutex
	open bool
	held bytes.Buffer
}

func (h *heldWriter) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open {
		return h.held.Write(p)
	}
	return h.w.Write(p)
}

// prompt writes what a prompt says. What others write is held from now on, until resume.
func (h *heldWriter) prompt(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = true
	_, _ = io.WriteString(h.w, text) // a terminal
}

// resume ends a prompt, after the text that ends its line.
func (h *heldWriter) resume(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = false
	_, _ = io.WriteString(h.w, text+h.held.String())
	h.held.Reset()
}
