package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/run"
)

// OneLine returns s on one line of at most n characters that is safe to print. A cut is
// marked.
func OneLine(s string, n int) string { return text.OneLine(visible.Escape(s), n) }

// MaxLine is the length of a call's title in characters.
const MaxLine = 100

// OutcomeWords says how a call came out.
func OutcomeWords(o run.Outcome) string {
	switch o {
	case run.Failed:
		return "error"
	case run.NotRun:
		return "not run"
	case run.Cut:
		return "stopped"
	case run.Unknown:
		return "outcome unknown"
	}
	return string(o)
}

// OutcomeWords says how the call came out: its outcome, or the exit code of a command that
// failed.
func (c *Call) OutcomeWords() string { return outcomeWords(c.Outcome, c.ExitCode) }

func outcomeWords(o run.Outcome, exitCode *int) string {
	if exitCode != nil && *exitCode != 0 && o == run.OK {
		return fmt.Sprintf("exit code %d", *exitCode)
	}
	return OutcomeWords(o)
}

// SettledWords says how a call came out.
func SettledWords(f run.CallSettled) string { return outcomeWords(f.Outcome, f.ExitCode) }

// Printed returns the result without the line in which the model is told the exit code.
func (c *Call) Printed() string { return printed(c.Result, c.ExitCode) }

// SettledText returns the text of a result without the line in which the model is told the exit code.
func SettledText(f run.CallSettled) string { return printed(run.PlainText(f.Content), f.ExitCode) }

func printed(result string, exitCode *int) string {
	if exitCode == nil || *exitCode == 0 {
		return result
	}
	return strings.TrimSuffix(strings.TrimSuffix(result, "["+run.ExitWords(*exitCode)+"]"), "\n")
}

// EndWords says how a turn ended; empty for a turn that has not ended.
func EndWords(e run.End) string {
	switch e {
	case run.Asked:
		return "waits for an answer"
	case run.LimitReached:
		return "stopped at a limit"
	case run.GuardrailStopped:
		return "stopped by a guardrail"
	case run.LoopStopped:
		return "stopped in a loop"
	}
	return string(e) // completed, interrupted, refused, failed
}

// EndLine says in one line how a turn ended, and why if it did not complete.
func EndLine(e run.Ended) string {
	line := EndWords(e.End)
	if e.End == run.LimitReached && e.Detail != "" {
		line = "stopped"
	}
	if e.Detail != "" && e.End != run.Completed {
		line += ": " + strings.ReplaceAll(visible.Escape(ErrorWords(run.ErrorKind(e.Reason), e.Detail)), "\n", " ")
	}
	return line
}

// DecisionWords says what a decision was and who or what made it.
func DecisionWords(d run.Decision) string {
	verb := "refused by "
	if d.Allows() {
		verb = "allowed by "
	}
	who := d.Source
	switch {
	case d.Source == run.ByModel:
		who = "the model " + visible.Escape(d.By) + " (mode auto)"
	case d.By != "":
		who = d.By
	case d.Rule != "":
		who = "the rule " + visible.Escape(d.Rule) + " (" + d.Source + ")"
	}
	return verb + who
}

// ChangeWords lists the settings that a configuration change changes.
func ChangeWords(c run.ConfigChange) string {
	if c.Reason != "" && c.Model != nil {
		return visible.Escape(fmt.Sprintf("continuing with %s: %s", *c.Model, c.Reason))
	}
	var words []string
	add := func(name string, v any) { words = append(words, fmt.Sprintf("%s: %v", name, v)) }
	if c.Model != nil {
		add("model", *c.Model)
	}
	if c.Mode != nil {
		add("mode", *c.Mode)
	}
	if c.Effort != nil {
		add("effort", cmp.Or(*c.Effort, "the model's default"))
	}
	if c.Control != nil && (c.Model == nil || *c.Control == run.Controller) { // with a model the usual one comes along
		add("control", *c.Control)
		if *c.Control == run.Controller {
			words[len(words)-1] += " (the model is asked for one object a step from here on)"
		}
	}
	if c.Window != nil && c.Model == nil {
		add("window", *c.Window)
	}
	if c.Parallel != nil {
		add("parallel", *c.Parallel)
	}
	if c.Output != nil {
		words = append(words, "another result")
	}
	if c.Tools != nil {
		tools := strings.Join(c.Tools.Names(), ", ")
		if tools == "" {
			tools = "none"
		}
		if !c.Tools.Limited() {
			tools = "all"
		}
		add("tools", tools)
	}
	if c.Limits != (run.Limits{}) || c.NoNudge != nil || c.CompactAt != nil || c.WaitForLimit != nil {
		words = append(words, "other limits")
	}
	if c.Compact {
		words = append(words, "the context is compacted before the next request")
	}
	if c.Fallback != nil {
		add("fallback model", cmp.Or(c.Fallback.Model, "none"))
	}
	if len(c.AddDirs) > 0 {
		add("folders added", strings.Join(c.AddDirs, ", "))
	}
	if c.Name != nil {
		add("name", visible.Quote(*c.Name))
	}
	return visible.Escape(cmp.Or(strings.Join(words, ", "), "nothing is changed"))
}

// SubmittedWords says in one line what was submitted: of a result of a task what it is and its words, of any other its
// JSON.
func SubmittedWords(value string) string {
	var v struct {
		Status, Type, Summary, Error string
		Questions                    []string
	}
	err := json.Unmarshal([]byte(value), &v)
	what, words := cmp.Or(v.Status, v.Type), cmp.Or(v.Summary, v.Error, strings.Join(v.Questions, " "))
	if err == nil && what != "" && words != "" {
		value = what + ": " + words
	}
	return OneLine(value, 2*MaxLine)
}

// Money says what usage cost.
func Money(u run.Usage) string {
	if !u.Priced {
		return "cost unknown"
	}
	return fmt.Sprintf("$%.4f", u.Cost)
}

// WaitWords says which calls of a run wait for a person's decision.
func WaitWords(s run.State) string {
	var calls []string
	for _, c := range s.Next() {
		if d, ok := c.(run.Decide); ok {
			calls = append(calls, Title(d.Call.Tool, d.Call.Arguments))
		}
	}
	if open := s.Answerable(); len(open) > 0 && len(calls) == 0 {
		return "a question of " + Title(open[0].Tool, open[0].Arguments)
	}
	return "approval required: " + strings.Join(calls, "; ")
}

// InterruptWords says why a turn was interrupted.
func InterruptWords(f run.Interrupted) string {
	if shown := f.Shown(); shown != "" {
		return shown
	}
	switch f.Cause {
	case run.ByTimeout:
		return "interrupted: the time limit was reached"
	case run.ByShutdown:
		return "stopped: pawl was terminated"
	case run.ByParent:
		return "interrupted: the parent run was interrupted"
	case run.ByRequest:
		return "interrupted by another program"
	case run.ByPolicy:
		return "interrupted: a call needs approval"
	case run.ByPause:
		return "stopped: the task was paused"
	}
	return "interrupted: " + string(f.Cause)
}

// errorWords are the kinds of errors of requests as a person reads them.
var errorWords = map[run.ErrorKind]string{
	run.ErrOverloaded: "provider overloaded", run.ErrUnreachable: "no connection", run.ErrRateLimited: "rate limit reached", run.ErrTooLong: "request too long",
	run.ErrAuth: "no access", run.ErrRefused: "request refused", run.ErrInvalid: "request rejected",
	run.ErrBrokenStream: "answer cut off", run.ErrTimeout: "no answer in time", run.ErrAborted: "cancelled",
}

// ErrorWords returns the reason of a failed request with words for a person in place of the name of
// the kind that it begins with.
func ErrorWords(kind run.ErrorKind, reason string) string {
	rest, named := strings.CutPrefix(reason, string(kind))
	words, known := errorWords[kind]
	if !named || !known || rest != "" && rest[0] != ':' && rest[0] != ' ' {
		return reason
	}
	if kind == run.ErrOverloaded && strings.HasPrefix(rest, " (HTTP 50") && !strings.HasPrefix(rest, " (HTTP 503)") {
		words = "provider error"
	}
	return words + rest
}

// failureWords says that a request failed and when it is sent again.
func failureWords(f run.RequestFailed) string {
	reason := OneLine(ErrorWords(f.Kind, f.Reason), 2*MaxLine)
	if f.RetryAfter <= 0 {
		return "the request failed: " + reason
	}
	return fmt.Sprintf("%s; retrying in %s", reason, f.RetryAfter.Round(100*time.Millisecond))
}

// HookWords says what the hooks of a point came to: what they say together, then what each says to a person and why one
// does not count, each on one line. They are empty if a person need not read anything.
func HookWords(f run.HookSettled) (lines []string) {
	if f.Point == run.JudgeModel {
		return judgeWords(f)
	}
	var together []string
	turns := f.Point == run.Stop || f.Point == run.SubagentStop
	switch {
	case f.Halt != "":
		together = append(together, "stops the turn: "+f.Halt)
	case f.Says == run.HookDenies && turns:
		together = append(together, "lets the turn go on: "+f.Reason)
	case f.Says == run.HookDenies && (f.Point == run.PostToolUse || f.Point == run.PostToolUseFailure):
		together = append(together, "says: "+f.Reason)
	case f.Says == run.HookDenies:
		together = append(together, "refuses: "+f.Reason)
	case f.Says == run.HookAsks:
		together = append(together, "asks a person: "+f.Reason)
	case f.Says == run.HookAllows:
		together = append(together, strings.TrimSuffix("allows: "+f.Reason, ": "))
	}
	if f.Arguments != "" {
		together = append(together, "changes the call to "+f.Arguments)
	}
	if f.Context != "" {
		together = append(together, "tells the model: "+f.Context)
	}
	add := func(text string) { lines = append(lines, OneLine("hook "+string(f.Point)+" "+text, 3*MaxLine)) }
	if len(together) > 0 {
		add(strings.Join(together, "; "))
	}
	for _, r := range f.Runs {
		if r.Problem != "" {
			add("failed: " + r.Problem + " (" + r.Hook + ")")
		}
		if r.Message != "" {
			add("says: " + r.Message)
		}
	}
	return lines
}

// judgeWords says what a model has said of a call, in mode auto.
func judgeWords(f run.HookSettled) []string {
	model, problem := "a model", ""
	if len(f.Runs) > 0 {
		model, problem = f.Runs[0].Hook, f.Runs[0].Problem
	}
	words := "not judged by " + model + ": " + problem
	switch f.Says {
	case run.HookAllows:
		words = "judged by " + model + ": allowed: " + f.Reason
	case run.HookDenies:
		words = "judged by " + model + ": refused: " + f.Reason
	}
	return []string{OneLine(words, 3*MaxLine)}
}
