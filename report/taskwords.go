package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"pawl/internal/text"
	"pawl/run"
	"pawl/task"
	"pawl/view"
)

// maxDetail bounds what is shown of why a status has changed beyond its first line, in characters.
const maxDetail = 2000

// TaskWords says what an event of a task is, on few lines. Who watches the task is told of those that
// [TaskTold] names.
func TaskWords(e task.Event) string {
	switch p := e.Payload.(type) {
	case task.Created:
		added := []string{"added: " + view.OneLine(p.Description, view.MaxLine)}
		return strings.Join(append(added, view.HookWords(run.HookSettled{Point: run.TaskCreated, Runs: p.Hooks})...), "\n  ")
	case task.StatusChanged:
		return statusChangedWords(e, p)
	case task.Edited:
		return editedWords(e, p)
	case task.PlanningStarted:
		return fmt.Sprintf("%s plans (run %s)", p.Agent, e.Run)
	case task.AgentStarted:
		return fmt.Sprintf("%s works (run %s)", p.Agent, e.Run)
	case task.PlanningQuestionsReturned:
		return text.Plural(int64(len(p.Questions)), "question")
	case task.AnswersSubmitted:
		return "answered by " + e.By
	case task.CompletionReportSubmitted:
		return fmt.Sprintf("report: %s: %s", p.Report.Status, view.OneLine(p.Report.Summary, 2*view.MaxLine))
	case task.AgentCompleted:
		return agentCompletedWords(e, p)
	case task.AgentHandoffStarted:
		return fmt.Sprintf("run %s was started by a call of run %s", e.Run, p.Parent) + With(p.Model)
	case task.AgentHandoffCompleted:
		return fmt.Sprintf("run %s: %s", e.Run, view.EndWords(p.End.End))
	case task.ToolExecuted:
		if p.Call == "" {
			return fmt.Sprintf("  %s · not accepted: %s", p.Tool, view.OneLine(p.Detail, 3*view.MaxLine))
		}
		return fmt.Sprintf("  %s · %s", view.Title(p.Tool, p.Arguments), view.OutcomeWords(p.Outcome))
	case task.PermissionRequested:
		return fmt.Sprintf("needs approval: %s\n  answer with: pawl runs decide %s %s allow", view.OneLine(view.Title(p.Tool, p.Arguments), view.MaxLine), e.Run, p.Call)
	case task.PermissionDecided:
		return permissionDecidedWords(e, p)
	case task.OutputReminderSent:
		return fmt.Sprintf("reminded to call %s (%d)", p.Tool, p.Number)
	case task.Interrupted:
		return taskInterruptedWords(e, p)
	case task.MessageQueued:
		if n := len(p.Comments); n > 0 {
			return e.By + " reviews: " + text.Plural(int64(n), "comment")
		}
		return e.By + " says: " + view.OneLine(p.Text, view.MaxLine)
	case task.MessageDelivered:
		if p.AtTurnEnd {
			return "the agent reads the message when its turn has ended"
		}
		return "the message was passed to the agent"
	case task.MessageReturned:
		if p.Waits {
			return "the turn ended before the agent read the message: it is told with the next words"
		}
		return "the agent did not read the message, because its turn ended first: send it again"
	case task.AttachmentAdded:
		return "attached: " + p.Attachment.Name
	case task.CopyMade:
		return copyMadeWords(p)
	case task.CopyMerged:
		return fmt.Sprintf("branch %s was merged, at %.12s", p.Branch, p.Commit)
	case task.CopyDiscarded:
		return "the copy was discarded by " + e.By
	case task.AgentPrompted:
		return fmt.Sprintf("run %s was told assignment %d", e.Run, p.Number) + With(p.Model)
	case task.PlannerOutputSubmitted:
		return "submitted: " + p.Output.Type
	case task.PlanningCompleted:
		return view.OneLine(p.Plan.Summary, 2*view.MaxLine)
	case task.QuestionAsked:
		return view.OneLine(p.Question, 2*view.MaxLine)
	case task.PlanningFailed:
		return view.OneLine(cmp.Or(p.Detail, p.Reason), 2*view.MaxLine)
	case task.MessageWithdrawn:
		return "the message was withdrawn"
	case task.AttachmentRemoved:
		return "the file " + p.ID + " was removed"
	}
	return ""
}

// With says with which model, or external agent, something was done; empty: it is not known.
func With(model string) string {
	if model == "" {
		return ""
	}
	return ", with " + model
}

// What follows says each what one event is, for TaskWords.

func statusChangedWords(e task.Event, p task.StatusChanged) string {
	if p.Trigger == task.OnHandOn {
		return fmt.Sprintf("handed on to %s by %s", p.Agent, e.By)
	}
	line := p.From.Words() + " → " + p.To.Words()
	if p.Trigger == task.OnReopen || p.Trigger == task.OnRetry {
		line += ", by " + e.By
	}
	first, rest, many := strings.Cut(strings.TrimSpace(p.Detail), "\n")
	if first != "" {
		line += ": " + view.OneLine(first, 3*view.MaxLine)
	}
	if !p.Until.IsZero() {
		line += "; " + ContinuesAt(p.Until, e.At)
	}
	if many { // what a person can do about it
		line += "\n" + text.Clip(rest, maxDetail)
	}
	return line
}

func editedWords(e task.Event, p task.Edited) string {
	var what []string
	say := func(format string, args ...any) { what = append(what, fmt.Sprintf(format, args...)) }
	list := func(name string, all []string) { say("%s %s", name, cmp.Or(strings.Join(all, ", "), "none")) }
	if p.Description != nil {
		say("now %s", view.OneLine(*p.Description, view.MaxLine))
	}
	if p.Plan != nil {
		say("the plan")
	}
	if p.Labels != nil {
		list("labels", *p.Labels)
	}
	if p.Priority != nil {
		say("priority %d", *p.Priority)
	}
	if p.DependsOn != nil {
		var ids []string
		for _, id := range *p.DependsOn {
			ids = append(ids, string(id))
		}
		list("depends on", ids)
	}
	if p.Budget != nil {
		var most []string
		if p.Budget.Cost > 0 {
			most = append(most, fmt.Sprintf("$%.2f", p.Budget.Cost))
		}
		if p.Budget.Tokens > 0 {
			most = append(most, text.Plural(p.Budget.Tokens, "token"))
		}
		list("budget", most)
	}
	if p.Isolation != nil {
		say("isolation %s", cmp.Or(string(*p.Isolation), "none"))
	}
	if p.Start != nil {
		say("%s", map[bool]string{true: "it starts by itself", false: "it does not start by itself"}[*p.Start])
	}
	if len(what) == 0 {
		return "edited by " + e.By
	}
	return "edited by " + e.By + ": " + strings.Join(what, "; ")
}

func agentCompletedWords(e task.Event, p task.AgentCompleted) string {
	line := fmt.Sprintf("run %s: %s", e.Run, view.EndWords(p.End.End))
	if p.Result == task.Submitted && p.End.End != run.Completed {
		line += ": its result counts, and " + view.OneLine(p.End.Detail, view.MaxLine)
	}
	return line
}

func permissionDecidedWords(e task.Event, p task.PermissionDecided) string {
	if p.Answer == "" {
		return string(p.Call) + " needs no approval any more"
	}
	line := fmt.Sprintf("%s: %s", p.Call, p.Answer)
	if e.By != "" { // else the mode or a rule decided
		line += " by " + e.By
	}
	return line
}

func taskInterruptedWords(e task.Event, p task.Interrupted) string {
	switch {
	case p.Cause == task.Lost:
		return fmt.Sprintf("goes on: its process ended without a word after %s (run %s)", p.Since.Local().Format(time.TimeOnly), e.Run)
	case p.Cause != run.ByPerson && p.Cause != run.ByWait:
		return view.InterruptWords(run.Interrupted{Cause: p.Cause})
	case e.By != "":
		return "interrupted by " + e.By
	}
	return "interrupted"
}

func copyMadeWords(p task.CopyMade) string {
	line := fmt.Sprintf("works in a copy of the repository, on branch %s", p.Branch)
	if p.UncommittedCount > 0 {
		line += fmt.Sprintf("; not in it, because not committed: %s", SomeOf(p.Uncommitted, p.UncommittedCount))
	}
	return line
}

// TaskTold reports whether a person who watches a task is told of an event.
func TaskTold(e task.Event) bool {
	switch p := e.Payload.(type) {
	case task.AgentPrompted, task.PlannerOutputSubmitted, task.PlanningCompleted, task.QuestionAsked, task.PlanningFailed,
		task.MessageWithdrawn, task.AttachmentRemoved:
		return false
	case task.PermissionDecided:
		return p.Answer != ""
	}
	return true
}

// ContinuesAt says when a task continues by itself, in local time: with the day, if that is another one.
func ContinuesAt(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	layout := "15:04"
	if at.Format(time.DateOnly) != now.Format(time.DateOnly) {
		layout = "2006-01-02 15:04"
	}
	return "continues at " + at.Format(layout)
}

// SomeOf lists names, the first of them if there are many. names has all n, or the first of them.
func SomeOf(names []string, n int) string {
	shown := names[:min(len(names), 5)]
	list := strings.ReplaceAll(strings.Join(shown, ", "), "\n", `\n`) // a name makes no line of its own
	if more := n - len(shown); more > 0 {
		return fmt.Sprintf("%s and %d more", list, more)
	}
	return list
}
