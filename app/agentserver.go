package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/external"
	"pawl/llm"
	"pawl/mcp"
	"pawl/run"
	"pawl/submission"
	"pawl/task"
	"pawl/tool"
	"pawl/worker"
)

// AgentPatience is how long an external agent waits for a person to decide about a permission.
// After it the agent is told to end its turn; the later decision begins another.
const AgentPatience = 10 * time.Minute

// offered are the tools that external agents have beside those granted by name: the others do
// what their own tools do.
var offered = []string{"ask", "handoff", "agent", "tool_outputs."}

// An agentTool is a tool that is offered to an external agent.
type agentTool struct {
	wire string // as the agent sees it: a-z, 0-9 and _
	spec tool.Spec
}

// agentTools returns the tools that are offered to the agent of a run, by name.
func (w *Workspace) agentTools(s *settings, state run.State) []agentTool {
	k, _, _ := external.Split(state.Config.Model)
	all := registry(nil, tool.ShellOptions{}, w.delegation(s))
	w.mu.Lock()
	for _, tools := range w.offered {
		for _, t := range tools {
			all = all.With(t)
		}
	}
	w.mu.Unlock()
	granted := state.Config.Tools
	all = all.For(granted, state.Created.Agent != "").With(permissionTool{})
	if o := state.Config.Output; o.Schema != "" {
		if t, err := tool.NewSubmission(o.Tool, []byte(o.Schema)); err == nil {
			all = all.With(t)
		}
	}
	names := llm.NewNames(all.Names())
	var tools []agentTool
	for _, spec := range all.Specs() {
		named := granted.Limited() && slices.Contains(granted.Names(), spec.Name)
		common := slices.ContainsFunc(offered, func(name string) bool {
			return spec.Name == name || strings.HasSuffix(name, ".") && strings.HasPrefix(spec.Name, name)
		})
		if named || common || spec.Name == state.Config.Output.Tool || spec.Name == permissionName && k.PermissionTool {
			tools = append(tools, agentTool{names.Wire(spec.Name), spec})
		}
	}
	return tools
}

// AgentServer returns the MCP server with the tools of a run of an external agent. Each
// request is checked anew: the token must be that of the turn which is at work. patience is
// AgentPatience, or less in tests.
func (w *Workspace) AgentServer(id run.ID, token string, patience time.Duration) (*mcp.Server, error) {
	if err := w.checkToken(id, token); err != nil {
		return nil, err
	}
	a := &agentServer{w: w, id: id, token: token, patience: patience, session: rand.Text()}
	return &mcp.Server{Name: external.ServerName, Version: Version(), Tools: a.tools, Call: a.call}, nil
}

type agentServer struct {
	w        *Workspace
	id       run.ID
	token    string
	patience time.Duration
	session  string // makes the ids of requests unique
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
	_, state, err := a.w.Load(ctx, a.id)
	if err == nil && state.Turn.Phase != run.Requesting {
		err = fmt.Errorf("403 forbidden: no turn of an external agent is at work in run %s", a.id)
	}
	return state, s, err
}

func (a *agentServer) tools() ([]mcp.Tool, error) {
	state, s, err := a.state(context.Background())
	if err != nil {
		return nil, err
	}
	var all []mcp.Tool
	for _, t := range a.w.agentTools(s, state) {
		all = append(all, mcp.Tool{Name: t.wire, Description: t.spec.Description, Schema: t.spec.Schema})
	}
	return all, nil
}

// call makes a call of the run. What a person has to answer is waited for as long as patience.
func (a *agentServer) call(ctx context.Context, c mcp.Call) (mcp.Result, error) {
	state, s, err := a.state(ctx)
	if err != nil {
		return mcp.Result{}, err
	}
	var t agentTool
	var names []string
	for _, o := range a.w.agentTools(s, state) {
		if submission.Wire(c.Tool) == o.wire {
			t = o
		}
		names = append(names, o.wire)
	}
	if t.wire == "" {
		return mcp.Result{}, fmt.Errorf("403 forbidden: the tool %s is not offered to this run; there are %s", c.Tool, strings.Join(names, ", "))
	}
	key := "mcp-" + a.session + "-" + c.ID
	if c.Client != "" { // a repeated request of a restarted session is the same
		key = "mcp-" + string(a.id) + "-" + c.Client + "-" + t.wire
	}
	switch t.spec.Name {
	case state.Config.Output.Tool:
		return a.submit(ctx, state, t, c)
	case permissionName:
		return a.permission(ctx, key, c)
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
	for ctx.Err() == nil {
		if _, state, err := a.w.Load(ctx, a.id); err == nil {
			if c, ok := state.Turn.Call(state.Turn.Received(key)); ok && c.Question && c.Status != run.CallDone {
				asked()
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollInbox):
		}
	}
}

// make makes a call through the owner of the run.
func (a *agentServer) make(ctx context.Context, key, name, arguments string) (worker.OutsideAnswer, error) {
	d, err := a.caller()
	if err != nil {
		return worker.OutsideAnswer{}, err
	}
	return d.Call(ctx, a.id, key, worker.OutsideCall{Tool: name, Arguments: arguments})
}

// caller returns a worker that makes calls and drives nothing.
func (a *agentServer) caller() (*worker.Worker, error) {
	st, err := a.w.writing()
	if err != nil {
		return nil, err
	}
	return &worker.Worker{Config: worker.Config{Store: st, CheckOutput: a.w.checkOutput}}, nil
}

// submit submits the result. The same result submitted again has the same answer.
func (a *agentServer) submit(ctx context.Context, state run.State, t agentTool, c mcp.Call) (mcp.Result, error) {
	again := func(same bool) mcp.Result {
		if same {
			return mcp.Result{Text: "The result was accepted before. No further work is needed: end your turn."}
		}
		return mcp.Result{Text: "409: a result was submitted already, and this one is another. It does not count. No further work is needed: end your turn.", IsError: true}
	}
	if have := state.Submission().Value; have != "" {
		return again(worker.SamePayload(t.spec.Name, have, string(c.Arguments))), nil
	}
	sum := sha256.Sum256(append([]byte(fmt.Sprintf("%s %d.%d.%d ", t.spec.Name, state.Turn.N, state.Turn.Steps, state.Turn.Request.Attempt)), c.Arguments...))
	key := "submit-" + hex.EncodeToString(sum[:16])
	of, err := a.taskOf(ctx)
	if err != nil {
		return mcp.Result{}, err
	}
	if of == "" {
		answer, err := a.make(ctx, key, t.spec.Name, string(c.Arguments))
		return mcp.Result{Text: run.PlainText(answer.Content), IsError: answer.IsError}, err
	}
	d, err := a.caller()
	if err != nil {
		return mcp.Result{}, err
	}
	_, err = d.Submit(ctx, worker.SubmitRequest{Task: of, Run: a.id, Tool: t.spec.Name, Key: key, Payload: c.Arguments})
	if e, ok := errors.AsType[*task.SubmissionError](err); ok && e.Kind == task.AlreadySubmitted {
		return again(e.SamePayload), nil
	}
	if err != nil {
		return mcp.Result{Text: err.Error(), IsError: true}, nil
	}
	return mcp.Result{Text: "The result was accepted. No further work is needed: end your turn."}, nil
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
	l, err := worker.LoadTask(ctx, st, task.ID(id))
	if err != nil {
		return "", err
	}
	if r, ok := l.State.Run(a.id); !ok || r.Kind == "" {
		return "", nil // a child run: its result is its parent's
	}
	return task.ID(id), nil
}

// permission answers whether the agent may use a tool of its own, in the form that Claude
// Code reads.
func (a *agentServer) permission(ctx context.Context, key string, c mcp.Call) (mcp.Result, error) {
	var asked permissionArgs
	if err := json.Unmarshal(c.Arguments, &asked); err != nil || asked.Tool == "" {
		return mcp.Result{}, fmt.Errorf("%s takes tool_name and input", permissionName)
	}
	if asked.ID != "" {
		key = "permission-" + string(a.id) + "-" + asked.ID
	}
	dir, err := a.w.agentDir(a.id, asked.ID)
	if err != nil {
		return mcp.Result{}, err
	}
	arguments, err := json.Marshal(permissionArgs{Tool: asked.Tool, Input: asked.Input, Dir: dir}) // the id differs each time
	if err != nil {
		return mcp.Result{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, a.patience)
	defer cancel()
	answer, err := a.make(waiting, key, permissionName, string(arguments))
	text := run.PlainText(answer.Content)
	switch {
	case waiting.Err() != nil && ctx.Err() == nil:
		answer.IsError, text = true, "Waiting for a person: end your turn and say what you wait for. The decision begins the next turn."
	case err != nil:
		return mcp.Result{}, err
	}
	if !answer.IsError {
		return mcp.Result{Text: text}, nil
	}
	b, err := json.Marshal(struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message"`
	}{"deny", cmp.Or(text, "It is not allowed.")})
	return mcp.Result{Text: string(b)}, err
}
