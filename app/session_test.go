package app_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/app"
	"pawl/config"
	"pawl/permission"
	"pawl/report"
	"pawl/request"
	"pawl/run"
	"pawl/runlog"
	"pawl/tool"
	"pawl/view"
	"pawl/worker"
)

// A place is a folder to work in with a scripted model.
type place struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newPlace(t *testing.T, replies string) *place {
	t.Helper()
	top := t.TempDir()
	script := filepath.Join(top, "model.jsonl")
	if err := os.WriteFile(script, []byte(replies), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &place{t: t, dir: dir, env: map[string]string{"HOME": top, "PAWL_STATE_DIR": filepath.Join(top, "state"), "PAWL_MODEL": "script/" + script}}
}

// environment is that of a process that is started now.
func (p *place) environment() config.Env {
	env := maps.Clone(p.env)
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// open opens the place as one more process does.
func (p *place) open(given map[string][]string) *app.Workspace {
	p.t.Helper()
	ws, err := app.Open(app.Options{
		Dir: p.dir, Drives: true, OnAsk: worker.AskWait, Given: given,
		Env: p.environment(),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { ws.Close() })
	return ws
}

func (p *place) start(ws *app.Workspace) *app.Session {
	p.t.Helper()
	s, err := ws.Start(p.t.Context(), app.Task{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { s.Close() })
	return s
}

// rest waits until the session is at rest.
func rest(t *testing.T, s *app.Session) run.State {
	t.Helper()
	state, err := s.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until follows the session until an update is as wanted, and keeps following in the
// background.
func until(t *testing.T, s *app.Session, is func(view.Update) bool) {
	t.Helper()
	for u, err := range s.Follow(t.Context(), 0) {
		ok(t, err)
		if is(u) {
			return
		}
	}
	t.Fatal("the session was closed before")
}

const asks = `{"calls":[{"tool":"shell","args":{"command":"touch a"}}]}
{"text":"Done."}
`

func TestACallThatWaitsIsAllowedInTheProcessItself(t *testing.T) {
	t.Parallel()
	p := newPlace(t, asks)
	ws := p.open(nil)
	s := p.start(ws)
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	if state := rest(t, s); !state.Turn.Open() {
		t.Fatalf("it does not wait: %+v", state.Turn.End)
	}
	waiting, err := s.Approvals()
	ok(t, err)
	if len(waiting) != 1 || waiting[0].Request.Command != "touch a" || len(waiting[0].Proposal.Rules) == 0 {
		t.Fatalf("what a person sees: %+v", waiting)
	}
	if err := s.Decide(t.Context(), s.ID(), request.Decide{Call: "c_9", Answer: run.Allow}); err == nil || !strings.Contains(err.Error(), "c_9 does not need approval") {
		t.Errorf("a call that does not wait: %v", err)
	}
	ok(t, s.Decide(t.Context(), s.ID(), request.Decide{Call: "c_1", Answer: run.Allow, Digest: waiting[0].Digest, By: "ann"}))
	if err := s.Decide(t.Context(), s.ID(), request.Decide{Call: "c_1", Answer: run.Never}); err == nil {
		t.Error("a second answer was taken too")
	}
	if state := rest(t, s); state.Turn.End.End != run.Completed || state.Answer() != "Done." {
		t.Errorf("ended %+v", state.Turn.End)
	}
	// The decision is in the log, and no row went through the inbox.
	events, _, err := ws.Load(t.Context(), s.ID())
	ok(t, err)
	if d, has := view.DecisionOn(events, "c_1"); !has || d.By != "ann" || d.Answer != run.Allow {
		t.Errorf("decided %+v", d)
	}
}

// A change of the configuration continues no turn that was left open: it counts when the person continues.
func TestAChangeDoesNotContinueATurnThatWasLeftOpen(t *testing.T) {
	t.Parallel()
	p := newPlace(t, asks)
	s := p.start(p.open(nil))
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	rest(t, s)
	ok(t, s.Close())
	ws := p.open(nil)
	s, err := ws.Resume(t.Context(), string(s.ID()), app.Task{})
	ok(t, err)
	defer s.Close()
	mode, wrong := string(permission.Bypass), "no mode"
	if err := s.Configure(t.Context(), run.ConfigChange{Mode: &wrong}); err == nil {
		t.Error("a mode that does not exist was taken")
	}
	ok(t, s.Configure(t.Context(), run.ConfigChange{Mode: &mode}))
	if state := s.State(); !runlog.NeedsApproval(state) || state.Config.Mode == mode || s.Config().Mode != mode {
		t.Errorf("the turn is %+v, the mode %q, and %q when it continues", state.Turn, state.Config.Mode, s.Config().Mode)
	}
	ok(t, s.Continue(t.Context()))
	if state := rest(t, s); state.Answer() != "Done." || state.Config.Mode != mode {
		t.Errorf("ended %+v in mode %q", state.Turn.End, state.Config.Mode)
	}
}

func TestACallThatWaitsIsAllowedFromAnotherProcessAndTheSessionContinues(t *testing.T) {
	t.Parallel()
	p := newPlace(t, asks)
	s := p.start(p.open(nil))
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	rest(t, s)
	other := p.open(nil)
	waiting, err := other.Approvals(t.Context(), s.ID())
	ok(t, err)
	taken, err := other.Decide(t.Context(), s.ID(), request.Decide{Call: "c_1", Answer: run.Allow, Digest: waiting[0].Digest})
	if err != nil || !taken {
		t.Fatalf("taken: %t, %v", taken, err)
	}
	until(t, s, func(u view.Update) bool {
		if u.Event == nil {
			return false
		}
		_, end := u.Event.Payload.(run.Ended)
		return end
	})
	if state := rest(t, s); state.Answer() != "Done." {
		t.Errorf("ended %+v", state.Turn.End)
	}
	// What happens can be followed from there too, to the end.
	ok(t, s.Close())
	var seqs []int64
	for u, err := range other.Follow(t.Context(), s.ID(), 2) {
		ok(t, err)
		seqs = append(seqs, u.Event.Seq)
	}
	if last := s.State().Seq; len(seqs) != int(last)-2 || seqs[0] != 3 || !slices.IsSorted(seqs) {
		t.Errorf("followed %v of %d", seqs, last)
	}
}

func TestATurnThatWaitsStaysOpenWhenTheSessionIsClosed(t *testing.T) {
	t.Parallel()
	p := newPlace(t, asks)
	ws := p.open(nil)
	s := p.start(ws)
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	rest(t, s)
	ok(t, s.Close())
	ok(t, s.Close()) // it may be called twice
	if err := s.Prompt(t.Context(), run.Text("too late")); err == nil {
		t.Error("a closed session takes a prompt")
	}
	s, err := ws.Resume(t.Context(), "last", app.Task{})
	ok(t, err)
	defer s.Close()
	if state := rest(t, s); !state.Turn.Open() || len(runlog.Undecided(state)) != 1 {
		t.Fatalf("turn %+v", state.Turn)
	}
	if !s.Interrupt(run.Interrupted{Cause: run.ByPerson}) {
		t.Error("there is no turn to stop")
	}
	if state := rest(t, s); state.Turn.End.End != run.EndInterrupted {
		t.Errorf("ended %+v", state.Turn.End)
	}
	if s.Interrupt(run.Interrupted{Cause: run.ByPerson}) {
		t.Error("a turn that has ended was stopped")
	}
}

func TestAnInterruptBeforeTheTurnBeginsIsInTheLog(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"text":"never asked"}`)
	s := p.start(p.open(nil))
	ctx, stop := context.WithCancelCause(t.Context())
	stop(worker.Stop{Interrupted: run.Interrupted{Cause: run.ByPerson}})
	ok(t, s.Prompt(ctx, run.Text("go")))
	state := rest(t, s)
	if state.Turn.End.End != run.EndInterrupted || state.Turn.Steps != 0 || state.Turn.N != 1 {
		t.Errorf("turn %d ended %+v after %d steps", state.Turn.N, state.Turn.End, state.Turn.Steps)
	}
	ok(t, s.Prompt(t.Context(), run.Text("now")))
	if state := rest(t, s); state.Answer() != "never asked" {
		t.Errorf("the next turn ended %+v", state.Turn.End)
	}
}

// An open turn that is interrupted before it continues ends, and no other does work: words
// that come with the interrupt begin one that is interrupted.
func TestAnInterruptBeforeAnOpenTurnContinuesBeginsNoOther(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(*app.Session, context.Context) error{
		"continue": (*app.Session).Continue,
		"words":    func(s *app.Session, ctx context.Context) error { return s.Prompt(ctx, run.Text("more")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, asks)
			ws := p.open(nil)
			s := p.start(ws)
			ok(t, s.Prompt(t.Context(), run.Text("go")))
			rest(t, s)
			ok(t, s.Close())
			s, err := ws.Resume(t.Context(), "last", app.Task{})
			ok(t, err)
			defer s.Close()
			ctx, stop := context.WithCancelCause(t.Context())
			stop(worker.Stop{Interrupted: run.Interrupted{Cause: run.ByPerson}})
			ok(t, do(s, ctx))
			if state := rest(t, s); state.Turn.End.End != run.EndInterrupted || state.Turn.End.Reason != string(run.ByPerson) || state.Turn.Steps > 1 {
				t.Errorf("turn %d ended %+v after %d steps", state.Turn.N, state.Turn.End, state.Turn.Steps)
			}
		})
	}
}

// What is said to a run means the same in the process that drives it and in another.
func TestWordsSteerAreQueuedAndWithdrawnWhileItWorks(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"owner", "visitor"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			wordsAreSteeredQueuedAndWithdrawn(t, func(s *app.Session, other *app.Workspace) talk {
				if who == "owner" {
					return s
				}
				a, err := other.Attach(t.Context(), s.ID())
				ok(t, err)
				return a
			})
		})
	}
}

// A talk is what a face says to a run with.
type talk interface {
	Say(ctx context.Context, id string, delivery run.Delivery, parts ...run.Part) error
	Withdraw(ctx context.Context, id string) error
	Configure(ctx context.Context, c run.ConfigChange) error
	Decide(ctx context.Context, of run.ID, d request.Decide) error
	Answer(ctx context.Context, q runlog.Question, parts ...run.Part) error
}

func wordsAreSteeredQueuedAndWithdrawn(t *testing.T, of func(*app.Session, *app.Workspace) talk) {
	p := newPlace(t, `{"calls":[{"tool":"shell","args":{"command":"echo working; while [ ! -e go ]; do sleep 0.01; done"}}]}
{"text":"First."}
{"text":"Second."}
`)
	ws := p.open(map[string][]string{"allow": {"shell"}})
	s := p.start(ws)
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	until(t, s, func(u view.Update) bool { return u.Progress != nil })
	c := of(s, p.open(nil))
	ok(t, c.Say(t.Context(), "m_1", run.Steer, run.Text("faster")))
	ok(t, c.Say(t.Context(), "m_2", run.Queue, run.Text("then this")))
	ok(t, c.Say(t.Context(), "m_3", run.Queue, run.Text("never mind")))
	ok(t, c.Withdraw(t.Context(), "m_3"))
	if err := c.Withdraw(t.Context(), "m_3"); err == nil {
		t.Error("it was withdrawn twice")
	}
	bad := "nonsense"
	if err := c.Configure(t.Context(), run.ConfigChange{Mode: &bad}); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("a mode that does not exist: %v", err)
	}
	if err := c.Decide(t.Context(), s.ID(), request.Decide{Call: "c_1", Answer: run.Allow}); err == nil {
		t.Error("a call that runs was allowed")
	}
	if err := c.Answer(t.Context(), runlog.Question{Call: "c_1"}, run.Text("blue")); err == nil {
		t.Error("a call that asks nothing was answered")
	}
	plan := "plan"
	ok(t, c.Configure(t.Context(), run.ConfigChange{Mode: &plan}))
	ok(t, os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600))
	state := rest(t, s)
	if state.Answer() != "Second." || state.Turn.N != 2 || state.Config.Mode != "plan" {
		t.Errorf("turn %d: %q in mode %s", state.Turn.N, state.Answer(), state.Config.Mode)
	}
	var said []string
	for _, m := range state.Messages {
		if m.Role == run.User {
			said = append(said, run.PlainText(m.Parts))
		}
	}
	if text := strings.Join(said, "|"); !strings.Contains(text, "faster") || !strings.Contains(text, "then this") || strings.Contains(text, "never mind") {
		t.Errorf("the model was told %q", said)
	}
}

func TestWhatIsGivenForOneProcessChangesTheRunWithItsNextPrompt(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"text":"One."}
{"text":"Two."}
`)
	s := p.start(p.open(nil))
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	before := rest(t, s)
	ok(t, s.Close())
	s, err := p.open(map[string][]string{"max_steps": {"7"}}).Resume(t.Context(), string(s.ID()), app.Task{})
	ok(t, err)
	defer s.Close()
	ok(t, s.Prompt(t.Context(), run.Text("again")))
	state := rest(t, s)
	if state.Config.Limits.Steps != 7 || state.Config.Limits.Calls != before.Config.Limits.Calls || state.Answer() != "Two." {
		t.Errorf("limits %+v, answer %q", state.Config.Limits, state.Answer())
	}
}

func TestWhatIsGivenForOneProcessOutlivesWhatWasRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"calls":[{"tool":"ask","args":{"question":"which?"}}]}
{"text":"Two."}
`)
	s := p.start(p.open(nil))
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	rest(t, s)
	ok(t, s.Close())
	s, err := p.open(map[string][]string{"max_steps": {"7"}}).Resume(t.Context(), string(s.ID()), app.Task{})
	ok(t, err)
	defer s.Close()
	if err := s.Continue(t.Context()); !errors.As(err, new(*runlog.QuestionError)) {
		t.Errorf("continued without the answer: %v", err)
	}
	ok(t, s.Prompt(t.Context(), run.Text("the second")))
	if state := rest(t, s); state.Config.Limits.Steps != 7 || state.Answer() != "Two." {
		t.Errorf("limits %+v, answer %q", state.Config.Limits, state.Answer())
	}
}

func TestARunHasOneSessionAndAnyNumberOfFollowers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, asks)
	s := p.start(p.open(nil))
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	rest(t, s)
	other := p.open(nil)
	if _, err := other.Resume(t.Context(), "last", app.Task{}); err == nil || !strings.Contains(err.Error(), "pawl runs stop") {
		t.Errorf("a second session: %v", err)
	}
	runs, err := other.Runs(t.Context(), 0)
	ok(t, err)
	if len(runs) != 1 || runs[0].Owner == nil || runs[0].Owner.PID != os.Getpid() {
		t.Errorf("listed %+v", runs)
	}
	end, stopped, err := other.Stop(t.Context(), s.ID(), run.ByPerson, "a test")
	if err != nil || !stopped || end != run.EndInterrupted {
		t.Errorf("stopped %t: %s, %v", stopped, end, err)
	}
	if _, err := other.Remove(t.Context(), s.ID(), false); err == nil {
		t.Error("a run that is driven was removed")
	}
	ok(t, s.Close())
	_, err = other.Remove(t.Context(), s.ID(), false)
	ok(t, err)
	if _, err := other.Find(t.Context(), "last"); err != runlog.ErrNoRun {
		t.Errorf("after its removal: %v", err)
	}
}

func TestLookingAtAFolderWithoutRunsMakesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	ws := p.open(nil)
	runs, err := ws.Runs(t.Context(), 0)
	if len(runs) != 0 || err != nil {
		t.Errorf("%v, %v", runs, err)
	}
	if _, err := ws.Find(t.Context(), "last"); err != runlog.ErrNoRun {
		t.Errorf("found: %v", err)
	}
	if removed, err := ws.Prune(t.Context(), 1, false); len(removed.Runs) != 0 || err != nil {
		t.Errorf("pruned %v, %v", removed, err)
	}
	if _, err := os.Stat(p.env["PAWL_STATE_DIR"]); !os.IsNotExist(err) {
		t.Errorf("there is a state folder: %v", err)
	}
}

func TestABrokenSettingIsAMistakeOfTheSettingsAndRunsCanBeLookedAt(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"text":"One."}`)
	s := p.start(p.open(nil))
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	rest(t, s)
	ok(t, s.Close())
	p.env["PAWL_MAX_STEPS"] = "many"
	ws := p.open(nil)
	_, err := ws.Start(t.Context(), app.Task{})
	if _, mistake := errors.AsType[*config.Error](err); !mistake || !strings.Contains(err.Error(), `PAWL_MAX_STEPS: invalid value "many": must be a whole number`) {
		t.Errorf("a session with it: %v", err)
	}
	if _, state, err := ws.Load(t.Context(), s.ID()); err != nil || state.Answer() != "One." {
		t.Errorf("loaded %v", err)
	}
}

func TestSettingsCanBeLookedAtWithARuleThatIsWrong(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	ws := p.open(map[string][]string{"allow": {"nothing(x)"}, "max_steps": {"7"}})
	c, err := ws.Config()
	if err != nil || c.Get("max_steps") != "7" || c.Get("allow") != "nothing(x)" {
		t.Errorf("settings: %v", err)
	}
	if models, err := ws.Models(); err != nil || len(models.Providers()) == 0 {
		t.Errorf("models: %v", err)
	}
	for range 2 { // it stays wrong
		if _, err := ws.Start(t.Context(), app.Task{}); err == nil || !strings.Contains(err.Error(), `no tool "nothing"`) {
			t.Errorf("a run with it: %v", err)
		}
	}
	if _, err := ws.Policy(); err == nil {
		t.Error("the rules of the workspace leave one out")
	}
}

// A question of a run that a process has open is answered there: no other process can resume the run.
func TestWhyOfAQuestionNamesTheProcessThatHasTheRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"calls":[{"tool":"ask","args":{"question":"red or blue?"}}]}
{"text":"{{last_result}} it is."}
`)
	s := p.start(p.open(nil))
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	rest(t, s)
	other := p.open(nil)
	next := func() string {
		y, err := report.WhyOf(t.Context(), other, s.ID())
		ok(t, err)
		return report.WhyFormOf(y).Next
	}
	if got := next(); !strings.Contains(got, fmt.Sprintf("answer it in process %d", os.Getpid())) {
		t.Errorf("while it is open: %q", got)
	}
	ok(t, s.Close())
	if got := next(); strings.Contains(got, "process") || !strings.Contains(got, "pawl run --resume "+string(s.ID())) {
		t.Errorf("when it was left: %q", got)
	}
}

// An answer is to the question that it was given to: what a sub-agent asks since is another one.
func TestAnAnswerToASubAgentIsToItsQuestion(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"when":{"first":"look left"},"calls":[{"tool":"ask","args":{"question":"May I look?"}}]}
{"when":{"first":"look left"},"calls":[{"tool":"ask","args":{"question":"Drop the table?"}}]}
{"when":{"first":"look left","contains":"never"},"text":"Looked."}
{"when":{"first":"go"},"calls":[{"tool":"agent","args":{"prompt":"look left"}}]}
{"when":{"first":"go"},"text":"Done."}
`)
	s := p.start(p.open(nil))
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	rest(t, s)
	open, err := s.Questions()
	ok(t, err)
	first := open[0]
	ok(t, s.Answer(t.Context(), first, run.Text("yes")))
	until(t, s, func(u view.Update) bool {
		open, err = s.Questions()
		return err == nil && len(open) == 1 && open[0].Call != first.Call
	})
	if err := s.Answer(t.Context(), first, run.Text("yes")); err == nil || !strings.Contains(err.Error(), "answered already") {
		t.Errorf("an answer to the first question came to the second: %v", err)
	}
	ok(t, s.Answer(t.Context(), open[0], run.Text("never")))
	until(t, s, func(u view.Update) bool {
		if u.Event == nil {
			return false
		}
		_, end := u.Event.Payload.(run.Ended)
		return end
	})
	if state := rest(t, s); state.Answer() != "Done." {
		t.Errorf("ended %+v with %q", state.Turn.End, state.Answer())
	}
}

// The answer to a question tells the model of a result and of folders that are new, as a message does.
func TestAnAnswerTellsWhatAMessageWould(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"calls":[{"tool":"ask","args":{"question":"Which one?"}}]}
{"text":"Told."}
`)
	ws := p.open(nil)
	s := p.start(ws)
	ok(t, s.Prompt(t.Context(), run.Text("choose")))
	question := runlog.QuestionOf(rest(t, s).Questions()[0])
	ok(t, s.Close())
	further := t.TempDir()
	ws = p.open(map[string][]string{"add_dirs": {further}})
	output, _, err := tool.OutputOf([]byte(`{"type":"object"}`))
	ok(t, err)
	s, err = ws.Resume(t.Context(), string(s.ID()), app.Task{Output: output})
	ok(t, err)
	defer s.Close()
	if err := s.Answer(t.Context(), runlog.Question{Call: "c_9"}, run.Text("none")); err == nil {
		t.Fatal("an answer counts although no question was asked")
	}
	ok(t, s.Answer(t.Context(), question, run.Text("this one")))
	rest(t, s)
	var said string
	for u, err := range s.Follow(t.Context(), 0) {
		ok(t, err)
		if f, is := u.Event.Payload.(run.Prompted); is && f.Answers != "" {
			said = run.PlainText(f.Parts)
			break
		}
	}
	if !strings.Contains(said, "this one") || !strings.Contains(said, further) || !strings.Contains(said, tool.SubmitName) {
		t.Errorf("the answer is %q", said)
	}
}
