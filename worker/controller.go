package worker

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"pawl/controller"
	"pawl/llm"
	"pawl/run"
)

// An objectWire encodes a conversation for a model that answers with one JSON object
// a step: its objects are the assistant's messages, results are the user's words. The
// log's form is the same for both ways, so a run can change between them.
type objectWire struct {
	llm.Provider
	// Of the messages encoded so far: the calls, and what the answers to questions
	// start with.
	calls   map[run.CallID]run.Call
	resumes map[run.CallID]controller.Resume
}

// Encode returns m as words.
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
		results = append(results, controller.Execution{Tool: c.Tool, Call: string(part.Result.Call), Success: !part.Result.IsError,
			Output: stored(part.Result), Delivery: part.Result.Delivery, Arguments: c.Arguments, Text: run.PlainText(part.Result.Content)})
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

// stored is the id of a result's stored output.
func stored(r *run.Result) string {
	if r.Delivery == "" {
		return ""
	}
	return string(r.Call)
}

// object returns an assistant's message as the object that it was, or, of one that
// was said by tool calling, as the object that it would have been.
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

// shortened reports whether compaction has let go of arguments that the object has.
func shortened(calls []run.Call, said []controller.Call) bool {
	for i := range min(len(calls), len(said)) {
		if len(calls[i].Arguments) < len(said[i].Args) {
			return true
		}
	}
	return false
}

// askTool is the tool that a question to the person is a call of.
const askTool = "ask"

// startsWith says what the answer to a question starts with.
func startsWith(r controller.Resume) string {
	if r == controller.Controller {
		return "\n\nDecide on the next action at once."
	}
	return "\n\nLook back at the goal first: does the answer change it, or what was done so far?"
}

// controlled makes sp one for a model that answers with one object a step.
func (sp *speech) controlled(structured bool) {
	sp.objects = true
	wire := objectWire{Provider: sp.provider, calls: map[run.CallID]run.Call{}, resumes: map[run.CallID]controller.Resume{}}
	sp.encoder = llm.NewEncoder(wire, llm.Names{})
	var tools []controller.Tool
	for _, t := range sp.offered {
		if t.Name != askTool { // the object has an action for it
			tools = append(tools, controller.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
	}
	sp.system = controller.System(tools)
	sp.tools, sp.output = nil, nil
	if structured {
		// Where it cannot be had the prompt says the same, and Parse is as strict.
		sp.output, _ = sp.provider.EncodeOutput(json.RawMessage(controller.Schema))
	}
}

// left says at the end of a request what is left of the turn's limits.
func left(s run.State, now time.Time) string {
	l := s.Left(now)
	return controller.Limits(controller.Left{Steps: l.Steps, Calls: l.Calls, Tokens: l.Tokens, Wall: l.Wall, Cost: l.Cost})
}

// plainly returns an answer that was to be words, of a model that has learnt to answer
// with objects, as words.
func plainly(f run.Replied) run.Replied {
	action, _, err := controller.Parse(run.PlainText(f.Parts))
	if err != nil {
		return f
	}
	switch a := action.(type) {
	case controller.Complete:
		f.Parts = []run.Part{run.Text(a.Message)}
	case controller.Respond:
		f.Parts = []run.Part{run.Text(a.Message)}
	}
	return f
}

// chosen reads an answer in controller mode: the answer with its calls, and what
// follows it in the same append.
func (d *Driver) chosen(s run.State, f run.Replied) (run.Replied, []run.Fact) {
	switch f.Stop {
	case run.StopFiltered, run.StopRefusal, run.StopGuardrail, run.StopPause:
		return f, nil
	}
	text := run.PlainText(f.Parts)
	if strings.TrimSpace(text) == "" {
		return f, nil // the run's own remedy for an empty answer
	}
	action, _, err := controller.Parse(text)
	if err != nil {
		var refused *controller.Error
		errors.As(err, &refused) // Parse has no other
		problem, feedback := refused.Message, refused.Feedback()
		if f.Stop == run.StopMaxTokens {
			problem = "Invalid JSON: the answer was cut off at the output limit"
			feedback = "Your last answer was cut off at the output limit, and nothing of it was done. Answer again with one JSON object that is shorter: put less into one call.\n"
		}
		return f, []run.Fact{run.StepRefused{Problem: problem, Feedback: feedback}}
	}
	if f.Stop == run.StopMaxTokens {
		f.Stop = run.StopEndTurn // the object was whole
	}
	if f.Stop == run.StopToolUse {
		f.Stop = run.StopEndTurn // the object says what follows; below, that calls do
	}
	step := run.StepChosen{Kind: run.StepKind(action.Kind()), InPlan: action.About().NextStep, Description: action.About().Description}
	step.Thinking = string(action.About().Thinking)
	var calls []run.Call
	switch a := action.(type) {
	case controller.UseTools:
		for _, c := range a.Calls {
			calls = append(calls, run.Call{Tool: d.speaks.names.Tool(c.Tool), Arguments: c.Args})
		}
		// Where none is left one stays: it is told so, and the turn ends.
		if most := max(s.Left(d.w.now()).Calls, 1); s.Left(d.w.now()).Calls >= 0 && len(calls) > most {
			step.Dropped = len(calls) - most
			calls = calls[:most]
		}
		f.Stop = run.StopToolUse
	case controller.AskUser:
		question := a.Question
		if a.Context != "" {
			question += "\n\n" + a.Context
		}
		args, _ := json.Marshal(map[string]string{"question": question}) // strings can always be encoded
		calls = append(calls, run.Call{Tool: askTool, Arguments: string(args)})
		step.Resume = string(a.Resume)
		f.Stop = run.StopToolUse
	case controller.Respond:
		step.Message = a.Message
	case controller.Complete:
		step.Message = a.Message
	case controller.GuardrailStop:
		step.Reason, step.Message = a.Reason, a.Message
	}
	for i := range calls {
		f.Parts = append(f.Parts, run.Part{Type: run.CallPart, Call: &calls[i]})
	}
	f.Parts = number(f.Parts, s.NextCall())
	var also []run.Fact
	if open, ok := s.OpenPlan(); ok && step.InPlan {
		also = append(also, open)
	}
	also = append(also, step)
	return f, also
}
