package controller

import "encoding/json"

// An Action is what the model decided: one of [UseTools], [Respond], [AskUser],
// [Complete] and [GuardrailStop]; there are no others. It is complete: what its kind
// needs is there and not blank.
type Action interface {
	Kind() Kind
	// About returns what was said beside the decision.
	About() Note
	sealed()
}

// A Kind names a kind of action, in the words of the object.
type Kind string

const (
	KindTool          Kind = "tool"
	KindRespond       Kind = "respond"
	KindAskUser       Kind = "ask_user"
	KindComplete      Kind = "complete"
	KindGuardrailStop Kind = "guardrail_stop"
)

// A Note is what stands beside a decision. It changes nothing of what is done.
type Note struct {
	// NextStep: the action was next_step, so it is a step of the turn's plan.
	NextStep bool
	// Thinking is the model's reasons as it wrote them, JSON of any form; nil: none were
	// sent. The schema asks for an object, and nothing is done because of what is in it.
	Thinking    json.RawMessage
	Description string // what the step is for, for people; may be empty
}

// UseTools runs calls and continues with the turn.
type UseTools struct {
	Note
	Calls []Call // at least one, in the order asked
}

// A Call is one tool use asked for. Whether there is such a tool, and whether its
// arguments fit, is not known here.
type Call struct {
	Tool string
	Args string // a JSON object as text, as it came; {} when none were sent
}

// Respond ends the turn completed, as a step of the plan.
type Respond struct {
	Note
	Message string
}

// Complete ends the turn completed.
type Complete struct {
	Note
	Message string
}

// AskUser ends the turn asked.
type AskUser struct {
	Note
	Question string
	Context  string // may be empty
	Resume   Resume
}

// A Resume says what the answer to a question starts with.
type Resume string

const (
	Reflecting Resume = "reflecting" // a look back at the goal; also when nothing was said
	Controller Resume = "controller" // the next decision at once
)

// GuardrailStop ends the turn guardrail_stopped.
type GuardrailStop struct {
	Note
	Reason  string
	Message string // may be empty
}

func (UseTools) Kind() Kind      { return KindTool }
func (Respond) Kind() Kind       { return KindRespond }
func (AskUser) Kind() Kind       { return KindAskUser }
func (Complete) Kind() Kind      { return KindComplete }
func (GuardrailStop) Kind() Kind { return KindGuardrailStop }

// About returns n, which every action embeds.
func (n Note) About() Note { return n }

func (UseTools) sealed()      {}
func (Respond) sealed()       {}
func (AskUser) sealed()       {}
func (Complete) sealed()      {}
func (GuardrailStop) sealed() {}
