package runlog

import (
	"cmp"
	"fmt"
	"strings"

	"pawl/run"
	"pawl/tool"
	"pawl/view"
)

// A QuestionError says that a run waits for an answer, and that nothing else continues it.
type QuestionError struct {
	Run      run.ID
	Question Question
}

func (e *QuestionError) Error() string {
	return fmt.Sprintf("run %s is waiting for an answer: %s\nanswer with `pawl run --resume %s -p \"…\"`", e.Run, e.Question.Text, e.Run)
}

// A QuestionsError says that several runs below one wait for an answer, so that an answer has to name the run
// it is for.
type QuestionsError struct {
	Run       run.ID
	Questions []Question
}

func (e *QuestionsError) Error() string {
	return fmt.Sprintf("%d sub-agents of run %s wait for an answer: %s", len(e.Questions), e.Run, e.Next())
}

// Next says how each question is answered.
func (e *QuestionsError) Next() string {
	return fmt.Sprintf("answer each with %s, then continue with `pawl run --resume %s`", AnswerEach(e.Questions), e.Run)
}

// AnswerEach names the commands that answer the questions of runs below another one.
func AnswerEach(open []Question) string {
	var each []string
	for _, q := range open {
		each = append(each, fmt.Sprintf("`pawl run --resume %s -p \"…\"` (%s)", q.Run, q.OneLine()))
	}
	return strings.Join(each, ", ")
}

// A Question is what the agent asks.
type Question struct {
	Run     run.ID     `json:"-"` // that asks, if it is below the one that was asked for
	Agent   string     `json:"-"` // its agent, or its id if it has none
	Call    run.CallID `json:"call"`
	Text    string     `json:"question"`
	Options []string   `json:"options,omitempty"`
}

// maxAsked bounds what is shown of a question in a sentence, in characters.
const maxAsked = 200

// OneLine returns the text of the question as it is shown in a sentence.
func (q Question) OneLine() string { return view.OneLine(q.Text, maxAsked) }

// QuestionOf returns the question that a call asks.
func QuestionOf(c run.CallState) Question {
	q := Question{Call: c.ID}
	q.Text, q.Options = tool.Asked(c)
	return q
}

// QuestionsBelow returns the questions that the runs below one in state s wait with.
func (r Reader) QuestionsBelow(s run.State) ([]Question, error) {
	below, err := r.Below(s)
	return QuestionsOf(below), err
}

// QuestionsOf returns the questions that runs wait with.
func QuestionsOf(below []run.State) []Question {
	var all []Question
	for _, of := range below {
		for _, c := range of.Answerable() {
			q := QuestionOf(c)
			q.Run, q.Agent = of.Created.Run, AgentOf(of)
			all = append(all, q)
		}
	}
	return all
}

// AgentOf names the agent of a run below another one.
func AgentOf(s run.State) string {
	return cmp.Or(s.Created.Agent, s.Created.AgentID, string(s.Created.Run))
}
