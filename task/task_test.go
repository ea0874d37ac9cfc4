package task

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
)

// A card is a task in a test, with its log.
type card struct {
	t   testing.TB
	s   State
	log []Event
	n   int // clock, in seconds
}

func newCard(t testing.TB, c Created) *card {
	k := &card{t: t}
	if c.Task == "" {
		c.Task = "t1"
	}
	if c.Description == "" {
		c.Description = "Count the files.\nAll of them."
	}
	k.must("anna", c)
	return k
}

// try does an action. On an error nothing has changed.
func (k *card) try(by string, a Action) error {
	k.t.Helper()
	before := k.s.Clone()
	events, err := k.s.Do(by, a)
	if err != nil {
		if !reflect.DeepEqual(before, k.s) {
			k.t.Errorf("%T was refused and has changed the state:\n%s", a, cmp.Diff(before, k.s))
		}
		return err
	}
	for _, e := range events {
		k.n++
		e.At = time.Date(2026, 11, 22, 12, 0, k.n, 0, time.UTC)
		next, err := k.s.Apply(e)
		if err != nil {
			k.t.Fatalf("%T leads to %T, which cannot follow: %v", a, e.Payload, err)
		}
		e.Seq = next.Seq
		k.s, k.log = next, append(k.log, e)
	}
	return nil
}

func (k *card) must(by string, a Action) {
	k.t.Helper()
	if err := k.try(by, a); err != nil {
		k.t.Fatalf("%T: %v", a, err)
	}
}

func (k *card) wantStatus(want StatusName) {
	k.t.Helper()
	if got := k.s.Status.Name; got != want {
		k.t.Fatalf("the task is %s, want %s", got, want)
	}
}

func (k *card) types() []string {
	var names []string
	for _, e := range k.log {
		name, _, _, err := Encode(e.Payload)
		if err != nil {
			k.t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func (k *card) keys() []string {
	var keys []string
	for _, c := range k.s.Next() {
		if _, ok := c.(Notify); !ok {
			keys = append(keys, c.key())
		}
	}
	return keys
}

func (k *card) wantOwed(want ...string) {
	k.t.Helper()
	if got := k.keys(); !slices.Equal(got, want) {
		k.t.Errorf("owed is %q, want %q", got, want)
	}
}

var (
	aPlan      = PlannerOutput{Type: OutputPlan, Plan: Plan{Summary: "Count.", Steps: []string{"list", "count"}, AssignedAgent: "developer"}}
	someAsked  = PlannerOutput{Type: OutputQuestions, Questions: []string{"Hidden ones too?", "Folders too?"}}
	aRefusal   = PlannerOutput{Type: OutputError, Error: "there are no files"}
	aReport    = Report{Status: ReportComplete, Summary: "There are three.", Output: "3"}
	itsBlocked = Report{Status: ReportBlocked, Summary: "Half done.", BlockedReason: "no rights on /x"}
	itsFailed  = Report{Status: ReportFailed, Summary: "It cannot be done."}
)

func submit(id run.ID, assignment int, o Output) Submit {
	return Submit{Run: id, Submission: Submission{Assignment: assignment, Call: "c_1"}, Output: o}
}

func ended(id run.ID, end run.End) End {
	return End{Run: id, Begun: true, End: run.Ended{End: end, Detail: "so it was"}, Said: "I am done.", Usage: run.Usage{Input: 10, Cost: 0.5, Priced: true}}
}

// asked is the end of a turn with a question.
func asked(id run.ID) End {
	end := ended(id, run.Asked)
	end.Question = QuestionAsked{"Which one?", []string{"a", "b"}}
	return end
}

// planned brings a new card to planned, by run p.
func (k *card) planned() {
	k.t.Helper()
	k.must("anna", StartPlanning{"p", "task-validator"})
	k.must("", Note{"p", AgentPrompted{1, 1, ""}})
	k.must("task-validator", submit("p", 1, aPlan))
	k.must("", ended("p", run.Completed))
	k.wantStatus(Planned)
}

// working brings the card to the point where run w of the developer works on its first assignment.
func (k *card) working() {
	k.t.Helper()
	k.planned()
	k.must("anna", Start{Run: "w", Agent: "developer"})
	k.must("", Note{"w", AgentPrompted{1, 1, ""}})
}

func TestATaskFromItsCreationToItsReport(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.must("anna", StartPlanning{"p", "task-validator"})
	k.wantOwed("start/p/1")
	k.must("", Note{"p", AgentPrompted{1, 1, ""}})
	k.wantOwed("drive/p")
	k.must("task-validator", submit("p", 1, someAsked))
	k.wantStatus(AwaitingInput)
	k.wantOwed("drive/p") // it may still be ending
	k.must("", ended("p", run.Completed))
	k.wantOwed()
	if got := k.s.WaitsFor(); got != "answers" {
		t.Errorf("it waits for %q", got)
	}
	if err := k.try("anna", SubmitAnswers{Answers: []string{"Yes."}}); err == nil || !strings.Contains(err.Error(), "1 given, 2 needed: one for each open question") {
		t.Errorf("one answer to two questions: %v", err)
	}
	k.must("anna", SubmitAnswers{Answers: []string{"Yes.", "No."}})
	k.wantStatus(Planning)
	k.wantOwed("start/p/2")
	start := k.s.Next()[0].(StartRun)
	if start.New || !strings.Contains(start.Input, "1. Hidden ones too?\nYes.") || !strings.Contains(start.Input, "2. Folders too?\nNo.") {
		t.Errorf("the answers go back as %+v", start)
	}
	k.must("", Note{"p", AgentPrompted{2, 2, ""}})
	k.must("task-validator", submit("p", 2, aPlan))
	k.must("", ended("p", run.Completed))
	k.wantStatus(Planned)
	edited := aPlan.Plan
	edited.Steps = []string{"count"}
	k.must("anna", Edited{Plan: &edited})
	k.must("anna", Start{Run: "w", Agent: "developer"})
	k.wantOwed("start/w/1")
	if in := k.s.Next()[0].(StartRun).Input; !strings.Contains(in, "Steps:\n- count\n") || !strings.Contains(in, "Hidden ones too?\n  Yes.") {
		t.Errorf("the worker is told %s", in)
	}
	k.must("", Note{"w", AgentPrompted{1, 1, ""}})
	k.must("ben", Say{ID: "m1", Text: "Be quick."})
	k.wantOwed("drive/w", "deliver/m1")
	k.must("", Note{"w", MessageDelivered{ID: "m1"}})
	k.must("", Note{"w", PermissionRequested{Call: "c_1", Tool: "shell"}})
	if got := k.s.WaitsFor(); got != "permission" {
		t.Errorf("it waits for %q", got)
	}
	k.must("", Note{"w", PermissionDecided{Call: "c_1", Answer: run.Allow}})
	k.must("", Note{"w", ToolExecuted{Call: "c_1", Tool: "shell", Outcome: run.OK}})
	k.must("developer", submit("w", 1, aReport))
	k.must("", ended("w", run.Completed))
	k.wantStatus(Completed)
	k.wantOwed()
	if u := k.s.Usage(); u.Cost != 1 || u.Total() != 20 {
		t.Errorf("its runs have used %+v", u)
	}
	want := []string{"task_created", "planning_started", "status_changed", "agent_prompted", "planner_output_submitted", "planning_questions_returned",
		"status_changed", "agent_completed", "answers_submitted", "planning_started", "status_changed", "agent_prompted", "planner_output_submitted",
		"planning_completed", "status_changed", "agent_completed", "task_edited", "agent_started", "status_changed", "agent_prompted", "message_queued",
		"message_delivered", "permission_requested", "permission_decided", "tool_executed", "completion_report_submitted", "status_changed", "agent_completed"}
	if diff := cmp.Diff(want, k.types()); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
}

func TestASecondSubmissionChangesNothing(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.planned()
	var e *SubmissionError
	if err := k.try("x", submit("p", 1, aPlan)); !errors.As(err, &e) || e.Kind != AlreadySubmitted || e.Error() != "Planner output already submitted" || e.AcceptedAt.IsZero() {
		t.Errorf("a second plan: %+v", err)
	}
	if err := k.try("x", submit("p", 1, aReport)); !errors.As(err, &e) || e.Kind != NotGranted {
		t.Errorf("a report of a planner: %+v", err)
	}
	if err := k.try("x", submit("other", 1, aReport)); !errors.As(err, &e) || e.Kind != NotGranted {
		t.Errorf("a report of another task's run: %+v", err)
	}
	k.must("anna", Start{Run: "w", Agent: "developer"})
	k.must("", Note{"w", AgentPrompted{1, 1, ""}})
	k.must("anna", Move{On: OnPause})
	if err := k.try("x", submit("w", 1, aReport)); !errors.As(err, &e) || e.Kind != NotAtWork {
		t.Errorf("a report of a run that was stopped: %+v", err)
	}
}

func TestAPersonStopsTheRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a    Action
		want StatusName
	}{{Move{On: OnPause}, Waiting}, {Move{On: OnComplete}, Completed}, {Move{On: OnFail, Why: "no"}, Failed}, {Move{On: OnCancel}, Failed}} {
		k := newCard(t, Created{})
		k.working()
		k.must("", Note{"w", PermissionRequested{Call: "c_1", Tool: "shell"}})
		k.must("anna", c.a)
		k.wantStatus(c.want)
		k.wantOwed("stop/w")
		if c.want == Waiting {
			var e *TransitionError
			if err := k.try("anna", Resume{}); !errors.As(err, &e) || e.Code() != "INVALID_TRANSITION" {
				t.Errorf("resumed while its run is being stopped: %v", err)
			}
		}
		k.must("", ended("w", run.EndInterrupted))
		k.wantStatus(c.want)
		k.wantOwed()
		if len(k.s.Permissions) > 0 {
			t.Errorf("after %T it asks %+v", c.a, k.s.Permissions)
		}
	}
}

func TestAWaitingTaskContinuesInTheSameConversation(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.working()
	k.must("developer", submit("w", 1, itsBlocked))
	k.wantStatus(Waiting)
	k.must("", ended("w", run.Completed))
	if d := k.s.Status.Detail; d != "no rights on /x" {
		t.Errorf("it waits because %q", d)
	}
	k.must("anna", Say{ID: "m1", Text: "And be quick."})
	k.must("anna", Resume{Words: "You have them now."})
	start := k.s.Next()[0].(StartRun)
	if start.Run != "w" || start.Number != 2 || start.Input != "You have them now.\n\nAnd be quick." {
		t.Errorf("it is resumed with %+v", start)
	}
	k.must("", Note{"w", AgentPrompted{2, 2, ""}})
	k.must("", ended("w", run.Asked))
	k.wantStatus(Waiting)
	if err := k.try("anna", Resume{}); err == nil {
		t.Error("a question was answered with nothing")
	}
	k.must("anna", Resume{Words: "Blue."})
	k.must("", Note{"w", AgentPrompted{3, 3, ""}})
	k.must("developer", submit("w", 3, aReport))
	k.must("", ended("w", run.Completed))
	k.must("anna", Move{On: OnReopen})
	k.wantStatus(Planned)
	k.must("anna", Start{Run: "w2", Agent: "developer"})
	if k.s.Chain[2].Assignments[0].Reason != "retry" {
		t.Errorf("the chain is %+v", k.s.Chain)
	}
}

// A driver that has stopped a run tells so late: the person has resumed the task meanwhile.
func TestTheEndOfAnEarlierAssignmentEndsNothing(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.working()
	k.must("anna", Move{On: OnPause})
	stopped := ended("w", run.EndInterrupted)
	stopped.Number = 1
	k.must("", stopped) // as the run says it
	k.must("anna", Resume{Words: "Go on."})
	k.must("", stopped) // as the driver does
	k.wantStatus(Active)
	if start, ok := k.s.Next()[0].(StartRun); !ok || start.Number != 2 {
		t.Errorf("owed is %+v", k.s.Next())
	}
	k.must("", Note{"w", AgentPrompted{2, 2, ""}})
	stopped.Number = 2
	k.must("", stopped)
	k.wantStatus(Waiting)
}

func TestAShutdownOfTheDriverLeavesTheTaskAtWork(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.working()
	end := End{Run: "w", Begun: true, End: run.Ended{End: run.EndInterrupted, Reason: string(run.ByShutdown)}}
	if events, err := k.s.Do("", end); len(events) != 0 || err != nil { // the next driver continues the run
		t.Errorf("a shutdown is recorded as %+v, %v", events, err)
	}
	k.must("", end)
	k.wantStatus(Active)
	k.wantOwed("drive/w")
}

func TestABudgetIsShownWithAllItsDigits(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]Budget{
		"": {}, "$5.00": {Cost: 5}, "$0.60": {Cost: 0.6}, "$0.001": {Cost: 0.001}, "$1.255": {Cost: 1.255},
		"$0.0000001": {Cost: 1e-7}, "$2000000.00 and 20 tokens": {Cost: 2e6, Tokens: 20},
	} {
		if got := b.String(); got != want {
			t.Errorf("%#v is %q, want %q", b, got, want)
		}
	}
	k := newCard(t, Created{Budget: Budget{Cost: 0.001}})
	k.planned()
	if err := k.try("anna", Start{Run: "w", Agent: "developer"}); err == nil || !strings.Contains(err.Error(), "its budget of $0.001 is spent") {
		t.Errorf("started with nothing left: %v", err)
	}
}

// A report is that of the work that has ended with it, until more is done.
func TestAReportIsFormerWhenItsWorkIsBegunAnew(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.planned()
	former := func(when string, want bool) {
		t.Helper()
		if got := k.s.Former(); got != want {
			t.Errorf("%s: former %v", when, got)
		}
	}
	former("without a report", false)
	k.must("anna", Start{Run: "w", Agent: "developer"})
	k.must("", Note{"w", AgentPrompted{1, 1, ""}})
	k.must("", submit("w", 1, itsFailed))
	k.must("", ended("w", run.Completed))
	former("failed by it", false)
	k.must("anna", Move{On: OnRetry})
	former("to be started again", true)
	k.must("anna", Start{Run: "v", Agent: "developer"})
	former("started again", true)
	k.must("", Note{"v", AgentPrompted{1, 1, ""}})
	k.must("", submit("v", 1, itsBlocked))
	k.must("", ended("v", run.Completed))
	former("blocked by another", false)
	k.must("anna", Resume{Words: "now"})
	former("resumed", true)
}

// When the budget is spent, the advice is to raise it first, followed by what the status allows.
func TestABudgetThatIsSpentIsRaisedBeforeTheNextStep(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{Budget: Budget{Cost: 0.6}})
	k.planned()
	spends := ended("w", run.Completed)
	spends.Usage = run.Usage{Output: 1, Cost: 1, Priced: true}
	k.must("anna", Start{Run: "w", Agent: "developer"})
	k.must("", Note{"w", AgentPrompted{1, 1, ""}})
	k.must("", submit("w", 1, aReport))
	k.must("", spends)
	k.wantStatus(Completed)
	if next := k.s.Advice(); next != `pawl task edit t1 --budget … && pawl task say t1 "…"` {
		t.Errorf("a person may next %s", next)
	}
	k.must("anna", Move{On: OnReopen})
	if next := k.s.Advice(); next != `pawl task edit t1 --budget … && pawl task start t1` {
		t.Errorf("a person may next %s", next)
	}
}

func TestABudgetThatIsSpentStartsNothing(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{Budget: Budget{Cost: 0.6}})
	k.planned()
	k.must("anna", Start{Run: "w", Agent: "developer"})
	if left := k.s.Next()[0].(StartRun).Left; left.Cost < 0.09 || left.Cost > 0.11 {
		t.Errorf("left is %+v", left)
	}
	k.must("", Note{"w", AgentPrompted{1, 1, ""}})
	k.must("", ended("w", run.LimitReached))
	k.wantStatus(Waiting)
	if err := k.try("anna", Resume{}); err == nil || !strings.Contains(err.Error(), "its budget of $0.60 is spent") {
		t.Errorf("resumed with nothing left: %v", err)
	}
	if w := k.s.Status; w.Detail != "developer reached a limit: its budget of $0.60 is spent" {
		t.Errorf("it waits because %s", w.Detail)
	}
	if next := k.s.Advice(); next != "pawl task resume t1 --budget …" {
		t.Errorf("a person may next %s", next)
	}
	if err := k.try("anna", Resume{Budget: &Budget{Cost: 0.9}}); err == nil || !strings.Contains(err.Error(), "its budget of $0.90 is spent") {
		t.Errorf("resumed with too little: %v", err)
	}
	if err := k.try("anna", Resume{Budget: &Budget{Tokens: -1}}); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Errorf("resumed with a negative budget: %v", err)
	}
	if err := k.try("anna", Resume{Budget: &Budget{Tokens: 20}}); err == nil || !strings.Contains(err.Error(), "its budget of 20 tokens is spent") {
		t.Errorf("resumed with too few tokens: %v", err)
	}
	k.must("anna", Resume{Budget: &Budget{Cost: 5}})
	if left := k.s.Next()[0].(StartRun).Left; k.s.Budget.Cost != 5 || left.Cost != 4 {
		t.Errorf("the budget is %+v, and left is %+v", k.s.Budget, left)
	}
	k.must("", Note{"w", AgentPrompted{2, 2, ""}})
	k.must("", ended("w", run.LimitReached)) // another limit, that of its steps
	if w := k.s.Status; !strings.HasSuffix(w.Detail, "so it was") {
		t.Errorf("it waits because %s", w.Detail)
	}
	k.must("anna", Edited{Budget: &Budget{Cost: 6}})
	k.must("anna", Resume{})
}

func TestWhatTheEndOfATurnMeans(t *testing.T) {
	t.Parallel()
	type row struct {
		end       run.End
		reason    string
		begun     bool
		submitted bool
		reminders int
	}
	for _, c := range []struct {
		row
		want Result
		to   StatusName // of an active task; empty: it stays
	}{
		{row{run.Completed, "", true, true, 0}, Submitted, ""},
		{row{run.EndFailed, "crash", true, true, 0}, Submitted, ""},
		{row{run.Completed, "", true, false, 0}, Missing, ""},
		{row{run.Completed, "", true, false, 2}, Missing, Failed},
		{row{run.EndFailed, "output_missing", true, false, 2}, Missing, Failed},
		{row{run.EndFailed, "auth", false, false, 0}, NotBegun, Failed},
		{row{run.EndFailed, "auth", true, false, 0}, Broken, Failed},
		{row{run.EndRefused, "", true, false, 0}, Broken, Failed},
		{row{run.GuardrailStopped, "", true, false, 0}, Broken, Failed},
		{row{run.Asked, "question", true, false, 0}, Missing, Waiting},
		{row{run.EndInterrupted, "person", true, false, 0}, Missing, Waiting},
		{row{run.EndInterrupted, "shutdown", true, false, 0}, Missing, ""},
		{row{run.LimitReached, "max_steps", true, false, 0}, Missing, Waiting},
		{row{run.LoopStopped, "same_call", true, false, 0}, Missing, Waiting},
		{row{"something new", "", true, false, 0}, Broken, Failed},
	} {
		x := onExit(Worker, "developer", c.begun, run.Ended{End: c.end, Reason: c.reason, Detail: "why"}, c.submitted, c.reminders, "I did it.")
		to := StatusName("")
		for _, row := range transitions {
			if row.From == Active && row.On == x.Trigger {
				to = row.To
			}
		}
		if x.Result != c.want || to != c.to || (x.Trigger != "" && (x.Reason == "" || !strings.Contains(x.Detail, "developer"))) {
			t.Errorf("%+v means %+v", c.row, x)
		}
		if x.Remind != (c.row == row{run.Completed, "", true, false, 0}) {
			t.Errorf("%+v is reminded: %t", c.row, x.Remind)
		}
	}
	x := onExit(Planner, "task-validator", true, run.Ended{End: run.EndFailed, Reason: "output_missing"}, false, 2, "Looks good.")
	if want := `task-validator ended without calling planner-output, after 2 reminders; it said last: "Looks good."`; x.Detail != want {
		t.Errorf("the sentence is %s", x.Detail)
	}
	x = onExit(Planner, "p", true, run.Ended{End: run.EndFailed, Reason: "output_missing"}, false, 2, "Say \"no\".\nOr \x1b[31mred \u202e")
	if want := "it said last: \"Say \"no\". Or \x1b[31mred \u202e\""; !strings.HasSuffix(x.Detail, want) { // who shows it escapes it
		t.Errorf("the sentence is %q", x.Detail)
	}
}

func TestDependenciesHaveNoCycle(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{DependsOn: []ID{"t0"}})
	k.planned()
	if err := k.try("anna", Start{Run: "w", Agent: "developer", Unfinished: []ID{"t0"}}); err == nil || !strings.Contains(err.Error(), "not completed: t0") {
		t.Errorf("started: %v", err)
	}
	if err := k.try("anna", Edited{DependsOn: &[]ID{"t1"}}); err == nil {
		t.Error("a task depends on itself")
	}
}

func TestAnotherAgentCarriesOn(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	if err := k.try("anna", HandOn{Run: "w", Agent: "reviewer"}); err == nil {
		t.Error("a pending task was handed on")
	}
	k.working()
	if err := k.try("anna", HandOn{Run: "w2", Agent: "developer"}); err == nil || !strings.Contains(err.Error(), "is at it already") {
		t.Errorf("handed on to itself: %v", err)
	}
	k.must("anna", HandOn{Run: "w2", Agent: "reviewer", Words: "Only look."})
	k.wantStatus(Active)
	k.wantOwed("stop/w") // before the other begins
	if err := k.try("developer", submit("w", 1, aReport)); err == nil {
		t.Error("a run that was left has handed in")
	}
	k.must("", ended("w", run.EndInterrupted))
	k.wantOwed("start/w2/1")
	if start := k.s.Next()[0].(StartRun); start.Agent != "reviewer" || !strings.Contains(start.Input, "developer has worked on it until now") || !strings.Contains(start.Input, "Only look.") {
		t.Errorf("it is started with %+v", start)
	}
	var early *SubmissionError
	if err := k.try("reviewer", submit("w2", 1, aReport)); !errors.As(err, &early) || early.Kind != WrongAssignment {
		t.Errorf("a result before the words of its assignment were said: %v", err)
	}
	k.must("", Note{"w2", AgentPrompted{1, 1, ""}})
	k.must("reviewer", submit("w2", 1, itsBlocked))
	k.must("", ended("w2", run.Completed))
	k.must("anna", HandOn{Run: "w3", Agent: "developer"})
	k.wantOwed("start/w3/1")
}

func TestATaskHasOneCopyAtATime(t *testing.T) {
	t.Parallel()
	made := CopyMade{Dir: "/copies/t/work", Branch: "pawl/t", Base: "abc"}
	k := newCard(t, Created{Isolation: Clone})
	if err := k.try("anna", CopyDiscarded{}); err == nil {
		t.Error("a copy that is not there was discarded")
	}
	k.planned()
	k.must("anna", made)
	if err := k.try("anna", Edited{Isolation: new(Isolation)}); err == nil {
		t.Error("the isolation was changed while there is a copy")
	}
	k.must("anna", Start{Run: "w", Agent: "developer"})
	if in := k.s.Next()[0].(StartRun).Input; !strings.Contains(in, "on the branch pawl/t") {
		t.Errorf("the agent is not told of the copy: %s", in)
	}
	k.must("", Note{"w", AgentPrompted{1, 1, ""}})
	k.must("", ended("w", run.LimitReached))
	if err := k.try("anna", CopyDiscarded{}); err == nil || !strings.Contains(err.Error(), "when it is resumed") {
		t.Errorf("discarded while a run waits in it: %v", err)
	}
	k.must("anna", Move{On: OnComplete})
	if next := k.s.NextStep(false); !strings.Contains(next, "pawl task merge") {
		t.Errorf("what was done is not merged, and the next step is %q", next)
	}
	k.must("anna", CopyMerged{"pawl/t", "def"})
	if k.s.Copy.Merged != "def" {
		t.Errorf("%+v", k.s.Copy)
	}
	if next := k.s.NextStep(false); strings.Contains(next, "merge") {
		t.Errorf("what was done is merged, and the next step is %q", next)
	}
	k.must("anna", Say{ID: "m1", Text: "Once more."})
	k.must("", Note{"w", AgentPrompted{2, 2, ""}})
	k.must("developer", submit("w", 2, aReport))
	k.must("", ended("w", run.Completed))
	if next := k.s.NextStep(false); !strings.Contains(next, "pawl task merge") {
		t.Errorf("more was done after the merge, and the next step is %q", next)
	}
	k.must("anna", CopyDiscarded{})
	k.must("anna", made)
	if k.s.Copy == nil || k.s.Copy.Merged != "" {
		t.Errorf("%+v", k.s.Copy)
	}
	if err := k.try("anna", Created{Task: "t", Description: "x", Isolation: "container"}); err == nil || !strings.Contains(err.Error(), "use clone") {
		t.Errorf("%v", err)
	}
}

func TestAMessageThatWasNotHeardComesBack(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.working()
	k.must("anna", Say{ID: "m1", Text: "Stop at ten."})
	k.must("anna", Say{ID: "m1", Text: "Stop at ten."}) // sent twice
	k.must("", Note{"w", MessageDelivered{ID: "m1", AtTurnEnd: true}})
	if m := k.s.Messages[0]; m.State != MessageIsDelivered || !m.AtTurnEnd {
		t.Errorf("it is told when the turn has ended, and the message is %+v", m)
	}
	k.must("developer", submit("w", 1, aReport))
	k.must("", MessageReturned{ID: "m1"})
	k.must("", ended("w", run.Completed))
	if len(k.s.Messages) != 1 || k.s.Messages[0].State != MessageIsReturned {
		t.Errorf("the messages are %+v", k.s.Messages)
	}
}

func TestAMessageThatWasNotHeardIsToldWithTheNextWords(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.working()
	k.must("anna", Say{ID: "m1", Text: "Stop at ten."})
	k.must("", Note{"w", MessageDelivered{ID: "m1", AtTurnEnd: true}})
	if err := k.try("", Note{"w", MessageDelivered{ID: "m1"}}); err == nil {
		t.Error("a message is told twice")
	}
	k.must("anna", Move{On: OnPause})
	k.must("", MessageReturned{ID: "m1"})
	k.must("", ended("w", run.EndInterrupted))
	if m := k.s.Messages[0]; m.State != MessageWaits || m.AtTurnEnd {
		t.Errorf("the task is paused, and the message is %+v", m)
	}
	k.must("anna", Resume{})
	r, _ := k.s.Run("w")
	if m := k.s.Messages[0]; m.State != MessageIsDelivered || r.Assignments[1].Input != "Stop at ten." {
		t.Errorf("the run is told %q, and the message is %+v", r.Assignments[1].Input, m)
	}
	k.must("", Note{"w", AgentPrompted{2, 2, ""}})
	k.must("anna", Say{ID: "m2", Text: "And ask."})
	k.must("", Note{"w", MessageDelivered{ID: "m2", AtTurnEnd: true}})
	k.must("", MessageDelivered{ID: "m2"}) // the turn has ended, and the next one has begun with it
	if m := k.s.Messages[1]; m.State != MessageIsDelivered || m.AtTurnEnd {
		t.Errorf("it was told, and the message is %+v", m)
	}
}

func TestWhatAPauseLeavesOpenIsDecidedAfterIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		then Action
		open bool
	}{{Resume{}, true}, {HandOn{Run: "w2", Agent: "reviewer"}, false}, {Move{On: OnComplete}, false}, {Move{On: OnFail}, false}, {Move{On: OnCancel}, false}} {
		k := newCard(t, Created{})
		k.working()
		k.must("", Note{"w", PermissionRequested{Call: "c_1", Tool: "bash"}})
		k.must("anna", Move{On: OnPause})
		k.must("", End{Run: "w", Number: 1, Begun: true, End: run.Ended{End: run.EndInterrupted, Reason: string(run.ByPause)}})
		if len(k.s.Permissions) != 1 || k.s.WaitsFor() != "paused" {
			t.Errorf("paused, the task waits for %s, with %+v open", k.s.WaitsFor(), k.s.Permissions)
		}
		k.must("anna", c.then)
		if open := len(k.s.Permissions) == 1; open != c.open {
			t.Errorf("after %T %+v is open", c.then, k.s.Permissions)
		}
	}
}

func TestHandoffsAreListedAndEndOnlyThemselves(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.working()
	k.must("developer", Note{"w.c_1", AgentHandoffStarted{Parent: "w", Call: "c_1", Agent: "reviewer", Input: "look"}})
	k.must("", Note{"w.c_1", AgentHandoffCompleted{End: run.Ended{End: run.EndFailed}, Usage: run.Usage{Input: 99}}})
	k.wantStatus(Active)
	k.wantOwed("drive/w")
	if err := k.try("reviewer", submit("w.c_1", 1, aReport)); err == nil {
		t.Error("a child run handed in for the task")
	}
	if r := k.s.Chain[2]; r.Parent != "w" || !r.Ended || k.s.Usage().Input != 10 {
		t.Errorf("the chain is %+v", k.s.Chain)
	}
}

func TestWrongOutputsNameWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  Kind
		value string
		want  string
	}{
		{Planner, `{"type":"plans"}`, `"plans" is not a type: use "plan" (with summary, requirements, acceptanceCriteria, plan, assignedAgent), "questions" (with questions) or "error" (with error)`},
		{Planner, `{"type":"plan","summary":" "}`, "summary: a plan needs a summary"},
		{Planner, `{"type":"plan","summary":"x","plan":[]}`, "plan: a plan needs at least one step"},
		{Planner, `{"type":"questions","questions":[" "]}`, "questions: give at least one question"},
		{Planner, `{"type":"error"}`, "error: say why"},
		{Planner, `[]`, "does not fit its schema"},
		{Worker, `{"status":"blocked","summary":"x"}`, "blockedReason: "},
		{Worker, `{"status":"done","summary":"x"}`, `use "complete", "blocked" (with blockedReason) or "failed"`},
		{Worker, `{"status":"complete","summary":""}`, "summary: "},
		{Worker, `[]`, "the completion report does not fit its schema"},
	} {
		_, err := ParseOutput(c.kind, c.value)
		if e, ok := errors.AsType[*InputError](err); !ok || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: %v", c.value, err)
		}
	}
	if o, err := ParseOutput(Planner, `{"type":"plan","summary":"s","requirements":["r"],"acceptanceCriteria":["a"],"plan":["p"],"assignedAgent":"d"}`); err != nil ||
		o.(PlannerOutput).AssignedAgent != "d" || o.(PlannerOutput).AcceptanceCriteria[0] != "a" {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestSimulationOfTasks does random actions. No order of them leaves the table or a state
// that replay does not give, and what is owed leads to rest.
func TestSimulationOfTasks(t *testing.T) {
	t.Parallel()
	reached := map[StatusName]int{}
	taken := map[transition]int{}
	seeds := 2000
	if testing.Short() {
		seeds = 1000
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 14))
		k := newCard(t, Created{Task: ID(fmt.Sprint("t", seed)), Budget: Budget{Cost: float64(rng.IntN(2)) / 2}})
		runs := 0
		fresh := func() run.ID { runs++; return run.ID(fmt.Sprint("r", runs)) }
		some := func() run.ID {
			switch n := len(k.s.Chain); {
			case n == 0 || rng.IntN(6) == 0:
				return "nowhere"
			default:
				return k.s.Chain[rng.IntN(n)].ID
			}
		}
		for range 60 {
			id := some()
			r, _ := k.s.Run(id)
			text := []string{"", "words"}[rng.IntN(2)]
			actions := []Action{
				StartPlanning{fresh(), "task-validator"}, SubmitAnswers{Answers: []string{"a", "b"}}, SubmitAnswers{Answers: []string{"a"}},
				Edited{Plan: &Plan{Summary: text}}, Edited{Start: new(text != "")}, Proceed{[]StatusName{Pending, Planned}[rng.IntN(2)], fresh(), "developer", text, time.Time{}}, Start{Run: fresh(), Agent: "developer"}, Move{On: OnPause}, Resume{Words: text}, Move{On: OnComplete}, Move{On: OnFail, Why: text}, Move{On: OnCancel, Why: text},
				HandOn{fresh(), []string{"reviewer", "developer"}[rng.IntN(2)], text},
				[]Action{CopyMade{Dir: "/c", Branch: "b", Base: "1"}, CopyMerged{"b", text}, CopyDiscarded{}}[rng.IntN(3)],
				Move{On: OnRetry}, Move{On: OnReopen}, Say{ID: fmt.Sprint("m", rng.IntN(5)), Text: text}, MessageWithdrawn{fmt.Sprint("m", rng.IntN(5))}, Note{id, MessageDelivered{ID: fmt.Sprint("m", rng.IntN(5))}}, MessageReturned{ID: fmt.Sprint("m", rng.IntN(5))}, MessageDelivered{ID: fmt.Sprint("m", rng.IntN(5))},
				Note{id, AgentPrompted{len(r.Assignments), 1, ""}}, Note{id, AgentPrompted{len(r.Assignments), 1, ""}}, Note{id, AgentPrompted{len(r.Assignments), 1, ""}}, Note{id, AgentPrompted{len(r.Assignments), 1, ""}}, Note{id, AgentPrompted{1, 1, ""}},
				submit(id, len(r.Assignments), []Output{aPlan, aReport, itsBlocked}[rng.IntN(3)]), Start{Run: fresh(), Agent: "developer"}, Resume{Words: text},
				submit(id, len(r.Assignments), []Output{aPlan, someAsked, aRefusal}[rng.IntN(3)]), submit(id, len(r.Assignments), []Output{aReport, itsBlocked, itsFailed}[rng.IntN(3)]),
				asked(id), ended(id, []run.End{run.Completed, run.Asked, run.EndInterrupted, run.LimitReached, run.LoopStopped, run.EndFailed, run.EndRefused}[rng.IntN(7)]),
				End{Run: id, End: run.Ended{End: run.EndFailed, Detail: "no key"}}, limited(id, time.Unix(2, 0)),
				End{Run: id, Begun: true, End: run.Ended{End: run.EndFailed, Reason: "output_missing"}},
				Note{run.ID(string(id) + ".c"), AgentHandoffStarted{Parent: id, Call: "c_1"}}, Note{run.ID(string(id) + ".c"), AgentHandoffCompleted{}},
				Note{id, PermissionRequested{Call: "c_1", Tool: "shell"}}, Note{id, PermissionDecided{Call: "c_1"}}, Note{id, ToolExecuted{Call: "c_1"}}, Note{id, OutputReminderSent{Number: rng.IntN(3)}},
			}
			a := actions[rng.IntN(len(actions))]
			if !k.s.Status.Until.IsZero() && rng.IntN(2) == 0 {
				a = Proceed{From: Waiting, Now: time.Unix(int64(1+rng.IntN(2)), 0)}
			}
			if owed := k.s.Next(); rng.IntN(3) == 0 && len(owed) > 0 { // what is owed is done now and then
				switch c := owed[0].(type) {
				case StartRun:
					a = Note{c.Run, AgentPrompted{c.Number, 1, ""}}
				case DriveRun:
					r, _ := k.s.Run(c.Run)
					a = submit(c.Run, len(r.Assignments), []Output{aPlan, someAsked, aReport, itsBlocked, itsFailed}[rng.IntN(5)])
					if r.Submitted != nil && rng.IntN(2) == 0 {
						a = ended(c.Run, run.Completed)
					}
				case StopRun:
					a = ended(c.Run, run.EndInterrupted)
				}
			}
			if n := len(k.s.OpenQuestions()); n > 0 && rng.IntN(4) == 0 {
				a = SubmitAnswers{Answers: slices.Repeat([]string{"a"}, n)}
			}
			if err := k.try("x", a); err != nil && !isOurs(err) {
				t.Fatalf("seed %d: %T: %v", seed, a, err)
			}
			reached[k.s.Status.Name]++
			checkOffers(t, k.s)
			working := 0
			for _, c := range k.s.Next() {
				switch c.(type) {
				case StartRun, DriveRun:
					working++
				}
			}
			if working > 1 {
				t.Fatalf("seed %d: two runs at once: %q", seed, k.keys())
			}
		}
		checkReplay(t, k)
		settle(t, k)
		for _, e := range k.log {
			if c, ok := e.Payload.(StatusChanged); ok {
				for _, row := range transitions {
					if row.From == c.From && row.To == c.To && row.On == c.Trigger {
						taken[row]++
					}
				}
			}
		}
	}
	for _, name := range StatusNames() {
		if reached[name] == 0 {
			t.Errorf("status %s was never reached", name)
		}
	}
	for _, row := range transitions {
		if taken[row] == 0 {
			t.Errorf("the transition %+v never happened", row)
		}
	}
}

// checkOffers does what a person may do, so that nothing is offered that is refused, and what is refused is not
// offered.
func checkOffers(t testing.TB, s State) {
	t.Helper()
	may := s.May()
	for on, a := range map[Trigger]Action{
		OnPlan: StartPlanning{"new", "task-validator"}, OnAnswers: SubmitAnswers{Answers: slices.Repeat([]string{"a"}, len(s.OpenQuestions()))},
		OnStart: Start{Run: "new", Agent: "developer"}, OnPause: Move{On: OnPause}, OnResume: Resume{Words: "a", Budget: &Budget{}}, OnComplete: Move{On: OnComplete},
		OnFail: Move{On: OnFail}, OnCancel: Move{On: OnCancel}, OnRetry: Move{On: OnRetry}, OnReopen: Move{On: OnReopen}, OnHandOn: HandOn{Run: "new", Agent: "another"},
	} {
		if _, err := s.Do("anna", a); (err == nil) != slices.Contains(may, on) {
			t.Fatalf("a task that is %s and owes %v may %q; %s: %v", s.Status.Name, s.Next(), may, on, err)
		}
	}
	if Final(s.Status.Name) { // before, a message is always possible
		if _, err := s.Do("anna", Say{ID: "new", Text: "a"}); (err == nil) != slices.Contains(may, OnSay) {
			t.Fatalf("a task that is %s and owes %v may %q; say: %v", s.Status.Name, s.Next(), may, err)
		}
	}
}

// isOurs reports whether an action was refused with a typed error, or because its run does
// not wait for it.
func isOurs(err error) bool {
	return errors.Is(err, ErrOrder) || errors.As(err, new(*TransitionError)) || errors.As(err, new(*InputError)) || errors.As(err, new(*SubmissionError))
}

// checkReplay compares the state with that of the log as it is read from a disk.
func checkReplay(t testing.TB, k *card) {
	t.Helper()
	var s State
	for _, e := range k.log {
		typ, version, data, err := Encode(e.Payload)
		if err != nil {
			t.Fatal(err)
		}
		p, known, err := Decode(typ, version, data)
		if err != nil || !known {
			t.Fatalf("%s: %v", typ, err)
		}
		e.Payload = p
		if err := s.apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(k.s, s, cmp.Transformer("nil", func(in []string) []string { return append([]string{}, in...) })); diff != "" {
		t.Fatalf("replay (-live +replayed):\n%s", diff)
	}
}

// settle performs what is owed, each run as a failure, until nothing is owed: no task is
// stuck.
func settle(t testing.TB, k *card) {
	t.Helper()
	for range 20 {
		owed := k.s.Next()
		owed = slices.DeleteFunc(owed, func(c Command) bool { _, n := c.(Notify); return n })
		if len(owed) == 0 {
			if k.s.Status.atWork() {
				t.Fatalf("task %s is %s and nothing is owed", k.s.Created.Task, k.s.Status.Name)
			}
			return
		}
		switch c := owed[0].(type) {
		case StartRun:
			k.must("", End{Run: c.Run, End: run.Ended{End: run.EndFailed, Detail: "no provider"}})
		case DriveRun:
			k.must("", ended(c.Run, run.EndFailed))
		case StopRun:
			k.must("", ended(c.Run, run.EndInterrupted))
		}
	}
	t.Fatalf("task %s owes %q for ever", k.s.Created.Task, k.keys())
}

func TestTheNamesOnDisk(t *testing.T) {
	t.Parallel()
	spec := strings.Fields(`task_created status_changed planning_started planning_completed planning_failed planning_questions_returned answers_submitted planner_output_submitted agent_started agent_completed agent_handoff_started
agent_handoff_completed completion_report_submitted tool_executed permission_requested permission_decided output_reminder_sent interrupted message_queued attachment_added`)
	for _, name := range spec {
		if !slices.ContainsFunc(kinds, func(k kind) bool { return k.name == name }) {
			t.Errorf("there is no event %s", name)
		}
	}
	for _, k := range kinds {
		if k.version != 1 {
			t.Errorf("%s has version %d", k.name, k.version)
		}
	}
	if _, known, _ := Decode("task_created", 2, nil); known {
		t.Error("a newer version is known")
	}
}

// Clone returns a copy of s that shares nothing that is written to.
func (s State) Clone() State {
	s.Questions = slices.Clone(s.Questions)
	s.Attachments = slices.Clone(s.Attachments)
	s.Chain = slices.Clone(s.Chain)
	s.Messages = slices.Clone(s.Messages)
	s.Permissions = slices.Clone(s.Permissions)
	return s
}
