package run

import (
	"cmp"
	"slices"
	"strings"

	"pawl/internal/stable"
)

// SynthesisPrompt asks the model for the account of a turn that ends early. It is sent
// with that request only and is not part of the context.
const SynthesisPrompt = "You have to stop here and cannot use tools any more. Tell the person, briefly and truthfully: what was done, what was found, what is not done, and what to do next."

// modelAccounts reports whether the model makes the account of this end: not if tokens,
// money or time are spent, or the turn was interrupted.
func modelAccounts(end Ended) bool {
	return end.End == LoopStopped || end.End == LimitReached && (end.Reason == "max_steps" || end.Reason == "max_calls")
}

// synthesisID begins the id of an account.
const synthesisID = "synthesis_"

// synthesis adds the account of a turn that ended early to the context.
func (s *State) synthesis(text string) {
	s.flush()
	last := s.lastID()
	s.say(Assistant, []Part{Text(text)})
	s.Messages[len(s.Messages)-1].ID = synthesisID + last
	s.Turn.text, s.Turn.account = text, accountDone
}

// maxAccount bounds the calls that an account lists, because it is part of the context.
const maxAccount = 200

// deterministicAccount returns the account of a turn made from the log alone.
func (t *Turn) deterministicAccount() string {
	var b strings.Builder
	b.WriteString("Based on the tool executions:\n")
	var files, outputs []string
	lines := t.lines()
	if n := len(lines) - maxAccount; n > 0 {
		b.WriteString("[… the first " + itoa(n) + " calls are left out …]\n")
		lines = lines[n:]
	}
	for _, l := range lines {
		b.WriteString("- ")
		if l.IsError {
			b.WriteString("ERROR ")
		}
		b.WriteString(string(l.Call) + " " + l.Tool)
		if l.Args != "" && l.Args != "{}" {
			b.WriteString(" " + l.Args)
		}
		b.WriteString(": " + outcomeWords[l.Outcome] + "\n")
		if l.stored() != "" {
			outputs = append(outputs, string(l.Call))
		}
		for _, f := range l.Files {
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	if len(outputs) > 0 {
		b.WriteString("Stored outputs: " + strings.Join(outputs, ", ") + "\n")
	}
	if len(files) > 0 {
		b.WriteString("Files changed: " + strings.Join(files, ", ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// stored names the stored output of a call whose result was too large for the context.
func (l Line) stored() string {
	if l.Delivery == "" || l.Delivery == "inline" {
		return ""
	}
	return " (output " + string(l.Call) + ")"
}

var outcomeWords = map[Outcome]string{
	OK: "done", Failed: "failed", Invalid: "could not run", NotRun: "not run", Cut: "stopped while it ran",
	Unknown: "outcome unknown", Refused: "refused", Answered: "answered",
}

// lines returns the turn's account in the order of the calls.
func (t *Turn) lines() []Line {
	return stable.Sorted(slices.Values(t.Account), func(a, b Line) int {
		return cmp.Or(cmp.Compare(len(a.Call), len(b.Call)), cmp.Compare(a.Call, b.Call))
	})
}
