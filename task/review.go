package task

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/text"
)

// A Review is what a message has beside its words, if it is a review of what an agent has changed.
type Review struct {
	Comments []Comment `json:"comments,omitempty"`
	Tree     string    `json:"tree,omitempty"` // of the diff that was looked at; left out: there is no copy
}

// A Comment is what a person says of a line or of a file, and what became of it.
type Comment struct {
	ID     string `json:"id,omitempty"` // unique in the task
	File   string `json:"file,omitempty"`
	Side   string `json:"side,omitempty" enum:"old,new"` // of the diff
	Line   int    `json:"line,omitempty"`                // from 1; 0: of the whole file
	Quoted string `json:"quoted,omitempty"`              // what stood there
	Text   string `json:"text,omitempty"`
	Became string `json:"became,omitempty" enum:"changed,answered,open"` // as the agent says; left out: it has said nothing
	Answer string `json:"answer,omitempty"`                              // the agent's words
}

// maxComments bounds the comments of a review.
const maxComments = 500

// number gives the comments of a message their ids, and adds what the agent is told of them to its text: data by which
// it can find the places.
func (a *Say) number(s State) error {
	if len(a.Comments) == 0 {
		return nil
	}
	if len(a.Comments) > maxComments {
		return invalid("comments", "there are %d, more than %d", len(a.Comments), maxComments)
	}
	a.Comments = slices.Clone(a.Comments)
	n := len(s.commentIDs())
	var told strings.Builder
	typed := []string{cmp.Or(a.Typed, a.Text)} // what stood there is not the person's
	for i := range a.Comments {
		c := &a.Comments[i]
		if c.File == "" || strings.TrimSpace(c.Text) == "" {
			return invalid("comments", "each needs a file and a text")
		}
		c.ID, c.Became, c.Answer = fmt.Sprintf("c%d", n+i+1), "", ""
		line, err := json.Marshal(c)
		if err != nil {
			return err
		}
		told.Write(append(line, '\n'))
		typed = append(typed, c.Text)
	}
	a.Typed = strings.TrimSpace(strings.Join(typed, "\n"))
	a.Text = strings.TrimSpace(a.Text + "\n\nThe person has reviewed your changes. Each comment has the file, the line in the new or the old version, what stood there, and what is said about it:\n" +
		text.Tagged("review", fmt.Sprintf("comments=%q", fmt.Sprint(len(a.Comments))), strings.TrimSpace(told.String())) +
		"\nSay in your report, in comments, what became of each.")
	return nil
}

// commentIDs returns the ids of all comments, the oldest first.
func (s *State) commentIDs() (ids []string) {
	for _, m := range s.Messages {
		for _, c := range m.Comments {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// comment returns a comment; nil if there is none.
func (s *State) comment(id string) *Comment {
	for _, m := range s.Messages {
		if i := slices.IndexFunc(m.Comments, func(c Comment) bool { return c.ID == id }); i >= 0 {
			return &m.Comments[i]
		}
	}
	return nil
}

// settle notes what became of comments.
func (s *State) settle(answers []Comment) {
	if len(answers) == 0 {
		return
	}
	s.Messages = slices.Clone(s.Messages)
	for i := range s.Messages {
		s.Messages[i].Comments = slices.Clone(s.Messages[i].Comments)
	}
	for _, a := range answers {
		if c := s.comment(a.ID); c != nil {
			c.Became, c.Answer = a.Became, a.Answer
		}
	}
}
