package task

// Advice returns what a person can do next with the task, as a command.
func (s State) Advice() string {
	id := string(s.Created.Task)
	if _, left := s.Left(); !left {
		flag := "--budget"
		if s.Budget.Tokens > 0 && s.Usage().Total() >= s.Budget.Tokens {
			flag = "--budget-tokens"
		}
		if s.Status.Name == Waiting {
			return "pawl task resume " + id + " " + flag + " …"
		}
		return "pawl task edit " + id + " " + flag + " …"
	}
	if len(s.OpenQuestions()) > 0 {
		return "pawl task answer " + id + " \"…\""
	}
	verb := map[StatusName]string{
		Pending: "plan " + id, Planning: "watch " + id,
		Planned: "start " + id, Active: "watch " + id, Waiting: "resume " + id + " -p \"…\"",
		Completed: "say " + id + " \"…\"", Failed: "retry " + id,
	}[s.Status.Name]
	return "pawl task " + verb
}
