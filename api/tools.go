package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"pawl/forms"
	"pawl/internal/text"
	"pawl/request"
	"pawl/run"
	"pawl/submission"
	"pawl/task"
	"pawl/tasklog"
	"pawl/tool"
)

// ToolRunInput says which run of a task it is about.
type ToolRunInput struct {
	TaskInput
	Run run.ID `query:"run" maxLength:"100" doc:"A run of the task; the one at work, or else the last one, unless it is given. The token of a run is of that run alone"`
}

// of returns the run that is meant, and the assignment that its token is for; 0: any.
func (in ToolRunInput) of(ctx context.Context, state task.State) (task.Run, int, error) {
	c := requestOf(ctx).caller
	id := in.Run
	if !c.person {
		if id != "" && id != c.run {
			return task.Run{}, 0, forbidden("FORBIDDEN", "the token is that of another run")
		}
		id = c.run
	}
	if id == "" {
		id = state.Status.Run
	}
	if n := len(state.Chain); n > 0 && id == "" {
		id = state.Chain[n-1].ID
	}
	if r, ok := state.Run(id); ok {
		return r, c.assignment, nil
	}
	if !c.person {
		return task.Run{}, 0, forbidden("FORBIDDEN", "the token is that of a run of another task")
	}
	return task.Run{}, 0, notFound("the task has no such run")
}

// expired returns a problem if the token of the caller is for an assignment that is over.
func expired(r task.Run, assignment int) error {
	if assignment != 0 && (r.Ended || assignment != len(r.Assignments)) {
		return &Problem{Status: http.StatusUnauthorized, Code: "TOKEN_EXPIRED", Message: "the run of this token has ended, or was given something else to do"}
	}
	return nil
}

// A ToolHelp is a tool with its help as JSON.
type ToolHelp struct {
	forms.ToolForm
	Help string `json:"help"`
}

// A ToolAnswer is the answer to a call: of a tool that submits a result when it was accepted,
// of any other its result.
type ToolAnswer struct {
	Run  run.ID `json:"run"`
	Tool string `json:"tool"`
	// Of a result that was submitted.
	AcceptedAt *time.Time `json:"accepted_at,omitempty"`
	Duplicate  *bool      `json:"duplicate,omitempty"` // it was accepted before, in the same request
	// Of any other tool.
	Text    *string `json:"text,omitempty"`
	IsError *bool   `json:"is_error,omitempty"`
}

// A RunTokenForm is the token of a run as JSON.
type RunTokenForm struct {
	Run   run.ID `json:"run"`
	Token string `json:"token"`
}

// callPatience is how long a call of a tool is waited for. A request with the same key waits
// on.
const callPatience = 10 * time.Minute

// toolOperations registers the tools of the runs of a task.
func (s *Server) toolOperations() {
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}/tools", id: "list-task-tools", tag: tagTasks, runs: true,
		summary: "List the tools of a run of a task"},
		func(ctx context.Context, in *ToolRunInput) (forms.List[forms.ToolForm], error) {
			specs, err := s.specs(ctx, *in)
			return forms.ToolForms(specs), err
		})
	type helpInput struct {
		ToolRunInput
		Tool string `path:"tool" maxLength:"100"`
	}
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}/tools/{tool}", id: "get-task-tool", tag: tagTasks, runs: true,
		summary: "Explain a tool of a run of a task", more: "The name may have underscores instead of hyphens, as agents have it."},
		func(ctx context.Context, in *helpInput) (ToolHelp, error) {
			specs, err := s.specs(ctx, in.ToolRunInput)
			if err != nil {
				return ToolHelp{}, err
			}
			help, err := tool.HelpOf(specs, in.Tool)
			if err != nil {
				return ToolHelp{}, notFound(err.Error())
			}
			i := slices.IndexFunc(specs, func(t tool.Spec) bool { return wire(t.Name) == wire(in.Tool) })
			return ToolHelp{forms.ToolForm{Name: specs[i].Name, Description: specs[i].Description, Schema: specs[i].Schema}, help}, nil
		})
	type callInput struct {
		ToolRunInput
		RawBody []byte `contentType:"application/json"`
	}
	call := operation{method: http.MethodPost, path: "/tasks/{task}/tools", id: "call-task-tool", tag: tagTasks, runs: true, keyed: true,
		summary: "Call a tool as the agent of a run does", more: `The body is an object with tool, the name, and the arguments beside it, as {"tool": "completion-report", "status": "complete", "summary": "…"}, or in a member input. ` +
			"Results are submitted once for each assignment; a repeat with the same Idempotency-Key gets the first answer. The rules of the run hold: a call may wait for a person's approval."}
	handle(s, call, func(ctx context.Context, in *callInput) (ToolAnswer, error) {
		return s.callTool(ctx, in.ToolRunInput, in.RawBody)
	})
	if op := s.document.Paths[call.path].Post; op.RequestBody != nil {
		yes := any(true)
		op.RequestBody.Content = map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject, Required: []string{"tool"},
			Properties: map[string]*huma.Schema{"tool": {Type: huma.TypeString}, "input": {Type: huma.TypeObject, AdditionalProperties: yes}}, AdditionalProperties: yes}}}
	}
	type grantsInput struct {
		ToolRunInput
		Body struct {
			Add    []string `json:"add,omitempty" doc:"Tools that it may call from now on"`
			Remove []string `json:"remove,omitempty" doc:"Tools that it may not call any more"`
		}
	}
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/grants", id: "grant-task-tools", tag: tagTasks,
		summary: "Change the tools that a run of a task may call", more: "It holds from its next call on, and is checked again when a call starts."},
		func(ctx context.Context, in *grantsInput) (forms.List[forms.ToolForm], error) {
			state, err := s.stateOf(ctx, in.ToolRunInput)
			if err != nil {
				return forms.List[forms.ToolForm]{}, err
			}
			to, err := s.ws.Grants(state, in.Body.Add, in.Body.Remove)
			if err != nil {
				return forms.List[forms.ToolForm]{}, err
			}
			if err := s.ws.Set(ctx, state.Created.Run, run.ConfigChange{Tools: &to}); err != nil {
				return forms.List[forms.ToolForm]{}, err
			}
			state.Config.Tools = to
			return forms.ToolForms(s.ws.RunSpecs(state)), nil
		})
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/run-token", id: "create-run-token", tag: "access", status: http.StatusCreated,
		summary: "Make the token of a run", more: "It reaches the tools of that run and nothing else, and ends with what the run was given to do."},
		func(ctx context.Context, in *ToolRunInput) (RunTokenForm, error) {
			state, err := s.board.Load(ctx, in.Task)
			if err != nil {
				return RunTokenForm{}, err
			}
			r, _, err := in.of(ctx, state)
			if err == nil && len(r.Assignments) == 0 {
				err = invalid("run", "it is a child run, which submits to its parent")
			}
			if err != nil {
				return RunTokenForm{}, err
			}
			return RunTokenForm{r.ID, s.RunToken(r.ID, len(r.Assignments))}, nil
		})
}

// wire returns the name of a tool as agents have it.
func wire(name string) string { return strings.NewReplacer("-", "_", ".", "_").Replace(name) }

// stateOf returns the state of the run that is meant.
func (s *Server) stateOf(ctx context.Context, in ToolRunInput) (run.State, error) {
	t, err := s.board.Load(ctx, in.Task)
	if err != nil {
		return run.State{}, err
	}
	r, assignment, err := in.of(ctx, t)
	if err == nil {
		err = expired(r, assignment)
	}
	if err != nil {
		return run.State{}, err
	}
	_, state, err := s.ws.Load(ctx, r.ID)
	return state, err
}

func (s *Server) specs(ctx context.Context, in ToolRunInput) ([]tool.Spec, error) {
	state, err := s.stateOf(ctx, in)
	if err != nil {
		return nil, err
	}
	return s.ws.RunSpecs(state), nil
}

// callTool makes a call for the agent of a run.
func (s *Server) callTool(ctx context.Context, in ToolRunInput, body []byte) (ToolAnswer, error) {
	if err := checkJSON(body); err != nil {
		return ToolAnswer{}, &Problem{Status: http.StatusBadRequest, Code: "INVALID_JSON", Message: err.Error()}
	}
	name, arguments, err := toolCall(body)
	if err != nil {
		return ToolAnswer{}, err
	}
	t, err := s.board.Load(ctx, in.Task)
	if err != nil {
		return ToolAnswer{}, err
	}
	r, assignment, err := in.of(ctx, t)
	if err != nil {
		return ToolAnswer{}, err
	}
	key := requestOf(ctx).key
	if key == "" {
		key = strings.ToLower(rand.Text())
	}
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	if submission.Reserved(name) {
		if err := s.takes(ctx, t, r.ID, name); err != nil {
			return ToolAnswer{}, err
		}
		tasks, err := s.ws.Tasks()
		if err != nil {
			return ToolAnswer{}, err
		}
		receipt, err := tasks.Submit(ctx, tasklog.Request{Task: in.Task, Run: r.ID, Tool: name, Key: key, Assignment: assignment, Payload: arguments})
		if err != nil {
			return ToolAnswer{}, err
		}
		answer := func(duplicate bool) ToolAnswer {
			return ToolAnswer{Run: receipt.Run, Tool: receipt.Tool, AcceptedAt: &receipt.AcceptedAt, Duplicate: &duplicate}
		}
		requestOf(ctx).repeats = answer(true)
		return answer(receipt.Duplicate), nil
	}
	if err := expired(r, assignment); err != nil {
		return ToolAnswer{}, err
	}
	if r.Ended {
		return ToolAnswer{}, &task.SubmissionError{Kind: task.NotAtWork, Tool: name, Why: "run " + string(r.ID) + " is not at work"}
	}
	state, err := s.stateOf(ctx, in)
	if err != nil {
		return ToolAnswer{}, err
	}
	specs := s.ws.RunSpecs(state)
	if !slices.ContainsFunc(specs, func(t tool.Spec) bool { return wire(t.Name) == wire(name) }) {
		var names []string
		for _, t := range specs {
			names = append(names, t.Name)
		}
		return ToolAnswer{}, &task.SubmissionError{Kind: task.NotGranted, Tool: name, Why: "the tool " + name + " is not granted to run " + string(r.ID) + text.DidYouMean(name, names)}
	}
	if !state.Created.External {
		return ToolAnswer{}, &task.SubmissionError{Kind: notExternal, Tool: name, Why: "run " + string(r.ID) + " works inside of pawl and calls its tools itself"}
	}
	answer, err := s.ws.CallTool(ctx, r.ID, request.Call{Key: key, Tool: name, Arguments: string(arguments)})
	if err != nil {
		return ToolAnswer{}, err
	}
	words := run.PlainText(answer.Content)
	return ToolAnswer{Run: r.ID, Tool: name, Text: &words, IsError: &answer.IsError}, nil
}

// takes returns an error for a result that a run of pawl's own would have to take: such a run
// calls its tools itself. Whether a result is taken that no run has to is decided where it is
// submitted.
func (s *Server) takes(ctx context.Context, t task.State, id run.ID, name string) error {
	if t.Takes(id, strings.ReplaceAll(name, "_", "-")) != nil {
		return nil
	}
	_, state, err := s.ws.Load(ctx, id)
	if err != nil || state.Created.External {
		return err
	}
	return &task.SubmissionError{Kind: notExternal, Tool: name, Why: "run " + string(id) + " works inside of pawl and submits its result itself"}
}

// notExternal is the code of a call for a run that makes its calls itself.
const notExternal = "run_not_external"

// toolCall returns the tool and the arguments of the body of a call.
func toolCall(body []byte) (name string, arguments json.RawMessage, err error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || members == nil {
		return "", nil, invalid("body", `it is an object with tool and the arguments, as {"tool": "completion-report", "status": "complete", "summary": "…"}`)
	}
	if json.Unmarshal(members["tool"], &name) != nil || name == "" {
		return "", nil, invalid("tool", "give the name of the tool")
	}
	delete(members, "tool")
	if input, ok := members["input"]; ok && len(members) == 1 {
		return name, input, nil
	}
	arguments, err = json.Marshal(members)
	return name, arguments, err
}
