package task

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pawl/run"
)

// What is created and edited is what the task has; a list is replaced, and what an edit does not name stays.
func TestACardHasWhatItWasGiven(t *testing.T) {
	t.Parallel()
	if _, err := (State{}).Apply(Event{Payload: Created{Task: "t1"}}); !errors.Is(err, ErrOrder) {
		t.Errorf("a task without a description: %v", err)
	}
	k := newCard(t, Created{Isolation: Clone, Labels: []string{"bug"}})
	if k.s.Isolation != Clone {
		t.Errorf("isolation is %q", k.s.Isolation)
	}
	k.planned()
	plan := k.s.Plan
	k.must("anna", Edited{Labels: &[]string{"late"}})
	if k.s.Plan != plan || plan == nil || !slices.Equal(k.s.Labels, []string{"late"}) {
		t.Errorf("the plan is %+v, the labels %q", k.s.Plan, k.s.Labels)
	}
	if last := k.log[len(k.log)-1].At; !k.s.At.Equal(last) || !k.s.Summary().Updated.Equal(last) || k.s.CreatedAt.Equal(last) {
		t.Errorf("it was changed at %v, and the last event was at %v", k.s.At, last)
	}
}

// A state that was read before does not change with what follows, and neither does a clone.
func TestStatesShareNothing(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.must("anna", StartPlanning{"p", "task-validator"})
	k.must("", Note{"p", AgentPrompted{1, 1, ""}})
	k.must("task-validator", submit("p", 1, someAsked))
	k.must("", ended("p", run.Completed))
	before, clone := k.s, k.s.Clone()
	k.must("anna", SubmitAnswers{Answers: []string{"yes", "no"}})
	clone.Questions[1].Answered = true
	if len(before.OpenQuestions()) != 2 || len(clone.OpenQuestions()) != 1 || len(k.s.OpenQuestions()) != 0 {
		t.Errorf("open are %q before, %q in the clone, %q after", before.OpenQuestions(), clone.OpenQuestions(), k.s.OpenQuestions())
	}
}

// What is not possible in a status is refused, and the error says where the task stands.
func TestWhatIsNotPossibleInAStatusIsRefused(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	for _, a := range []Action{Move{On: OnPause}, Resume{}, Move{On: OnComplete}, Move{On: OnFail}, Move{On: OnRetry}, Move{On: OnReopen}} {
		if err := k.try("anna", a); !errors.As(err, new(*TransitionError)) {
			t.Errorf("%T of a pending task: %v", a, err)
		}
	}
	if _, err := k.s.Apply(Event{Payload: StatusChanged{From: Pending, To: Completed, Trigger: OnDone}}); !errors.Is(err, ErrOrder) {
		t.Errorf("a pending task is completed: %v", err)
	}
	k.must("anna", StartPlanning{"p", "task-validator"})
	if err := k.try("anna", HandOn{Run: "w", Agent: "reviewer"}); err == nil || !strings.Contains(err.Error(), "no worker is at it") {
		t.Errorf("handed on while it is planned: %v", err)
	}
}

// A result that its schema cannot refuse, but its meaning does, changes nothing.
func TestAResultWithoutMeaningIsNotAccepted(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.must("anna", StartPlanning{"p", "task-validator"})
	k.must("", Note{"p", AgentPrompted{1, 1, ""}})
	if err := k.try("task-validator", submit("p", 1, PlannerOutput{Type: OutputQuestions})); !errors.As(err, new(*InputError)) {
		t.Errorf("no questions: %v", err)
	}
	k.must("task-validator", submit("p", 1, aPlan))
	k.must("", ended("p", run.Completed))
	k.must("anna", Start{Run: "w", Agent: "developer"})
	k.must("", Note{"w", AgentPrompted{1, 1, ""}})
	if err := k.try("developer", submit("w", 1, Report{Status: ReportBlocked, Summary: "Half."})); !errors.As(err, new(*InputError)) {
		t.Errorf("blocked by nothing: %v", err)
	}
	k.wantStatus(Active)
}

func TestAWorkerIsToldWhatThereIsAndNoMore(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{Isolation: Clone})
	k.planned()
	k.must("", CopyMade{Dir: "/c", Branch: "pawl/t1", Base: "1", Notes: []string{"submodules are empty"}})
	k.must("anna", Start{Run: "w", Agent: "developer"})
	input := k.start().Input
	if !strings.Contains(input, "Different in the copy:\n- submodules are empty\n") {
		t.Errorf("the worker is told %s", input)
	}
	for _, title := range []string{"Attached files", "Questions that were answered", "Said to the agents before"} {
		if strings.Contains(input, title) {
			t.Errorf("there is nothing under %q in %s", title, input)
		}
	}
}

func TestAPersonIsToldWhyATaskWaits(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.working()
	k.must("developer", submit("w", 1, itsBlocked))
	k.must("", ended("w", run.Completed))
	if n := k.s.notify(); n.For != "blocked" || !strings.Contains(n.Text, "no rights on /x") {
		t.Errorf("a person is told %+v", n)
	}
}

func TestAMessageIsTakenBackUntilItIsDelivered(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.planned()
	k.must("anna", Say{ID: "m1", Text: "Be quick."})
	k.must("anna", MessageWithdrawn{"m1"})
	if len(k.s.Messages) != 0 && k.s.Messages[0].State == MessageWaits {
		t.Errorf("the messages are %+v", k.s.Messages)
	}
	k.must("anna", Start{Run: "w", Agent: "developer"})
	k.must("", Note{"w", AgentPrompted{1, 1, ""}})
	k.must("anna", Say{ID: "m2", Text: "Be slow."})
	k.must("", Note{"w", MessageDelivered{ID: "m2"}})
	if err := k.try("anna", MessageWithdrawn{"m2"}); err == nil {
		t.Error("a delivered message was taken back")
	}
}
