package responses

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/stable"
	"pawl/llm"
	"pawl/llm/wire"
	"pawl/run"
)

// An event is one event of a stream; which fields count depends on its type.
type event struct {
	Type         string          `json:"type"`
	Sequence     *int64          `json:"sequence_number"`
	OutputIndex  *int            `json:"output_index"`
	ItemID       string          `json:"item_id"`
	ContentIndex int             `json:"content_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        json.RawMessage `json:"delta"`
	Arguments    json.RawMessage `json:"arguments"`
	Item         json.RawMessage `json:"item"`
	Response     json.RawMessage `json:"response"`
	Error        json.RawMessage `json:"error"`
}

// A decoder assembles an answer from events.
//
// A stream repeats its content up to four times: in deltas, in the events that end a text or
// arguments, in response.output_item.done and in the final response. An item's
// output_item.done is authoritative: it is the first complete form, the finished part is
// made from it, and an interrupt keeps that. (Reasoning is encrypted again each time: the
// recorded streams have three ciphertexts, the first of an incomplete item.) A text or
// arguments that it lacks are those that streamed. The final response counts for its status
// and usage, for items that were never ended, and for types of items that do not stream:
// some servers send it without output, some with other ids than in the stream, and a call
// taken from both would run twice.
type decoder struct {
	say      func(llm.Delta) error
	origin   string
	items    []*item
	sequence int64 // number of the last event
	model    string
	usage    run.Usage
	reason   string // why the answer is incomplete; empty: it is complete
	done     bool   // the final event arrived
}

// assembler returns a function that makes decoders; origin marks the parts that are sent
// back to the server they are from only.
func assembler(origin string) func(func(llm.Delta) error) wire.Assembler {
	return func(say func(llm.Delta) error) wire.Assembler { return &decoder{say: say, origin: origin} }
}

// Done reports whether the final event arrived.
func (d *decoder) Done() bool { return d.done }

// Whole returns false: only the final event shows that nothing is missing, and it has the
// usage.
func (d *decoder) Whole() bool { return false }

// Take adds one event.
func (d *decoder) Take(name string, data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		var oddField *json.UnmarshalTypeError
		if name == "ping" || name == "keepalive" {
			return nil
		}
		if !errors.As(err, &oddField) || known(e.Type) {
			// Skipping it could drop a piece from the middle of a call's arguments and
			// leave other arguments that look complete.
			return odd(err)
		}
	}
	if e.Type == "" {
		e.Type = name
	}
	if e.Sequence != nil && *e.Sequence > 0 {
		if *e.Sequence == d.sequence {
			return nil // the event before, repeated
		}
		d.sequence = *e.Sequence
	}
	switch e.Type {
	case "response.created", "response.in_progress", "response.queued":
		var r struct {
			Model string          `json:"model"`
			Usage json.RawMessage `json:"usage"`
		}
		if json.Unmarshal(e.Response, &r) == nil && d.model == "" {
			d.model = r.Model
		}
		return d.count(r.Usage)
	case "response.output_item.added":
		return d.added(e)
	case "response.output_item.done":
		return d.ended(e)
	case "response.output_text.delta", "response.refusal.delta",
		"response.reasoning_summary_text.delta", "response.reasoning_text.delta",
		"response.function_call_arguments.delta":
		return d.delta(e)
	case "response.function_call_arguments.done":
		if it := d.find(e, callItemType); it != nil && !it.closed {
			text, err := arguments(e.Arguments)
			it.whole, it.ended = text, true
			return err
		}
	case "response.completed", "response.incomplete", "response.failed", "response.done":
		return d.finish(e)
	case "error", "":
		if e.Type != "" || len(e.Error) > 0 {
			return wire.StreamError(data)
		}
	default:
		if strings.HasPrefix(e.Type, "response.") {
			return d.say(llm.Delta{}) // a step of a hosted tool, or what only repeats
		}
	}
	return nil // pings, and unknown types
}

// known reports whether events of a type count for the answer.
func known(eventType string) bool {
	switch eventType {
	case "response.output_item.added", "response.output_item.done", "response.output_text.delta", "response.refusal.delta",
		"response.reasoning_summary_text.delta", "response.reasoning_text.delta",
		"response.function_call_arguments.delta", "response.function_call_arguments.done",
		"response.completed", "response.incomplete", "response.failed", "response.done", "":
		return true
	}
	return false
}

func odd(err error) error { return fmt.Errorf("cannot decode an event: %w", err) }

// find returns the item that an event is about; nil if there is none. Some servers send 0
// as every output_index, some another id with every event, some neither.
func (d *decoder) find(e event, kind string) *item {
	newest := func(fits func(*item) bool) *item {
		for _, it := range slices.Backward(d.items) {
			if it.kind == kind && fits(it) {
				return it
			}
		}
		return nil
	}
	if e.ItemID != "" {
		if it := newest(func(it *item) bool { return it.id == e.ItemID && (e.OutputIndex == nil || it.index == *e.OutputIndex) }); it != nil {
			return it
		}
		if it := newest(func(it *item) bool { return it.id == e.ItemID }); it != nil {
			return it
		}
	}
	if e.OutputIndex != nil {
		return newest(func(it *item) bool { return it.index == *e.OutputIndex })
	}
	if e.ItemID != "" && kind == callItemType {
		return nil // a fragment in the wrong call could make arguments that look complete
	}
	return newest(func(it *item) bool { return !it.closed })
}

// maxItems bounds the items of a faulty server; an answer has a few dozen items.
const maxItems = 4096

var errTooMany = fmt.Errorf("the answer has more than %d parts", maxItems)

// add appends a new item.
func (d *decoder) add(e event, kind, id string) (*item, error) {
	if len(d.items) >= maxItems {
		return nil, errTooMany
	}
	it := &item{kind: kind, id: id, origin: d.origin}
	if e.OutputIndex != nil {
		it.index = *e.OutputIndex
	} else if len(d.items) > 0 {
		it.index = d.items[len(d.items)-1].index
	}
	d.items = append(d.items, it)
	return it, nil
}

// added opens an item; a repeated event for an existing one is ignored.
func (d *decoder) added(e event) error {
	w, err := readItem(e.Item)
	if err != nil {
		return err
	}
	for _, it := range d.items {
		if it.kind == w.Type && it.id == w.ID && it.callID == w.CallID &&
			(e.OutputIndex == nil || it.index == *e.OutputIndex) && (w.ID != "" || !it.closed) {
			return nil
		}
	}
	it, err := d.add(e, w.Type, w.ID)
	if err != nil {
		return err
	}
	it.callID, it.phase = w.CallID, w.Phase
	return it.begin(w.Name, d.say)
}

// delta adds to an open item. Text may arrive for an item that was not announced; a
// fragment of arguments without its call is ignored.
func (d *decoder) delta(e event) error {
	var s string
	if len(e.Delta) > 0 {
		if err := json.Unmarshal(e.Delta, &s); err != nil {
			return odd(err)
		}
	}
	kind, place := messageItemType, place{"text", e.ContentIndex}
	switch e.Type {
	case "response.refusal.delta":
		place.kind = "refusal"
	case "response.reasoning_summary_text.delta":
		kind, place.kind, place.index = reasoningItemType, "summary", e.SummaryIndex
	case "response.reasoning_text.delta":
		kind, place.kind = reasoningItemType, "reasoning"
	case "response.function_call_arguments.delta":
		kind = callItemType
	}
	it := d.find(e, kind)
	switch {
	case s == "" || it != nil && it.closed:
		return nil
	case kind == callItemType && it == nil:
		return nil
	case kind == callItemType:
		it.fragments = append(it.fragments, s...)
		return d.say(llm.Delta{Input: s})
	case it == nil:
		var err error
		if it, err = d.add(e, kind, e.ItemID); err != nil {
			return err
		}
	}
	return it.more(place, s, d.say)
}

// ended closes an item with the form in output_item.done.
func (d *decoder) ended(e event) error {
	w, err := readItem(e.Item)
	if err != nil {
		return err
	}
	e.ItemID = w.ID
	it := d.find(e, w.Type)
	if it != nil && it.closed {
		if it.id == w.ID && it.callID == w.CallID {
			return nil // a repeated event
		}
		it = nil // another item, which was not announced and has no index of its own
	}
	if it == nil && w.CallID != "" {
		for _, have := range d.items {
			if !have.closed && have.kind == w.Type && have.callID == w.CallID {
				it = have
			}
		}
	}
	if it == nil {
		if it, err = d.add(e, w.Type, w.ID); err != nil {
			return err
		}
	}
	return it.close(w, d.say)
}

// finish adds the final response.
func (d *decoder) finish(e event) error {
	var r struct {
		Status     string `json:"status"`
		Model      string `json:"model"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Output []json.RawMessage `json:"output"`
		Usage  json.RawMessage   `json:"usage"`
	}
	if len(e.Response) > 0 {
		if err := json.Unmarshal(e.Response, &r); err != nil {
			return odd(err)
		}
	}
	if err := d.count(r.Usage); err != nil {
		return err
	}
	if e.Type == "response.failed" || r.Status == "failed" {
		return wire.StreamError(e.Response)
	}
	d.reason = r.Incomplete.Reason
	if d.reason == "" && (e.Type == "response.incomplete" || r.Status == "incomplete") {
		d.reason = "incomplete"
	}
	if r.Model != "" {
		d.model = r.Model
	}
	d.done = true
	return d.fill(r.Output)
}

// count reads the usage of a response, which may be missing.
func (d *decoder) count(raw json.RawMessage) error {
	u := readUsage(raw)
	if u == (run.Usage{}) {
		return nil
	}
	d.usage = u
	return d.say(llm.Delta{Usage: &u})
}

// fill adds what the stream left out from the final output.
func (d *decoder) fill(output []json.RawMessage) error {
	streamed := map[string]bool{}
	for _, it := range d.items {
		streamed[it.kind] = true
	}
	for i, raw := range output {
		w, err := readItem(raw)
		if err != nil {
			return err
		}
		it := d.open(w, i)
		if it == nil && !streamed[w.Type] {
			if it, err = d.add(event{OutputIndex: &i}, w.Type, w.ID); err != nil {
				return err
			}
		}
		if it != nil {
			if err := it.close(w, d.say); err != nil {
				return err
			}
		}
	}
	for _, it := range d.items {
		if !it.closed {
			if err := it.closeIncomplete(d.say); err != nil {
				return err
			}
		}
	}
	return nil
}

// open returns the item that was never ended and corresponds to w, the i-th of the output.
func (d *decoder) open(w wireItem, i int) *item {
	for _, same := range []func(*item) bool{
		func(it *item) bool { return w.ID != "" && it.id == w.ID },
		func(it *item) bool { return w.CallID != "" && it.callID == w.CallID },
		func(it *item) bool { return it.index == i },
	} {
		for _, it := range d.items {
			if it.kind == w.Type && same(it) {
				if it.closed {
					return nil
				}
				return it
			}
		}
	}
	return nil
}

// Answer returns the message.
func (d *decoder) Answer() *llm.Answer {
	items := slices.Clone(d.items)
	stable.Sort(items, func(a, b *item) int { return cmp.Compare(a.index, b.index) })
	a := &llm.Answer{Model: d.model, Usage: d.usage}
	var last *item
	calls, refused := false, false
	for _, it := range items {
		a.Parts = append(a.Parts, it.parts...)
		calls = calls || it.kind == callItemType
		refused = refused || it.refused
		last = it
	}
	a.Stop = stopReason(d.reason, calls, refused)
	if a.Stop == run.StopMaxTokens && last != nil && last.kind == callItemType {
		told := &a.Parts[len(a.Parts)-1]
		c := *told.Call // the finished part that was yielded does not change
		told.Call = &c
		wire.CutAtLimit(a.Parts, last.arguments)
	}
	return a
}

// stopReason derives why the answer ended: the API states it only for one that is
// incomplete (incomplete_details.reason: max_output_tokens, content_filter).
func stopReason(incomplete string, calls, refused bool) run.StopReason {
	switch {
	case incomplete == "max_output_tokens" || incomplete == "max_tokens" || incomplete == "length":
		return run.StopMaxTokens
	case incomplete == "content_filter":
		return run.StopFiltered
	case incomplete != "":
		return run.StopReason(incomplete)
	case refused:
		return run.StopRefusal
	case calls:
		return run.StopToolUse
	}
	return run.StopEndTurn
}
