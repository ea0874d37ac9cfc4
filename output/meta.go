package output

import (
	"fmt"
	"time"

	"pawl/internal/text"
	"pawl/run"
)

// Meta is what is known of a stored output without reading it.
type Meta struct {
	ID           run.CallID `json:"id"`
	Run          run.ID     `json:"run"`
	Conversation run.ID     `json:"conversation"` // id of the root run
	Tool         string     `json:"tool"`
	Message      string     `json:"message,omitempty"` // that the call is in
	Created      time.Time  `json:"created"`
	Success      bool       `json:"success"`
	// Inline: the result was delivered inline, so the model has all of it.
	Inline bool `json:"inline,omitempty"`

	Format    Format      `json:"format"`
	MediaType string      `json:"media_type,omitempty"` // of a binary output
	Text      textFigures `json:"text"`
	// Problem says why an output that looks like JSON cannot be read as JSON.
	Problem  string    `json:"problem,omitempty"`
	Summary  *Summary  `json:"summary,omitempty"` // of what is JSON
	Skeleton *skeleton `json:"skeleton,omitempty"`

	Stored int64 `json:"-"` // bytes on disk, in whole blocks

	// logged is the output itself, if it is in the log: the fields from Format on are then not
	// known but for its bytes, until it is described.
	logged string
}

// Bytes returns the size of the output.
func (m *Meta) Bytes() int64 { return m.Text.Bytes }

// Characters returns the number of the output's characters. A byte that is not UTF-8
// is one or none.
func (m *Meta) Characters() int64 { return m.Text.Characters }

// Preview returns a part of the output that shows what it is, in at most limit
// characters: of JSON some of all levels, of text the first and the last lines. whole
// says that nothing is left out.
func (m *Meta) Preview(limit int) (preview string, whole bool) {
	switch {
	case m.Format == Binary:
		return text.First(m.Describe(), limit), false
	case m.Format == Empty:
		return "", true
	case m.Skeleton != nil && m.Format != CSV:
		return m.Skeleton.render(limit)
	}
	return m.Text.preview(limit)
}

// Describe says in a few words what the output is, such as "json: object with 2 keys,
// 40.2 MB".
func (m *Meta) Describe() string {
	size := text.Size(m.Text.Bytes)
	switch {
	case m.Format == Binary:
		return m.MediaType + ", " + size
	case m.Format == Empty:
		return "empty"
	case m.Summary != nil:
		what := m.Summary.RootType
		switch what {
		case "object":
			what += " with " + text.Plural(m.Summary.KeyCount, "key")
		case "array":
			if len(m.Summary.Arrays) > 0 {
				what += " of " + text.Plural(m.Summary.Arrays[0].Length, "element")
			}
		}
		return fmt.Sprintf("%s: %s, %s", m.Format, what, size)
	}
	return fmt.Sprintf("%s: %s, %s", m.Format, text.Plural(m.Text.Lines, "line"), size)
}
