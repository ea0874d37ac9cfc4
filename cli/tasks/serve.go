package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"pawl/app"
	"pawl/board"
	"pawl/cli/command"
	"pawl/cli/console"
	"pawl/config"
	"pawl/forms"
	"pawl/internal/build"
	"pawl/internal/plainjson"
	"pawl/mcp"
	"pawl/run"
	"pawl/schema"
	tasks "pawl/task"
	"pawl/tool"
	"pawl/tool/outputs"
)

// Serve offers the tasks of a workspace to a client over standard input and output, as tools of an MCP
// server, and drives those that the client runs or asks about. It returns when the client leaves; the
// tasks stay as they are then.
func Serve(ctx context.Context, inv *command.Invocation, ws *app.Workspace) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &taskServer{ws: ws, ctx: ctx, driven: map[tasks.ID]bool{}}
	defer s.driving.Wait()
	defer cancel()
	return s.server().Serve(ctx, inv.Stdin, inv.Stdout)
}

// Handler offers them over HTTP, in a process that drives all tasks of the workspace.
func Handler(ws *app.Workspace) http.Handler { return (&taskServer{ws: ws}).server().Handler() }

func (s *taskServer) server() *mcp.Server {
	return &mcp.Server{Name: "pawl", Version: build.Version(), Instructions: served, Call: s.call, Tools: func() ([]mcp.Tool, error) {
		var all []mcp.Tool
		for _, t := range servedTools {
			all = append(all, mcp.Tool{Name: t.name, Description: t.description, Schema: json.RawMessage(t.schema)})
		}
		return all, nil
	}}
}

const served = "pawl plans tasks and carries them out in one folder. Run a task, ask its state until it is completed, failed or waits for you, and answer what it asks. " +
	"Whether a call may run is decided by the person's rules, not by you."

// maxWait bounds how long a call waits for a task, in seconds: clients give up on calls after a minute or more.
const maxWait = 50

type servedTool struct {
	name, description, schema string
	do                        func(*taskServer, context.Context, servedArgs) (any, error)
}

const taskField = `"task":{"type":"string","description":"Its id"}`

var waitField = fmt.Sprintf(`"wait":{"type":"integer","minimum":0,"maximum":%d,"description":"Seconds to wait until it needs something or has ended"}`, maxWait)

var servedTools = []servedTool{
	{"run_task", "Adds a task, which is planned and carried out at once, and returns its state with its id.",
		`{"type":"object","properties":{"description":{"type":"string","description":"What is to be done, as to a colleague who knows the folder"},` + waitField + `},"required":["description"],"additionalProperties":false}`, (*taskServer).run},
	{"task_state", "Returns the state of a task: its status, plan, open questions, calls that wait for the person, and its report. If no process works on the task, it is continued.",
		`{"type":"object","properties":{` + taskField + `,` + waitField + `},"required":["task"],"additionalProperties":false}`, (*taskServer).state},
	{"answer_task", "Answers the open questions of a task, one answer for each, or tells a task that waits how to go on.",
		`{"type":"object","properties":{` + taskField + `,"answers":{"type":"array","items":{"type":"string"},"minItems":1},` + waitField + `},"required":["task","answers"],"additionalProperties":false}`, (*taskServer).answer},
	{"task_outputs", "Asks the stored outputs of a task: list, stats, extract, count, sample, read, search or aggregate.",
		`{"type":"object","properties":{` + taskField + `,"question":{"type":"string","enum":["list","stats","extract","count","sample","read","search","aggregate"]},` +
			`"arguments":{"type":"object","description":"Of the question, such as {\"id\":\"…\",\"paths\":[\"$.items[*].name\"]}"}},"required":["task","question"],"additionalProperties":false}`, (*taskServer).outputs},
}

// servedArgs are the arguments of all tools.
type servedArgs struct {
	Task        string          `json:"task"`
	Description string          `json:"description"`
	Answers     []string        `json:"answers"`
	Wait        int             `json:"wait"`
	Question    string          `json:"question"`
	Arguments   json.RawMessage `json:"arguments"`
}

type taskServer struct {
	ws  *app.Workspace
	ctx context.Context // ends with the client; nil: the process drives all tasks

	mu      sync.Mutex
	driven  map[tasks.ID]bool
	driving sync.WaitGroup
}

func (s *taskServer) call(ctx context.Context, c mcp.Call) (mcp.Result, error) {
	var names []string
	for _, t := range servedTools {
		names = append(names, t.name)
		if t.name != c.Tool {
			continue
		}
		checked, err := schema.Compile([]byte(t.schema))
		if err != nil {
			return mcp.Result{}, err
		}
		if problems := checked.Validate(c.Arguments); len(problems) > 0 {
			return mcp.Result{}, fmt.Errorf("wrong arguments: %s", joined(problems))
		}
		var args servedArgs
		if err := json.Unmarshal(c.Arguments, &args); err != nil {
			return mcp.Result{}, err
		}
		answer, err := t.do(s, ctx, args)
		if err != nil {
			return mcp.Result{}, err
		}
		if text, is := answer.(string); is {
			return mcp.Result{Text: text}, nil
		}
		text, err := plainjson.Marshal(answer)
		return mcp.Result{Text: string(text)}, err
	}
	return mcp.Result{}, fmt.Errorf("there is no tool %s; there are %s", command.Quoted(c.Tool), strings.Join(names, ", "))
}

func joined[T fmt.Stringer](all []T) string {
	var texts []string
	for _, one := range all {
		texts = append(texts, one.String())
	}
	return strings.Join(texts, "; ")
}

func (s *taskServer) run(ctx context.Context, a servedArgs) (any, error) {
	t, err := board.Of(s.ws).Add(ctx, config.Person(), tasks.Created{Description: a.Description, Typed: run.NotTyped, Source: tasks.Source{Kind: "mcp", User: config.Person()}, Start: true})
	if err != nil {
		return nil, err
	}
	return s.awaited(ctx, t.Created.Task, a.Wait)
}

// task returns the task that is asked about.
func (s *taskServer) task(ctx context.Context, a servedArgs) (tasks.State, error) {
	b := board.Of(s.ws)
	id, err := b.Find(ctx, a.Task)
	if err != nil {
		return tasks.State{}, err
	}
	return b.Load(ctx, id)
}

func (s *taskServer) state(ctx context.Context, a servedArgs) (any, error) {
	id, err := board.Of(s.ws).Find(ctx, a.Task)
	if err != nil {
		return nil, err
	}
	return s.awaited(ctx, id, a.Wait)
}

func (s *taskServer) answer(ctx context.Context, a servedArgs) (any, error) {
	t, err := s.task(ctx, a)
	if err != nil {
		return nil, err
	}
	open := openQuestions(t)
	for i := range min(len(open), len(a.Answers)) {
		if a.Answers[i], err = console.Chosen(a.Answers[i], open[i].Options); err != nil {
			return nil, err
		}
	}
	var do tasks.Action = tasks.SubmitAnswers{Answers: a.Answers, Questions: t.OpenQuestions(), Typed: run.NotTyped}
	if len(open) == 0 {
		do = tasks.Resume{Words: strings.Join(a.Answers, "\n"), Typed: run.NotTyped}
	}
	if _, err := board.Of(s.ws).Do(ctx, t.Created.Task, config.Person(), do); err != nil {
		return nil, err
	}
	return s.awaited(ctx, t.Created.Task, a.Wait)
}

// awaited drives a task, and returns its state when it comes to rest or to a call that waits for the person,
// or after wait seconds.
func (s *taskServer) awaited(ctx context.Context, id tasks.ID, wait int) (any, error) {
	b := board.Of(s.ws)
	t, err := b.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, time.Duration(max(0, min(wait, maxWait)))*time.Second)
	defer cancel()
	for e, err := range b.Follow(waiting, id, t.Seq) {
		if waiting.Err() != nil {
			break
		}
		before := t.Seq
		if err == nil && e.Payload == nil {
			t, err = b.Load(ctx, id)
		}
		if err != nil {
			return nil, err
		}
		if rests, err := b.Rests(ctx, t, time.Now()); err != nil || rests || t.Seq > before && len(t.Permissions) > 0 {
			break
		}
		s.drive(id)
	}
	return forms.TaskFormOf(t), ctx.Err()
}

// drive drives a task until it rests, unless that is done already.
func (s *taskServer) drive(id tasks.ID) {
	if s.ctx == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.driven[id] || s.ctx.Err() != nil {
		return
	}
	s.driven[id] = true
	s.driving.Go(func() {
		_ = board.NewDriver(s.ws, board.Options{}).Drive(s.ctx, id) // why it cannot go on is in the state of the task
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.driven, id)
	})
}

// outputs asks the outputs of the last run of a task.
func (s *taskServer) outputs(ctx context.Context, a servedArgs) (any, error) {
	t, err := s.task(ctx, a)
	if err != nil {
		return nil, err
	}
	last, ok := t.Last()
	if !ok {
		return nil, fmt.Errorf("nothing has worked on task %s yet", t.Created.Task)
	}
	scope, err := s.ws.Scope(ctx, string(last.ID))
	if err != nil {
		return nil, err
	}
	for _, o := range outputs.All() {
		if o.Spec().Name != outputs.Prefix+a.Question {
			continue
		}
		env := tool.Env{Run: scope.Run, Conversation: scope.Conversation, Past: scope.Also, Outputs: s.ws.Outputs()}
		raw := json.RawMessage(cmp.Or(string(a.Arguments), "{}"))
		if _, err := o.Inspect(env, raw); err != nil {
			return nil, err
		}
		r, err := o.Run(ctx, env, tool.Call{Args: raw})
		text := run.PlainText(r.Content)
		if r.IsError {
			err = errors.New(text)
		}
		return text, err
	}
	return nil, fmt.Errorf("there is no question %s", command.Quoted(a.Question))
}
