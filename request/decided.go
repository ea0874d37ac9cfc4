package request

import (
	"fmt"

	"pawl/run"
)

// A DecidedError says that a call has a decision already.
type DecidedError struct {
	Call run.CallID
	Was  run.Decision
}

func (e *DecidedError) Error() string {
	verb := "refused"
	if e.Was.Allows() {
		verb = "allowed"
	}
	by := e.Was.By
	if by == "" {
		by = e.Was.Source
	}
	return fmt.Sprintf("too late: call %s was %s by %s", e.Call, verb, by)
}

// An AnsweredError says that a call has another answer already, which no process has taken yet.
type AnsweredError struct {
	Call run.CallID
	Was  Decide
}

func (e *AnsweredError) Error() string {
	return fmt.Sprintf("too late: call %s was answered %s by %s a moment ago", e.Call, e.Was.Answer, e.Was.By)
}
