package run

import (
	"cmp"
	"encoding/json"
	"fmt"
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

// synthesis adds the account that the model made of a turn that ended early to the context.
func (s *State) synthesis(text string) {
	s.flush()
	last := s.lastID()
	s.say(Assistant, []Part{Text(text)})
	s.Messages[len(s.Messages)-1].ID = synthesisID + last
	s.Turn.text, s.Turn.account = text, accountDone
}

// Bounds of an account made from the log: the calls that it lists, and the characters that it has
// of what each found.
const (
	maxAccount = 8
	maxFound   = 120
)

// deterministicAccount returns the account of a turn made from the log alone, for a person: what
// the last calls found, or why they failed. The model has the results themselves.
func (t *Turn) deterministicAccount() string {
	var b strings.Builder
	b.WriteString("Based on the tool executions:\n")
	var files, outputs []string
	lines := t.lines()
	left := max(0, len(lines)-maxAccount)
	if left > 0 {
		failed := 0
		for _, l := range lines[:left] {
			if l.Failed {
				failed++
			}
		}
		fmt.Fprintf(&b, "- %d earlier calls, %d of them failed\n", left, failed)
	}
	for i, l := range lines {
		if i >= left {
			b.WriteString("- " + l.words() + "\n")
		}
		if l.stored() != "" {
			outputs = append(outputs, string(l.Call))
		}
		for _, f := range l.Files {
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	list := func(what string, all []string) {
		if n := len(all) - maxAccount; n > 0 {
			all = append(all[:maxAccount:maxAccount], "and "+itoa(n)+" more")
		}
		if len(all) > 0 {
			b.WriteString(what + ": " + strings.Join(all, ", ") + "\n")
		}
	}
	list("Stored outputs", outputs)
	list("Files changed", files)
	return strings.TrimRight(b.String(), "\n")
}

// words says what a call was and what came of it.
func (l Line) words() string {
	words := cmp.Or(l.Tool, "a call without a name")
	if l.Subject != "" {
		words += " " + l.Subject
	}
	found := l.Found
	switch {
	case l.ExitCode != nil && *l.ExitCode != 0:
		words += ": failed with " + ExitWords(*l.ExitCode)
		found = strings.TrimSpace(strings.TrimSuffix(found, "["+ExitWords(*l.ExitCode)+"]"))
	case l.Outcome == Failed, l.Outcome == Invalid, l.Outcome == Refused:
		words += ": " + outcomeWords[l.Outcome]
	case l.Failed:
		return words + ": " + outcomeWords[l.Outcome] // the text is for the model
	case l.stored() != "":
		return words + ": stored as " + string(l.Call)
	}
	if found = shorten(found, maxFound); found == "" {
		return words
	}
	return words + ": " + found
}

// singleLine returns s on one line, cut at n bytes.
func singleLine(s string, n int) string {
	if len(s) > 16*n {
		s = strings.ToValidUTF8(s[:16*n], "")
	}
	return shorten(strings.Join(strings.Fields(s), " "), n)
}

// maxSubject bounds the arguments that a subject is looked for in, in bytes.
const maxSubject = 16 << 10

// subject returns the argument that says most about a call: its first text. One that asks for the use of a tool of an
// external agent's is about that tool and the subject of its input.
func subject(arguments string) string {
	dec := json.NewDecoder(strings.NewReader(arguments))
	if t, _ := dec.Token(); t != json.Delim('{') || len(arguments) > maxSubject {
		return ""
	}
	asked := ""
	for dec.More() {
		var value json.RawMessage
		var text string
		name, _ := dec.Token()
		if dec.Decode(&value) != nil { // also if the name is not one
			return ""
		}
		switch isText := json.Unmarshal(value, &text) == nil; {
		case asked != "" && name == "input":
			return singleLine(asked+" "+subject(string(value)), 80)
		case name == "tool_name":
			asked = text
		case isText && name != "output_mode" && strings.TrimSpace(text) != "":
			return singleLine(text, 80)
		}
	}
	return asked
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
