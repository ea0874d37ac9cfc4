package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pawl/app"
	"pawl/approval"
	"pawl/cli/command"
	"pawl/internal/text"
	"pawl/permission"
	"pawl/render"
	"pawl/request"
	"pawl/run"
	"pawl/runlog"
	"pawl/view"
	"pawl/worker"
)

// CanAsk reports whether a person can be asked: standard input and standard error are a
// terminal, and this process may read it.
func CanAsk(inv *command.Invocation) bool {
	in, ok := command.TerminalFile(inv.Stdin)
	_, out := command.TerminalFile(inv.Stderr)
	return ok && out && inForeground(in)
}

// An Asker asks a person at the terminal what a run waits for: whether a call may run, and
// the answer to a question of the agent.
type Asker struct {
	inv     *command.Invocation
	ws      *app.Workspace
	session *app.Session
	out     *Printer
	Style   render.Style
	Width   func() (width, height int)
	Input   *LineReader
	stopped bool // the turn was interrupted by a signal
	waits   bool // the person has stopped the turn to say what to do differently
	settled bool // what was asked last was settled elsewhere
}

func NewAsker(inv *command.Invocation, ws *app.Workspace, s *app.Session, out *Printer) *Asker {
	a := &Asker{inv: inv, ws: ws, session: s, out: out, Width: func() (int, int) { return command.UsualWidth, command.UsualHeight },
		Input: NewLineReader(inv.Stdin)}
	a.Style.ASCII = true
	if out.Display != nil {
		a.Style, a.Width = out.Display.shown.Style, out.Display.size
		out.Display.asked = true
	}
	return a
}

// Ask asks for what a run at rest waits for. It reports whether the run continues.
func (a *Asker) Ask(ctx context.Context, s run.State) bool {
	a.out.Await(s.Seq)
	defer a.out.Resume(false) // not after each prompt: a line that decides nothing lets nothing continue
	switch {
	case s.Turn.Open() && ctx.Err() != nil && !a.stopped:
		a.stopped = true
		a.session.Interrupt(worker.StopOf(ctx).Interrupted) // it came while the run was at rest
		return true
	case ctx.Err() != nil || a.Input.ended():
		return false
	case s.Turn.Open():
		return a.approval(ctx) || a.running(ctx) || a.below(ctx)
	case a.waits:
		a.waits = false
		return a.instead(ctx)
	case len(s.Questions()) > 0:
		return a.question(ctx, runlog.QuestionOf(s.Questions()[0]))
	}
	return false
}

// Prompt prints lines, and when they can have been read it asks for a line of the person. ok is false
// when input has ended or gone is closed. Lines that arrive together were pasted and are returned as
// one text. A line that was begun before the prompt is not taken. The caller resumes what is shown when
// there is nothing more to ask.
func (a *Asker) Prompt(lines []string, ask string, gone <-chan struct{}) (line string, ok bool) {
	a.out.prompt(lines, "")
	asked := false
	line, ok = a.Input.answer(func(early []string, asks bool) {
		if !asks {
			ask = ""
		}
		asked = asked || asks
		a.out.prompt(nil, notTaken(early)+ask)
	}, gone)
	if !ok && asked {
		a.out.Resume(true)
	}
	return line, ok
}

// notTaken says that lines were not taken as an answer. It has them whole, so that they can be copied.
func notTaken(lines []string) string {
	var b strings.Builder
	for _, text := range lines {
		if text != "" {
			b.WriteString("  not taken, because it was typed before this was asked: " + command.Visible(text) + "\n")
		}
	}
	return b.String()
}

// Approve returns what asks on the terminal whether the shell commands of a prompt may run; nil unless a person is asked.
func Approve(inv *command.Invocation, asked bool) app.Approve {
	if !asked {
		return nil
	}
	return func(_ context.Context, commands []app.PromptCommand) error {
		question, it := "", "it"
		if len(commands) > 1 {
			it = "them all"
		}
		for _, c := range commands {
			question += fmt.Sprintf("The prompt runs: %s\n  %s\n", command.Visible(c.Command), command.Visible(c.Reason))
		}
		if !Confirm(inv, question+"Run "+it+"? [y/N] ") {
			return errors.New("you refused to run " + it)
		}
		return nil
	}
}

// Confirm asks a question on the terminal. Anything but y or yes is no, and so are several lines, an input that
// has ended, as /dev/null has, and what was typed before the question could have been read.
func Confirm(inv *command.Invocation, question string) bool {
	input := NewLineReader(inv.Stdin)
	defer input.End(inv.Stderr)
	line, ok := input.Ask(inv.Stderr, question, nil)
	return ok && (strings.EqualFold(line, "y") || strings.EqualFold(line, "yes"))
}

// Ask prints a question when it can have been read, and returns the line that is typed then. ok is false when
// input has ended or gone is closed.
func (l *LineReader) Ask(out io.Writer, question string, gone <-chan struct{}) (line string, ok bool) {
	asked := false
	line, ok = l.answer(func(early []string, asks bool) {
		fmt.Fprint(out, notTaken(early))
		if asks {
			asked = true
			fmt.Fprint(out, question)
		}
	}, gone)
	if !asked && gone == nil {
		fmt.Fprint(out, question)
	}
	if !ok {
		fmt.Fprintln(out)
	}
	return line, ok
}

// say prints lines that belong to a prompt.
func (a *Asker) say(format string, args ...any) {
	fmt.Fprintf(a.out.Stderr, "  "+format+"\n", args...)
}

// approval asks whether the first call that waits may run.
func (a *Asker) approval(ctx context.Context) bool {
	calls, err := a.session.Approvals()
	if err != nil || len(calls) == 0 {
		if err != nil {
			a.inv.Notice(err.Error())
		}
		return false
	}
	call := calls[0]
	elsewhere := a.watch(ctx, call.Run, decidedElsewhere(call.Call.ID))
	defer elsewhere.stop()
	width, _ := a.Width()
	choices := render.Choices(call)
	lines := a.describe(call, len(calls), foldedPrompt, width)
	all := a.describe(call, len(calls), 0, width)
	whole := len(lines) == len(all)
	if len(lines) > onScreen { // its head has left the screen
		lines = append(lines, a.Style.LiftedLines(call, width)...)
	}
	lines = append(lines, a.keys(call, choices, width)...)
	for {
		line, ok := a.Prompt(lines, "  "+keysOf(choices)+": ", elsewhere.gone)
		if !ok {
			a.settled = elsewhere.ended()
			if a.settled && elsewhere.how != "" {
				a.say("%s", command.Visible(elsewhere.how))
			}
			return a.settled // else input has ended, and the call waits
		}
		choice, ok := render.ChoiceOf(line, choices)
		switch {
		case line == "d" || line == "details":
			lines, whole = all, true
			continue
		case !ok:
			lines = []string{"  nothing was decided: answer with a key alone: " + keyWords(choices)}
			continue
		case !whole && choice.Answer != run.Deny && choice.Answer != run.Wait:
			lines = []string{"  this call is not shown whole: d shows all of it"}
			continue
		}
		d := request.Decide{Call: call.Call.ID, Answer: choice.Answer, Digest: call.Digest}
		if choice.Stores() {
			if d.Rules, ok = a.storing(call, choice, elsewhere, width); !ok {
				lines = a.keys(call, choices, width)
				continue // the next prompt finds out whether it was answered elsewhere
			}
		}
		elsewhere.stop()
		err := a.session.Decide(context.WithoutCancel(ctx), call.Run, d)
		if err != nil {
			a.say("%s", command.Visible(err.Error()))
		}
		a.waits = err == nil && d.Answer == run.Wait
		return true
	}
}

// storing asks where the rules of an answer are stored: only a number stores them. ok is false if none was given.
func (a *Asker) storing(call approval.Approval, choice render.Choice, elsewhere *elsewhereWatch, width int) (rules permission.Rules, ok bool) {
	rules, err := call.Rules(choice.Answer, render.Scopes[0], nil)
	if err != nil {
		a.say("%s", command.Visible(err.Error()))
		return nil, false
	}
	lines := []string{"  " + choice.Label + ":"}
	for _, r := range rules {
		lines = append(lines, render.Hang("    ", a.Style.Wrap(render.RuleSpans(r), width-4, true))...)
	}
	var numbers []string
	for i, scope := range render.Scopes {
		numbers = append(numbers, strconv.Itoa(i+1))
		lines = append(lines, "  "+a.Style.Paint(render.Bold, numbers[i])+"  "+render.ScopeWords(scope))
	}
	line, ok := a.Prompt(lines, "  a number stores it, enter goes back: ", elsewhere.gone)
	if !ok {
		return nil, false
	}
	i := slices.Index(numbers, line)
	if i < 0 {
		a.say("nothing was stored")
		return nil, false
	}
	rules, err = call.Rules(choice.Answer, render.Scopes[i], nil)
	return rules, err == nil
}

// instead asks what the agent does after the person has stopped it, and begins a turn with that.
func (a *Asker) instead(ctx context.Context) bool {
	line, ok := a.Prompt(nil, "  "+InsteadPrompt, ctx.Done())
	if !ok || line == "" {
		return false
	}
	if err := a.session.Prompt(ctx, run.Text(line)); err != nil {
		a.say("%s", command.Visible(err.Error()))
		return false
	}
	return true
}

const InsteadPrompt = "stopped; what should it do instead? (enter: nothing) "

// keysOf names the keys of choices: y, n, a, w, v or d.
func keysOf(choices []render.Choice) string {
	var keys []string
	for _, c := range choices {
		keys = append(keys, c.Key)
	}
	return strings.Join(keys, ", ") + " or d"
}

// keyWords says what the keys mean, in a line.
func keyWords(choices []render.Choice) string {
	var words []string
	for _, c := range choices {
		words = append(words, c.Key+" "+c.Word)
	}
	return strings.Join(words, ", ") + ", d show all"
}

// question asks a question of the agent.
func (a *Asker) question(ctx context.Context, q runlog.Question) bool {
	width, _ := a.Width()
	asking, end := context.WithCancel(ctx)
	defer end()
	elsewhere := a.watch(ctx, cmp.Or(q.Run, a.session.ID()), func(p run.Payload) (how string, ok bool) {
		switch f := p.(type) {
		case run.Prompted:
			how, ok = "answered elsewhere", true
		case run.CallAnswered:
			if how, ok = "answered elsewhere", f.Call == q.Call; len(f.Parts) == 0 {
				how = notNeeded
			}
		case run.CallSettled:
			how, ok = notNeeded, f.Call == q.Call
		}
		if ok {
			end()
		}
		return how, ok
	})
	line, ok := a.Words(asking, a.Style.QuestionLines(q, width), q.Options, QuestionPrompt(q))
	elsewhere.stop()
	if !ok {
		if a.settled = elsewhere.ended(); a.settled {
			a.say("%s", elsewhere.how)
		}
		return a.settled
	}
	if err := a.session.Answer(ctx, q, run.Text(line)); err != nil { // as when it was answered elsewhere a moment ago
		a.settled = true
		a.say("%s\n  not sent: %s", command.Visible(err.Error()), command.Visible(line))
	}
	return true
}

const notNeeded = "the answer is no longer needed"

// running asks the first question that a call asks while it runs.
func (a *Asker) running(ctx context.Context) bool {
	s := a.session.State()
	open := s.Answerable()
	return len(open) > 0 && s.Turn.Open() && a.question(ctx, runlog.QuestionOf(open[0]))
}

// below asks the first question that a run below waits with.
func (a *Asker) below(ctx context.Context) bool {
	open, err := a.session.Questions()
	if err != nil {
		a.inv.Notice(err.Error())
	}
	return len(open) > 0 && a.question(ctx, open[0])
}

// GoesOn waits, if nothing is to be asked because what was asked was settled elsewhere, until the run continues: a
// process that answers in a run below may drive that itself, and leave it with the next question.
func (a *Asker) GoesOn(ctx context.Context) bool {
	if turn := a.session.State().Turn; !a.settled || !turn.Open() {
		return false
	}
	a.settled = false
	select {
	case <-a.session.Busy():
	case <-ctx.Done():
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

// An elsewhereWatch watches for what makes an answer pointless: another process has answered,
// or the turn was interrupted.
type elsewhereWatch struct {
	gone   chan struct{} // closed then
	how    string        // set before
	cancel context.CancelFunc
	done   chan struct{}
}

// watch watches run id for an event that makes the answer pointless: gone reports whether an event does, and
// says why.
func (a *Asker) watch(ctx context.Context, id run.ID, gone func(run.Payload) (how string, ok bool)) *elsewhereWatch {
	follow, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &elsewhereWatch{gone: make(chan struct{}), cancel: cancel, done: make(chan struct{})}
	updates := a.updates(follow, id)
	go func() {
		defer close(w.done)
		for u := range updates {
			if u.Event == nil {
				continue
			}
			if how, ok := gone(u.Event.Payload); ok {
				w.how = how
				close(w.gone)
				return
			}
		}
	}()
	return w
}

// decidedElsewhere is for [asker.watch]: it reports whether an event ends the wait for a decision on a call.
func decidedElsewhere(id run.CallID) func(run.Payload) (string, bool) {
	return func(p run.Payload) (string, bool) {
		switch f := p.(type) {
		case run.CallDecided:
			return "answered elsewhere: " + view.DecisionWords(f.Decision), f.Call == id
		case run.ApprovalInvalidated:
			return "the call has changed: " + view.OneLine(f.Reason, command.MaxTitle), f.Call == id
		case run.Interrupted:
			return "", true // the note that follows says it
		}
		return "", false
	}
}

// updates returns what happens from now on in the run that is asked about, or in one below it.
func (a *Asker) updates(ctx context.Context, id run.ID) iter.Seq[view.Update] {
	if id != a.session.ID() {
		_, s, _ := a.ws.Load(ctx, id) // it asks, so it can be read
		return a.ws.FollowChild(ctx, id, s.Seq)
	}
	from := a.session.State().Seq
	return func(yield func(view.Update) bool) {
		for u, err := range a.session.Follow(ctx, from) {
			if err != nil || !yield(u) {
				return // with an error the session ends
			}
		}
	}
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

// A LineReader reads what a person types, from the first prompt on.
type LineReader struct {
	r     io.Reader
	lines chan typed // closed when input has ended
	push  func()     // lets a read of the terminal return a line that is not finished; nil: each read does

	started atomic.Bool

	mu     sync.Mutex
	part   string // of a line that is not finished
	early  bool   // it was begun before what is asked
	closed bool
}

// A typed is a line.
type typed struct {
	text  string
	early bool // it was begun before what is asked
}

func NewLineReader(r io.Reader) *LineReader {
	l := &LineReader{r: r, lines: make(chan typed, 256)}
	if f, ok := command.TerminalFile(r); ok {
		l.push = func() { pushLine(f) }
	}
	return l
}

// standing is how long what is asked stands there, while nothing is typed, before a line is an answer:
// less than it takes to read and answer.
const standing = 700 * time.Millisecond

// End takes a line that was begun at the last prompt, to its end or until nothing more of it is typed for a
// while, and says so: the shell must not get it as a command when pawl has ended. It names what was typed since.
func (l *LineReader) End(out io.Writer) {
	if !l.started.Load() || l.push == nil {
		return
	}
	begun, told := "", false
	for grown := time.Now(); !l.ended(); {
		l.push()
		time.Sleep(pushing)
		l.mu.Lock()
		part := l.part
		l.mu.Unlock()
		if part != begun {
			begun, grown = part, time.Now()
		}
		if begun == "" || time.Since(grown) >= abandoned {
			break
		}
		if !told {
			told = true
			fmt.Fprintln(out, "  nothing is asked any more: what you type is not sent")
		}
	}
	for begun != "" || len(l.lines) > 0 {
		text := begun
		if len(l.lines) > 0 {
			text = (<-l.lines).text
		} else {
			begun = ""
		}
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintln(out, "  not taken: "+command.Visible(text))
		}
	}
}

// abandoned is how long a line that was begun may stand still before no more of it is awaited.
const abandoned = 2 * time.Second

// answer calls show, which prints the prompt, when the question can have been read, and returns the line that is typed
// then. Lines that arrive together were pasted and are returned as one text. show also gets what was typed before the
// prompt; that never counts as an answer. After a line that was begun before the prompt, the prompt is shown again
// before another line counts. ok is false if input has ended or gone was closed; show is then called without asks if
// it has lines to name.
func (l *LineReader) answer(show func(early []string, asks bool), gone <-chan struct{}) (text string, ok bool) {
	var before []string
	for {
		early, ok := l.settle(gone)
		if early = append(before, early...); !ok {
			if len(early) > 0 {
				show(early, false)
			}
			return "", false
		}
		show(early, true)
		select {
		case read, ok := <-l.lines:
			switch {
			case !ok:
				return "", false
			case !read.early:
				return strings.Join(append([]string{strings.TrimSpace(read.text)}, l.more()...), "\n"), true
			}
			before = []string{strings.TrimSpace(read.text)}
		case <-gone:
			return "", false
		}
	}
}

// settle waits until what is asked can have been read, and returns the lines that were typed before, which
// are no answers, and the beginning of one. ok is false if no answer comes any more: input has ended, or
// gone was closed.
func (l *LineReader) settle(gone <-chan struct{}) (early []string, ok bool) {
	if l.started.CompareAndSwap(false, true) {
		go l.read() // outlives the prompt: a read of a terminal cannot be cancelled
	}
	quiet := time.NewTimer(standing)
	defer quiet.Stop()
	begun := ""
	for pushed := l.push == nil; ; {
		select {
		case line, ok := <-l.lines:
			if !ok {
				return early, false
			}
			early = append(early, strings.TrimSpace(line.text))
			quiet.Reset(standing)
		case <-gone:
			return early, false
		case <-quiet.C:
			if !pushed {
				pushed = true
				l.push()
				quiet.Reset(pushing)
				continue
			}
			l.mu.Lock()
			grew := l.push != nil && l.part != begun
			begun = l.part
			if l.early = begun != ""; l.early && !grew {
				early = append(early, strings.TrimSpace(begun))
			}
			l.mu.Unlock()
			if !grew {
				return early, true
			}
			pushed = false // the rest of the line may follow
			quiet.Reset(standing)
		}
	}
}

// pushing is how long it takes until what a terminal hands over has been read.
const pushing = 50 * time.Millisecond

// more returns the lines that follow the one that was read without a pause.
func (l *LineReader) more() (lines []string) {
	for {
		select {
		case line, ok := <-l.lines:
			if !ok {
				return lines
			}
			lines = append(lines, strings.TrimSpace(line.text))
		case <-time.After(betweenLines):
			return lines
		}
	}
}

// betweenLines is the least time between two lines that a person types, on a slow line too.
const betweenLines = 200 * time.Millisecond

// ended reports whether input has ended.
func (l *LineReader) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *LineReader) read() {
	chunk := make([]byte, 4096)
	for {
		n, err := l.r.Read(chunk)
		l.mu.Lock()
		l.part += string(chunk[:n])
		for {
			line, rest, whole := strings.Cut(l.part, "\n")
			if whole || err != nil && line != "" {
				select {
				case l.lines <- typed{line, l.early}:
				default: // more lines than any prompt asks for
				}
				l.part, l.early = rest, false
			}
			if !whole {
				break
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
const foldedPrompt = 200

const (
	onScreen  = 16  // lines that a small terminal shows of a call, above its answers
	maxStored = 200 // characters of the rules that an answer would store
)

// describe returns what a person has to see of a call that waits, as one of n; fold bounds the lines
// of a change, 0: all of it.
func (a *Asker) describe(c approval.Approval, n, fold, width int) []string {
	return a.Style.ApprovalLines(c, n, fold, width)
}

// keys returns how a call can be answered.
func (a *Asker) keys(c approval.Approval, choices []render.Choice, width int) []string {
	s := a.Style
	var lines []string
	for _, o := range choices {
		label := []render.Span{{Text: o.Label}}
		if o.Stores() {
			words := render.StoredWords(c, o.Answer, render.Scopes[0])
			if short := text.First(words, maxStored); short != words {
				words = short + text.Mark // the second step shows all of it
			}
			label = append(label, render.Span{Text: "  " + words, Paint: render.Accent})
		}
		lines = append(lines, render.Hang("  "+s.Paint(render.Bold, o.Key)+"  ", s.Wrap(label, width-5, true))...)
	}
	return lines
}

// Words asks for a line that is not empty.
func (a *Asker) Words(ctx context.Context, lines, options []string, ask string) (string, bool) {
	for {
		line, ok := a.Prompt(lines, ask, ctx.Done())
		if !ok {
			return line, ok
		}
		line, err := Chosen(line, options)
		if err == nil && line != "" {
			return line, true
		}
		lines = []string{"  type an answer; Ctrl-D leaves the question open"}
		if err != nil {
			lines = []string{"  " + command.Visible(err.Error())}
		}
	}
}

// Chosen returns the option that an answer is the number of, or the answer. A number that no option has is an error.
func Chosen(answer string, options []string) (string, error) {
	_, err := strconv.Atoi(answer)
	if picked := choice(answer, options); len(options) == 0 || err != nil || picked != answer || slices.Contains(options, answer) {
		return picked, nil
	}
	numbered := make([]string, len(options))
	for i, o := range options {
		numbered[i] = fmt.Sprintf("%d) %s", i+1, command.OneLine(o, command.MaxTitle))
	}
	return "", fmt.Errorf("there is no option %s: give one of %s, or an answer in words", answer, strings.Join(numbered, ", "))
}

// QuestionPrompt is what stands before the answer to a question.
func QuestionPrompt(q runlog.Question) string {
	if len(q.Options) > 0 {
		return "  answer (a number, or your own words): "
	}
	return "  answer: "
}
