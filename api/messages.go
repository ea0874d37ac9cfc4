package api

import (
	"context"
	"net/http"

	"pawl/app"
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
		summary: "Say something to the agent of a task", more: "While it works it is told with its next results, else with the next words that it is given. Until then the message can be withdrawn. A task that is completed or failed continues with it, in the same conversation."},
		func(ctx context.Context, in *sayInput) (forms.TaskForm, error) {
			id := board.NewMessageID()
			if key := requestOf(ctx).key; key != "" {
				id = "m-" + key[:12] // it is said once, even after a kill
			}
			words, err := s.ws.TypedText(ctx, in.Body.Text)
			if err != nil {
				return forms.TaskForm{}, err
			}
			return form(s.board.Say(ctx, in.Task, app.Person(), id, words))
		})
	type withdrawInput struct {
		TaskInput
		Message string `path:"message" maxLength:"200"`
	}
	handle(s, operation{method: http.MethodDelete, path: "/tasks/{task}/messages/{message}", id: "withdraw-from-task", tag: tagTasks,
		summary: "Take back a message that was not delivered"},
		func(ctx context.Context, in *withdrawInput) (forms.TaskForm, error) {
			return form(s.board.Do(ctx, in.Task, app.Person(), task.MessageWithdrawn{ID: in.Message}))
		})
}
