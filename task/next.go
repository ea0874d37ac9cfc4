package task

import "pawl/run"

// A Command is something that a task owes the world now. [State.Next] returns all of them
// each time. The reminders of a run are its own business: see package run.
type Command interface{ key() string }

// StartRun asks for the words of an assignment to be said to a run, and for the run to be
// driven. New says that the run may not exist yet.
type StartRun struct {
	Run    run.ID
	Agent  string
	Kind   Kind
	Number int // of the assignment
	Input  string
	New    bool
	Left   Budget // what is left of the task's budget
}

// DriveRun asks for a run whose turn has not ended to be driven until it has.
type DriveRun struct {
	Run   run.ID
	Agent string
	Kind  Kind
}

// Deliver asks for a queued message to be said to the run that is driven.
type Deliver struct {
	Run     run.ID
	Message Message
}

// StopRun asks for a run to be stopped that the task's status has left. It is owed until the
// end of its turn is in the task's log.
type StopRun struct{ Run run.ID }

// Notify asks for a person to be told that the task needs them, or has come to an end. A
// driver does it once for each key.
type Notify struct {
	Task ID
	For  string // what is needed: answers, permission, …; or the final status
	Text string
}

func (c StartRun) key() string { return "start/" + string(c.Run) + "/" + itoa(c.Number) }
func (c DriveRun) key() string { return "drive/" + string(c.Run) }
func (c Deliver) key() string  { return "deliver/" + c.Message.ID }
func (c StopRun) key() string  { return "stop/" + string(c.Run) }
func (c Notify) key() string   { return "notify/" + string(c.Task) + "/" + c.For + "/" + c.Text }

// Next returns the commands owed now. They depend on s alone, so a driver that has just
// read the log gets the same ones as a driver that never stopped.
func (s State) Next() []Command {
	var owed []Command
	working := s.Status.atWork()
	for _, r := range s.Chain {
		if r.Ended || r.Parent != "" || working && r.ID == s.Status.Run {
			continue
		}
		if r.Submitted != nil && r.Submitted.In == len(r.Assignments) {
			owed = append(owed, DriveRun{r.ID, r.Agent, r.Kind}) // it ends by itself, or its time to do so passes
		} else {
			owed = append(owed, StopRun{r.ID})
		}
	}
	if working && len(owed) == 0 { // never two runs of a task at once
		owed = append(owed, s.nextOf(s.Status.Run)...)
	}
	if n := s.notify(); n.For != "" {
		owed = append(owed, n)
	}
	return owed
}

// nextOf returns what is owed to the run at work.
func (s State) nextOf(id run.ID) []Command {
	r, _ := s.Run(id)
	var owed []Command
	if n := len(r.Assignments); r.Prompted < n {
		left, _ := s.Left()
		owed = append(owed, StartRun{Run: r.ID, Agent: r.Agent, Kind: r.Kind, Number: n, Input: r.Assignments[n-1].Input, New: r.Prompted == 0, Left: left})
	} else {
		owed = append(owed, DriveRun{r.ID, r.Agent, r.Kind})
		for _, m := range s.Messages {
			if m.State == MessageWaits {
				owed = append(owed, Deliver{r.ID, m})
			}
		}
	}
	return owed
}

func (s State) notify() Notify {
	n := Notify{Task: s.Created.Task, For: s.WaitsFor()}
	switch s.Status.Name {
	case AwaitingInput:
		n.Text = "the planner asks: " + shorten(first(s.OpenQuestions()), maxQuoted)
	case Waiting:
		n.Text = s.Status.Detail
	case Completed:
		n.For, n.Text = string(Completed), "completed"
		if s.Report != nil {
			n.Text = s.Report.Summary
		}
	case Failed:
		n.For, n.Text = string(Failed), s.Status.Detail
	default:
		if len(s.Permissions) > 0 {
			p := s.Permissions[0]
			n.Text = "may " + p.Tool + " run? " + p.Arguments
		}
	}
	return n
}

func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}

// Owes reports whether a driver has something to do for the task.
func (s State) Owes() bool {
	for _, c := range s.Next() {
		if _, notify := c.(Notify); !notify {
			return true
		}
	}
	return false
}
