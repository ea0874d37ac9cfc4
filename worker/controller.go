package worker

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"pawl/controller"
	"pawl/llm"
	"pawl/output"
	"pawl/run"
	"pawl/tool"
)

// An objectWire encodes a conversation for a model that answers with one JSON object a
// step: the objects are the assistant's messages, and results are text of the user. The
// log has the same form in both modes, so a run can change between them.
type objectWire struct {
	llm.Provider
	// Of the messages encoded so far: the calls, and how the model asked to resume after
	// a question.
	calls   map[run.CallID]run.Call
	resumes map[run.CallID]controller.Resume
}

// Encode returns m as text.
func (w objectWire) Encode(m run.Message) (json.RawMessage, error) {
	out := run.Message{ID: m.ID, Role: m.Role, Rev: m.Rev}
	if m.Role == run.Assistant {
		out.Parts = w.object(m.Parts)
		return w.Provider.Encode(out)
	}
	var results []controller.Execution
	var answers, pictures []run.Part
	for _, part := range m.Parts {
		if part.Result == nil {
			continue
		}
		c := w.calls[part.Result.Call]
		for _, p := range part.Result.Content {
			if p.Type == run.ImagePart {
				pictures = append(pictures, run.Text("A picture of "+string(c.ID)+":"), p)
			}
		}
		if c.Tool == askTool && !part.Result.IsError {
			answers = append(answers, run.Text("The person answers: "+run.PlainText(part.Result.Content)+startsWith(w.resumes[c.ID])))
			continue
		}
		text, metadata := run.PlainText(part.Result.Content), ""
		if d := output.Delivery(part.Result.Delivery); d == output.Stored || d == output.Forced {
			text, metadata = output.TakeMetadata(text)
		}
		results = append(results, controller.Execution{Tool: c.Tool, Call: string(part.Result.Call), Success: run.Succeeded(part.Result.IsError, part.Result.ExitCode),
			Output: stored(part.Result), Delivery: part.Result.Delivery, Arguments: c.Arguments, Metadata: metadata, Text: text})
	}
	if len(results) > 0 {
		out.Parts = append(out.Parts, run.Text(controller.Executions(results)))
	}
	out.Parts = append(append(out.Parts, pictures...), answers...)
	for _, part := range m.Parts {
		if part.Result == nil {
			out.Parts = append(out.Parts, part)
		}
	}
	return w.Provider.Encode(out)
}

// stored returns the id of a result's stored output; empty if it is not stored.
func stored(r *run.Result) string {
	if r.Delivery == "" {
		return ""
	}
	return string(r.Call)
}

// object returns an assistant's message as a controller object: the original, or an
// equivalent one if the message was made in native mode or its arguments were compacted.
func (w objectWire) object(parts []run.Part) []run.Part {
	var words []run.Part
	var calls []run.Call
	for _, part := range parts {
		switch {
		case part.Call != nil:
			calls = append(calls, *part.Call)
			w.calls[part.Call.ID] = *part.Call
		case part.Type == run.TextPart:
			words = append(words, part)
		}
	}
	if len(calls) == 0 {
		return words
	}
	text := run.PlainText(words)
	if action, _, err := controller.Parse(text); err == nil {
		switch a := action.(type) {
		case controller.AskUser:
			w.resumes[calls[len(calls)-1].ID] = a.Resume
		case controller.UseTools:
			if shortened(calls, a.Calls) {
				words, text = nil, a.Description
			}
		}
		if words != nil {
			return words
		}
	}
	type call struct {
		Tool string `json:"tool"`
		Args string `json:"args"`
	}
	said := struct {
		Action      string `json:"action"`
		Type        string `json:"type"`
		Description string `json:"description,omitempty"`
		Tools       []call `json:"tools"`
	}{Action: "next_step", Type: "tool", Description: text}
	for _, c := range calls {
		said.Tools = append(said.Tools, call{c.Tool, c.Arguments})
	}
	object, err := json.Marshal(said)
	if err != nil {
		return words // unreachable: strings can always be encoded
	}
	return []run.Part{run.Text(string(object))}
}

// shortened reports whether compaction has replaced arguments that the object contains.
func shortened(calls []run.Call, said []controller.Call) bool {
	for i := range min(len(calls), len(said)) {
		if len(calls[i].Arguments) < len(said[i].Args) {
			return true
		}
	}
	return false
}

// askTool is the tool for a question to the person.
const askTool = "ask"

// startsWith returns what the model is told to do with the answer to its question.
func startsWith(r controller.Resume) string {
	if r == controller.Controller {
		return "\n\nDecide on the next action at once."
	}
	return "\n\nLook back at the goal first: does the answer change it, or what was done so far?"
}

// controlled changes m to controller mode.
func (m *modelSession) controlled(structured bool) {
	m.objects = true
	wire := objectWire{Provider: m.provider, calls: map[run.CallID]run.Call{}, resumes: map[run.CallID]controller.Resume{}}
	m.encoder = llm.NewEncoder(wire, llm.Names{})
	var tools []controller.Tool
	for _, t := range m.offered {
		if t.Name != askTool && t.Name != tool.ServerCall { // an action does it: one asks, and one calls any tool by its name
			tools = append(tools, controller.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
	}
	m.system = controller.System(tools)
	m.tools, m.output = nil, nil
	if structured {
		// Without a schema the prompt describes the object, and Parse is as strict.
		m.output, _ = m.provider.EncodeOutput(json.RawMessage(controller.Schema))
	}
}

// left returns the text with what remains of the turn's limits. The request that it is
// sent with is counted in the state already, so it is added again.
func left(s run.State, now time.Time) string {
	l := s.Left(now)
	if l.Steps >= 0 {
		l.Steps++
	}
	return controller.Limits(controller.Left{Steps: l.Steps, Calls: l.Calls, Tokens: l.Tokens, Wall: l.Wall, Cost: l.Cost})
}

// plainly returns an answer that should be plain text as text, even if the model has
// answered with an object; nil if the object is an action without text.
func plainly(parts []run.Part) []run.Part {
	text, ok := controller.PlainText(run.PlainText(parts))
	if !ok {
		return nil
	}
	return []run.Part{run.Text(text)}
}

// interpret parses an answer in controller mode and adds its calls and its action.
func (m *modelSession) interpret(s run.State, p run.Replied, now time.Time) run.Replied {
	switch p.Stop {
	case run.StopFiltered, run.StopRefusal, run.StopGuardrail, run.StopPause:
		return p
	}
	text := run.PlainText(p.Parts)
	if strings.TrimSpace(text) == "" {
		return p // the run handles empty answers
	}
	action, _, err := controller.Parse(text)
	if err != nil {
		var refused *controller.Error
		errors.As(err, &refused) // Parse has no other
		p.Action = &run.Action{Problem: refused.Message, Feedback: refused.Feedback()}
		if p.Stop == run.StopMaxTokens {
			p.Action = &run.Action{Problem: "Invalid JSON: the answer was cut off at the output limit",
				Feedback: "Your last answer was cut off at the output limit, and nothing of it was done. Answer again with one JSON object that is shorter: put less into one call.\n"}
		}
		return p
	}
	about := action.About()
	step := run.Action{Kind: run.StepKind(action.Kind()), InPlan: about.NextStep, Description: about.Description, Thinking: string(about.Thinking)}
	// The object is complete, whatever the stop reason says.
	p.Stop = run.StopEndTurn
	var calls []run.Call
	switch a := action.(type) {
	case controller.UseTools:
		for _, c := range a.Calls {
			calls = append(calls, m.names.Call(run.Call{Tool: c.Tool, Arguments: c.Args}))
		}
		// If no call remains, one is kept, to be refused with that reason; the turn ends.
		if have := s.Left(now).Calls; have >= 0 && len(calls) > max(have, 1) {
			step.Dropped = len(calls) - max(have, 1)
			calls = calls[:max(have, 1)]
		}
	case controller.AskUser:
		question := a.Question
		if a.Context != "" {
			question += "\n\n" + a.Context
		}
		args, _ := json.Marshal(map[string]string{"question": question}) // strings can always be encoded
		calls = append(calls, run.Call{Tool: askTool, Arguments: string(args)})
		step.Resume = string(a.Resume)
	case controller.Respond:
		step.Message = a.Message
	case controller.Complete:
		step.Message = a.Message
	case controller.GuardrailStop:
		step.Reason, step.Message = a.Reason, a.Message
	}
	if len(calls) > 0 {
		p.Stop = run.StopToolUse
	}
	for i := range calls {
		p.Parts = append(p.Parts, run.Part{Type: run.CallPart, Call: &calls[i]})
	}
	p.Parts = number(p.Parts, s.NextCall())
	p.Action = &step
	return p
}
