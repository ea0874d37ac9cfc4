package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"pawl/app"
	"pawl/permission"
	"pawl/render"
	"pawl/run"
	"pawl/view"
	"pawl/worker"
)

// canAsk reports whether a person can be asked: standard input and standard error are a
// terminal, and this process may read it.
func (inv *invocation) canAsk() bool {
	in, ok := terminalFile(inv.Stdin)
	_, out := terminalFile(inv.Stderr)
	return ok && out && inForeground(in)
}

// An asker asks a person at the terminal what a run waits for: whether a call may run, and
// the answer to a question of the agent.
type asker struct {
	inv     *invocation
	ws      *app.Workspace
	session *app.Session
	out     *printer
	style   render.Style
	width   func() (width, height int)
	input   *lineReader
	stopped bool // the turn was interrupted by a signal
}

func newAsker(inv *invocation, ws *app.Workspace, s *app.Session, out *printer) *asker {
	a := &asker{inv: inv, ws: ws, session: s, out: out, width: func() (int, int) { return usualWidth, usualHeight },
		input: &lineReader{r: inv.Stdin, lines: make(chan string, 16)}}
	a.style.ASCII = true
	if out.display != nil {
		a.style, a.width = out.display.shown.Style, out.display.size
		out.display.asked = true
	}
	return a
}

// ask asks for what a run at rest waits for. It reports whether the run continues.
func (a *asker) ask(ctx context.Context, s run.State) bool {
	a.out.await(s.Seq)
	switch {
	case s.Turn.Open() && ctx.Err() != nil && !a.stopped:
		a.stopped = true
		a.session.Interrupt(worker.StopOf(ctx).Interrupted) // it came while the run was at rest
		return true
	case ctx.Err() != nil || a.input.ended():
		return false
	case s.Turn.Open():
		return a.approval(ctx)
	case len(s.Questions()) > 0:
		return a.question(ctx, app.QuestionOf(s.Questions()[0].Call))
	}
	return false
}

// prompt prints lines and reads a line of the person. ok is false if there is none: input
// has ended, or gone was closed.
func (a *asker) prompt(lines []string, ask string, gone <-chan struct{}) (line string, ok bool) {
	a.input.open()
	defer a.input.close()
	a.out.prompt(lines, ask)
	select {
	case line, ok = <-a.input.lines:
	case <-gone:
	}
	a.out.resume(!ok)
	return strings.TrimSpace(line), ok
}

// say prints lines that belong to a prompt.
func (a *asker) say(format string, args ...any) {
	fmt.Fprintf(a.out.stderr, "  "+format+"\n", args...)
}

// approval asks whether the first call that waits may run.
func (a *asker) approval(ctx context.Context) bool {
	calls, err := a.session.Approvals()
	if err != nil || len(calls) == 0 {
		if err != nil {
			a.inv.notice(err.Error())
		}
		return false
	}
	call := calls[0]
	elsewhere := a.watch(ctx, call.Call.ID)
	defer elsewhere.stop()
	width, _ := a.width()
	for lines := a.describe(call, len(calls), foldedPrompt, width); ; {
		line, ok := a.prompt(lines, "  y, a, n, v, w or d: ", elsewhere.gone)
		if !ok {
			if elsewhere.ended() {
				if elsewhere.how != "" {
					a.say("%s", visible(elsewhere.how))
				}
				return true
			}
			return false // input has ended, and the call waits
		}
		answer, words, _ := strings.Cut(line, " ")
		words = strings.TrimSpace(words)
		lines = nil
		d := worker.Decision{Call: call.Call.ID, Text: words, Digest: call.Preview.Digest}
		switch strings.ToLower(answer) {
		case "y", "yes", "allow":
			d.Answer = run.Allow
		case "a", "always":
			d.Answer = run.Always
		case "n", "no":
			d.Answer = run.Deny
		case "v", "never":
			d.Answer = run.Never
		case "w", "wait":
			d.Answer = run.Wait
			if words == "" {
				d.Text, ok = a.prompt(nil, "  what should it do instead? ", elsewhere.gone)
				if !ok {
					continue // the next prompt finds out why
				}
			}
		case "d", "details":
			lines = a.describe(call, len(calls), 0, width)
			continue
		default:
			lines = []string{"  answer with one letter: " + answerLetters}
			continue
		}
		if words != "" && (d.Answer == run.Allow || d.Answer == run.Always) {
			lines = []string{"  y and a take no words; n, v and w do"}
			continue
		}
		if d.Answer == run.Always || d.Answer == run.Never {
			if d.Rules, err = call.Rules(d.Answer, permission.ForWorkspace, nil); err != nil {
				lines = []string{"  " + visible(err.Error())}
				continue
			}
		}
		elsewhere.stop()
		if err := a.session.Decide(context.WithoutCancel(ctx), d); err != nil {
			a.say("%s", visible(err.Error()))
		}
		return true
	}
}

const answerLetters = "y (allow once), a (always allow), n (deny once), v (never allow), w (stop and say what to do instead), d (show everything)"

// question asks a question of the agent.
func (a *asker) question(ctx context.Context, q app.Question) bool {
	width, _ := a.width()
	line, ok := a.words(ctx, a.style.QuestionLines(q, width), q.Options, questionPrompt(q))
	if !ok {
		return false
	}
	if err := a.session.Answer(ctx, q.Call, run.Text(line)); err != nil {
		a.say("%s", visible(err.Error()))
		return false
	}
	return true
}

// choice returns the option that a line is the number of, or the line.
func choice(line string, options []string) string {
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(options) {
		return options[n-1]
	}
	return line
}

// An elsewhereWatch watches for what makes an answer to a call pointless: another process
// has answered, or the turn was interrupted.
type elsewhereWatch struct {
	gone   chan struct{} // closed then
	how    string        // set before
	cancel context.CancelFunc
	done   chan struct{}
}

func (a *asker) watch(ctx context.Context, id run.CallID) *elsewhereWatch {
	from := a.session.State().Seq
	follow, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &elsewhereWatch{gone: make(chan struct{}), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for u, err := range a.session.Follow(follow, from) {
			if err != nil {
				return // the session ends with it
			}
			if u.Event == nil {
				continue
			}
			switch f := u.Event.Payload.(type) {
			case run.CallDecided:
				if f.Call != id {
					continue
				}
				w.how = "answered elsewhere: " + view.DecisionWords(f.Decision)
			case run.ApprovalInvalidated:
				if f.Call != id {
					continue
				}
				w.how = "the call has changed: " + view.OneLine(f.Reason, maxTitle)
			case run.Interrupted:
				// the note that follows says it
			default:
				continue
			}
			close(w.gone)
			return
		}
	}()
	return w
}

func (w *elsewhereWatch) ended() bool {
	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

func (w *elsewhereWatch) stop() {
	w.cancel()
	<-w.done
}

// A lineReader reads what a person types. It reads from the first prompt on, and keeps
// lines only while a prompt is open: an answer is never older than what it answers.
type lineReader struct {
	r     io.Reader
	lines chan string // closed when input has ended

	mu      sync.Mutex
	started bool
	asking  bool
	closed  bool
}

// open discards what was typed before, and takes lines from now on.
func (l *lineReader) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, ok := l.r.(*os.File); ok {
		flushInput(f)
	}
	for !l.closed && len(l.lines) > 0 {
		<-l.lines
	}
	l.asking = true
	if !l.started {
		l.started = true
		go l.read() // outlives the prompt: a read of a terminal cannot be cancelled
	}
}

func (l *lineReader) close() {
	l.mu.Lock()
	l.asking = false
	l.mu.Unlock()
}

// ended reports whether input has ended.
func (l *lineReader) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *lineReader) read() {
	in := bufio.NewReader(l.r)
	for {
		line, err := in.ReadString('\n')
		l.mu.Lock()
		if l.asking && (err == nil || line != "") {
			select {
			case l.lines <- line:
			default: // more lines than any prompt asks for
			}
		}
		if err != nil {
			l.closed = true
			close(l.lines)
		}
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// foldedPrompt is how many lines of a change a prompt shows before it is asked for all.
const foldedPrompt = 40

// describe returns what a person has to see of a call that waits, as one of n, and how it can
// be answered; fold bounds the lines of a change, 0: all of it.
func (a *asker) describe(c app.Approval, n, fold, width int) []string {
	s := a.style
	lines := s.ApprovalLines(c, n, fold, width, readFrom(a.session.State().Created.Workspace))
	for _, o := range [][2]string{
		{"y", "allow once"}, {"a", "always allow: " + render.StoredWords(c, run.Always)}, {"n", "deny once; words after it are for the agent"},
		{"v", "never allow: " + render.StoredWords(c, run.Never)}, {"w", "stop the turn and say what to do instead"},
	} {
		lines = append(lines, render.Hang("  "+s.Paint(render.Bold, o[0])+"  ", s.Wrap([]render.Span{{Text: o[1]}}, width-5, false))...)
	}
	return lines
}

// readFrom returns a function that reads a file of the workspace dir; one that does not exist
// is empty.
func readFrom(dir string) func(path string) (string, error) {
	return func(path string) (string, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return "", err
		}
		defer root.Close()
		f, err := root.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > render.MaxCompared {
			return "", errors.Join(err, errors.New("not a file that can be compared"))
		}
		content, err := io.ReadAll(io.LimitReader(f, render.MaxCompared))
		return string(content), err
	}
}
