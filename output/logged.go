package output

import (
	"bytes"
	"iter"

	"pawl/run"
)

// Logs are the events of runs. A result that was delivered inline is in the event that
// settles its call, and nowhere else.
type Logs interface {
	// Events returns the events of a run, in order; none if there is no such run.
	Events(id run.ID) iter.Seq2[run.Event, error]
	// RunsOf returns the runs of a conversation.
	RunsOf(conversation run.ID) ([]run.ID, error)
}

// With returns the store with the results that are in logs.
func (s *Store) With(l Logs) *Store {
	both := *s
	both.logs = l
	return &both
}

// open returns the output of a call: a file, or what the log has. The error is that of the file,
// [fs.ErrNotExist] if there is none.
func (s *Store) open(conversation, owner run.ID, call run.CallID) (*Output, error) {
	o, err := s.openStored(conversation, owner, call)
	if err != nil {
		for logged := range s.logged(conversation, owner) {
			if logged.ID == call {
				return loggedOutput(logged), nil
			}
		}
	}
	return o, err
}

// logged returns the results of a run that its log has, up to where it can be read, not described.
// Those that a fork has copied are the other run's.
func (s *Store) logged(conversation, owner run.ID) iter.Seq[Meta] {
	return func(yield func(Meta) bool) {
		if s.logs == nil {
			return
		}
		var state run.State
		for e, err := range s.logs.Events(owner) {
			p, settled := e.Payload.(run.CallSettled)
			if settled && err == nil && p.Delivery == string(Inlined) && e.Seq > state.Created.ForkedAt {
				c, _ := state.Turn.Call(p.Call)
				text := run.PlainText(p.Content)
				if !yield(Meta{ID: p.Call, Run: owner, Conversation: conversation, Tool: c.Tool, Message: state.MessageOf(p.Call), Created: e.At,
					Success: run.Succeeded(p.IsError, p.ExitCode), Inline: true, Text: textFigures{Bytes: int64(len(text))}, logged: text}) {
					return
				}
			}
			if err == nil {
				state, err = state.Apply(e)
			}
			if err != nil {
				return
			}
		}
	}
}

// described returns what is known of an output, also of one in the log.
func (m Meta) described() Meta {
	if m.logged == "" {
		return m
	}
	return loggedOutput(m).Meta
}

// loggedOutput returns a result in the log as a stored one.
func loggedOutput(m Meta) *Output {
	w := Writer{meta: m, block: []byte(m.logged)}
	w.meta.logged = ""
	w.analyze(bytes.NewReader(w.block), w.block, true)
	w.text.add(w.block)
	w.describe()
	o := &Output{Meta: w.meta}
	o.Document = &Document{Name: string(m.ID), format: w.meta.Format, problem: w.meta.Problem, raw: bytes.NewReader(w.block), size: int64(len(w.block)),
		text: &o.Meta.Text, analysis: w.parsed}
	return o
}

// addLogged adds to what is known of outputs those of a run that the log has: an earlier release
// stored them, too. has reports whether a call counts; nil: each does.
func (s *Store) addLogged(all []Meta, conversation, owner run.ID, has func(run.CallID) bool) []Meta {
	stored := map[run.CallID]bool{}
	for _, m := range all {
		if m.Run == owner && m.Conversation == conversation {
			stored[m.ID] = true
		}
	}
	for m := range s.logged(conversation, owner) {
		if !stored[m.ID] && (has == nil || has(m.ID)) {
			all = append(all, m)
		}
	}
	return all
}
