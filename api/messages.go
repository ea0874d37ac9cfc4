package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"pawl/board"
	"pawl/forms"
	"pawl/task"
)

// messageOperations registers what a person says to the agent of a task.
func (s *Server) messageOperations() {
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}/messages", id: "list-task-messages", tag: tagTasks,
		summary: "List what was said to the agent of a task"},
		func(ctx context.Context, in *TaskInput) (forms.List[task.Message], error) {
			state, err := s.board.Load(ctx, in.Task)
			return forms.ListOf(state.Messages), err
		})
	type sayInput struct {
		TaskInput
		Body struct {
			Text string `json:"text" doc:"What the agent is told"`
		}
	}
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/messages", id: "say-to-task", tag: tagTasks, status: http.StatusCreated, keyed: true,
		summary: "Say something to the agent of a task", more: "While it works it is told with its next results, an external agent when its turn has ended; else with the next words that it is given. Until then the message can be withdrawn. A task that is completed or failed continues with it, in the same conversation."},
		func(ctx context.Context, in *sayInput) (forms.TaskForm, error) {
			return s.sayToTask(ctx, in.Task, task.Say{Text: in.Body.Text})
		})
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}/reviews", id: "list-task-reviews", tag: tagTasks,
		summary: "List the reviews of a task's changes", more: "They are the messages that have comments, each with what the agent says became of it: changed, answered or open."},
		func(ctx context.Context, in *TaskInput) (forms.List[task.Message], error) {
			state, err := s.board.Load(ctx, in.Task)
			return forms.ListOf(slices.DeleteFunc(slices.Clone(state.Messages), func(m task.Message) bool { return len(m.Comments) == 0 })), err
		})
	type comment struct {
		File   string `json:"file" minLength:"1" maxLength:"4096" doc:"As the diff names it"`
		Side   string `json:"side,omitempty" enum:"old,new" doc:"Of the diff; new unless it is given"`
		Line   int    `json:"line,omitempty" minimum:"0" doc:"From 1; left out: of the whole file"`
		Quoted string `json:"quoted,omitempty" maxLength:"4096" doc:"What stands there, by which the place is found when lines have moved"`
		Text   string `json:"text" minLength:"1"`
	}
	type reviewInput struct {
		TaskInput
		Body struct {
			Text     string    `json:"text,omitempty" doc:"Words for all of it"`
			Tree     string    `json:"tree,omitempty" pattern:"^[0-9a-f]{40,64}$" patternDescription:"tree of the diff" doc:"What was looked at: tree of the diff. A later diff can begin with it"`
			Comments []comment `json:"comments" minItems:"1" maxItems:"500"`
		}
	}
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/reviews", id: "review-task", tag: tagTasks, status: http.StatusCreated, keyed: true,
		summary: "Send a review of what a task has changed to its agent", more: "It is a message, told as say-to-task says, with the comments as data. The agent says in its report what became of each."},
		func(ctx context.Context, in *reviewInput) (forms.TaskForm, error) {
			say := task.Say{Text: in.Body.Text, Review: task.Review{Tree: in.Body.Tree}}
			for _, c := range in.Body.Comments {
				if c.Line > 0 {
					c.Side = cmp.Or(c.Side, "new")
				}
				say.Comments = append(say.Comments, task.Comment{File: c.File, Side: c.Side, Line: c.Line, Quoted: c.Quoted, Text: c.Text})
			}
			return s.sayToTask(ctx, in.Task, say)
		})
	type withdrawInput struct {
		TaskInput
		Message string `path:"message" maxLength:"200"`
	}
	handle(s, operation{method: http.MethodDelete, path: "/tasks/{task}/messages/{message}", id: "withdraw-from-task", tag: tagTasks,
		summary: "Take back a message that was not delivered"},
		func(ctx context.Context, in *withdrawInput) (forms.TaskForm, error) {
			return form(s.board.Do(ctx, in.Task, by(ctx), task.MessageWithdrawn{ID: in.Message}))
		})
}

// sayToTask says something to the agent of a task, once for each key of a request, even after a kill.
func (s *Server) sayToTask(ctx context.Context, id task.ID, say task.Say) (forms.TaskForm, error) {
	say.ID = board.NewMessageID()
	if key := requestOf(ctx).key; key != "" {
		say.ID = "m-" + key[:12]
	}
	var err error
	if say.Text, say.Typed, err = s.ws.TypedText(ctx, say.Text, nil); err != nil {
		return forms.TaskForm{}, err
	}
	return form(s.board.Say(ctx, id, by(ctx), say))
}
