package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"pawl/agent"
	"pawl/board"
	"pawl/forms"
	"pawl/report"
	"pawl/store"
	"pawl/task"
)

// TaskInput is the path of a task. Like the other parts of inputs it is exported because huma
// sets fields of exported types alone.
type TaskInput struct {
	Task task.ID `path:"task" maxLength:"60" doc:"The id of the task"`
}

// tag of the operations of tasks.
const tagTasks = "tasks"

// taskOperations registers what reads, makes, changes and removes tasks.
func (s *Server) taskOperations() {
	handle(s, operation{method: http.MethodGet, path: "/tasks", id: "list-tasks", tag: tagTasks,
		summary: "List tasks", more: "Those with a higher priority first, then the newest first."}, s.listTasks)
	handle(s, operation{method: http.MethodPost, path: "/tasks", id: "create-task", tag: tagTasks, status: http.StatusCreated, keyed: true,
		summary: "Add a task"}, s.createTask)
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}", id: "get-task", tag: tagTasks,
		summary: "Get a task"}, s.getTask)
	handle(s, operation{method: http.MethodPatch, path: "/tasks/{task}", id: "edit-task", tag: tagTasks,
		summary: "Change a task", more: "The members that are given are changed. The plan can be changed while the task is planned, and keeps its agent if none is given; the description can be changed before it is started. A list replaces the one before. A task that loses a dependency that is not completed does not start by itself any more, unless start is given."}, s.editTask)
	handle(s, operation{method: http.MethodDelete, path: "/tasks/{task}", id: "remove-task", tag: tagTasks,
		summary: "Remove a task with its runs and files", more: "Tasks that would have started by themselves when this one is completed do not start by themselves any more, unless it is completed: see held."}, s.removeTask)
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}/status", id: "get-task-status", tag: tagTasks,
		summary: "Get the status of a task"}, s.taskStatus)
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}/history", id: "get-task-history", tag: tagTasks,
		summary: "Get the history of a task", more: "Events with the numbers 1, 2, 3 … without gaps."}, s.taskHistory)
}

type listTasksInput struct {
	PageInput
	From   string   `query:"from" pattern:"^-?[0-9]+\\.-?[0-9]+\\.[a-z0-9_-]+$" patternDescription:"next of the page before" doc:"Where the page begins: next of the page before"`
	Status []string `query:"status,explode" enum:"pending,planning,awaiting_input,planned,active,waiting,completed,failed" doc:"Only these"`
	Label  string   `query:"label" doc:"Only those with this label"`
	Agent  string   `query:"agent" doc:"Only those that this agent works on"`
}

func (s *Server) listTasks(ctx context.Context, in *listTasksInput) (forms.TaskListForm, error) {
	all, next, err := s.board.List(ctx, board.Query{Status: in.Status, Label: in.Label, Agent: in.Agent, Limit: in.Limit, From: in.From})
	if err == nil {
		err = s.board.Look(ctx, all)
	}
	return forms.TaskListOf(all, next), err
}

type createTaskInput struct {
	Body struct {
		Description string       `json:"description" doc:"What has to be done. The first line is the title"`
		Labels      []string     `json:"labels,omitempty"`
		Priority    int          `json:"priority,omitempty" doc:"Tasks with a higher one come first"`
		DependsOn   []task.ID    `json:"depends_on,omitempty" doc:"Tasks that have to be completed before it can be started"`
		Budget      *task.Budget `json:"budget,omitempty" doc:"What all its runs may use together"`
		Isolation   string       `json:"isolation,omitempty" enum:"clone" doc:"clone: its workers work in a copy of the repository"`
		Revision    string       `json:"revision,omitempty" doc:"A branch, tag or whole id of a commit of the repository: its workers work in a copy of that"`
		Agent       string       `json:"agent,omitempty" doc:"The agent that carries out its plan, whichever the planner names"`
		Start       bool         `json:"start,omitempty" doc:"It is planned, and its plan carried out, when the tasks that it depends on are completed"`
		Source      string       `json:"source,omitempty" enum:"api,web,cli,test" doc:"Where it comes from; api unless it is given"`
	}
}

func (s *Server) createTask(ctx context.Context, in *createTaskInput) (forms.TaskForm, error) {
	b := in.Body
	c := task.Created{Description: b.Description, Labels: b.Labels, Priority: b.Priority, DependsOn: b.DependsOn, Start: b.Start, Isolation: task.Isolation(b.Isolation), Revision: b.Revision, Agent: b.Agent, Source: task.Source{Kind: "api", User: by(ctx)}}
	if b.Budget != nil {
		c.Budget = *b.Budget
	}
	if b.Source != "" {
		c.Source.Kind = b.Source
	}
	if key := requestOf(ctx).key; key != "" { // the same key is the same task, even after a kill
		c.Task = task.ID("t-" + key[:12])
		if state, err := s.board.Load(ctx, c.Task); err == nil {
			return forms.TaskFormOf(state), nil
		} else if !errors.Is(err, store.ErrNoTask) {
			return forms.TaskForm{}, err
		}
	}
	var err error
	if c.Description, c.Typed, err = s.ws.TypedText(ctx, c.Description, nil); err != nil {
		return forms.TaskForm{}, err
	}
	return form(s.board.Add(ctx, by(ctx), c))
}

// form returns a task as JSON.
func form(s task.State, err error) (forms.TaskForm, error) {
	if err != nil {
		return forms.TaskForm{}, err
	}
	return forms.TaskFormOf(s), nil
}

func (s *Server) getTask(ctx context.Context, in *TaskInput) (forms.TaskForm, error) {
	state, err := s.board.Load(ctx, in.Task)
	if err != nil {
		return forms.TaskForm{}, err
	}
	seen := []task.Summary{state.Summary()}
	err = s.board.Look(ctx, seen)
	f := forms.TaskFormOf(state)
	f.Live, f.May = seen[0].Live, mayOf(ctx, f.May)
	return f, err
}

type editTaskInput struct {
	TaskInput
	Body task.Edited
}

func (s *Server) editTask(ctx context.Context, in *editTaskInput) (forms.TaskForm, error) {
	return form(s.board.Do(ctx, in.Task, by(ctx), in.Body))
}

func (s *Server) removeTask(ctx context.Context, in *TaskInput) (forms.TaskRemovedForm, error) {
	held, err := s.board.Remove(ctx, in.Task)
	return forms.TaskRemovedForm{Task: in.Task, Held: held}, err
}

// A TaskStatusForm is what a task is doing, as JSON.
type TaskStatusForm struct {
	ID       task.ID          `json:"id"`
	Status   forms.StatusForm `json:"status"`
	May      []task.Trigger   `json:"may"`
	WaitsFor string           `json:"waits_for,omitempty"`
	Seq      int64            `json:"seq"`
}

func (s *Server) taskStatus(ctx context.Context, in *TaskInput) (TaskStatusForm, error) {
	state, err := s.board.Load(ctx, in.Task)
	if err != nil {
		return TaskStatusForm{}, err
	}
	f := forms.TaskFormOf(state)
	return TaskStatusForm{f.ID, f.Status, mayOf(ctx, f.May), f.WaitsFor, f.Seq}, nil
}

// mayOf returns what the caller may do of what a person may do to a task.
func mayOf(ctx context.Context, may []task.Trigger) []task.Trigger {
	return slices.DeleteFunc(may, func(on task.Trigger) bool {
		need := Start
		switch on {
		case task.OnAnswers, task.OnSay, task.OnPause, task.OnResume:
			need = Answer
		}
		return !requestOf(ctx).caller.role.may(need)
	})
}

type historyInput struct {
	TaskInput
	FromInput
}

func (s *Server) taskHistory(ctx context.Context, in *historyInput) (Events[forms.TaskLine], error) {
	some, err := s.history(ctx, in.Task, in.From, in.Limit+1)
	return eventPage(some, in.FromInput), err
}

// history returns at most n events of a task after a number.
func (s *Server) history(ctx context.Context, id task.ID, after int64, n int) ([]forms.TaskLine, error) {
	lines := []forms.TaskLine{}
	events, err := s.board.Events(ctx, id, after, n)
	for _, e := range events {
		line, lerr := forms.TaskLineOf(id, e)
		if lerr != nil {
			return lines, lerr
		}
		line.Words = report.TaskWords(e)
		lines = append(lines, line)
	}
	return lines, err
}

// agentInput returns an error with an agent that a request names as what is wrong with the
// request.
func agentInput(err error) error {
	if errors.As(err, new(*agent.NotFoundError)) {
		return invalid("agent", err.Error())
	}
	return err
}

// taskActions registers what a person does to a task.
func (s *Server) taskActions() {
	act := func(verb, id, summary, more string, do func(ctx context.Context, id task.ID) (task.State, error)) {
		handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/" + verb, id: id, tag: tagTasks, summary: summary, more: more},
			func(ctx context.Context, in *TaskInput) (forms.TaskForm, error) { return form(do(ctx, in.Task)) })
	}
	do := func(a task.Action) func(context.Context, task.ID) (task.State, error) {
		return func(ctx context.Context, id task.ID) (task.State, error) { return s.board.Do(ctx, id, by(ctx), a) }
	}
	act("plan", "plan-task", "Let the planner make a plan, or ask", "", func(ctx context.Context, id task.ID) (task.State, error) { return s.board.Plan(ctx, id, by(ctx)) })
	act("pause", "pause-task", "Stop the agent", "The task can be resumed.", do(task.Move{On: task.OnPause}))
	act("complete", "complete-task", "Say that a task is done", "Its agent is stopped.", do(task.Move{On: task.OnComplete}))
	act("retry", "retry-task", "Make a failed task one that can be planned or started again", "", do(task.Move{On: task.OnRetry}))
	act("reopen", "reopen-task", "Make a completed task one that can be started again", "", do(task.Move{On: task.OnReopen}))

	type startInput struct {
		TaskInput
		Body *struct {
			Agent string `json:"agent,omitempty" doc:"The agent that works, instead of that of the plan"`
		}
	}
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/start", id: "start-task", tag: tagTasks, summary: "Let a worker agent carry out the plan"},
		func(ctx context.Context, in *startInput) (forms.TaskForm, error) {
			name := ""
			if in.Body != nil {
				name = in.Body.Agent
			}
			state, err := s.board.Start(ctx, in.Task, by(ctx), name)
			return form(state, agentInput(err))
		})
	type handoffInput struct {
		TaskInput
		Body struct {
			Agent  string `json:"agent" minLength:"1" doc:"The agent that works from now on"`
			Prompt string `json:"prompt,omitempty" doc:"What it is told"`
		}
	}
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/handoff", id: "hand-off-task", tag: tagTasks, summary: "Let another agent carry on",
		more: "The worker of a task that is active or waits is stopped first; a planned task is started with the agent."},
		func(ctx context.Context, in *handoffInput) (forms.TaskForm, error) {
			state, err := s.board.HandOn(ctx, in.Task, by(ctx), in.Body.Agent, in.Body.Prompt)
			return form(state, agentInput(err))
		})
	type answersInput struct {
		TaskInput
		Body struct {
			Answers   []string `json:"answers" doc:"One for each open question, in order"`
			Questions []string `json:"questions,omitempty" doc:"The questions that are answered, as they were read: if others are open by now, nothing is answered"`
		}
	}
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/answers", id: "answer-task", tag: tagTasks, summary: "Answer the questions of an agent",
		more: "Those of the planner, or the one that a worker asks in the middle of its work; the agent continues in the same conversation. An answer is one of the options of its question, or any other text."},
		func(ctx context.Context, in *answersInput) (forms.TaskForm, error) {
			return form(s.board.Do(ctx, in.Task, by(ctx), task.SubmitAnswers{Answers: in.Body.Answers, Questions: in.Body.Questions}))
		})
	type wordsInput struct {
		TaskInput
		Body *struct {
			Words  string       `json:"words,omitempty" doc:"What the agent is told: the answer to its question, or what to do differently"`
			Budget *task.Budget `json:"budget,omitempty" doc:"What all runs of the task may use together from now on, if what they might is spent"`
		}
	}
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/resume", id: "resume-task", tag: tagTasks, summary: "Let the agent of a waiting task continue"},
		func(ctx context.Context, in *wordsInput) (forms.TaskForm, error) {
			var a task.Resume
			if in.Body != nil {
				a = task.Resume{Words: in.Body.Words, Budget: in.Body.Budget}
			}
			if a.Budget != nil {
				if p := needs(ctx, Start, "a larger budget"); p != nil {
					return forms.TaskForm{}, p
				}
			}
			return form(s.board.Do(ctx, in.Task, by(ctx), a))
		})
	type whyInput struct {
		TaskInput
		Body *struct {
			Why string `json:"why,omitempty" doc:"The reason, for the history"`
		}
	}
	ends := func(verb, summary string, on task.Trigger) {
		handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/" + verb, id: verb + "-task", tag: tagTasks, summary: summary, more: "Its agent is stopped."},
			func(ctx context.Context, in *whyInput) (forms.TaskForm, error) {
				why := ""
				if in.Body != nil {
					why = strings.TrimSpace(in.Body.Why)
				}
				return form(s.board.Do(ctx, in.Task, by(ctx), task.Move{On: on, Why: why}))
			})
	}
	ends("fail", "Say that a task has failed", task.OnFail)
	ends("cancel", "Give a task up", task.OnCancel)
}
