package task

import "pawl/run"

// Advice returns what a person can do next with the task, as a command.
func (s State) Advice() string {
	id := string(s.Created.Task)
	next := "pawl task " + map[StatusName]string{
		Pending: "plan " + id, Planning: "watch " + id,
		AwaitingInput: "answer " + id + " \"…\"", Planned: "start " + id, Active: "watch " + id, Waiting: "resume " + id + " -p \"…\"",
		Completed: "say " + id + " \"…\"", Failed: "retry " + id,
	}[s.Status.Name]
	switch _, left := s.Left(); {
	case !left:
		flag := "--budget"
		if s.Budget.Tokens > 0 && s.Usage().Total() >= s.Budget.Tokens {
			flag = "--budget-tokens"
		}
		if s.Status.Name == Waiting {
			return "pawl task resume " + id + " " + flag + " …"
		}
		return "pawl task edit " + id + " " + flag + " … && " + next
	case len(s.OpenQuestions()) > 0:
		return "pawl task answer " + id + " \"…\""
	case s.brokeOff():
		return "pawl task say " + id + " \"…\""
	}
	return next
}

// NextStep says what a person can do with a task at rest, in words and commands. It is empty if the task continues by
// itself or nothing is left to do. fleet says that workers of other machines take tasks.
func (s State) NextStep(fleet bool) string {
	id := string(s.Created.Task)
	if s.Starts() {
		when := ""
		if len(s.DependsOn) > 0 {
			when = " when the tasks that it depends on are completed,"
		}
		if fleet {
			return "it starts by itself" + when + " with a worker: `pawl-fleet fleet status`"
		}
		return "it starts by itself" + when + " in a process that watches all tasks: `pawl task watch`"
	}
	next := "`" + s.Advice() + "`"
	switch s.Status.Name {
	case Pending:
		return "plan it with " + next
	case AwaitingInput:
		return "answer with " + next + ", one argument for each question"
	case Planned:
		return "look at the plan with `pawl task show " + id + "`, and start it with " + next
	case Waiting:
		return "continue with " + next
	case Completed:
		if s.Copy != nil && !s.Copy.merged() {
			return "look at what was changed in its copy with `pawl task diff " + id + "`, and fetch it with `pawl task merge " + id + "`"
		}
	case Failed:
		if s.brokeOff() {
			return "continue in the same conversation with " + next + ", or begin anew with `pawl task retry " + id + "`"
		}
		return "look at it with `pawl task show " + id + "`, and try again with " + next
	}
	return ""
}

// Former reports whether the report is of work that was begun anew since, or continued, and has no report yet.
func (s State) Former() bool {
	r, _ := s.Last()
	return s.Report != nil && (s.Status.Name == Planned || r.Submitted == nil || r.Submitted.In != len(r.Assignments))
}

// brokeOff reports whether the task has failed because a turn could not be ended, such as by an error of the provider:
// what the agent did until then is in its conversation.
func (s State) brokeOff() bool {
	r, ok := s.Last()
	return ok && s.Status.Name == Failed && r.Result == Broken && s.Status.Reason == string(run.EndFailed)
}
