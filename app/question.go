package app

import (
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
