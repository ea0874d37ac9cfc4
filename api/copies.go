package api

import (
	"context"
	"net/http"

	"pawl/board"
	"pawl/forms"
)

// copyOperations registers what is done with the copy of the repository in which the workers
// of a task work.
func (s *Server) copyOperations() {
	type diffInput struct {
		TaskInput
		Since string `query:"since" pattern:"^[0-9a-f]{40,64}$" patternDescription:"tree of an earlier diff" doc:"Only what was changed since then: tree of an earlier diff, or of a review"`
		Stat  bool   `query:"stat" doc:"Only the files with the counts of their lines, without the patch"`
	}
	type mergeInput struct {
		TaskInput
		Body *struct {
			Tree string `json:"tree,omitempty" pattern:"^[0-9a-f]{40,64}$" patternDescription:"tree of a diff or a preview" doc:"What was looked at: if the copy was changed since, nothing is merged"`
		}
	}
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}/diff", id: "diff-task", tag: tagTasks,
		summary: "Get what was changed in the copy of a task", more: "Since the copy was made, or since it had a tree; committed or not."},
		func(ctx context.Context, in *diffInput) (board.TaskDiffForm, error) {
			d, err := s.board.Diff(ctx, in.Task, in.Since)
			if in.Stat {
				d.Patch = ""
			}
			return d, err
		})
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}/merge", id: "preview-merge", tag: tagTasks,
		summary: "Get what a merge of the copy of a task would meet", more: "Conflicts with what is checked out, and files that are not committed. Nothing is changed, and nothing of the repository runs."},
		func(ctx context.Context, in *TaskInput) (board.TaskMergePreviewForm, error) {
			return s.board.MergePreview(ctx, in.Task)
		})
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/merge", id: "merge-task", tag: tagTasks, keyed: true,
		summary: "Fetch the branch of a task's copy into the repository",
		more: "What is left uncommitted in the copy is committed first. No file and no other branch of the repository is changed; " +
			"the response says whether the branch conflicts with what is checked out."},
		func(ctx context.Context, in *mergeInput) (board.TaskMergeForm, error) {
			seen := ""
			if in.Body != nil {
				seen = in.Body.Tree
			}
			return s.board.Merge(context.WithoutCancel(ctx), in.Task, by(ctx), seen) // it is not left half done
		})
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/discard", id: "discard-task", tag: tagTasks,
		summary: "Remove the copy of a task, with what was not merged", more: "The next start of the task makes another."},
		func(ctx context.Context, in *TaskInput) (forms.TaskForm, error) {
			return form(s.board.Discard(context.WithoutCancel(ctx), in.Task, by(ctx)))
		})
}
