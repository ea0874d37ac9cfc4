package responses

import (
	"bytes"
	"encoding/json"
	"strings"

	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
)

// The types of items that mean something to us. Any other is a tool that runs at the
// provider, or not yet invented: it is kept as it came.
const (
	messageItemType   = "message"
	reasoningItemType = "reasoning"
	callItemType      = "function_call"
)

// A wireItem is an item of the output.
type wireItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Phase     string          `json:"phase"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // text; of some types an object
	Content   json.RawMessage `json:"content"`   // []wireContent; of some types text
	Summary   json.RawMessage `json:"summary"`   // []wireContent
	Encrypted string          `json:"encrypted_content"`

	raw json.RawMessage
}

// A wireContent is a piece of a message or of reasoning.
type wireContent struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// readItem reads an item. In items of unknown types any field may have any value.
func readItem(raw json.RawMessage) (wireItem, error) {
	var w wireItem
	err := json.Unmarshal(raw, &w)
	w.raw = raw
	if err != nil {
		var kind struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &kind) != nil {
			return w, odd(err)
		}
		switch kind.Type {
		case messageItemType, reasoningItemType, callItemType:
			return w, odd(err)
		}
		w.Type = kind.Type
	}
	return w, nil
}

func contentsOf(raw json.RawMessage) []wireContent {
	var list []wireContent
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []wireContent{{Text: text}}
	}
	return nil
}

// arguments returns a call's arguments as text; some servers send the object itself.
func arguments(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if raw[0] != '"' {
		return string(raw), nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", odd(err)
	}
	return text, nil
}

// An item is an item of the output as it grows.
type item struct {
	kind   string
	index  int // its place in the output
	id     string
	origin string
	closed bool       // parts are final
	parts  []run.Part // when it is closed

	pieces []*piece // text and thinking, in the order they began
	phase  string   // of a message

	refused bool

	callID, name string // of a call
	begun        bool   // its beginning was yielded
	fragments    []byte
	whole        string // the arguments in the event at their end
	ended        bool   // that event arrived
	arguments    string // the final ones, once it is closed
}

// A place says which of an item's texts a delta adds to.
type place struct {
	kind  string
	index int
}

type piece struct {
	place place
	text  []byte
}

// begin yields the beginning of a call once its name is known.
func (it *item) begin(name string, say func(llm.Delta) error) error {
	if name != "" {
		it.name = name
	}
	if it.kind != callItemType || it.begun || it.name == "" {
		return say(llm.Delta{})
	}
	it.begun = true
	return say(llm.Delta{Call: it.name})
}

// more appends to a text. Parts of a reasoning summary are paragraphs.
func (it *item) more(at place, s string, say func(llm.Delta) error) error {
	var p *piece
	for _, have := range it.pieces {
		if have.place == at {
			p = have
		}
	}
	if p == nil {
		if len(it.pieces) >= maxItems {
			return errTooMany
		}
		if it.kind == reasoningItemType && len(it.pieces) > 0 {
			if err := say(llm.Delta{Thinking: paragraph}); err != nil {
				return err
			}
		}
		p = &piece{place: at}
		it.pieces = append(it.pieces, p)
	}
	p.text = append(p.text, s...)
	if it.kind == reasoningItemType {
		return say(llm.Delta{Thinking: s})
	}
	return say(llm.Delta{Text: s})
}

const paragraph = "\n\n"

// close ends an item with its final form w, and yields its parts.
func (it *item) close(w wireItem, say func(llm.Delta) error) error {
	if w.ID != "" {
		it.id = w.ID
	}
	if w.CallID != "" {
		it.callID = w.CallID
	}
	if w.Phase != "" {
		it.phase = w.Phase
	}
	switch it.kind {
	case messageItemType:
		if err := it.finalize(contentsOf(w.Content), say); err != nil {
			return err
		}
		it.words()
	case reasoningItemType:
		if err := it.reasoning(w, say); err != nil {
			return err
		}
	case callItemType:
		text, err := arguments(w.Arguments)
		if err != nil {
			return err
		}
		if err := it.begin(w.Name, say); err != nil {
			return err
		}
		it.call(text, w.Status == "incomplete")
	default:
		it.parts = []run.Part{{Type: run.OpaquePart, Wire: it.origin, Raw: string(w.raw)}}
	}
	return it.tell(say)
}

// closeIncomplete ends an item whose end never arrived. Text is kept; a call is marked as
// cut unless the end of its arguments arrived; reasoning without its signature is shown
// and not sent back; items of unknown types are dropped.
func (it *item) closeIncomplete(say func(llm.Delta) error) error {
	switch it.kind {
	case messageItemType:
		it.words()
	case reasoningItemType:
		if err := it.reasoning(wireItem{}, say); err != nil {
			return err
		}
	case callItemType:
		it.call("", !it.ended)
	}
	return it.tell(say)
}

func (it *item) tell(say func(llm.Delta) error) error {
	it.closed = true
	for i := range it.parts {
		if err := say(llm.Delta{Part: &it.parts[i]}); err != nil {
			return err
		}
	}
	return nil
}

// finalize sets the texts of a message to those of its final form and yields what had not
// streamed. A final form without text does not remove what streamed.
func (it *item) finalize(said []wireContent, say func(llm.Delta) error) error {
	var pieces []*piece
	streamed, whole := "", ""
	for _, p := range it.pieces {
		streamed += string(p.text)
	}
	for i, c := range said {
		at, text := place{"text", i}, c.Text
		if c.Refusal != "" {
			at.kind, text = "refusal", c.Refusal
		}
		if text != "" {
			pieces = append(pieces, &piece{at, []byte(text)})
			whole += text
		}
	}
	if whole == "" {
		return nil
	}
	it.pieces = pieces
	if rest, ok := strings.CutPrefix(whole, streamed); ok && rest != "" {
		return say(llm.Delta{Text: rest})
	}
	return nil
}

// words returns the parts of a message. A message's phase, if it has one, is kept as the
// text's signature, because it is sent back with it.
func (it *item) words() {
	for _, p := range it.pieces {
		part := run.Text(string(p.text))
		if it.phase != "" {
			part.Signature, part.Wire = it.phase, it.origin
		}
		it.parts = append(it.parts, part)
		it.refused = it.refused || p.place.kind == "refusal"
	}
}

// reasoning returns the part of a reasoning item: its visible text as thinking, with the
// whole item as its signature; or the item alone if it has no visible text. An item that
// is neither encrypted nor complete is a reference to something that the server has not
// stored ("Items are not persisted when `store` is set to false"): it is
// not sent back.
func (it *item) reasoning(w wireItem, say func(llm.Delta) error) error {
	told := contentsOf(w.Content)
	if len(it.pieces) == 0 {
		kind, texts := "summary", contentsOf(w.Summary)
		if len(texts) == 0 {
			kind, texts = "reasoning", told
		}
		for i, c := range texts {
			if c.Text == "" {
				continue
			}
			if err := it.more(place{kind, i}, c.Text, say); err != nil {
				return err
			}
		}
	}
	raw := ""
	if w.Encrypted != "" || len(told) > 0 {
		raw = string(w.raw)
	}
	switch {
	case len(it.pieces) > 0:
		var texts []string
		for _, p := range it.pieces {
			texts = append(texts, string(p.text))
		}
		it.parts = []run.Part{{Type: run.ThinkingPart, Text: strings.Join(texts, paragraph), Signature: raw, Wire: it.origin}}
	case raw != "":
		it.parts = []run.Part{{Type: run.OpaquePart, Raw: raw, Wire: it.origin}}
	}
	return nil
}

// call returns the part of a call. Its arguments are those of its final form, or, if that
// has none, those that streamed.
func (it *item) call(said string, cut bool) {
	it.arguments = said
	for _, other := range []string{it.whole, string(it.fragments)} {
		if nothing(it.arguments) && !nothing(other) {
			it.arguments = other
		}
	}
	id := it.callID
	if id == "" {
		id = it.id
	}
	it.parts = []run.Part{{Type: run.CallPart, Call: wire.Call(id, it.name, it.arguments, cut)}}
}

// nothing reports whether arguments are empty, or what some servers send in that case.
func nothing(arguments string) bool {
	arguments = strings.TrimSpace(arguments)
	return arguments == "" || arguments == "{}"
}
