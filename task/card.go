package task

import (
	"cmp"
	"slices"
)

func (p Created) do(State) ([]Event, error) {
	if err := cmp.Or(p.check(), checkWords("description", p.Description)); err != nil {
		return nil, err
	}
	return []Event{{Payload: p}}, nil
}

func (p Edited) do(s State) ([]Event, error) {
	const onEdit Trigger = "edit"
	switch {
	case p == Edited{}:
		return nil, invalid("edit", "nothing to change: give a flag")
	case p.Plan != nil && s.Status.Name != Planned:
		return nil, s.not(onEdit, "the plan can be edited while the task is planned")
	case p.Description != nil && s.Status.Name != Pending && s.Status.Name != Planned && s.Status.Name != Failed:
		return nil, s.not(onEdit, "the description can be edited before the task is started")
	case p.Isolation != nil && s.Copy != nil:
		return nil, s.not(onEdit, "it has a copy of the repository: merge or discard that first")
	}
	if err := p.check(s.Created.Task); err != nil {
		return nil, err
	}
	if p.Plan != nil && p.Plan.AssignedAgent == "" && s.Plan != nil { // a plan that names no agent keeps the one before
		kept := *p.Plan
		kept.AssignedAgent = s.Plan.AssignedAgent
		p.Plan = &kept
	}
	return []Event{{Payload: p}}, nil
}

// check returns what is wrong with the changes of a task.
func (p Edited) check(id ID) error {
	var problems []error
	if p.Description != nil {
		problems = append(problems, checkText("description", *p.Description))
	}
	if p.Plan != nil {
		problems = append(problems, p.Plan.check())
	}
	if p.Labels != nil {
		problems = append(problems, checkLabels(*p.Labels))
	}
	if p.Budget != nil {
		problems = append(problems, checkBudget(*p.Budget))
	}
	if p.DependsOn != nil {
		problems = append(problems, checkDepends(id, *p.DependsOn))
	}
	if p.Isolation != nil {
		problems = append(problems, checkIsolation(*p.Isolation))
	}
	return cmp.Or(problems...)
}

func (a Say) do(s State) ([]Event, error) {
	if a.ID == "" {
		return nil, invalid("id", "a message needs an id")
	}
	before, there := s, s.findMessage(a.ID)
	if there >= 0 {
		before.Messages = s.Messages[:there] // sent twice, its comments have the ids that they had
	}
	if err := a.number(before); err != nil {
		return nil, err
	}
	if there >= 0 {
		if s.Messages[there].Text == a.Text {
			return nil, nil
		}
		return nil, invalid("id", "message %s is there already, with other words", a.ID)
	}
	if err := checkText("text", a.Text); err != nil {
		return nil, err
	}
	queued := Event{Payload: MessageQueued{a.ID, a.Text, a.Review, a.Typed}}
	if !Final(s.Status.Name) {
		return []Event{queued}, nil
	}
	return a.reopens(s, queued)
}

// reopens continues a task that has ended with a message.
func (a Say) reopens(s State, queued Event) ([]Event, error) {
	r, ok := s.Last()
	if !ok {
		return nil, s.not(OnSay, "no agent has worked on it")
	}
	s, _ = s.Apply(queued) // what it would refuse was looked for
	anew := s.workInput
	if r.Kind == Planner {
		anew = s.planInput
	}
	words, messages := s.withMessages("")
	if a.Anew != "" || r.Prompted == 0 {
		words, messages = anew()
	}
	return s.assignTo(OnSay, r.Kind.working(), cmp.Or(a.Anew, r.ID), r.Agent, r.Kind, "say", words, messages, queued)
}

func (p MessageWithdrawn) do(s State) ([]Event, error) {
	i := s.findMessage(p.ID)
	if i < 0 || s.Messages[i].State != MessageWaits && s.Messages[i].State != MessageIsReturned {
		return nil, invalid("id", "message %q is not there, or was delivered", p.ID)
	}
	return []Event{{Payload: p}}, nil
}

func (p MessageDelivered) do(s State) ([]Event, error) {
	i := s.findMessage(p.ID)
	if i < 0 || s.Messages[i].State != MessageIsDelivered || !s.Messages[i].AtTurnEnd {
		return nil, nil
	}
	return []Event{{Payload: p}}, nil
}

func (p MessageReturned) do(s State) ([]Event, error) {
	i := s.findMessage(p.ID)
	if i < 0 || s.Messages[i].State != MessageIsDelivered {
		return nil, nil
	}
	p.Waits = !Final(s.Status.Name)
	return []Event{{Payload: p}}, nil
}

// maxAttachments bounds the files of a task.
const maxAttachments = 100

func (p AttachmentAdded) do(s State) ([]Event, error) {
	if len(s.Attachments) >= maxAttachments {
		return nil, invalid("attachment", "the task has %d files, which is the most", maxAttachments)
	}
	return []Event{{Payload: p}}, nil
}

func (p AttachmentRemoved) do(s State) ([]Event, error) {
	if !slices.ContainsFunc(s.Attachments, func(have Attachment) bool { return have.ID == p.ID }) {
		return nil, invalid("attachment", "there is no attachment %q", p.ID)
	}
	return []Event{{Payload: p}}, nil
}

func (p CopyMade) do(s State) ([]Event, error) {
	if s.Copy != nil {
		return nil, nil // another process has recorded it
	}
	return []Event{{Payload: p}}, nil
}

func (p CopyMerged) do(s State) ([]Event, error) {
	if s.Copy == nil {
		return nil, s.not("merge", "it has no copy")
	}
	if s.Copy.Merged == p.Commit {
		return nil, nil
	}
	return []Event{{Payload: p}}, nil
}

func (p CopyDiscarded) do(s State) ([]Event, error) {
	switch {
	case s.Copy == nil:
		return nil, s.not("discard", "it has no copy")
	case s.Owes(), s.Status.Name == Waiting:
		return nil, s.not("discard", "its agent works in the copy, or will when it is resumed: complete or fail the task first")
	}
	return []Event{{Payload: p}}, nil
}
