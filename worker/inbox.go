package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"pawl/internal/stable"
	"pawl/llm"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/tool"
)

// inbox returns the new rows of the run's inbox as input of a step. Each row is offered
// once, and taken with the append that follows, whether or not it leads to events. Rows of
// unknown kinds are not taken. only, if given, says which are offered.
func (r *Runner) inbox(only func(request.Request) bool) []func(run.State) []run.Payload {
	if r.created != nil {
		return nil // the run is not in the store yet
	}
	rows, err := r.w.Store.Inbox(context.Background(), r.id)
	if err != nil {
		r.w.debug("inbox", "run", r.id, "error", err)
		return nil
	}
	var wanted []func(run.State) []run.Payload
	for _, row := range rows {
		wish, err := request.Decode(row.Kind, row.Payload)
		if r.rows[row.ID] || errors.Is(err, request.ErrUnknown) || only != nil && (err != nil || !only(wish)) {
			continue
		}
		r.rows[row.ID] = true
		l := &letter{row: row.ID, refused: err}
		if err == nil {
			l.requests = []request.Request{wish}
		}
		switch wish := wish.(type) {
		case request.Interrupt:
			if f, err := wish.Events(r.core.State, nil); err == nil && r.Interrupt(f[0].(run.Interrupted)) {
				continue // at once: the step that follows records it
			}
		case request.Call:
			r.calls[wish.Key] = row.ID
		}
		wanted = append(wanted, r.meaning(l))
	}
	return wanted
}

// CheckConfig returns why a change of the run's configuration cannot be made in s.
func (r *Runner) CheckConfig(s run.State, c run.ConfigChange) error {
	if c.Mode != nil {
		if err := permission.CheckMode(permission.Mode(*c.Mode), permission.ForUser); err != nil {
			return err
		}
	}
	to := c.Apply(s.Config)
	if err := to.Validate(); err != nil {
		return err
	}
	if c.Model != nil && s.Created.External != r.w.external(to.Model) {
		return fmt.Errorf("the model cannot become %s: a run stays one of pawl's own or one of an external agent; start a new run", to.Model)
	}
	return r.w.check(to)
}

// Picked implements [request.World]. What follows the first part of an answer was attached to it. An option is the
// words of who asks, whoever picks it: it says nothing that a person typed.
func (w world) Picked(c run.CallState, answer []run.Part) []run.Part {
	if len(answer) == 0 {
		return answer
	}
	_, options := tool.Asked(c)
	picked := run.PlainText(answer[:1])
	if !isOption(options, picked) { // as a face may have picked it
		n, err := strconv.Atoi(strings.TrimSpace(picked))
		if err != nil || n < 1 || n > len(options) {
			return answer
		}
		picked = options[n-1]
	}
	return append([]run.Part{run.TextOf(picked, run.NotTyped)}, answer[1:]...)
}

// ToolNamed implements [request.World]: the name is the tool's own, or the one on wires.
func (w world) ToolNamed(s run.State, name string) string {
	tools, _ := w.tools(s.Config)
	if _, ok := tools.Get(name); ok {
		return name
	}
	return llm.NewNames(tools.Names()).Tool(name)
}

// taken returns the inbox rows to be taken with an append of events, with their answers:
// those offered to the run since the last append, and calls from outside that are settled
// or were refused. forget must be called when they are taken.
func (r *Runner) taken(events []run.Event) (taken []store.Taken, forget func()) {
	var answered []string
	outside := map[int64]bool{}
	for _, id := range r.calls {
		outside[id] = true
	}
	refused := map[int64]string{}
	for _, l := range r.letters {
		if l.row != 0 && l.err != nil {
			refused[l.row] = encode(request.Result{Refused: l.err.Error()})
		}
	}
	for id, offered := range r.rows {
		if offered && !outside[id] {
			taken = append(taken, store.Taken{ID: id, Answer: refused[id]})
		}
	}
	settled := map[run.CallID]request.Result{}
	received := map[string]run.CallID{}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case run.CallReceived:
			received[p.Key] = p.Call.ID
		case run.CallSettled:
			settled[p.Call] = result(p.Content, p.IsError)
		case run.Prompted: // the answer to a question that was still open when its turn ended
			settled[p.Answers] = result(p.Parts, false)
		case run.CallDecided:
			if !p.Decision.Allows() {
				settled[p.Call] = result([]run.Part{run.Text(p.Content)}, true)
			}
		}
	}
	for key, id := range r.calls {
		call, now := received[key]
		if !now {
			call = r.core.State.Turn.Received(key)
		}
		answer, ok := settled[call]
		switch c, _ := r.core.State.Turn.Call(call); {
		case call == "":
			answer = result([]run.Part{run.Text("The call was not made: the run does not accept calls now.")}, true)
		case ok:
		case c.Status == run.CallDone:
			answer = result(c.Result.Content, c.Result.IsError)
		default:
			continue // it is not settled yet
		}
		taken = append(taken, store.Taken{ID: id, Answer: encode(answer)})
		answered = append(answered, key)
	}
	stable.Sort(taken, func(a, b store.Taken) int { return int(a.ID - b.ID) })
	return taken, func() {
		for _, t := range taken {
			r.rows[t.ID] = false
		}
		for _, key := range answered {
			delete(r.calls, key)
		}
	}
}

func result(content []run.Part, isError bool) request.Result {
	return request.Result{Content: content, IsError: isError}
}

// encode encodes a result for its sender.
func encode(r request.Result) string {
	b, _ := json.Marshal(r) // of strings and bytes
	return string(b)
}
