package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"pawl/app"
	"pawl/internal/text"
	"pawl/permission"
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
	style   style
	width   func() (width, height int)
	input   *lineReader
	stopped bool // the turn was interrupted by a signal
}

func newAsker(inv *invocation, ws *app.Workspace, s *app.Session, out *printer) *asker {
	a := &asker{inv: inv, ws: ws, session: s, out: out, width: func() (int, int) { return usualWidth, usualHeight },
		input: &lineReader{r: inv.Stdin, lines: make(chan string, 16)}}
	a.style.ascii = true
	if out.display != nil {
		a.style, a.width = out.display.style, out.display.size
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
	hint := "  answer: "
	if len(q.Options) > 0 {
		hint = "  answer (a number, or your own words): "
	}
	for lines := a.style.questionLines(q, width); ; {
		line, ok := a.prompt(lines, hint, ctx.Done())
		if !ok {
			return false
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(q.Options) {
			line = q.Options[n-1]
		}
		if line == "" {
			lines = []string{"  type an answer; Ctrl-D leaves the question open"}
			continue
		}
		if err := a.session.Answer(ctx, q.Call, run.Text(line)); err != nil {
			a.say("%s", visible(err.Error()))
			return false
		}
		return true
	}
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

// describe returns what a person has to see of a call that waits, as one of n; fold bounds
// the lines of a change, 0: all of it.
func (a *asker) describe(c app.Approval, n, fold, width int) []string {
	s := a.style
	head := s.paint(warning, s.glyph(glyphQuestion)) + " " + s.paint(bold, callTitle(c.Call.Tool, view.Subject(c.Call.Tool, c.Call.Arguments)))
	if c.Call.Tool == "shell" {
		head = s.paint(warning, s.glyph(glyphQuestion)) + " " + s.paint(bold, "Run this command?")
	}
	if n > 1 {
		head += s.paint(faint, fmt.Sprintf("  (1 of %d)", n))
	}
	lines := []string{head}
	diff, known := a.change(c.Call)
	switch {
	case known:
		d := display{style: s}
		if fold == 0 {
			fold = len(diff)
		}
		lines = append(lines, d.diff(diff, fold, width)...)
	case c.Preview.Request.Command != "":
		for line := range strings.SplitSeq(visible(c.Preview.Request.Command), "\n") {
			lines = append(lines, "    "+s.paint(accent, line))
		}
	default:
		lines = append(lines, "    "+s.paint(accent, visible(callWhole(c.Call))))
	}
	for _, p := range c.Explain.Parts {
		if p.Verdict != permission.Allow {
			lines = append(lines, hang("  ", s.wrap([]span{{view.OneLine(p.Reason, 8*maxTitle), faint}}, width-2, false))...)
		}
	}
	switch c.Preview.Request.Sandbox {
	case run.Unconfined:
		lines = append(lines, "  "+s.paint(bad, "runs outside the sandbox, with your own authority"))
	case run.WithNetwork:
		lines = append(lines, "  "+s.paint(warning, "runs with the network open"))
	}
	always, never := storedWords(c, run.Always), storedWords(c, run.Never)
	for _, o := range [][2]string{
		{"y", "allow once"}, {"a", "always allow: " + always}, {"n", "deny once; words after it are for the agent"},
		{"v", "never allow: " + never}, {"w", "stop the turn and say what to do instead"},
	} {
		lines = append(lines, hang("  "+s.paint(bold, o[0])+"  ", s.wrap([]span{{o[1], plain}}, width-5, false))...)
	}
	return lines
}

// storedWords says what an answer would store.
func storedWords(c app.Approval, answer run.Answer) string {
	rules, err := c.Rules(answer, permission.ForWorkspace, nil)
	if err != nil {
		return "(no rule can be stored: " + view.OneLine(c.Proposal.Reason, 2*maxTitle) + ")"
	}
	var words []string
	for _, r := range rules {
		word := visible(r.String())
		if r.Sandbox != run.Confined {
			word += " (sandbox: " + string(r.Sandbox) + ")"
		}
		words = append(words, word)
	}
	end := ", in this workspace"
	if answer == run.Always && c.Proposal.Exact {
		end = ", exactly this, in this workspace"
	}
	return strings.Join(words, ", ") + end
}

// maxShownFile bounds the file that a change is compared with, in bytes.
const maxShownFile = 1 << 20

// change returns what a call of edit or write would change, as the lines of a diff.
func (a *asker) change(c run.Call) (diff string, ok bool) {
	var args struct {
		Path    string
		Content *string
		Edits   []struct{ Old, New string }
	}
	if json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return "", false
	}
	switch {
	case c.Tool == "edit" && len(args.Edits) > 0:
		var all []string
		for _, e := range args.Edits {
			d, _, _ := text.Diff(e.Old, e.New, maxShownFile)
			all = append(all, d)
		}
		return strings.Join(all, "\n"), true
	case c.Tool == "write" && args.Content != nil:
		before, err := a.read(args.Path)
		if err != nil {
			return "", false
		}
		d, _, _ := text.Diff(before, *args.Content, maxShownFile)
		return d, true
	}
	return "", false
}

// read reads a file of the workspace; one that does not exist is empty.
func (a *asker) read(path string) (string, error) {
	root, err := os.OpenRoot(a.ws.Dir)
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
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxShownFile {
		return "", errors.Join(err, errors.New("not a file that can be compared"))
	}
	content, err := io.ReadAll(io.LimitReader(f, maxShownFile))
	return string(content), err
}
