package store

import (
	"strings"
	"time"
	"unicode/utf8"

	"pawl/run"
)

// A Summary is a run at a glance.
type Summary struct {
	ID        run.ID
	Parent    run.ID
	Root      run.ID // of the conversation: the run itself unless it has a parent
	Workspace string
	Model     string
	Title     string // the first line of the first prompt, at most 80 characters
	Created   time.Time
	Updated   time.Time
	Seq       int64   // of its last event
	End       run.End // of its last turn; empty while a turn is open
	Reason    string
	Steps     int // model requests for steps, however often each was attempted
	Usage     run.Usage
	// Damage says what is wrong with the run as far as this row of it shows: that
	// the row was changed, or that the log has lost its end (Runs finds only runs that
	// are lost as a whole). The other fields are then not reliable. Whether the log
	// itself is intact, Events and Verify tell.
	Damage string
}

// maxTitle is the length of a title in characters.
const maxTitle = 80

// Add takes the run's next event into account. Stores call it for every event they
// append, so that a list of runs costs no replay.
func (s *Summary) Add(e run.Event) {
	s.Seq, s.Updated = e.Seq, e.At
	switch f := e.Fact.(type) {
	case run.Created:
		s.Parent, s.Workspace, s.Model, s.Created = f.Parent, f.Workspace, f.Config.Model, e.At
	case run.Configured:
		s.Model = f.Config.Model
	case run.Prompted:
		s.End, s.Reason = "", ""
		if s.Title == "" {
			s.Title = title(run.PlainText(f.Parts))
		}
	case run.QuestionAnswered:
		s.End, s.Reason = "", ""
	case run.RequestStarted:
		if f.Purpose == run.ForStep && f.Attempt <= 1 {
			s.Steps++
		}
	case run.Replied:
		if !f.Cached {
			s.spend(f.Usage)
		}
	case run.Observed:
		s.spend(f.Usage)
	case run.Ended:
		s.End, s.Reason = f.End, f.Reason
	}
}

// spend adds u to the run's usage. Nothing spent says nothing about prices, so it
// neither makes a run priced nor unpriced.
func (s *Summary) spend(u run.Usage) {
	none := run.Usage{}
	switch {
	case u == none:
	case s.Usage == none:
		s.Usage = u
	default:
		s.Usage = s.Usage.Add(u)
	}
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
