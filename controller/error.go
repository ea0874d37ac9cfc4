package controller

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Code says which rule an answer broke. The codes are stable.
type Code string

const (
	InvalidJSON     Code = "invalid_json"     // there is no JSON object in the answer, or it cannot be read
	Ambiguous       Code = "ambiguous"        // there are two different ones
	InvalidOutput   Code = "invalid_output"   // a field is missing or of a wrong type
	InvalidArgs     Code = "invalid_args"     // args is neither an object nor a string that holds one
	UnknownStep     Code = "unknown_step"     // a type that there is not; a think step is one
	Undetermined    Code = "undetermined"     // a next_step that says nothing to do
	StepTool        Code = "step_tool"        // a tool step without a tool
	StepToolAt      Code = "step_tool_at"     // an entry of tools without one
	StepMessage     Code = "step_message"     // a respond step without a message
	StepQuestion    Code = "step_question"    // an ask_user step without a question
	CompleteMessage Code = "complete_message" // complete without a message
	GuardrailReason Code = "guardrail_reason" // guardrail_stop without a reason
	AskQuestion     Code = "ask_question"     // ask_user without a question
)

// messages are the sentences that do not depend on what was sent. They are kept
// stable: models have learnt them from our prompts and programs may match them.
var messages = map[Code]string{
	Undetermined:    "Cannot determine step type: provide 'type' or 'tool'/'message'/'question'",
	StepTool:        "next_step type=tool requires non-empty 'tool' field",
	StepMessage:     "next_step type=respond requires non-empty 'message' field",
	StepQuestion:    "next_step type=ask_user requires non-empty 'question' field",
	CompleteMessage: "complete requires non-empty 'message' field",
	GuardrailReason: "guardrail_stop requires non-empty 'reason' field",
	AskQuestion:     "ask_user requires non-empty 'question' field",
}

// An Error is why an answer could not be used. [Parse] returns no other type. It is
// written for the model, which must act on it; [Error.Feedback] is what to send.
type Error struct {
	Code    Code
	Message string // one sentence, bounded
	// Near is the place in the answer where reading it failed, with a mark; empty
	// when the answer was read and something else is wrong.
	Near string
	Sent string // the answer, cut in the middle if it is long
}

func (e *Error) Error() string { return e.Message }

// Feedback returns what is sent to the model so that its next answer can be used:
// the message, the answer that it is about, and the shape of a right one.
func (e *Error) Feedback() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your last answer could not be used, and nothing of it was done.\n\n%s\n", e.Message)
	if e.Near != "" {
		b.WriteString("\nThe place is marked with " + hereMark + ":\n")
		quote(&b, e.Near)
	}
	if e.Sent != "" {
		b.WriteString("\nYou sent:\n")
		quote(&b, e.Sent)
	}
	b.WriteString("\nAnswer again with one JSON object and nothing else, in one of these shapes:\n")
	for _, s := range shapesFor(e.Code) {
		b.WriteString(s)
		b.WriteByte('\n')
	}
	return b.String()
}

// The shapes of right answers; the prompt has each of them word for word.
const (
	shapeTool      = `{"action":"next_step","thinking":{"task":"Find where the port is set","facts":["The server listens on 8080"],"decisions":["Search before reading"],"risks":[],"confidence":0.8},"type":"tool","description":"Search for the port","tool":"search","args":"{\"pattern\":\"8080\"}"}`
	shapeTools     = `{"action":"next_step","thinking":{"task":"Compare the two files"},"type":"tool","description":"Read both files","tools":[{"tool":"read","args":"{\"path\":\"a.txt\"}"},{"tool":"read","args":"{\"path\":\"b.txt\"}"}]}`
	shapeRespond   = `{"action":"next_step","thinking":{"task":"Answer the question"},"type":"respond","description":"Answer","message":"The port is set in config.go, line 12."}`
	shapeStepAsk   = `{"action":"next_step","thinking":{"task":"Choose the database"},"type":"ask_user","description":"Ask which database","question":"Which of the two databases is meant?"}`
	shapeComplete  = `{"action":"complete","message":"The port is 9090 now; the tests pass."}`
	shapeGuardrail = `{"action":"guardrail_stop","reason":"The task asks to publish a password.","message":"I stopped before anything was published."}`
	shapeAsk       = `{"action":"ask_user","question":"May I delete the old backups?","context":"They take up 40 GB.","resume_to":"reflecting"}`
)

func shapesFor(c Code) []string {
	switch c {
	case StepTool, StepToolAt, InvalidArgs:
		return []string{shapeTool, shapeTools}
	case StepMessage:
		return []string{shapeRespond}
	case StepQuestion:
		return []string{shapeStepAsk}
	case CompleteMessage:
		return []string{shapeComplete}
	case GuardrailReason:
		return []string{shapeGuardrail}
	case AskQuestion:
		return []string{shapeAsk}
	default:
		return []string{shapeTool, shapeComplete, shapeAsk, shapeGuardrail}
	}
}

// refuse returns the error with a fixed sentence.
func refuse(c Code) *Error { return &Error{Code: c, Message: messages[c]} }

// invalid returns an error about the form of what was sent.
func invalid(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Message: "Invalid controller output: " + fmt.Sprintf(format, args...)}
}

// invalidJSON returns the error for text that cannot be read, with its place.
func invalidJSON(text string, s *syntaxError) *Error {
	line, column := position(text, s.at)
	return &Error{
		Code:    InvalidJSON,
		Message: fmt.Sprintf("Invalid JSON: line %d, column %d: %s", line, column, s.what),
		Near:    near(text, s.at),
	}
}

// position returns the line and the column, in characters, of a byte of text; both
// count from 1.
func position(text string, at int) (line, column int) {
	before := text[:at]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}

const (
	maxNear = 60   // characters shown on each side of the place
	maxSent = 1000 // characters of an answer that are shown to the model again
	maxName = 80   // characters of a name or value inside of a message

	hereMark = "⟨here⟩"
)

// near shows the place in text, on one line of its own.
func near(text string, at int) string {
	before, after := []rune(text[max(0, at-4*maxNear):at]), []rune(text[at:min(len(text), at+4*maxNear)])
	if n := len(before) - maxNear; n > 0 {
		before = before[n:]
	}
	if len(after) > maxNear {
		after = after[:maxNear]
	}
	return strings.ToValidUTF8(string(before)+hereMark+string(after), "\uFFFD")
}

// shownName quotes a name or a value of the model's for a message.
func shownName(s string) string { return fmt.Sprintf("%q", cut(s, maxName)) }

// abridge keeps the head and the tail of what was sent: the head shows the form, the
// tail shows whether it was cut off.
func abridge(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	n := utf8.RuneCountInString(s)
	if n <= maxSent {
		return s
	}
	r := []rune(s)
	const tail = maxSent / 4
	return fmt.Sprintf("%s\n[… %d characters left out …]\n%s", string(r[:maxSent-tail]), n-maxSent, string(r[n-tail:]))
}
