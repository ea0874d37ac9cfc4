package task

import (
	"slices"
	"strings"
	"time"

	"pawl/internal/text"
	"pawl/run"
)

// A State is a task as its events have made it. The zero value is a task before its first
// event. States are values: Apply changes nothing that another State shares.
type State struct {
	Created     Created
	Description string
	Seq         int64     // events applied
	At          time.Time // of the last one
	CreatedAt   time.Time // of the first
	Status      Status    // zero before the first event

	Plan        *Plan
	Questions   []Question // of agents, the oldest first
	Attachments []Attachment
	Labels      []string
	Priority    int
	DependsOn   []ID
	Budget      Budget
	Isolation   Isolation
	Copy        *Copy // nil: it has none
	Start       bool  // see Starts

	// Chain has every run of the task, the oldest first, child runs after their parents.
	Chain []Run
	// Messages are what was said to the agents, the oldest first.
	Messages []Message
	// Permissions are the calls that wait for a person.
	Permissions []Permission
	// Report is the last completion report; nil: there was none.
	Report *Report
}

// A Copy is the copy of the repository that a task has.
type Copy struct {
	CopyMade
	Merged string `json:"merged,omitempty"` // the commit that was merged last

	// WorkedOn: an agent was started since then.
	WorkedOn bool `json:"worked_on,omitempty"`
}

// merged reports whether what was done in the copy is in the person's repository.
func (c *Copy) merged() bool { return c.Merged != "" && !c.WorkedOn }

// A Question is what an agent asks, with its answer once that is given.
type Question struct {
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty"` // answers to choose from; any other is possible too
	Answer   string   `json:"answer,omitempty"`
	Answered bool     `json:"answered"`
	Typed    string   `json:"typed,omitempty"` // of the answer; see [AnswersSubmitted]
}

// A Message is something said to the agents of the task.
type Message struct {
	ID    string       `json:"id"`
	Text  string       `json:"text"`
	By    string       `json:"by,omitempty"`
	At    time.Time    `json:"at"`
	State MessageState `json:"state"`
	// AtTurnEnd: delivered to an external agent that reads it when its turn has ended.
	AtTurnEnd bool `json:"at_turn_end,omitempty"`
	Review
	Typed string `json:"typed,omitempty"` // see [MessageQueued]
}

// A MessageState says what became of a message.
type MessageState string

const (
	MessageWaits         MessageState = "queued"
	MessageIsDelivered   MessageState = "delivered"
	MessageIsReturned    MessageState = "returned"
	MessageIsWithdrawn   MessageState = "withdrawn"
	maxTitle                          = 80 // characters
	maxQuoted                         = 500
	missingAfterReminder              = "output_missing"
)

// A Permission is a call that waits for a person.
type Permission struct {
	Run       run.ID     `json:"run"`
	Call      run.CallID `json:"call"`
	Tool      string     `json:"tool"`
	Arguments string     `json:"arguments,omitempty"`
	// Paused: it waits since before a pause. It is asked again when the task goes on, unless it was decided meanwhile.
	Paused bool `json:"-"`
}

// A Run is a run of the task.
type Run struct {
	ID     run.ID     `json:"run"`
	Agent  string     `json:"agent"`
	Model  string     `json:"model,omitempty"` // of its last assignment; empty: it was not told it yet
	Kind   Kind       `json:"kind,omitempty"`  // empty for a child run
	Parent run.ID     `json:"parent,omitempty"`
	Call   run.CallID `json:"call,omitempty"` // of the parent, that started it

	// Assignments are what the task has asked of it; a child run has none.
	Assignments []Assignment `json:"assignments,omitempty"`
	// Prompted is how many assignments are in the run's log.
	Prompted  int `json:"prompted"`
	Reminders int `json:"reminders"` // in the last assignment
	// Submitted is the last result that was handed in; nil: none.
	Submitted *Handed `json:"submitted,omitempty"`

	// Ended reports that its last turn has ended; End, Output and Usage are of that turn.
	// A turn that was cut off by the end of its driver has not ended: it is continued.
	Ended  bool      `json:"ended"`
	End    run.Ended `json:"end,omitzero"`
	Result Result    `json:"result,omitempty"`
	Output string    `json:"output,omitempty"`
	Usage  run.Usage `json:"usage,omitzero"`
	Steps  int       `json:"steps,omitempty"`

	Started  time.Time `json:"started_at"`
	Finished time.Time `json:"finished_at,omitzero"`
}

// An Assignment is one thing that the task asks of a run.
type Assignment struct {
	Reason string    `json:"reason"`
	Input  string    `json:"input,omitempty"`
	At     time.Time `json:"at"`
}

// Handed is a result that was handed in.
type Handed struct {
	Submission
	In int       `json:"number"` // the task's assignment, from 1
	At time.Time `json:"at"`
}

// Title returns the first line of the description that is not blank, cut to 80 characters.
func (s State) Title() string {
	for line := range strings.Lines(s.Description) {
		line = strings.TrimSpace(strings.ToValidUTF8(line, "\uFFFD"))
		if line == "" {
			continue
		}
		if len(text.First(line, maxTitle)) < len(line) {
			line = text.Clip(line, maxTitle-1)
		}
		return line
	}
	return ""
}

// Run returns a run of the task.
func (s State) Run(id run.ID) (Run, bool) {
	if i := s.find(id); i >= 0 {
		return s.Chain[i], true
	}
	return Run{}, false
}

func (s *State) find(id run.ID) int {
	return slices.IndexFunc(s.Chain, func(r Run) bool { return r.ID == id })
}

// findMessage returns the index of a message; -1 if there is none.
func (s *State) findMessage(id string) int {
	return slices.IndexFunc(s.Messages, func(m Message) bool { return m.ID == id })
}

// asks reports whether a call waits for a person, and not only since before a pause.
func (s *State) asks(id run.ID, call run.CallID) bool {
	return slices.ContainsFunc(s.Permissions, func(p Permission) bool { return p.Run == id && p.Call == call && !p.Paused })
}

// isAtWork reports whether a run is at work.
func (s *State) isAtWork(id run.ID) bool { return s.Status.atWork() && s.Status.Run == id }

// change returns a run for writing; nil if there is none. The slice is copied, so that the
// state before the event is unchanged.
func (s *State) change(id run.ID) *Run {
	i := s.find(id)
	if i < 0 {
		return nil
	}
	s.Chain = slices.Clone(s.Chain)
	return &s.Chain[i]
}

// Last returns the last run that is no child run.
func (s State) Last() (Run, bool) {
	for i := len(s.Chain) - 1; i >= 0; i-- {
		if s.Chain[i].Parent == "" {
			return s.Chain[i], true
		}
	}
	return Run{}, false
}

// planner returns the last planner run, whose conversation answers go back into.
func (s *State) planner() (Run, bool) {
	for i := len(s.Chain) - 1; i >= 0; i-- {
		if s.Chain[i].Kind == Planner {
			return s.Chain[i], true
		}
	}
	return Run{}, false
}

// Final reports whether no agent works on the task and none will without a person.
func Final(s StatusName) bool { return s == Completed || s == Failed }

// Usage returns what all runs of the task have used. That of child runs is part of their
// parents'.
func (s State) Usage() run.Usage {
	var u run.Usage
	for _, r := range s.Chain {
		if r.Parent == "" {
			u = u.Add(r.Usage)
		}
	}
	return u
}

// Left returns what is left of the budget; ok is false if nothing is left of it. A field of
// the result that is 0 is not bounded.
func (s State) Left() (b Budget, ok bool) {
	u := s.Usage()
	if s.Budget.Cost > 0 {
		if b.Cost = s.Budget.Cost - u.Cost; b.Cost <= 0 {
			return b, false
		}
	}
	if s.Budget.Tokens > 0 {
		if b.Tokens = s.Budget.Tokens - u.Total(); b.Tokens <= 0 {
			return b, false
		}
	}
	return b, true
}

// OpenQuestions returns the questions that wait for an answer.
func (s State) OpenQuestions() []string {
	var open []string
	for _, q := range s.Questions {
		if !q.Answered {
			open = append(open, q.Question)
		}
	}
	return open
}

// WaitsFor says what the task needs of a person; empty: nothing now.
func (s State) WaitsFor() string {
	switch s.Status.Name {
	case AwaitingInput:
		return "answers"
	case Waiting:
		switch {
		case len(s.OpenQuestions()) > 0:
			return "answers"
		case !s.Status.Until.IsZero():
			return "" // the task continues by itself
		}
		return s.Status.Reason
	}
	if slices.ContainsFunc(s.Permissions, func(p Permission) bool { return !p.Paused }) {
		return "permission"
	}
	return ""
}

// May returns what a person may do to the task now. What would be refused is left out: an agent works only within
// the budget, and a run is told more only when its turn has ended. A start can still be refused because of the
// tasks that this one depends on, which its state does not have.
func (s State) May() []Trigger {
	return slices.DeleteFunc(mayIn(s.Status.Name), func(on Trigger) bool { return s.refuses(on) })
}

// refuses reports whether something is refused that the status allows.
func (s State) refuses(on Trigger) bool {
	waits := s.Status.Name == Waiting
	r, _ := s.Run(s.Status.Run)
	switch on {
	case OnPlan, OnStart:
	case OnAnswers:
		if !waits {
			r, _ = s.planner()
		}
		if !r.Ended || len(s.OpenQuestions()) == 0 {
			return true
		}
	case OnResume:
		return !r.Ended // a higher budget can be given with it
	case OnHandOn:
		if waits && s.Status.Kind == Planner {
			return true
		}
	case OnSay:
		if r, ok := s.Last(); !ok || !r.Ended || !legal(s.Status.Name, r.Kind.working(), OnSay) {
			return true
		}
	default:
		return false
	}
	_, left := s.Left()
	return !left
}

// Starts reports whether the task is planned, or its plan carried out, without another word of a person, as
// soon as the tasks that it depends on are completed.
func (s State) Starts() bool {
	name := s.Status.Name
	return s.Start && (name == Pending || name == Planned)
}

// Live is what a task does now, which its log does not say. Who has looked has set it.
type Live struct {
	// Undriven: something is to be done for the task, and no process drives it: pawl task watch does.
	Undriven bool `json:"undriven,omitempty"`
	// Queued is what its agent waits for before it begins to work, such as memory or the end of another; empty: nothing.
	Queued string `json:"queued,omitempty"`
	// Memory is what the processes of its external agents take, in bytes; 0: there are none, or it is not known.
	Memory int64 `json:"memory_bytes,omitempty"`
}

// A Summary is what a list of tasks shows of a task.
type Summary struct {
	ID        ID         `json:"id"`
	Title     string     `json:"title"`
	Status    StatusName `json:"status" enum:"pending,planning,awaiting_input,planned,active,waiting,completed,failed"`
	Agent     string     `json:"agent,omitempty"` // at work, to be resumed, or that has asked
	Run       run.ID     `json:"run,omitempty"`   // of that agent
	WaitsFor  string     `json:"waits_for,omitempty"`
	Labels    []string   `json:"labels,omitempty"`
	Priority  int        `json:"priority"`
	DependsOn []ID       `json:"depends_on,omitempty"`
	Created   time.Time  `json:"created_at"`
	Updated   time.Time  `json:"updated_at"`
	Seq       int64      `json:"seq"`
	Usage     run.Usage  `json:"usage"`
	Detail    string     `json:"detail,omitempty"` // why it waits or has failed
	// Until is when a task that waits continues by itself; zero: it does not.
	Until time.Time `json:"until,omitzero"`
	// Owes reports that a driver has something to do for it.
	Owes bool `json:"owes"`
	Live
	// Starts: it is planned, or its plan carried out, without another word of a person.
	Starts bool `json:"starts,omitempty"`
	// Branch is that of its copy of the repository; empty: it has none.
	Branch string `json:"branch,omitempty"`
	// Merged: the branch was fetched into the repository, and no agent was started since.
	Merged bool `json:"merged,omitempty"`
}

// Summary returns the summary of the task.
func (s State) Summary() Summary {
	sum := Summary{ID: s.Created.Task, Title: s.Title(), Status: s.Status.Name, WaitsFor: s.WaitsFor(), Labels: s.Labels,
		Priority: s.Priority, DependsOn: s.DependsOn, Created: s.CreatedAt, Updated: s.At, Seq: s.Seq, Usage: s.Usage(), Owes: s.Owes(), Starts: s.Starts(), Agent: s.Status.Agent, Run: s.Status.Run}
	if s.Copy != nil {
		sum.Branch, sum.Merged = s.Copy.Branch, s.Copy.merged()
	}
	switch s.Status.Name {
	case AwaitingInput:
		r, _ := s.planner()
		sum.Agent, sum.Run = r.Agent, r.ID
	case Waiting, Failed:
		sum.Detail, sum.Until = s.Status.Detail, s.Status.Until
	}
	return sum
}

// shorten cuts words to n bytes with a mark.
func shorten(words string, n int) string {
	if short := text.Prefix(words, n); len(short) < len(words) {
		return short + text.Mark
	}
	return words
}
