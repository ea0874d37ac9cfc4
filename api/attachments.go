package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"pawl/forms"
	"pawl/task"
	"pawl/tasklog"
)

const (
	attachID = "attach-to-task"
	// maxForm bounds what a form has beside the file, in bytes.
	maxForm = 64 << 10
)

// attachmentOperations registers the files of a task.
func (s *Server) attachmentOperations() {
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}/attachments", id: "list-task-attachments", tag: tagTasks,
		summary: "List the files of a task"},
		func(ctx context.Context, in *TaskInput) (forms.List[task.Attachment], error) {
			state, err := s.board.Load(ctx, in.Task)
			return forms.ListOf(state.Attachments), err
		})
	type attachInput struct {
		TaskInput
		Name    string `query:"name" maxLength:"1000" doc:"The name of the file, if the body is not a form"`
		Type    string `header:"Content-Type"`
		RawBody []byte `contentType:"application/octet-stream"`
	}
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/attachments", id: attachID, tag: tagTasks, status: http.StatusCreated, raw: true, maxBody: tasklog.MaxAttachment + maxForm,
		summary: "Attach a file to a task", more: "The body is the content of the file, whose name is a parameter, or a form (multipart/form-data) with files. A file has at most 10 MB."},
		func(ctx context.Context, in *attachInput) (forms.TaskForm, error) {
			kind, params, err := mime.ParseMediaType(in.Type)
			if err == nil && kind == "multipart/form-data" {
				return form(s.attachForm(ctx, in.Task, multipart.NewReader(bytes.NewReader(in.RawBody), params["boundary"])))
			}
			if in.Name == "" {
				return forms.TaskForm{}, invalid("name", "give the name of the file: POST …/attachments?name=FILE")
			}
			return form(s.board.Attach(ctx, in.Task, by(ctx), in.Name, bytes.NewReader(in.RawBody)))
		})
	type attachmentInput struct {
		TaskInput
		Attachment string `path:"attachment" maxLength:"200"`
	}
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}/attachments/{attachment}", id: "get-task-attachment", tag: tagTasks,
		summary: "Download a file of a task"},
		func(ctx context.Context, in *attachmentInput) (sender, error) {
			state, err := s.board.Load(ctx, in.Task)
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(state.Attachments, func(a task.Attachment) bool { return a.ID == in.Attachment })
			if i < 0 {
				return nil, notFound("the task has no file " + strconv.Quote(in.Attachment))
			}
			a := state.Attachments[i]
			content, err := s.board.Content(ctx, in.Task, a)
			if err != nil {
				return nil, err
			}
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", downloadType(a.Type))
				w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.Name}))
				w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
				_, _ = w.Write(content) // a client that is gone needs no more
			}, nil
		})
	handle(s, operation{method: http.MethodDelete, path: "/tasks/{task}/attachments/{attachment}", id: "detach-from-task", tag: tagTasks,
		summary: "Remove a file from a task"},
		func(ctx context.Context, in *attachmentInput) (forms.TaskForm, error) {
			return form(s.board.Detach(ctx, in.Task, by(ctx), in.Attachment))
		})
}

// attachForm attaches the files of a form, each as it is read.
func (s *Server) attachForm(ctx context.Context, id task.ID, r *multipart.Reader) (task.State, error) {
	var state task.State
	files := 0
	for {
		part, err := r.NextRawPart()
		switch {
		case errors.Is(err, io.EOF) && files == 0:
			return state, invalid("body", "the form has no file")
		case errors.Is(err, io.EOF):
			return state, nil
		case err != nil:
			return state, invalid("body", "the form cannot be read: "+err.Error())
		case part.FileName() == "":
			continue // another field of the form
		}
		files++
		if state, err = s.board.Attach(ctx, id, by(ctx), part.FileName(), part); err != nil {
			return state, err
		}
	}
}

// downloadType returns the type that a file is sent with: a browser shows nothing of it but
// pictures.
func downloadType(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	if slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return kind
	}
	return "application/octet-stream"
}
