package task

import (
	"slices"
	"strings"
	"testing"

	"pawl/run"
)

// asks brings a new card to waiting, because its worker w asks which one.
func (k *card) asks() {
	k.t.Helper()
	k.working()
	k.must("", asked("w"))
	k.wantStatus(Waiting)
}

func TestAWorkersQuestionIsAQuestionOfItsTask(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.asks()
	if q := k.s.Questions; len(q) != 1 || q[0].Question != "Which one?" || !slices.Equal(q[0].Options, []string{"a", "b"}) || q[0].Answered {
		t.Errorf("the questions are %+v", q)
	}
	if got := k.s.WaitsFor(); got != "answers" || !slices.Contains(k.s.May(), OnAnswers) {
		t.Errorf("it waits for %q, and may %v", got, k.s.May())
	}
	if err := k.try("anna", SubmitAnswers{Answers: []string{"a", "b"}}); err == nil || !strings.Contains(err.Error(), "2 given, 1 needed") {
		t.Errorf("two answers: %v", err)
	}
	if err := k.try("anna", SubmitAnswers{Answers: []string{" "}}); err == nil {
		t.Error("an empty answer was taken")
	}
	if err := k.try("anna", SubmitAnswers{Answers: []string{"a"}, Questions: []string{"Another one?"}}); err == nil || !strings.Contains(err.Error(), "something else by now") {
		t.Errorf("an answer to another question: %v", err)
	}
	k.must("anna", SubmitAnswers{Answers: []string{" Neither: c. "}, Questions: []string{"Which one?"}})
	k.wantStatus(Active)
	k.wantOwed("start/w/2")
	if c := k.start(); c.Input != "Neither: c." {
		t.Errorf("the agent is told %q", c.Input)
	}
	if q := k.s.Questions[0]; !q.Answered || q.Answer != " Neither: c. " {
		t.Errorf("the question is %+v", q)
	}
	if err := k.try("anna", SubmitAnswers{Answers: []string{"a"}}); err == nil {
		t.Error("answered twice")
	}
	k.must("", Note{"w", AgentPrompted{2, 2, ""}})
	k.must("anna", Move{On: OnPause})
	k.must("", ended("w", run.EndInterrupted))
	if slices.Contains(k.s.May(), OnAnswers) || k.s.WaitsFor() != "paused" {
		t.Errorf("a paused task waits for %q, and may %v", k.s.WaitsFor(), k.s.May())
	}
	if err := k.try("anna", SubmitAnswers{}); err == nil {
		t.Error("a paused task was answered")
	}
	k.must("anna", Resume{})
	k.must("", Note{"w", AgentPrompted{3, 3, ""}})
	k.must("developer", submit("w", 1, aReport))
	if n := len(k.s.Questions); n != 1 {
		t.Errorf("%d questions are left", n)
	}
}

func TestWordsOfAResumeAnswerTheQuestion(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.asks()
	k.must("anna", Resume{Words: "a"})
	if q := k.s.Questions[0]; !q.Answered || q.Answer != "a" {
		t.Errorf("the question is %+v", q)
	}
}

func TestAPlannersQuestionInTheMiddleGoesBackToIt(t *testing.T) {
	t.Parallel()
	k := newCard(t, Created{})
	k.must("anna", StartPlanning{"p", "task-validator"})
	k.must("", Note{"p", AgentPrompted{1, 1, ""}})
	k.must("", asked("p"))
	k.must("anna", SubmitAnswers{Answers: []string{"a"}})
	k.wantStatus(Planning)
	k.wantOwed("start/p/2")
}

func TestAQuestionThatIsNotWaitedForIsGone(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]Action{"complete": Move{On: OnComplete}, "fail": Move{On: OnFail}, "cancel": Move{On: OnCancel}, "another agent": HandOn{Run: "w2", Agent: "reviewer"}} {
		k := newCard(t, Created{})
		k.asks()
		k.must("anna", a)
		if len(k.s.Questions) != 0 || k.s.WaitsFor() == "answers" {
			t.Errorf("%s: the questions are %+v", name, k.s.Questions)
		}
	}
	s := newCard(t, Created{}).s
	if _, err := s.Apply(Event{Run: "w", Payload: QuestionAsked{Question: "Which one?"}}); err == nil {
		t.Error("a run that is not at work asks")
	}
}
