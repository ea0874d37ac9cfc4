package task

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/text"
)

// planInput returns what a planner is told first, and the queued messages in it.
func (s State) planInput() (string, []string) {
	var b strings.Builder
	b.WriteString("Plan this task.\n\n" + s.words() + "\n")
	s.writeFiles(&b)
	s.writeEarlier(&b)
	return s.withMessages(b.String())
}

// workInput returns what a worker is told first, and the queued messages in it.
func (s State) workInput() (string, []string) {
	var b strings.Builder
	b.WriteString("Carry out this task.\n\n" + s.words() + "\n")
	if p := s.Plan; p != nil {
		fmt.Fprintf(&b, "\n<plan>\n%s\n", p.Summary)
		writeList(&b, "Requirements", p.Requirements)
		writeList(&b, "Acceptance criteria", p.AcceptanceCriteria)
		writeList(&b, "Steps", p.Steps)
		b.WriteString("</plan>\n")
	}
	var answered []string
	for _, q := range s.Questions {
		if q.Answered {
			answered = append(answered, q.Question+"\n  "+q.Answer)
		}
	}
	writeList(&b, "Questions that were answered", answered)
	s.writeFiles(&b)
	s.writeEarlier(&b)
	if c := s.Copy; c != nil {
		fmt.Fprintf(&b, "\nYou work in a copy of the repository, on the branch %s. What you change there, committed or not, is merged by the person.\n", c.Branch)
		writeList(&b, "Different in the copy", c.Notes)
	}
	return s.withMessages(b.String())
}

// words returns the task's description, with its id.
func (s State) words() string {
	return text.Tagged("task", fmt.Sprintf("id=%q", s.Created.Task), strings.TrimSpace(s.Description))
}

func writeList(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", item)
	}
}

func (s State) writeFiles(b *strings.Builder) {
	var files []string
	for _, a := range s.Attachments {
		files = append(files, fmt.Sprintf("%s (%s, %d bytes)", a.Name, a.Type, a.Size))
	}
	writeList(b, "Attached files", files)
}

// writeEarlier says what was done and said before, for a run that begins anew.
func (s State) writeEarlier(b *strings.Builder) {
	if r := s.Report; r != nil {
		report := strings.TrimSpace(r.Summary + "\n\n" + strings.Join([]string{r.Output, r.BlockedReason}, "\n"))
		fmt.Fprintf(b, "\nIt was worked on before, and this was reported:\n%s\n", text.Tagged("report", fmt.Sprintf("status=%q", r.Status), report))
		b.WriteString("What was done is there: look at it, and do what is missing or is asked for now.\n")
	}
	writeList(b, "Said to the agents before", s.said())
	if r, ok := s.Last(); ok && (r.Result == Missing || r.Result == Broken) {
		fmt.Fprintf(b, "\nAn earlier attempt by %s ended %s. Part of the work may be done: look before you repeat anything.\n", r.Agent, r.End.End)
	}
}

// said returns the words that persons have said to the agents of the task, but for answers.
func (s State) said() (words []string) {
	for _, r := range s.Chain {
		for _, a := range r.Assignments {
			if a.Input != "" && (a.Reason == "resume" || a.Reason == "say" && !strings.Contains(a.Input, s.words())) {
				words = append(words, a.Input)
			}
		}
	}
	for _, m := range s.Messages {
		if m.State == MessageIsDelivered && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, m.Text) }) {
			words = append(words, m.Text)
		}
	}
	return words
}

// withMessages returns words with the queued messages after them, and the ids of those.
func (s State) withMessages(words string) (string, []string) {
	var ids []string
	for _, m := range s.Messages {
		if m.State != MessageWaits {
			continue
		}
		if words != "" {
			words = strings.TrimRight(words, "\n") + "\n\n"
		}
		words += m.Text
		ids = append(ids, m.ID)
	}
	return words, ids
}
