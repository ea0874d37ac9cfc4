package task

import (
	"fmt"

	"pawl/internal/text"
	"pawl/run"
)

// A Result says what became of what a run had to hand in.
type Result string

const (
	Submitted Result = "submitted"       // it was handed in and accepted
	Missing   Result = "missing"         // its turn ended without it
	NotBegun  Result = "failed_to_start" // the run could not be started
	Broken    Result = "exited_with_error"
)

// An exit is what the end of a run's turn means for its task.
type exit struct {
	Result Result
	// Remind: the run is reminded and the task stays where it is. The other fields are empty.
	Remind bool
	// Trigger is how the task's status changes; empty: it does not, because the submission
	// has changed it, or because another driver continues the turn.
	Trigger Trigger
	Reason  string
	Detail  string // a sentence for the person
}

// maxReminders is how often a run is reminded in one assignment; [run] counts them.
const maxReminders = 2

// onExit decides what the end of a turn means: of an agent of a kind, with the name that
// people know it by, whether it has handed in, and how often it was reminded. It is the
// only place that does. The end of a run that could not be started is [run.EndFailed] with
// begun false. said is what the agent said last.
func onExit(k Kind, agent string, begun bool, end run.Ended, submitted bool, reminders int, said string) exit {
	switch {
	case submitted: // an error after it is a warning on the run
		return exit{Result: Submitted}
	case !begun:
		return exit{Result: NotBegun, Trigger: OnRunFailed, Reason: string(NotBegun), Detail: fmt.Sprintf("%s could not be started: %s", agent, end.Detail)}
	case end.End == run.EndInterrupted && end.Reason == string(run.ByShutdown): // that ends a driver and not the work
		return exit{Result: Missing}
	}
	switch end.End {
	case run.Asked, run.EndInterrupted, run.LimitReached, run.LoopStopped:
		return exit{Result: Missing, Trigger: OnRunHalted, Reason: string(end.End), Detail: detailOf(agent, end)}
	case run.Completed:
		if reminders < maxReminders {
			return exit{Result: Missing, Remind: true}
		}
		return missing(k, agent, reminders, said)
	case run.EndFailed:
		switch {
		case end.Reason == missingAfterReminder:
			return missing(k, agent, reminders, said)
		case !end.LimitEnds.IsZero():
			return exit{Result: Missing, Trigger: OnRunHalted, Reason: end.Reason, Detail: detailOf(agent, end) + ", which the task does by itself"}
		}
	}
	return exit{Result: Broken, Trigger: OnRunFailed, Reason: string(end.End), Detail: detailOf(agent, end)}
}

func missing(k Kind, agent string, reminders int, said string) exit {
	detail := fmt.Sprintf("%s ended without calling %s, after %d reminders", agent, k.Tool(), reminders)
	if said != "" {
		detail += `; it said last: "` + text.OneLine(said, maxQuoted) + `"` // on one line; what shows it escapes
	}
	return exit{Result: Missing, Trigger: OnRunFailed, Reason: missingAfterReminder, Detail: detail}
}

// detailOf is a sentence about an end.
func detailOf(agent string, end run.Ended) string {
	words := map[run.End]string{
		run.Asked: "asks a question", run.EndInterrupted: "was interrupted", run.LimitReached: "reached a limit",
		run.LoopStopped: "went round in circles and was stopped", run.GuardrailStopped: "was stopped by a guardrail of the provider",
		run.EndRefused: "got no answer: the provider refused", run.EndFailed: "failed",
	}[end.End]
	if words == "" {
		words = "ended " + string(end.End)
	}
	if end.Detail == "" {
		return agent + " " + words
	}
	return agent + " " + words + ": " + end.Detail
}
