package report

import (
	"fmt"
	"strings"
	"time"

	"pawl/internal/text"
	"pawl/run"
	"pawl/store"
	"pawl/view"
)

// EventWords says of events, in the order of the log, what each is, on one line. It
// remembers the titles of calls and the texts of messages.
type EventWords struct {
	titles  map[run.CallID]string
	said    map[string]string
	changed map[run.CallID]string // arguments that hooks have given to calls
	calls   map[string]run.CallID // of external agents, by the keys of their requests
}

// Remember takes note of an event, for the words of those that follow.
func (w *EventWords) Remember(p run.Payload) {
	var parts []run.Part
	switch f := p.(type) {
	case run.Replied:
		parts = f.Parts
	case run.Observed:
		parts = f.Parts
	case run.Interrupted:
		parts = f.Partial
	case run.CallReceived:
		w.Named(f.Call)
		if w.calls == nil {
			w.calls = map[string]run.CallID{}
		}
		w.calls[f.Key] = f.Call.ID
	case run.HookSettled:
		if f.Arguments != "" {
			if w.changed == nil {
				w.changed = map[run.CallID]string{}
			}
			w.changed[f.Call] = f.Arguments
		}
	case run.CallInspected: // again, as what hooks have made of it
		if args := w.changed[f.Call]; args != "" {
			w.Named(run.Call{ID: f.Call, Tool: f.Tool, Arguments: args})
		}
	case run.Said:
		if w.said == nil {
			w.said = map[string]string{}
		}
		w.said[f.ID] = run.PlainText(f.Parts)
	}
	for _, part := range parts {
		if part.Type == run.CallPart && part.Call != nil {
			w.Named(*part.Call)
		}
	}
}

// classWords say what a call of a class does.
var classWords = map[run.Class]string{run.Reads: "only reads", run.Writes: "may write", run.Resumable: "can be resumed"}

// call returns the id of a call and what it does.
func (w *EventWords) call(id run.CallID) string {
	if title := w.titles[id]; title != "" {
		return string(id) + " " + title
	}
	return string(id)
}

// Named says that the log has had a call, and returns it in words.
func (w *EventWords) Named(c run.Call) string {
	if w.titles == nil {
		w.titles = map[run.CallID]string{}
	}
	w.titles[c.ID] = view.Title(c.Tool, c.Arguments)
	return w.call(c.ID)
}

// message returns the text of a message and the calls in it.
func (w *EventWords) message(parts []run.Part) string {
	words := []string{run.PlainText(parts)}
	for _, p := range parts {
		if p.Type == run.CallPart && p.Call != nil {
			words = append(words, "["+w.Named(*p.Call)+"]")
		}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// Of returns what an event is, on one line.
func (w *EventWords) Of(e run.Event) string {
	w.Remember(e.Payload)
	return view.OneLine(w.sentence(e.Payload), 2*view.MaxLine)
}

// maxShownResult is how many characters of a result are in the line of its event.
const maxShownResult = 80

func (w *EventWords) sentence(p run.Payload) string {
	switch f := p.(type) {
	case run.Created:
		return createdWords(f)
	case run.Configured:
		return view.ChangeWords(f.Change)
	case run.Prompted:
		return w.prompted(f)
	case run.Said:
		if f.Delivery == run.Queue {
			return "message for after the turn: " + run.PlainText(f.Parts)
		}
		return "message to the agent at work: " + run.PlainText(f.Parts)
	case run.Withdrawn:
		return w.withdrawn(f)
	case run.RequestStarted:
		return requestStartedWords(f)
	case run.RequestFailed:
		return requestFailedWords(f)
	case run.Replied:
		return w.replied(f)
	case run.Observed:
		if len(f.Notices) > 0 {
			return "of the external agent: " + strings.Join(f.Notices, "; ")
		}
		if len(f.Parts) == 0 {
			return "part of an answer has arrived"
		}
		return "reported: " + w.message(f.Parts)
	case run.CallReceived:
		return w.Named(f.Call) + ": received from the external agent"
	case run.CallInspected:
		return w.callInspected(f)
	case run.CallDecided:
		return w.callDecided(f)
	case run.ApprovalInvalidated:
		return w.call(f.Call) + ": needs approval again: " + f.Reason
	case run.CallStarted:
		if f.Attempt > 1 {
			return fmt.Sprintf("%s: started, attempt %d", w.call(f.Call), f.Attempt)
		}
		return w.call(f.Call) + ": started"
	case run.CallDetached:
		return w.call(f.Call) + ": goes on without pawl, and can be asked for its outcome"
	case run.CallAsked:
		return w.call(f.Call) + ": asks: " + f.Question
	case run.CallAnswered:
		if len(f.Parts) == 0 {
			return w.call(f.Call) + ": waits for no answer any more"
		}
		return "answer to " + w.call(f.Call) + ": " + run.PlainText(f.Parts)
	case run.CallSettled:
		return w.callSettled(f)
	case run.HookStarted:
		if f.Point == run.JudgeModel {
			return strings.Join(f.Hooks, ", ") + " judges" + strings.TrimPrefix(w.about(f.Call), " for")
		}
		return "hooks of " + string(f.Point) + w.about(f.Call) + ": " + strings.Join(f.Hooks, ", ")
	case run.HookSettled:
		about := "hooks of " + string(f.Point) + w.about(f.Call)
		if f.Point == run.JudgeModel {
			about = w.call(f.Call)
		}
		if lines := view.HookWords(f); len(lines) > 0 {
			return about + ": " + strings.Join(lines, "; ")
		}
		return about + " have ended"
	case run.Resumed:
		return resumedWords(f)
	case run.Told:
		return "pawl to the model: " + f.Text
	case run.Submitted:
		return "result submitted: " + view.SubmittedWords(f.Value)
	case run.Interrupted:
		return interruptedWords(f)
	case run.Compacted:
		return compactedWords(f)
	case run.Synthesized:
		return "account: " + f.Text
	case run.Ended:
		return view.EndLine(f)
	}
	return store.Type(p)
}

// about names the call that something is about; empty: none.
func (w *EventWords) about(id run.CallID) string {
	if id == "" {
		return ""
	}
	return " for " + w.call(id)
}

// What follows says each what one event is, for sentence.

func createdWords(f run.Created) string {
	words := fmt.Sprintf("run %s with %s in %s", f.Run, f.Config.Model, f.Workspace)
	if f.Agent != "" {
		words += ", as the agent " + f.Agent
	}
	if f.ForkedFrom != "" {
		words += fmt.Sprintf(", forked from %s at event %d", f.ForkedFrom, f.ForkedAt)
	}
	if f.Parent != "" {
		words += ", for call " + string(f.ParentCall) + " of run " + string(f.Parent)
	}
	return words
}

func (w *EventWords) prompted(f run.Prompted) string {
	switch {
	case f.Answers != "":
		return "answer to " + w.call(f.Answers) + ": " + run.PlainText(f.Parts)
	case len(f.Parts) == 0:
		return "continue, without a new prompt"
	}
	return "prompt: " + run.PlainText(f.Parts)
}

func (w *EventWords) withdrawn(f run.Withdrawn) string {
	if said := w.said[f.ID]; said != "" {
		return "message taken back: " + said
	}
	if call := w.calls[f.ID]; call != "" {
		return w.call(call) + ": the external agent does not wait for the answer any more"
	}
	return "message " + f.ID + " taken back"
}

func requestStartedWords(f run.RequestStarted) string {
	words := "request to " + f.Model
	switch f.Purpose {
	case run.ForSynthesis:
		words += " for a summary of the turn"
	case run.ForSummary:
		words += " for a summary of the context"
	case run.ForAgent:
		words = "turn of the external agent"
	}
	if f.Attempt > 1 {
		words += fmt.Sprintf(", attempt %d", f.Attempt)
	}
	return words
}

func requestFailedWords(f run.RequestFailed) string {
	words := "request failed (" + string(f.Kind) + "): " + f.Reason
	if f.RetryAfter > 0 {
		words += fmt.Sprintf("; retrying in %s", f.RetryAfter.Round(100*time.Millisecond))
	}
	return words
}

func (w *EventWords) replied(f run.Replied) string {
	words := w.message(f.Parts)
	switch {
	case f.Unfit != "":
		words += " (not the result: " + f.Unfit + ")"
	case f.Action != nil && f.Action.Problem != "":
		words += " (cannot be used: " + f.Action.Problem + ")"
	case f.Stop != run.StopToolUse && f.Stop != run.StopEndTurn && f.Stop != run.StopNone:
		words += " (stopped: " + string(f.Stop) + ")"
	}
	return "answer: " + words
}

func (w *EventWords) callInspected(f run.CallInspected) string {
	if f.Problem != "" {
		return w.call(f.Call) + ": cannot run: " + f.Problem
	}
	if f.Late {
		return w.call(f.Call) + ": inspected, the external agent asks whether it may do this"
	}
	return w.call(f.Call) + ": inspected, it " + classWords[f.Class]
}

func (w *EventWords) callDecided(f run.CallDecided) string {
	words := w.call(f.Call) + ": " + view.DecisionWords(f.Decision)
	if !f.Decision.Allows() && f.Decision.Reason != "" {
		words += ": " + f.Decision.Reason
	}
	return words
}

func (w *EventWords) callSettled(f run.CallSettled) string {
	words := w.call(f.Call) + ": " + view.SettledWords(f)
	if result := view.OneLine(strings.TrimSpace(view.SettledText(f)), maxShownResult); result != "" {
		words += ": " + result
	}
	if files := f.Instructions.Files; len(files) > 0 {
		words += "; with instructions from " + strings.Join(files, ", ")
	}
	return words
}

func resumedWords(f run.Resumed) string {
	words := "resumed after a pause"
	if f.Request || len(f.Calls) > 0 { // a process knows what it has in flight itself
		words = "resumed by another process"
	}
	if f.Request {
		words += "; the request is sent again"
	}
	if n := len(f.Calls); n > 0 {
		words += "; " + text.Plural(int64(n), "call") + " taken up again"
	}
	return words
}

func interruptedWords(f run.Interrupted) string {
	words := "interrupted (" + string(f.Cause) + ")"
	if f.By != "" {
		words += " by " + f.By
	}
	if len(f.Then) > 0 {
		words += ": " + run.PlainText(f.Then)
	}
	return words
}

func compactedWords(f run.Compacted) string {
	words := "context compacted"
	if f.Freed > 0 {
		words += ", about " + text.Count(f.Freed, "token", "tokens") + " freed"
	}
	return words
}
