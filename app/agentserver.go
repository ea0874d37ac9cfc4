package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/external"
	"pawl/inbox"
	"pawl/internal/build"
	"pawl/llm"
	"pawl/mcp"
	"pawl/request"
	"pawl/run"
	"pawl/submission"
	"pawl/task"
	"pawl/tasklog"
	"pawl/tool"
)

// offered are the tools that external agents have beside those granted by name: the others do
// what their own tools do.
var offered = []string{"ask", "handoff", "agent", "tool_outputs."}

// An agentTool is a tool that is offered to an external agent.
type agentTool struct {
	wire string // as the agent sees it: a-z, 0-9 and _
	spec tool.Spec
	// schema is that of spec in the form that the agent's provider takes.
	schema json.RawMessage
}

// agentTools returns the tools that are offered to the agent of a run, by name, and why others
// are not, a sentence each: their schemas have no form that the agent's provider takes. The
// error says that of the tool that submits the result, without which a turn is of no use.
func (w *Workspace) agentTools(s *settings, state run.State) (tools []agentTool, omitted []string, err error) {
	k, _, _ := w.External(state.Config.Model)
	all := w.withServed(registry(nil, tool.ShellOptions{}, w.delegation(s)))
	granted := state.Config.Tools
	all = all.For(granted, state.Created.Agent != "").With(permissionTool{})
	if o := state.Config.Output; o.Schema != "" {
		if t, err := tool.NewSubmission(o.Tool, []byte(o.Schema)); err == nil {
			all = all.With(t)
		}
	}
	names := llm.NewNames(all.Names())
	for _, spec := range all.Specs() {
		named := granted.Limited() && (slices.Contains(granted.Names(), spec.Name) || strings.HasPrefix(spec.Name, mcp.Prefix) && granted.Has(spec.Name))
		common := slices.ContainsFunc(offered, func(name string) bool {
			return spec.Name == name || strings.HasSuffix(name, ".") && strings.HasPrefix(spec.Name, name)
		})
		if named || common || spec.Name == state.Config.Output.Tool || spec.Name == permissionName && k.PermissionTool {
			adapted, err := k.ToolSchema(spec.Schema)
			switch {
			case err == nil:
				tools = append(tools, agentTool{names.Wire(spec.Name), spec, adapted})
			case spec.Name == state.Config.Output.Tool:
				return nil, nil, fmt.Errorf("the tool %s, which submits the result, cannot be offered to %s: %w", spec.Name, k.Title, err)
			default:
				omitted = append(omitted, fmt.Sprintf("the tool %s is not offered to %s: %v", spec.Name, k.Title, err))
			}
		}
	}
	return tools, omitted, nil
}

// AgentServer returns the MCP server with the tools of a run of an external agent. Each
// request is checked anew: the token must be that of the turn which is at work. patience is
// [external.DecisionPatience], or less in tests.
func (w *Workspace) AgentServer(id run.ID, token string, patience time.Duration) (*mcp.Server, error) {
	if err := w.checkToken(id, token); err != nil {
		return nil, err
	}
	a := &agentServer{w: w, id: id, token: token, patience: patience, session: rand.Text()}
	return &mcp.Server{Name: external.ServerName, Version: build.Version(), Tools: a.tools, Call: a.call}, nil
}

type agentServer struct {
	w        *Workspace
	id       run.ID
	token    string
	patience time.Duration
	session  string // makes the ids of requests unique

	mu   sync.Mutex
	last run.State // when it was last read
}

// state returns the run if a turn of its agent is at work and the token is that turn's.
func (a *agentServer) state(ctx context.Context) (run.State, *settings, error) {
	if err := a.w.checkToken(a.id, a.token); err != nil {
		return run.State{}, nil, err
	}
	s, err := a.w.load()
	if err != nil {
		return run.State{}, nil, err
	}
	state, err := a.load(ctx)
	if err == nil && state.Turn.Phase != run.Requesting {
		err = fmt.Errorf("not granted: no turn of an external agent is at work in run %s", a.id)
	}
	return state, s, err
}

func (a *agentServer) tools() ([]mcp.Tool, error) {
	state, s, err := a.state(context.Background())
	if err != nil {
		return nil, err
	}
	var all []mcp.Tool
	tools, _, err := a.w.agentTools(s, state) // [externalAgents] has reported those that are left out
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		all = append(all, mcp.Tool{Name: t.wire, Description: t.spec.Description, Schema: t.schema})
	}
	return all, nil
}

// call makes a call of the run. What a person has to answer is waited for as long as patience.
func (a *agentServer) call(ctx context.Context, c mcp.Call) (mcp.Result, error) {
	state, s, err := a.state(ctx)
	if err != nil {
		return mcp.Result{}, err
	}
	tools, _, err := a.w.agentTools(s, state)
	if err != nil {
		return mcp.Result{}, err
	}
	var t agentTool
	var names []string
	for _, o := range tools {
		if submission.Wire(c.Tool) == o.wire {
			t = o
		}
		names = append(names, o.wire)
	}
	if t.wire == "" {
		err := fmt.Errorf("not granted: the tool %s is not offered to this run; there are %s", c.Tool, strings.Join(names, ", "))
		if of, terr := a.taskOf(ctx); terr == nil && of != "" && submission.Reserved(c.Tool) {
			if tasks, terr := a.w.Tasks(); terr == nil {
				tasks.RecordRefused(ctx, tasklog.Request{Task: of, Run: a.id, Tool: c.Tool}, &task.SubmissionError{Kind: task.NotGranted, Tool: c.Tool, Why: err.Error()})
			}
		}
		return mcp.Result{}, err
	}
	key := "mcp-" + a.session + "-" + c.ID
	if c.Client != "" { // a repeated request of a restarted session is the same
		key = "mcp-" + string(a.id) + "-" + c.Client + "-" + t.wire
	}
	switch t.spec.Name {
	case state.Config.Output.Tool:
		return a.submit(ctx, state, t, key, c)
	case permissionName:
		return a.claudePermission(ctx, key, c)
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	var question sync.WaitGroup
	if t.spec.Name == "ask" {
		question.Go(func() { a.untilAsked(asking, key, cancel) })
	}
	answer, err := a.make(asking, key, t.spec.Name, string(c.Arguments))
	asked := asking.Err() != nil && ctx.Err() == nil
	cancel()
	question.Wait()
	if asked {
		return mcp.Result{Text: "The question was put to the person. End your turn now and say what you wait for: the answer begins the next turn."}, nil
	}
	if err != nil {
		return mcp.Result{}, err
	}
	return mcp.Result{Text: run.PlainText(answer.Content), IsError: answer.IsError}, nil
}

// untilAsked calls asked when the question of a request is open in the run. An agent does not
// wait for the answer: it begins the next turn.
func (a *agentServer) untilAsked(ctx context.Context, key string, asked func()) {
	state, err := a.load(ctx)
	if err != nil {
		return // the call itself reports that
	}
	open := func() bool {
		c, ok := state.Turn.Call(state.Turn.Received(key))
		return ok && c.Question && c.Status != run.CallDone
	}
	if open() {
		asked()
		return
	}
	for u, err := range a.w.Follow(ctx, a.id, state.Seq) {
		if err != nil {
			return
		}
		if u.Event == nil {
			continue
		}
		if state, err = state.Apply(*u.Event); err != nil {
			return
		}
		if open() {
			asked()
			return
		}
	}
}

// load returns the state of the run. It reads the events since the last time.
func (a *agentServer) load(ctx context.Context) (run.State, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for e, err := range a.w.Events(ctx, a.id, a.last.Seq) {
		if err == nil {
			a.last, err = a.last.Apply(e)
		}
		if err != nil {
			a.last = run.State{} // it is read from the beginning the next time
			return run.State{}, err
		}
	}
	return a.last, nil
}

// make makes a call through the owner of the run.
func (a *agentServer) make(ctx context.Context, key, name, arguments string) (request.Result, error) {
	return a.w.CallTool(ctx, a.id, request.Call{Key: key, Tool: name, Arguments: arguments})
}

// submit submits the result. The same request again has the same answer; any other one after it is an error.
func (a *agentServer) submit(ctx context.Context, state run.State, t agentTool, key string, c mcp.Call) (mcp.Result, error) {
	const accepted, before = "The result was accepted.", "The result was accepted before."
	ended := func(what string) mcp.Result {
		return mcp.Result{Text: what + " No further work is needed: end your turn.", IsError: what != accepted && what != before}
	}
	of, err := a.taskOf(ctx)
	if err != nil {
		return mcp.Result{}, err
	}
	if have := state.Submission(); of == "" && have.Value != "" {
		if have.Call != "" && have.Call == state.Turn.Received(key) {
			return ended(before), nil
		}
		return ended(fmt.Sprintf("409: a result was submitted already; this one is equal to it: %t.",
			tasklog.SamePayload(state.Config.Output, have.Value, c.Arguments))), nil
	}
	if of == "" {
		answer, err := a.make(ctx, key, t.spec.Name, string(c.Arguments))
		return mcp.Result{Text: run.PlainText(answer.Content), IsError: answer.IsError}, err
	}
	tasks, err := a.w.Tasks()
	if err != nil {
		return mcp.Result{}, err
	}
	receipt, err := tasks.Submit(ctx, tasklog.Request{Task: of, Run: a.id, Tool: t.spec.Name, Key: key, Payload: c.Arguments})
	if e, ok := errors.AsType[*task.SubmissionError](err); ok && e.Kind == task.AlreadySubmitted {
		body, err := json.Marshal(struct {
			Error       string    `json:"error"`
			Code        string    `json:"code"`
			AcceptedAt  time.Time `json:"accepted_at"`
			SamePayload bool      `json:"same_payload"`
		}{e.Error(), e.Code(), e.AcceptedAt, e.SamePayload})
		return ended("409: " + string(body)), err
	}
	if err != nil {
		return mcp.Result{Text: err.Error(), IsError: true}, nil
	}
	if receipt.Duplicate {
		return ended(before), nil
	}
	return ended(accepted), nil
}

// taskOf returns the task that the run is an assignment of; empty: none.
func (a *agentServer) taskOf(ctx context.Context) (task.ID, error) {
	st, err := a.w.reading()
	if err != nil {
		return "", err
	}
	id, err := st.TaskOf(ctx, a.id)
	if err != nil || id == "" {
		return "", err
	}
	l, err := tasklog.Load(ctx, st, task.ID(id))
	if err != nil {
		return "", err
	}
	if r, ok := l.State.Run(a.id); !ok || r.Kind == "" {
		return "", nil // a child run: its result is its parent's
	}
	return task.ID(id), nil
}

// leave records in the run that the agent no longer waits for the answer to a request. The agent is told of an
// answer that comes later, or that came and was not read, in its next turn. leave returns when that is
// recorded.
func (a *agentServer) leave(ctx context.Context, key string) error {
	_, err := a.w.hand(ctx, a.id, "left-"+key, request.Withdraw{ID: key})
	if errors.As(err, new(*inbox.RefusedError)) {
		return nil // it waits for nothing
	}
	return err
}

// permission asks, as a call of the run, whether the agent may use a tool of its own. The text of the
// result is what [permissionTool] answers, and of an error why not.
func (a *agentServer) permission(ctx context.Context, key string, asked external.Asked) (mcp.Result, error) {
	if asked.ID != "" {
		key = "permission-" + string(a.id) + "-" + asked.ID
	}
	asked.ID = "" // it differs each time
	arguments, err := json.Marshal(asked)
	if err != nil {
		return mcp.Result{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, a.patience)
	defer cancel()
	answer, err := a.make(waiting, key, permissionName, string(arguments))
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		err = a.leave(ctx, key)
		return mcp.Result{IsError: true, Text: "Waiting for a person: end your turn and say what you wait for. The decision begins the next turn."}, err
	}
	text := run.PlainText(answer.Content)
	if answer.IsError {
		text = cmp.Or(text, "It is not allowed.")
	}
	return mcp.Result{Text: text, IsError: answer.IsError}, err
}

// claudePermission answers Claude Code in the form that it reads.
func (a *agentServer) claudePermission(ctx context.Context, key string, c mcp.Call) (mcp.Result, error) {
	var asked external.Asked
	if err := json.Unmarshal(c.Arguments, &asked); err != nil || asked.Tool == "" {
		return mcp.Result{}, fmt.Errorf("%s takes tool_name and input", permissionName)
	}
	var err error
	if asked.Dir, err = a.w.agentDir(a.id, asked.ID); err != nil {
		return mcp.Result{}, err
	}
	answer, err := a.permission(ctx, key, asked)
	if err != nil {
		return answer, err
	}
	if !answer.IsError {
		state, err := a.load(ctx)
		if err == nil {
			err = a.w.keepEdited(ctx, a.id, state, asked)
		}
		return answer, err
	}
	b, err := json.Marshal(struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message"`
	}{"deny", answer.Text})
	return mcp.Result{Text: string(b)}, err
}
