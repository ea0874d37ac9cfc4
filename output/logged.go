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
	o, err := openFile(s.file(conversation, owner, call))
	if err != nil {
		for logged := range s.logged(conversation, owner) {
			if logged.ID == call {
				return logged.output(), nil
			}
		}
	}
	return o, err
}

// A loggedResult is a result that is in the log.
type loggedResult struct {
	Meta // what is known without looking at the text
	text string
}

// logged returns the results of a run that its log has, up to where it can be read. Those that
// a fork has copied are the other run's.
func (s *Store) logged(conversation, owner run.ID) iter.Seq[loggedResult] {
	return func(yield func(loggedResult) bool) {
		if s.logs == nil {
			return
		}
		var state run.State
		for e, err := range s.logs.Events(owner) {
			p, settled := e.Payload.(run.CallSettled)
			if settled && err == nil && p.Delivery == string(Inlined) && e.Seq > state.Created.ForkedAt {
				c, _ := state.Turn.Call(p.Call)
				if !yield(loggedResult{Meta{ID: p.Call, Run: owner, Conversation: conversation, Tool: c.Tool, Message: state.MessageOf(p.Call),
					Created: e.At, Success: run.Succeeded(p.IsError, p.ExitCode), Inline: true}, run.PlainText(p.Content)}) {
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

// output returns the result as a stored one.
func (r loggedResult) output() *Output {
	w := Writer{meta: r.Meta, block: []byte(r.text)}
	w.analyze(bytes.NewReader(w.block), w.block, true)
	w.text.add(w.block)
	w.describe()
	o := &Output{Meta: w.meta}
	o.Document = &Document{Name: string(r.ID), format: w.meta.Format, problem: w.meta.Problem, raw: bytes.NewReader(w.block), size: int64(len(r.text)),
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
	for r := range s.logged(conversation, owner) {
		if !stored[r.ID] && (has == nil || has(r.ID)) {
			all = append(all, r.output().Meta)
		}
	}
	return all
}
