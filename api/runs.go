package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"pawl/app"
	"pawl/board"
	"pawl/config"
	"pawl/forms"
	"pawl/report"
	"pawl/run"
	"pawl/runlog"
	"pawl/tasklog"
	"pawl/tool"
)

// RunInput is the path of a run.
type RunInput struct {
	Run run.ID `path:"run" maxLength:"80" pattern:"^[a-z0-9_-]+$" patternDescription:"the id of a run, of a-z, 0-9, _ and -" doc:"The id of the run"`
}

// CallInput is the path of a call of a run.
type CallInput struct {
	Call run.CallID `path:"call" pattern:"^c_[0-9]+$" patternDescription:"the id of a call, as c_1" maxLength:"100" doc:"The id of the call"`
}

const tagRuns = "runs"

// runOperations registers what reads, starts, changes and removes runs.
func (s *Server) runOperations() {
	// The data of an event is an object that keeps the order of its members.
	data, _ := reflect.TypeFor[forms.EventLine]().FieldByName("Data")
	s.document.Components.Schemas.RegisterTypeAlias(data.Type, reflect.TypeFor[map[string]any]())

	handle(s, operation{method: http.MethodGet, path: "/runs", id: "list-runs", tag: tagRuns,
		summary: "List runs", more: "The one used last first, without those that other runs have started."}, s.listRuns)
	handle(s, operation{method: http.MethodPost, path: "/runs", id: "start-run", tag: tagRuns, status: http.StatusCreated, keyed: true, maxBody: maxPrompt,
		summary: "Start a run with a prompt", more: "The response is sent when the prompt is in its log. The server drives the run; follow its events."}, s.startRun)
	handle(s, operation{method: http.MethodGet, path: "/runs/{run}", id: "get-run", tag: tagRuns, summary: "Get a run"}, s.getRun)
	handle(s, operation{method: http.MethodPatch, path: "/runs/{run}", id: "set-run", tag: tagRuns,
		summary: "Change the name, model, effort, mode or tools of a run", more: "The name changes at once, the rest from its next step on, whichever process drives it."}, s.setRun)
	handle(s, operation{method: http.MethodDelete, path: "/runs/{run}", id: "remove-run", tag: tagRuns,
		summary: "Remove a run with everything that it left", more: "A run that a process drives, or that another run needs, is not removed."}, s.removeRun)
	handle(s, operation{method: http.MethodGet, path: "/runs/{run}/items", id: "get-run-items", tag: tagRuns,
		summary: "Get a run as a person saw it", more: "Messages, calls with their state, notices and ends, as pawl runs show --json prints them."}, s.runItems)
	handle(s, operation{method: http.MethodGet, path: "/runs/{run}/log", id: "get-run-log", tag: tagRuns,
		summary: "Get the events of a run", more: "Events with the numbers 1, 2, 3 … without gaps, as pawl runs log --json prints them."}, s.runLog)
	handle(s, operation{method: http.MethodGet, path: "/runs/{run}/why", id: "explain-run", tag: tagRuns,
		summary: "Say what a run waits for and what to do next"}, s.whyRun)
	handle(s, operation{method: http.MethodGet, path: "/runs/{run}/verify", id: "verify-run", tag: tagRuns,
		summary: "Check that the log of a run is complete and unchanged", more: "A log that is not is an error with the first event that is wrong."},
		func(ctx context.Context, in *RunInput) (forms.VerifyForm, error) {
			n, err := s.ws.Verify(ctx, in.Run)
			return forms.VerifyForm{Run: in.Run, Events: n}, err
		})
	s.exportOperation()
	handle(s, operation{method: http.MethodPost, path: "/runs/{run}/fork", id: "fork-run", tag: tagRuns, status: http.StatusCreated,
		summary: "Copy a run up to an event into a new run", more: "Files are not copied: the new run works in the same folder as it is now."}, s.forkRun)
	handle(s, operation{method: http.MethodPost, path: "/runs/{run}/undo", id: "undo-run", tag: tagRuns,
		summary: "Restore the files that a run changed", more: "A file that was changed since is skipped and named. The run must not be driven."}, s.undoRun)
	handle(s, operation{method: http.MethodGet, path: "/runs/{run}/diff", id: "diff-run", tag: tagRuns,
		summary: "Get what the edits of a run have changed", more: "Each file as it was before the first edit and after the last one, as a unified difference."}, s.diffRun)
	s.runActions()
}

type listRunsInput struct {
	OffsetInput
	State []runlog.Condition `query:"state,explode" enum:"new,working,waiting,killed,ended" doc:"Only these"`
	End   []run.End          `query:"end,explode" enum:"completed,asked,interrupted,limit_reached,guardrail_stopped,loop_stopped,refused,failed" doc:"Only those whose last turn ended so"`
	Model string             `query:"model" doc:"Only those with this model"`
	Text  string             `query:"text" doc:"Only those that have this text in their name, title or id"`
	All   bool               `query:"all" doc:"Those of all folders, each with its folder; only those of this folder can be opened here"`
	Since string             `query:"since" doc:"Only those that were used after this time: 36h or 7d (ago), or a day such as 2026-11-20"`
}

func (s *Server) listRuns(ctx context.Context, in *listRunsInput) (forms.List[forms.RunForm], error) {
	after, err := since("since", in.Since)
	if err != nil {
		return forms.List[forms.RunForm]{}, err
	}
	most := in.Offset + in.Limit + 1
	if len(in.State)+len(in.End) > 0 || in.Model+in.Text != "" {
		most = 0 // what fits may be anywhere
	}
	list := func() ([]runlog.Run, error) { return s.ws.Runs(ctx, most) }
	if in.All {
		list = func() ([]runlog.Run, error) { return runlog.All(ctx, s.ws.Options().Env) }
	}
	all, err := list()
	if err != nil {
		return forms.List[forms.RunForm]{}, err
	}
	text := strings.ToLower(in.Text)
	all = slices.DeleteFunc(all, func(r runlog.Run) bool {
		return len(in.State) > 0 && !slices.Contains(in.State, r.Condition) || len(in.End) > 0 && !slices.Contains(in.End, r.End) ||
			in.Model != "" && r.Model != in.Model || r.Updated.Before(after) ||
			!strings.Contains(strings.ToLower(r.Name+"\n"+r.Title+"\n"+string(r.ID)), text)
	})
	some := page(all, in.OffsetInput)
	return forms.List[forms.RunForm]{Items: forms.Forms(some.Items, forms.RunFormOf), Next: some.Next}, nil
}

// since returns a time of a query; zero if it is empty.
func since(field, text string) (time.Time, error) {
	at, err := config.ParseSince(text, time.Now())
	if err != nil {
		return at, invalid(field, err.Error())
	}
	return at, nil
}

// LimitsInput are those of each turn; a limit that is left out is that of the settings.
type LimitsInput struct {
	Steps  int     `json:"steps,omitempty" minimum:"1"`
	Calls  int     `json:"calls,omitempty" minimum:"1"`
	Wall   int64   `json:"wall_ms,omitempty" minimum:"1"`
	Tokens int64   `json:"tokens,omitempty" minimum:"1"`
	Cost   float64 `json:"cost,omitempty" exclusiveMinimum:"0" doc:"US dollars"`
}

type startRunInput struct {
	Body struct {
		Prompt string       `json:"prompt" minLength:"1" maxLength:"1000000" doc:"What is said to the agent"`
		Agent  string       `json:"agent,omitempty" doc:"The agent that works; none: the tools and instructions of the settings"`
		Model  string       `json:"model,omitempty" doc:"As provider/name; none: that of the agent, or of the settings"`
		Mode   string       `json:"mode,omitempty" enum:"default,accept-edits,plan,auto,bypass" doc:"The permission mode"`
		Name   string       `json:"name,omitempty" doc:"What the run is called"`
		Limits *LimitsInput `json:"limits,omitempty"`
		// Output is kept as it was written: the order of its members is part of what the model reads.
		Output *SchemaInput `json:"output_schema,omitempty" doc:"The result is JSON that fits this JSON Schema, or the run fails"`
		FilesInput
	}
}

// A SchemaInput is a JSON Schema as it was written.
type SchemaInput struct{ json.RawMessage }

// Schema implements [huma.SchemaProvider].
func (SchemaInput) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// FilesInput are files that are attached to words.
type FilesInput struct {
	Attachments []FileInput `json:"attachments,omitempty" maxItems:"20" doc:"Texts and pictures are part of the prompt, within bounds; of other files the agent is told the name"`
}

// A FileInput is a file.
type FileInput struct {
	Name    string `json:"name" minLength:"1" maxLength:"1000"`
	Content []byte `json:"content" doc:"Base64"`
}

// maxPrompt bounds the body of a request with files, in bytes: Base64 makes them longer by a third.
const maxPrompt = DefaultBody + tasklog.MaxAttachment/3*4

// files returns the files that are attached.
func (in FilesInput) files() ([]board.File, error) {
	var files []board.File
	for _, f := range in.Attachments {
		if len(f.Content) > tasklog.MaxAttachment {
			return nil, &board.TooLargeError{Name: f.Name}
		}
		files = append(files, board.File{Name: f.Name, Content: f.Content})
	}
	return files, nil
}

// said returns what an agent is given for what a client says to a run, with files attached.
func (s *Server) said(ctx context.Context, typed app.Typed, of run.State, files []board.File) ([]run.Part, error) {
	if typed.Command == nil {
		return board.Words(ctx, run.Text(typed.Words), files), nil
	}
	said, err := s.ws.Parts(ctx, typed, of, nil)
	if err != nil {
		return nil, err
	}
	return slices.Concat(board.Words(ctx, said.Parts[0], files), said.Parts[1:]), nil
}

func (s *Server) startRun(ctx context.Context, in *startRunInput) (forms.RunForm, error) {
	b := in.Body
	if strings.TrimSpace(b.Prompt) == "" {
		return forms.RunForm{}, invalid("prompt", "it is empty")
	}
	if b.Mode != "" {
		if p := needs(ctx, Administer, "another mode than that of the settings"); p != nil {
			return forms.RunForm{}, p
		}
	}
	t := app.Task{Agent: b.Agent, Model: b.Model, Mode: b.Mode, Name: b.Name}
	if l := b.Limits; l != nil {
		t.Limits = run.Limits{Steps: l.Steps, Calls: l.Calls, Wall: time.Duration(l.Wall) * time.Millisecond, Tokens: l.Tokens, Cost: l.Cost}
	}
	if b.Output != nil {
		var err error
		if t.Output, _, err = tool.OutputOf(b.Output.RawMessage); err != nil {
			return forms.RunForm{}, invalid("output_schema", err.Error())
		}
	}
	if key := requestOf(ctx).key; key != "" { // the same key is the same run, even after a kill
		t.Run = run.ID("api-" + key[:20])
		if r, err := s.ws.Run(ctx, t.Run); err == nil {
			return forms.RunFormOf(r), nil
		}
	}
	files, err := b.files()
	if err == nil {
		t.Typed, err = s.ws.Typed(ctx, b.Prompt)
	}
	if err != nil {
		return forms.RunForm{}, err
	}
	id, err := s.driver.start(ctx, t, func(of run.State) ([]run.Part, error) { return s.said(ctx, t.Typed, of, files) })
	if err != nil {
		return forms.RunForm{}, agentInput(err)
	}
	return s.getRun(ctx, &RunInput{id})
}

func (s *Server) getRun(ctx context.Context, in *RunInput) (forms.RunForm, error) {
	r, err := s.ws.Run(ctx, in.Run)
	if err != nil {
		return forms.RunForm{}, err
	}
	return forms.RunFormOf(r), nil
}

type setRunInput struct {
	RunInput
	Body struct {
		Name   *string  `json:"name,omitempty" doc:"Empty: it has no name any more"`
		Model  string   `json:"model,omitempty"`
		Effort string   `json:"effort,omitempty" doc:"How much the model thinks"`
		Mode   string   `json:"mode,omitempty" enum:"default,accept-edits,plan,auto,bypass"`
		Grant  []string `json:"grant,omitempty" doc:"Tools that it may call from now on"`
		Revoke []string `json:"revoke,omitempty" doc:"Tools that it may not call any more"`
	}
}

func (s *Server) setRun(ctx context.Context, in *setRunInput) (forms.SetForm, error) {
	b := in.Body
	form := forms.SetForm{Run: in.Run, Model: b.Model, Mode: b.Mode, Effort: b.Effort}
	_, state, err := s.ws.Load(ctx, in.Run)
	if err != nil {
		return form, err
	}
	var c run.ConfigChange
	if b.Model != "" {
		if c, err = s.ws.ModelChange(ctx, b.Model); err != nil {
			return form, err
		}
	}
	if b.Effort != "" {
		if err := config.OneOf(config.Efforts...)(b.Effort); err != nil {
			return form, invalid("effort", err.Error())
		}
		c.Effort = &b.Effort
	}
	if b.Mode != "" {
		c.Mode = &b.Mode
	}
	if len(b.Grant)+len(b.Revoke) > 0 {
		if form.Tools, err = s.ws.Grants(state, b.Grant, b.Revoke); err != nil {
			return form, err
		}
		c.Tools = &form.Tools
	}
	if !reflect.DeepEqual(c, run.ConfigChange{}) {
		if err := s.ws.Set(ctx, in.Run, c); err != nil {
			return form, err
		}
	}
	if b.Name != nil {
		form.Name = *b.Name
		if err := run.CheckName(form.Name); err != nil {
			return form, invalid("name", err.Error())
		}
		return form, s.ws.Rename(ctx, in.Run, form.Name)
	}
	return form, nil
}

type removeRunInput struct {
	RunInput
	DryRun bool `query:"dry_run" doc:"Say what would be removed, and remove nothing"`
}

func (s *Server) removeRun(ctx context.Context, in *removeRunInput) (forms.RemovedForm, error) {
	removed, err := s.ws.Remove(ctx, in.Run, in.DryRun)
	return forms.RemovedFormOf(removed, in.DryRun), err
}

type itemsInput struct {
	RunInput
	Results bool  `query:"results" doc:"With the results of calls"`
	After   int64 `query:"after" minimum:"0" doc:"Only items that an event after this one has made or changed"`
}

func (s *Server) runItems(ctx context.Context, in *itemsInput) (forms.ShownRun, error) {
	events, state, err := s.ws.Load(ctx, in.Run)
	if len(events) == 0 {
		return forms.ShownRun{}, err
	}
	return forms.ShowRun(ctx, s.ws, events, state, in.Results, in.After) // as far as a damaged log can be read
}

type logInput struct {
	RunInput
	FromInput
}

func (s *Server) runLog(ctx context.Context, in *logInput) (Events[forms.EventLine], error) {
	lines, from := s.logPages.take(in.Run, in.From)
	var some []forms.EventLine
	for e, err := range s.ws.Events(ctx, in.Run, from) {
		if err != nil {
			return eventPage(some, in.FromInput), err
		}
		line := lines.Event(e)
		if e.Seq > in.From {
			some = append(some, line)
		}
		if len(some) > in.Limit {
			s.logPages.put(in.Run, in.From+int64(in.Limit), lines)
			break
		}
	}
	return eventPage(some, in.FromInput), nil
}

// A logPages keeps what the lines of events after the pages that were read last need of the events
// before them, so that a log is read through once, however many pages it is read in.
type logPages struct {
	mu   sync.Mutex
	next map[logPage]*forms.Lines
}

// A logPage is the place in a log where a page begins: after the event with the number.
type logPage struct {
	run   run.ID
	after int64
}

// maxLogPages bounds how many logs are read in pages at once without reading what was before the page.
const maxLogPages = 16

// take returns what makes lines of the events after the number from, which is after or, if that is not known, 0.
func (p *logPages) take(id run.ID, after int64) (lines *forms.Lines, from int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := logPage{id, after}
	if lines = p.next[at]; lines == nil {
		return &forms.Lines{}, 0
	}
	delete(p.next, at)
	return lines, after
}

// put keeps what makes lines of the events after a number.
func (p *logPages) put(id run.ID, after int64, lines *forms.Lines) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other := range p.next {
		if len(p.next) >= maxLogPages {
			delete(p.next, other) // whichever: the page is read from the start of the log then
		}
	}
	if p.next == nil {
		p.next = map[logPage]*forms.Lines{}
	}
	p.next[logPage{id, after}] = lines
}

func (s *Server) whyRun(ctx context.Context, in *RunInput) (report.WhyForm, error) {
	y, err := report.WhyOf(ctx, s.ws, in.Run)
	if err != nil {
		return report.WhyForm{}, err
	}
	return report.WhyFormOf(y), nil
}

type exportInput struct {
	RunInput
	Format string `query:"format" enum:"json,markdown,html,script" default:"json"`
}

// exportTypes are the content types of exports. A page of HTML is not shown by a browser, but
// saved: it has what models and tools wrote.
var exportTypes = map[string]string{"markdown": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8", "script": "text/plain; charset=utf-8"}

// exportOperation registers the export of a run, whose type depends on the format.
func (s *Server) exportOperation() {
	d := s.describe(operation{method: http.MethodGet, path: "/runs/{run}/export", id: "export-run", tag: tagRuns, summary: "Export a whole run",
		more: "As JSON, Markdown, HTML, or a script that replays the answers of its model."})
	content := map[string]*huma.MediaType{"application/json": {Schema: s.schema(reflect.TypeFor[forms.ExportForm](), "")}}
	for _, t := range exportTypes {
		kind, _, _ := strings.Cut(t, ";")
		content[kind] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	header := func() *huma.Header { return &huma.Header{Schema: &huma.Schema{Type: huma.TypeString}} }
	d.Responses = map[string]*huma.Response{"200": {Description: "The run", Content: content,
		Headers: map[string]*huma.Header{"Content-Type": header(), "Content-Disposition": header()}}}
	s.register(d, reflect.TypeFor[exportInput](), reflect.TypeFor[sender](), func(ctx context.Context, input any) (any, error) {
		in := input.(*exportInput)
		events, _, err := s.ws.Load(ctx, in.Run)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		kind := "application/json"
		if in.Format == "json" {
			err = strictJSON.Marshal(&b, forms.ExportFormOf(in.Run, events))
		} else {
			kind = exportTypes[in.Format]
			err = report.Export(&b, in.Format, events)
		}
		return sender(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Disposition", "attachment")
			_, _ = w.Write(b.Bytes()) // a client that is gone needs no more
		}), err
	})
}

type forkInput struct {
	RunInput
	Body *struct {
		At    int64  `json:"at,omitempty" minimum:"0" doc:"Copy up to this event; 0: all"`
		Model string `json:"model,omitempty" doc:"The model of the new run; none: the same"`
	}
}

func (s *Server) forkRun(ctx context.Context, in *forkInput) (forms.ForkForm, error) {
	at, model := int64(0), ""
	if in.Body != nil {
		at, model = in.Body.At, in.Body.Model
	}
	to, err := s.ws.Fork(ctx, in.Run, at, model)
	if err != nil {
		return forms.ForkForm{}, err
	}
	_, state, err := s.ws.Load(ctx, to)
	return forms.ForkFormOf(state), err
}

type undoInput struct {
	RunInput
	Body *struct {
		To     int64 `json:"to,omitempty" minimum:"0" doc:"Undo what was done after this event; 0: all"`
		DryRun bool  `json:"dry_run,omitempty" doc:"Restore nothing; the answer has what would be restored"`
	}
}

func (s *Server) undoRun(ctx context.Context, in *undoInput) (forms.UndoForm, error) {
	to, dry := int64(0), false
	if in.Body != nil {
		to, dry = in.Body.To, in.Body.DryRun
	}
	report, err := s.ws.Undo(ctx, in.Run, to, dry)
	return forms.UndoFormOf(in.Run, report, dry), err
}

func (s *Server) diffRun(ctx context.Context, in *RunInput) (report.DiffForm, error) {
	return report.Diff(ctx, s.ws, in.Run)
}

// runActions registers what a person says to a run and decides in it.
func (s *Server) runActions() {
	handle(s, operation{method: http.MethodPost, path: "/runs/{run}/prompt", id: "prompt-run", tag: tagRuns, keyed: true, maxBody: maxPrompt,
		summary: "Say something to the agent", more: "It begins a turn, or answers the open question. While a turn is open it is delivered with the next results, to an external agent when its turn has ended."},
		func(ctx context.Context, in *RunWordsInput) (RunMessage, error) { return s.say(ctx, in, run.Steer) })
	handle(s, operation{method: http.MethodPost, path: "/runs/{run}/steer", id: "steer-run", tag: tagRuns, keyed: true, maxBody: maxPrompt,
		summary: "Say something to the agent at work", more: "It is delivered with the next results, to an external agent when its turn has ended. Without an open turn it is an error."},
		func(ctx context.Context, in *RunWordsInput) (RunMessage, error) {
			if err := s.turnOpen(ctx, in.Run); err != nil {
				return RunMessage{}, err
			}
			return s.say(ctx, in, run.Steer)
		})
	handle(s, operation{method: http.MethodPost, path: "/runs/{run}/queue", id: "queue-message", tag: tagRuns, keyed: true, maxBody: maxPrompt,
		summary: "Say something that the agent is told when its turn has ended", more: "Without an open turn it begins one."},
		func(ctx context.Context, in *RunWordsInput) (RunMessage, error) { return s.say(ctx, in, run.Queue) })
	handle(s, operation{method: http.MethodGet, path: "/runs/{run}/queue", id: "list-messages", tag: tagRuns,
		summary: "List the messages that were not delivered yet"}, s.messages)
	handle(s, operation{method: http.MethodDelete, path: "/runs/{run}/queue/{message}", id: "withdraw-message", tag: tagRuns,
		summary: "Take back a message that was not delivered yet"}, s.withdraw)
	handle(s, operation{method: http.MethodPost, path: "/runs/{run}/continue", id: "continue-run", tag: tagRuns,
		summary: "Let an open turn that no process drives continue"}, s.continueRun)
	handle(s, operation{method: http.MethodPost, path: "/runs/{run}/interrupt", id: "interrupt-run", tag: tagRuns,
		summary: "Interrupt a run and wait until its turn has ended", more: "A turn that was left open by a process that was killed is ended too. The run can be continued afterwards."},
		func(ctx context.Context, in *RunInput) (forms.StopForm, error) {
			end, stopped, err := s.ws.Stop(ctx, in.Run, run.ByPerson, by(ctx))
			return forms.StopForm{Run: in.Run, Stopped: stopped, End: end}, err
		})
	handle(s, operation{method: http.MethodGet, path: "/runs/{run}/approvals", id: "list-approvals", tag: tagRuns,
		summary: "List the calls that wait for a person", more: "Each with what it would do, why it needs approval, the rules that always would store, and the digest to decide with."},
		func(ctx context.Context, in *RunInput) (forms.WaitingForm, error) {
			all, err := s.ws.Approvals(ctx, in.Run)
			return forms.WaitingFormOf(in.Run, all), err
		})
	handle(s, operation{method: http.MethodPost, path: "/runs/{run}/approvals/{call}", id: "decide-call", tag: tagRuns, keyed: true,
		summary: "Decide on a call that waits for a person", more: "The first answer counts. always and never store a rule; wait interrupts the turn, and the message says what to do instead; no refuses the call once."},
		func(ctx context.Context, in *DecideInput) (forms.DecidedForm, error) {
			return s.decide(ctx, in.Run, in.Call, in.Body)
		})
	handle(s, operation{method: http.MethodGet, path: "/runs/{run}/questions", id: "list-questions", tag: tagRuns,
		summary: "List the questions that the agent has asked"},
		func(ctx context.Context, in *RunInput) (forms.List[runlog.Question], error) {
			_, state, err := s.ws.Load(ctx, in.Run)
			return forms.ListOf(questionsOf(state)), err
		})
	handle(s, operation{method: http.MethodPost, path: "/runs/{run}/questions/{call}", id: "answer-question", tag: tagRuns, keyed: true, maxBody: maxPrompt,
		summary: "Answer a question of the agent"}, s.answer)
}

// RunWordsInput is something said to a run.
type RunWordsInput struct {
	RunInput
	Body struct {
		Text string `json:"text" minLength:"1" maxLength:"1000000"`
		FilesInput
	}
}

// A RunMessage is a message to a run, as JSON.
type RunMessage struct {
	Run     run.ID `json:"run"`
	Message string `json:"message"` // its id, to withdraw it with
	Taken   bool   `json:"taken"`   // it is in the log; false: it waits in the inbox, which the process that drives the run has not read
}

// say says something to a run and waits until that is in its log.
func (s *Server) say(ctx context.Context, in *RunWordsInput, delivery run.Delivery) (RunMessage, error) {
	if strings.TrimSpace(in.Body.Text) == "" {
		return RunMessage{}, invalid("text", "it is empty")
	}
	id := ""
	if key := requestOf(ctx).key; key != "" { // a message is taken once
		id = "api-" + key[:20]
	}
	files, err := in.Body.files()
	if err != nil {
		return RunMessage{}, err
	}
	typed, err := s.ws.Typed(ctx, in.Body.Text)
	if err != nil {
		return RunMessage{}, err
	}
	var of run.State
	if typed.Command != nil {
		if _, of, err = s.ws.Load(ctx, in.Run); err != nil {
			return RunMessage{}, err
		}
	}
	parts, err := s.said(ctx, typed, of, files)
	if err != nil {
		return RunMessage{}, err
	}
	id, err = s.ws.Say(ctx, in.Run, delivery, id, parts...)
	if err != nil {
		return RunMessage{}, err
	}
	taken, err := s.driver.deliver(ctx, in.Run, id)
	return RunMessage{in.Run, id, taken}, err
}

// turnOpen returns a problem unless the turn of a run is open.
func (s *Server) turnOpen(ctx context.Context, id run.ID) error {
	r, err := s.ws.Run(ctx, id)
	if err == nil && (r.Turns == 0 || r.End != "") {
		err = &Problem{Status: http.StatusConflict, Code: "NO_OPEN_TURN", Message: "the run has no open turn: a prompt begins one"}
	}
	return err
}

// A RunQueued is a message to a run that was not delivered yet, as JSON.
type RunQueued struct {
	Message  string       `json:"message"`
	Text     string       `json:"text"`
	Delivery run.Delivery `json:"delivery"` // steer, queue
}

func (s *Server) messages(ctx context.Context, in *RunInput) (forms.List[RunQueued], error) {
	_, state, err := s.ws.Load(ctx, in.Run)
	list := forms.List[RunQueued]{Items: []RunQueued{}}
	for _, w := range state.Turn.Pending() {
		list.Items = append(list.Items, RunQueued{w.ID, run.PlainText(w.Parts), run.Steer})
	}
	for _, w := range state.Queue {
		list.Items = append(list.Items, RunQueued{w.ID, run.PlainText(w.Parts), run.Queue})
	}
	return list, err
}

type withdrawInput struct {
	RunInput
	Message string `path:"message" maxLength:"200"`
}

func (s *Server) withdraw(ctx context.Context, in *withdrawInput) (RunMessage, error) {
	is := func(m RunQueued) bool { return m.Message == in.Message }
	list, err := s.messages(ctx, &in.RunInput)
	if err != nil {
		return RunMessage{}, err
	}
	if !slices.ContainsFunc(list.Items, is) {
		return RunMessage{}, notFound("there is no message " + in.Message + " that waits to be delivered")
	}
	if err := s.ws.Withdraw(ctx, in.Run, in.Message); err != nil {
		return RunMessage{}, err
	}
	taken, err := s.driver.deliver(ctx, in.Run, "withdraw-"+in.Message)
	if err == nil && taken {
		if list, err = s.messages(ctx, &in.RunInput); err == nil && slices.ContainsFunc(list.Items, is) {
			err = &Problem{Status: http.StatusConflict, Code: "NOT_WITHDRAWN", Message: "the message was not taken back"}
		}
	}
	return RunMessage{in.Run, in.Message, taken}, err
}

func (s *Server) continueRun(ctx context.Context, in *RunInput) (forms.RunForm, error) {
	if err := s.turnOpen(ctx, in.Run); err != nil {
		return forms.RunForm{}, err
	}
	if err := s.driver.ensure(ctx, in.Run); err != nil {
		return forms.RunForm{}, err
	}
	return s.getRun(ctx, in)
}

func questionsOf(s run.State) []runlog.Question {
	return forms.Forms(s.Questions(), runlog.QuestionOf)
}

// answerRunning answers what a call asks while it runs.
func (s *Server) answerRunning(ctx context.Context, in *answerInput) (RunMessage, error) {
	if strings.TrimSpace(in.Body.Text) == "" {
		return RunMessage{}, invalid("text", "it is empty")
	}
	a, err := s.ws.Attach(ctx, in.Run)
	if err == nil {
		err = a.Answer(ctx, runlog.Question{Call: in.Call}, run.Text(in.Body.Text))
	}
	return RunMessage{in.Run, string(in.Call), err == nil}, err
}

type answerInput struct {
	RunWordsInput
	CallInput
}

func (s *Server) answer(ctx context.Context, in *answerInput) (RunMessage, error) {
	_, state, err := s.ws.Load(ctx, in.Run)
	if err != nil {
		return RunMessage{}, err
	}
	open := questionsOf(state)
	if state.Turn.Open() && slices.ContainsFunc(state.Answerable(), func(c run.CallState) bool { return c.ID == in.Call }) {
		return s.answerRunning(ctx, in)
	}
	switch at := slices.IndexFunc(open, func(q runlog.Question) bool { return q.Call == in.Call }); {
	case at < 0:
		return RunMessage{}, notFound("no question " + string(in.Call) + " of the run is open")
	case at > 0:
		return RunMessage{}, &Problem{Status: http.StatusConflict, Code: "ANSWER_FIRST", Message: "answer question " + string(open[0].Call) + " first"}
	}
	return s.say(ctx, &in.RunWordsInput, run.Steer)
}
