package store

import (
	"strings"
	"time"
	"unicode/utf8"

	"pawl/run"
)

// A Summary is what a list of runs shows of a run.
type Summary struct {
	ID        run.ID
	Parent    run.ID
	Root      run.ID // of the conversation: the run itself unless it has a parent
	Forked    run.ID // the run that it was forked from; empty: none
	Workspace string
	Model     string
	Title     string // the first line of the first prompt, at most 80 characters
	Name      string // that a person gave it; empty: none
	Created   time.Time
	Updated   time.Time
	Seq       int64   // of its last event
	End       run.End // of its last turn; empty while a turn is open
	Reason    string
	Turns     int // that were begun
	run.Tally
	// Damage is the damage of the run that its summary shows: that the summary was
	// changed, or that the log has lost its end (Runs finds only runs that are lost
	// completely). The other fields are then unreliable. Events and Verify check the log
	// itself.
	Damage string
}

// maxTitle is the length of a title in characters.
const maxTitle = 80

// Add takes the run's next event into account. Stores call it for every event they
// append, so that a list of runs costs no replay.
func (s *Summary) Add(e run.Event) {
	s.Seq, s.Updated = e.Seq, e.At
	s.Tally.Add(e.Payload)
	switch p := e.Payload.(type) {
	case run.Created:
		s.Parent, s.Workspace, s.Model, s.Created, s.Forked = p.Parent, p.Workspace, p.Config.Model, e.At, p.ForkedFrom
		s.Name = p.Config.Name
	case run.Configured:
		c := p.Change.Apply(run.Config{Model: s.Model, Name: s.Name})
		s.Model, s.Name = c.Model, c.Name
	case run.Prompted:
		if s.Title == "" {
			s.Title = title(run.PlainText(p.Parts))
		}
	}
	turn := run.TurnSummary{N: s.Turns, End: run.Ended{End: s.End, Reason: s.Reason}}
	turn.Add(e.Payload)
	s.Turns, s.End, s.Reason = turn.N, turn.End.End, turn.End.Reason
}

// title returns the first line of text that is not blank, cut to maxTitle characters.
func title(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.ToValidUTF8(line, "\uFFFD"))
		if line == "" {
			continue
		}
		if utf8.RuneCountInString(line) > maxTitle {
			line = string([]rune(line)[:maxTitle-1]) + "…"
		}
		return line
	}
	return ""
}
