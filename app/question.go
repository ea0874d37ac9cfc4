package app

import (
	"cmp"
	"fmt"

	"pawl/run"
	"pawl/tool"
)

// A QuestionError says that a run waits for an answer, and that nothing else continues it.
type QuestionError struct {
	Run      run.ID
	Question Question
}

func (e *QuestionError) Error() string {
	return fmt.Sprintf("run %s is waiting for an answer: %s\nanswer with `pawl run --resume %s -p \"…\"`", e.Run, e.Question.Text, e.Run)
}

// A Question is what the agent asks.
type Question struct {
	Run     run.ID     `json:"-"` // that asks, if it is below the one that was asked for
	Agent   string     `json:"-"` // its agent, or its id if it has none
	Call    run.CallID `json:"call"`
	Text    string     `json:"question"`
	Options []string   `json:"options,omitempty"`
}

// QuestionOf returns the question that a call asks.
func QuestionOf(c run.Call) Question {
	q := Question{Call: c.ID}
	q.Text, q.Options = tool.Asked(c)
	return q
}

// questionsBelow returns the questions that the runs below one in state s wait with.
func (w *Workspace) questionsBelow(s run.State) ([]Question, error) {
	below, err := w.below(s)
	var all []Question
	for _, of := range below {
		if of.Turn.Open() {
			continue
		}
		for _, c := range of.Questions() {
			q := QuestionOf(c.Call)
			q.Run, q.Agent = of.Created.Run, agentOf(of)
			all = append(all, q)
		}
	}
	return all, err
}

// agentOf names the agent of a run below another one.
func agentOf(s run.State) string {
	return cmp.Or(s.Created.Agent, s.Created.AgentID, string(s.Created.Run))
}
