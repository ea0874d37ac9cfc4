package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"pawl/internal/stable"
	"pawl/llm"
	"pawl/permission"
	"pawl/run"
	"pawl/store"
)

// A Stopping is the payload of an inbox row of kind interrupt.
type Stopping struct {
	Turn int    `json:"turn,omitempty"` // the turn to stop; 0: the one that is open when the row is read
	By   string `json:"by,omitempty"`
}

// A Message is the payload of an inbox row of kind message.
type Message struct {
	Delivery run.Delivery `json:"delivery"`
	Parts    []run.Part   `json:"parts"`
}

// An OutsideCall is the payload of an inbox row of kind call: a call that an external
// agent makes through pawl's tools. The row's key identifies the request.
type OutsideCall struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"` // a JSON object
}

// An OutsideAnswer is the answer to an inbox row of kind call.
type OutsideAnswer struct {
	Content []run.Part `json:"content,omitempty"`
	IsError bool       `json:"is_error,omitempty"`
}

// inbox returns the new rows of the run's inbox as input of a step. Each row is offered
// once, and taken with the append that follows, whether or not it leads to events. Rows of
// unknown kinds are not taken. only, if given, restricts the kinds.
func (d *Runner) inbox(only ...store.Kind) []func(run.State) []run.Payload {
	if d.created != nil {
		return nil // the run is not in the store yet
	}
	rows, err := d.w.Store.Inbox(context.Background(), d.id)
	if err != nil {
		d.w.debug("inbox", "run", d.id, "error", err)
		return nil
	}
	var wanted []func(run.State) []run.Payload
	for _, row := range rows {
		if d.rows[row.ID] || len(only) > 0 && !slices.Contains(only, row.Kind) {
			continue
		}
		if want := d.want(row); want != nil {
			d.rows[row.ID] = true
			if f, ok := stopping(d.core.State, row); ok && d.Interrupt(f) {
				continue // at once: the step that follows records it
			}
			wanted = append(wanted, want)
		}
	}
	return wanted
}

// want returns a function from the state to the events that a row leads to; nil for a row
// of an unknown kind.
func (d *Runner) want(row store.Row) func(run.State) []run.Payload {
	words := []run.Part{run.Text(row.Payload)}
	switch row.Kind {
	case store.Prompt, store.Queue:
		return func(s run.State) []run.Payload { return []run.Payload{run.Say(s, row.Key, run.Queue, words)} }
	case store.Steer:
		return func(s run.State) []run.Payload { return []run.Payload{run.Say(s, row.Key, run.Steer, words)} }
	case store.Message:
		return func(s run.State) []run.Payload {
			var m Message
			if json.Unmarshal([]byte(row.Payload), &m) != nil {
				return nil
			}
			return []run.Payload{run.Say(s, row.Key, m.Delivery, m.Parts)}
		}
	case store.Withdraw:
		return always(run.Withdrawn{ID: row.Payload})
	case store.Interrupt:
		return func(s run.State) []run.Payload {
			if f, ok := stopping(s, row); ok {
				return []run.Payload{f}
			}
			return nil
		}
	case store.Decide:
		return func(s run.State) []run.Payload {
			var a Decision
			if json.Unmarshal([]byte(row.Payload), &a) != nil {
				return nil
			}
			return d.decided(s, a)
		}
	case store.Configure:
		return func(s run.State) []run.Payload { return d.configured(s, row.Payload) }
	case store.Call:
		return func(s run.State) []run.Payload { return d.received(s, row) }
	}
	return nil
}

// stopping returns the interrupt that a row means in s; false if it means none.
func stopping(s run.State, row store.Row) (run.Interrupted, bool) {
	var p Stopping
	if row.Kind != store.Interrupt || json.Unmarshal([]byte(row.Payload), &p) != nil || !s.Turn.Open() || p.Turn != 0 && p.Turn != s.Turn.N {
		return run.Interrupted{}, false
	}
	return run.Interrupted{Turn: s.Turn.N, Cause: run.ByPerson, By: p.By}, true
}

// configured returns the events of a requested configuration change in s.
func (d *Runner) configured(s run.State, payload string) []run.Payload {
	var c run.ConfigChange
	err := json.Unmarshal([]byte(payload), &c)
	if err == nil {
		err = d.checkChange(s, c)
	}
	if err != nil {
		d.notices = append(d.notices, fmt.Sprintf("the configuration was not changed: %v", err))
		return nil
	}
	return []run.Payload{run.Configured{Change: c}}
}

// checkChange returns why a configuration change cannot be made in s.
func (d *Runner) checkChange(s run.State, c run.ConfigChange) error {
	if c.Mode != nil {
		if err := permission.CheckMode(permission.Mode(*c.Mode), permission.ForUser); err != nil {
			return err
		}
	}
	to := c.Apply(s.Config)
	if err := to.Validate(); err != nil {
		return err
	}
	if c.Model != nil && s.Created.External != d.w.external(to.Model) {
		return fmt.Errorf("the model cannot become %s: a run stays one of pawl's own or one of an external agent; start a new run", to.Model)
	}
	return d.w.check(to)
}

// received returns the events of a call from outside in s. Its row is taken when the call
// is settled.
func (d *Runner) received(s run.State, row store.Row) []run.Payload {
	var c OutsideCall
	if json.Unmarshal([]byte(row.Payload), &c) != nil {
		return nil
	}
	d.calls[row.Key] = row.ID
	if s.Turn.Received(row.Key) != "" {
		return nil // received by a previous process
	}
	return []run.Payload{run.CallReceived{Key: row.Key, Call: run.Call{
		ID: run.CallID(fmt.Sprintf("c_%d", s.NextCall())), Tool: d.toolNamed(s, c.Tool), Arguments: c.Arguments}}}
}

// toolNamed returns the tool of the run that an external agent means by a name: its own
// name, or the one on wires.
func (d *Runner) toolNamed(s run.State, name string) string {
	tools, _ := d.tools(s.Config)
	if _, ok := tools.Get(name); ok {
		return name
	}
	return llm.NewNames(tools.Names()).Tool(name)
}

// taken returns the inbox rows to be taken with an append of events, with their answers:
// those offered to the run since the last append, and calls from outside that are settled
// or were refused. forget must be called when they are taken.
func (d *Runner) taken(events []run.Event) (taken []store.Taken, forget func()) {
	var answered []string
	outside := map[int64]bool{}
	for _, id := range d.calls {
		outside[id] = true
	}
	for id, offered := range d.rows {
		if offered && !outside[id] {
			taken = append(taken, store.Taken{ID: id})
		}
	}
	settled := map[run.CallID]OutsideAnswer{}
	received := map[string]run.CallID{}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case run.CallReceived:
			received[p.Key] = p.Call.ID
		case run.CallSettled:
			settled[p.Call] = OutsideAnswer{p.Content, p.IsError}
		case run.Prompted: // the answer to a question that was still open when its turn ended
			settled[p.Answers] = OutsideAnswer{p.Parts, false}
		case run.CallDecided:
			if !p.Decision.Allows() {
				settled[p.Call] = OutsideAnswer{[]run.Part{run.Text(p.Content)}, true}
			}
		}
	}
	for key, id := range d.calls {
		call, now := received[key]
		if !now {
			call = d.core.State.Turn.Received(key)
		}
		answer, ok := settled[call]
		switch c, _ := d.core.State.Turn.Call(call); {
		case call == "":
			answer = OutsideAnswer{[]run.Part{run.Text("The call was not made: the run does not accept calls now.")}, true}
		case ok:
		case c.Status == run.CallDone:
			answer = OutsideAnswer{c.Result.Content, c.Result.IsError}
		default:
			continue // it is not settled yet
		}
		b, _ := json.Marshal(answer) // of strings and bytes
		taken = append(taken, store.Taken{ID: id, Answer: string(b)})
		answered = append(answered, key)
	}
	stable.Sort(taken, func(a, b store.Taken) int { return int(a.ID - b.ID) })
	return taken, func() {
		for _, t := range taken {
			d.rows[t.ID] = false
		}
		for _, key := range answered {
			delete(d.calls, key)
		}
	}
}

// Call makes a call for the external agent of a run and waits for the result. The key
// identifies the request: if it is repeated, even after a restart of either side, the
// result of the first call is returned and nothing runs. Any process may use Call; the
// owner of the run performs the call.
func (w *Worker) Call(ctx context.Context, id run.ID, key string, c OutsideCall) (OutsideAnswer, error) {
	payload, err := json.Marshal(c)
	if err != nil {
		return OutsideAnswer{}, err
	}
	if err := w.Store.Put(ctx, id, store.Row{Key: key, Kind: store.Call, Payload: string(payload)}); err != nil {
		return OutsideAnswer{}, err
	}
	Wake(ctx, w.Store, id)
	poll := time.NewTicker(callPoll)
	defer poll.Stop()
	for {
		text, taken, err := w.Store.Answer(ctx, id, key)
		if err != nil {
			return OutsideAnswer{}, err
		}
		if taken && text == "" {
			return OutsideAnswer{Content: []run.Part{run.Text("The call was not made: it could not be read.")}, IsError: true}, nil
		}
		if taken {
			var a OutsideAnswer
			err := json.Unmarshal([]byte(text), &a)
			return a, err
		}
		select {
		case <-ctx.Done():
			return OutsideAnswer{}, context.Cause(ctx)
		case <-poll.C:
		}
	}
}

// callPoll is how often Call looks for the answer.
const callPoll = 20 * time.Millisecond

// Wake tells the process that drives a run, or waits for it, to read the inbox. Errors are ignored,
// because that process also polls it.
func Wake(ctx context.Context, s store.Store, id run.ID) {
	o, _, _ := DriverOf(ctx, s, id)
	if v, err := store.Dial(ctx, o.Socket); err == nil {
		_ = v.Wake()
		_ = v.Close()
	}
}
