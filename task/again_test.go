package task

import (
	"strings"
	"testing"

	"pawl/run"
)

// completed brings a new card to completed, by run w, to which something was said meanwhile.
func (k *card) completed() {
	k.t.Helper()
	k.working()
	k.must("ben", Say{ID: "m1", Text: "Be quick."})
	k.must("", Note{"w", MessageDelivered{ID: "m1"}})
	k.must("developer", submit("w", 1, aReport))
	k.must("", ended("w", run.Completed))
	k.wantStatus(Completed)
}

func (k *card) start() StartRun {
	k.t.Helper()
	for _, c := range k.s.Next() {
		if s, ok := c.(StartRun); ok {
			return s
		}
	}
	k.t.Fatalf("no start is owed, but %q", k.keys())
	return StartRun{}
}

func TestWordsForATaskThatHasEndedContinueItsConversation(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	if err := k.try("anna", Say{ID: "m0", Text: " "}); err == nil {
		t.Error("nothing was said")
	}
	k.completed()
	if err := k.try("anna", Say{ID: "m2", Text: " "}); err == nil {
		t.Error("a task continues with nothing")
	}
	k.must("anna", Say{ID: "m2", Text: "Rename it."})
	k.wantStatus(Active)
	k.wantOwed("start/w/2")
	if c := k.start(); c.New || c.Input != "Rename it." {
		t.Errorf("the run is told %+v", c)
	}
	before := k.s.Seq
	k.must("anna", Say{ID: "m2", Text: "Rename it."}) // sent twice
	if k.s.Seq != before || k.s.Messages[1].State != MessageIsDelivered {
		t.Errorf("said twice: %+v", k.s.Messages)
	}
	k.must("", Note{"w", AgentPrompted{2, 2, ""}})
	k.must("developer", submit("w", 2, itsFailed))
	if err := k.try("anna", Say{ID: "m3", Text: "Then not."}); err == nil || !strings.Contains(err.Error(), "still being stopped") {
		t.Errorf("said while its run ends: %v", err)
	}
	k.must("", ended("w", run.Completed))
	k.must("anna", Say{ID: "m3", Text: "Then not."})
	k.wantStatus(Active)
	k.wantOwed("start/w/3")
}

func TestWordsForAFailedPlanGoBackToThePlanner(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.must("anna", Move{On: OnCancel})
	if err := k.try("anna", Say{ID: "m1", Text: "Do it."}); err == nil || !strings.Contains(err.Error(), "no agent has worked on it") {
		t.Errorf("said to nobody: %v", err)
	}
	k.must("anna", Move{On: OnRetry})
	k.must("anna", StartPlanning{"p", "task-validator"})
	k.must("", End{Run: "p", End: run.Ended{End: run.EndFailed, Detail: "no key"}})
	k.must("anna", Say{ID: "m1", Text: "There is a key now."})
	k.wantStatus(Planning)
	if c := k.start(); !c.New || c.Number != 2 || !strings.HasPrefix(c.Input, "Plan this task.") || !strings.HasSuffix(c.Input, "There is a key now.") {
		t.Errorf("a run that never began is told %+v", c)
	}
	k.must("", Note{"p", AgentPrompted{2, 1, ""}})
	k.must("task-validator", submit("p", 1, aRefusal))
	k.must("", ended("p", run.Completed))
	k.must("anna", Say{ID: "m2", Text: "There are files."})
	if c := k.start(); c.Kind != Planner || c.New || c.Input != "There are files." {
		t.Errorf("the planner is told %+v", c)
	}
}

func TestARunThatBeginsAnewIsToldWhatWasDoneAndSaid(t *testing.T) {
	t.Parallel()
	told := func(input string, want ...string) {
		t.Helper()
		at := 0
		for _, w := range append([]string{"Carry out this task.", "Count the files.", "Steps:\n- list"}, want...) {
			i := strings.Index(input[at:], w)
			if i < 0 {
				t.Fatalf("%q is not told, or not in this place:\n%s", w, input)
			}
			at += i + len(w)
		}
	}
	earlier := []string{"this was reported:", `status="complete"`, "There are three.", "3", "Said to the agents before:\n- Be quick.\n"}

	k := newCard(t, Created{})
	k.completed()
	k.must("anna", Say{ID: "m2", Text: "Rename it.", Anew: "w2"})
	k.wantOwed("start/w2/1")
	told(k.start().Input, append(earlier, "Rename it.")...)
	if n := strings.Count(k.start().Input, "Rename it."); n != 1 {
		t.Errorf("it is told %d times", n)
	}

	k = newCard(t, Created{})
	k.completed()
	k.must("anna", Say{ID: "m2", Text: "Rename it."})
	k.must("", Note{"w", AgentPrompted{2, 2, ""}})
	k.must("developer", submit("w", 2, itsBlocked))
	k.must("", ended("w", run.Completed))
	k.must("anna", Resume{Words: "You have them now."})
	k.must("", Note{"w", AgentPrompted{3, 3, ""}})
	k.must("developer", submit("w", 3, aReport))
	k.must("", ended("w", run.Completed))
	k.must("anna", Move{On: OnReopen})
	k.must("anna", Start{Run: "w2", Agent: "developer"})
	told(k.start().Input, append(earlier[:4:4], "- Rename it.\n", "- You have them now.\n", "- Be quick.\n")...)
	if strings.Contains(k.start().Input, "An earlier attempt") {
		t.Error("a completed run is called an attempt")
	}
}
