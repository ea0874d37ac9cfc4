package task

import (
	"testing"

	"pawl/run"
)

// A task that starts by itself is planned and carried out in steps that a driver takes; nothing
// starts it again afterwards.
func TestATaskThatStartsByItself(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{Start: true})
	if !k.s.Starts() || !k.s.Summary().Starts || k.s.Owes() {
		t.Fatalf("the task is %+v", k.s.Summary())
	}
	for fleet, want := range map[bool]string{false: "in a process that watches all tasks: `pawl task watch`", true: "with a worker: `pawl-fleet fleet status`"} {
		if next := k.s.NextStep(fleet); next != "it starts by itself "+want {
			t.Errorf("in a fleet: %v; next: %s", fleet, next)
		}
	}
	k.must("", Proceed{From: Planned, Run: "w", Agent: "developer"}) // seen in another status
	k.must("", Proceed{From: Planned, Cannot: "no model"})
	k.wantStatus(Pending)
	k.must("", Proceed{From: Pending, Run: "p", Agent: "task-validator"})
	k.wantStatus(Planning)
	k.wantOwed("start/p/1")
	before := k.s.Seq
	k.must("", Proceed{From: Pending, Run: "q", Agent: "task-validator"}) // by another driver
	if k.s.Seq != before {
		t.Error("it was planned twice")
	}
	k.must("", Note{"p", AgentPrompted{1, 1, ""}})
	k.must("task-validator", submit("p", 1, someAsked))
	k.must("", ended("p", run.Completed))
	k.wantStatus(AwaitingInput)
	if k.s.Starts() {
		t.Error("it starts before its questions are answered")
	}
	k.must("anna", SubmitAnswers{Answers: []string{"yes", "no"}})
	k.must("", Note{"p", AgentPrompted{2, 2, ""}})
	k.must("task-validator", submit("p", 2, aPlan))
	k.must("", ended("p", run.Completed))
	if !k.s.Starts() {
		t.Error("it does not start when it is planned")
	}
	k.must("", Proceed{From: Planned, Run: "w", Agent: "developer"})
	k.wantStatus(Active)
	k.must("", Note{"w", AgentPrompted{1, 1, ""}})
	k.must("developer", submit("w", 1, aReport))
	k.must("", ended("w", run.Completed))
	k.must("anna", Move{On: OnReopen})
	k.wantStatus(Planned)
	if k.s.Starts() {
		t.Error("a reopened task starts by itself")
	}
}

func TestATaskThatCannotStartByItselfHasFailed(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{Budget: Budget{Cost: 0.5}})
	starts := true
	k.must("anna", Edited{Start: &starts})
	k.must("", Proceed{From: Pending, Cannot: "no model"})
	if f := k.s.Status; f.Name != Failed || f.Reason != "cannot_start" || f.Detail != "no model" {
		t.Fatalf("the task is %+v", k.s.Status)
	}
	k.must("anna", Move{On: OnRetry})
	k.wantStatus(Pending)
	if k.s.Starts() {
		t.Error("a task that has failed starts by itself")
	}
	k.must("anna", Edited{Start: &starts})
	k.planned() // its budget is spent by that
	k.must("", Proceed{From: Planned, Run: "w", Agent: "developer"})
	if f := k.s.Status; f.Name != Failed || f.Detail != "its budget of $0.50 is spent: it needs a higher one" {
		t.Errorf("the task is %+v", k.s.Status)
	}
}
