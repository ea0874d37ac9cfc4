package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Report says how an answer was read: nothing that changes what is done, but what
// to look at when a model is new or a prompt was changed.
type Report struct {
	JSON  string // the object as it stood in the answer; empty if none was found
	Place Place
	// Normalized has a line for each thing that was not as the schema has it: a
	// wrapper hoisted, an alias renamed. A flat object has none.
	Normalized []string
	Inferred   Kind     // the type of a next_step that did not say it
	Unknown    []string // fields that nobody knows, by path
	Unused     []string // fields that are known and have no part in this action, by path
}

// Flat reports whether the object needed no normalization.
func (r Report) Flat() bool { return r.JSON != "" && len(r.Normalized) == 0 }

func (r *Report) normalized(what string) { r.Normalized = append(r.Normalized, what) }
func (r *Report) unused(path string)     { r.Unused = append(r.Unused, path) }

// Parse reads a model's answer. The same answer always gives the same action or the
// same error. The error is an [*Error]; the report is as complete as reading went.
func Parse(answer string) (Action, Report, error) {
	var r Report
	action, err := parse(answer, &r)
	if err != nil {
		err.Sent = abridge(answer)
		return nil, r, err
	}
	return action, r, nil
}

func parse(answer string, r *Report) (Action, *Error) {
	found, place, err := find(answer)
	if err != nil {
		return nil, err
	}
	r.JSON, r.Place = found.raw, place
	d := decoder{fields: normalize(found, r), report: r}
	action, err := d.action()
	if err != nil {
		return nil, err
	}
	d.leftover(d.fields)
	return action, nil
}

// PlainText returns the words of an answer to a request that wants words: the message of
// an object that completes or responds, or the answer itself. ok is false when it has no
// words, because it is another object.
func PlainText(answer string) (text string, ok bool) {
	action, _, err := Parse(answer)
	switch a := action.(type) {
	case Complete:
		return a.Message, true
	case Respond:
		return a.Message, true
	}
	text = strings.TrimSpace(withoutReasoning(answer))
	if err == nil || text == "" || strings.HasPrefix(text, "{") || slices.ContainsFunc(objects(text).candidates, candidate.decides) {
		return "", false
	}
	return text, true
}

// A typed field is one that holds a kind of value.
type typed struct {
	name string
	kind kind
}

// known are the fields of the object and the kind of value that each holds; args is
// looked at where it is used, and thinking is whatever the model writes.
var known = []typed{
	{"action", jsonString}, {"thinking", ""}, {"type", jsonString}, {"description", jsonString},
	{"tool", jsonString}, {"args", ""}, {"tools", jsonList}, {"message", jsonString}, {"reason", jsonString},
	{"question", jsonString}, {"context", jsonString}, {"resume_to", jsonString},
}

// A decoder makes an action of normalized fields, taking from them what it uses.
type decoder struct {
	fields *fields
	report *Report
}

func (d *decoder) action() (Action, *Error) {
	for _, k := range known {
		if err := d.expect(d.fields, k.name, k.kind); err != nil {
			return nil, err
		}
	}
	action := d.text("action")
	if action == "" {
		return nil, invalid(InvalidOutput, "'action' is missing; it is one of next_step, complete, guardrail_stop, ask_user")
	}
	note := d.note()
	// There is no think step, wherever it is asked for.
	for _, s := range []string{action, d.peek("type")} {
		if thinks(s) {
			return nil, unknownStep(s)
		}
	}
	switch action {
	case "next_step":
		note.NextStep = true
		return d.step(note)
	case "complete":
		a := Complete{Note: note, Message: d.text("message")}
		return a, d.need(a.Message, CompleteMessage)
	case "guardrail_stop":
		a := GuardrailStop{Note: note, Reason: d.text("reason"), Message: d.text("message")}
		return a, d.need(a.Reason, GuardrailReason)
	case "ask_user":
		return d.ask(note, AskQuestion)
	}
	return nil, invalid(InvalidOutput, "there is no action %s; it is one of next_step, complete, guardrail_stop, ask_user", shownName(action))
}

// step decodes a next_step.
func (d *decoder) step(note Note) (Action, *Error) {
	kind := d.text("type")
	if kind == "" {
		if kind = d.infer(); kind == "" {
			return nil, refuse(Undetermined)
		}
		d.report.Inferred = Kind(kind)
	}
	switch Kind(kind) {
	case KindTool:
		calls, err := d.calls()
		return UseTools{Note: note, Calls: calls}, err
	case KindRespond:
		a := Respond{Note: note, Message: d.text("message")}
		return a, d.need(a.Message, StepMessage)
	case KindAskUser:
		return d.ask(note, StepQuestion)
	}
	return nil, unknownStep(kind)
}

// infer returns the type of a step that does not say it, from the first field there
// is; empty if there is none. A description alone says nothing of what to do.
func (d *decoder) infer() string {
	for _, by := range []struct{ field, kind string }{
		{"tools", "tool"}, {"tool", "tool"}, {"question", "ask_user"}, {"message", "respond"},
	} {
		if d.fields.has(by.field) {
			return by.kind
		}
	}
	return ""
}

func unknownStep(kind string) *Error {
	return &Error{Code: UnknownStep, Message: "Unknown step type: " + cut(oneLine(kind), maxName)}
}

// thinks reports whether a name is one that models give to a step of thinking:
// think, Thinking, think_step, THOUGHT.
func thinks(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return strings.HasPrefix(name, "think") || strings.HasPrefix(name, "thought")
}

func (d *decoder) ask(note Note, missing Code) (Action, *Error) {
	a := AskUser{Note: note, Question: d.text("question"), Context: d.text("context"), Resume: Resume(d.text("resume_to"))}
	switch a.Resume {
	case "":
		a.Resume = Reflecting
	case Reflecting, Controller:
	default:
		return nil, invalid(InvalidOutput, "'resume_to' is %s; it is one of reflecting, controller", shownName(string(a.Resume)))
	}
	return a, d.need(a.Question, missing)
}

// need returns an error when a companion of the action is missing.
func (d *decoder) need(companion string, missing Code) *Error {
	if companion == "" {
		return refuse(missing)
	}
	return nil
}

// calls decodes tool with args, then tools.
func (d *decoder) calls() ([]Call, *Error) {
	var calls []Call
	if d.fields.has("tool") {
		call, err := d.call(d.fields)
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	tools, _ := d.fields.take("tools")
	for i, item := range tools.value.items {
		path := fmt.Sprintf("%s[%d]", tools.path, i)
		if item.kind != jsonObject {
			return nil, invalid(InvalidOutput, "'%s' is %s; an entry is an object with tool and args", path, item.kind)
		}
		entry := present(item, path+".")
		rename(entry, entryAliases, d.report)
		if err := d.expect(entry, "tool", jsonString); err != nil {
			return nil, err
		}
		if !entry.has("tool") {
			return nil, &Error{Code: StepToolAt, Message: fmt.Sprintf("next_step type=tool requires non-empty tool name at tools[%d]", i)}
		}
		call, err := d.call(entry)
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
		d.leftover(entry)
	}
	if len(calls) == 0 {
		return nil, refuse(StepTool)
	}
	return calls, nil
}

// call decodes one call of an object that has a tool.
func (d *decoder) call(f *fields) (Call, *Error) {
	tool, _ := f.take("tool")
	args, ok := f.take("args")
	if !ok {
		return Call{Tool: tool.value.text, Args: "{}"}, nil
	}
	switch args.value.kind {
	case jsonObject:
		return Call{Tool: tool.value.text, Args: args.value.raw}, nil
	case jsonString:
		held, err := readWhole(args.value.text)
		switch {
		case err != nil:
			line, column := position(args.value.text, err.at)
			e := invalid(InvalidArgs, "'%s' of tool %s is a string that does not hold a JSON object: line %d, column %d: %s", args.path, shownName(tool.value.text), line, column, err.what)
			e.Near = near(args.value.text, err.at)
			return Call{}, e
		case held.kind != jsonObject:
			return Call{}, invalid(InvalidArgs, "'%s' of tool %s is a string that holds %s; it has to hold a JSON object", args.path, shownName(tool.value.text), held.kind)
		}
		return Call{Tool: tool.value.text, Args: held.raw}, nil
	}
	return Call{}, invalid(InvalidArgs, "'%s' of tool %s is %s; it is a JSON object, or a string that holds one", args.path, shownName(tool.value.text), args.value.kind)
}

// note takes what stands beside every action.
func (d *decoder) note() Note {
	note := Note{Description: d.text("description")}
	if thinking, ok := d.fields.take("thinking"); ok {
		note.Thinking = json.RawMessage(thinking.value.raw)
	}
	return note
}

// expect returns an error when a field is there and of another kind.
func (d *decoder) expect(f *fields, name string, want kind) *Error {
	v, ok := f.byName[name]
	if !ok || want == "" || v.value.kind == want {
		return nil
	}
	return invalid(InvalidOutput, "'%s' is %s; it has to be %s", v.path, v.value.kind, want)
}

// text takes a field that holds a string; empty when it is absent.
func (d *decoder) text(name string) string {
	f, _ := d.fields.take(name)
	return f.value.text
}

// peek returns what text would, and takes nothing.
func (d *decoder) peek(name string) string { return d.fields.byName[name].value.text }

// leftover reports the fields that nothing has taken, in the order they were sent.
func (d *decoder) leftover(f *fields) {
	for _, name := range f.order {
		left, ok := f.take(name)
		switch {
		case !ok:
		case f == d.fields && slices.ContainsFunc(known, func(k typed) bool { return k.name == name }):
			d.report.unused(left.path)
		default:
			d.report.Unknown = append(d.report.Unknown, left.path)
		}
	}
}
