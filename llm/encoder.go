package llm

import (
	"encoding/json"
	"fmt"

	"pawl/run"
)

// An Encoder keeps the encoded messages of one run, so that a request encodes
// only what is new in the conversation. Messages that are no longer in the conversation
// are dropped. It is not safe for concurrent use.
type Encoder struct {
	provider Provider
	names    Names
	kept     []encoded // of the conversation as it was last, in its order
}

type encoded struct {
	name name
	role run.Role
	body json.RawMessage
}

// A name stands for a message's content; see [run.Message.Rev].
type name struct {
	id  string
	rev int
}

// NewEncoder returns an encoder for the wire of p, on which tools have these names. Each
// provider needs its own.
func NewEncoder(p Provider, n Names) *Encoder { return &Encoder{provider: p, names: n} }

// Messages returns a conversation as the wire wants it; messages that have
// no content there are left out. The bodies belong to the encoder and must not be
// changed.
func (e *Encoder) Messages(conversation []run.Message) ([]Message, error) {
	// A conversation mostly grows at its end. Only when a compaction moved what
	// was kept is it looked up by name.
	var moved map[name]encoded
	next := make([]encoded, 0, len(conversation)+len(conversation)/8+8)
	out := make([]Message, 0, len(conversation))
	for i, m := range conversation {
		n := name{m.ID, m.Rev}
		have, ok := encoded{}, false
		switch {
		case i < len(e.kept) && e.kept[i].name == n:
			have, ok = e.kept[i], true
		case i < len(e.kept) || moved != nil:
			if moved == nil {
				moved = make(map[name]encoded, len(e.kept)-i)
				for _, k := range e.kept[i:] {
					moved[k.name] = k
				}
			}
			have, ok = moved[n]
		}
		if !ok {
			onWire := m
			onWire.Parts = e.names.calls(m.Parts)
			body, err := e.provider.Encode(onWire)
			if err != nil {
				return nil, fmt.Errorf("message %s: %w", m.ID, err)
			}
			have = encoded{n, m.Role, body}
		}
		next = append(next, have)
		if have.body != nil {
			out = append(out, Message{Role: have.role, Body: have.body})
		}
	}
	e.kept = next
	return out, nil
}
