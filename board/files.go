package board

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/text"
	"pawl/run"
	"pawl/task"
	"pawl/tasklog"
)

// A TooLargeError says that a file is larger than [tasklog.MaxAttachment]. Its code is
// FILE_TOO_LARGE.
type TooLargeError struct{ Name string }

// Code is FILE_TOO_LARGE.
func (e *TooLargeError) Code() string { return "FILE_TOO_LARGE" }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than %s, which is the most that can be attached", e.Name, text.Size(tasklog.MaxAttachment))
}

// Attach adds a file to a task and returns the task when both are durable.
func (b Board) Attach(ctx context.Context, id task.ID, by, name string, content io.Reader) (task.State, error) {
	data, err := io.ReadAll(io.LimitReader(content, tasklog.MaxAttachment+1))
	if err != nil {
		return task.State{}, err
	}
	safe := safeName(name)
	if len(data) > tasklog.MaxAttachment {
		return task.State{}, &TooLargeError{safe}
	}
	kind := mime.TypeByExtension(filepath.Ext(safe))
	if major, _, _ := strings.Cut(kind, "/"); kind == "" || isText(data) && (major == "audio" || major == "video") { // go.mod and a.ts are names of media too
		kind = http.DetectContentType(data)
	}
	sum := sha256.Sum256(data)
	a := task.Attachment{ID: "f-" + strings.ToLower(rand.Text()[:8]), Name: safe, Size: int64(len(data)), Type: kind, SHA256: hex.EncodeToString(sum[:]), At: time.Now().UTC().Round(0)}
	if _, err := b.Load(ctx, id); err != nil {
		return task.State{}, err
	}
	tasks, err := b.ws.Tasks()
	if err != nil {
		return task.State{}, err
	}
	if err := tasks.PutFile(ctx, id, a, data); err != nil {
		return task.State{}, errors.Join(err, tasks.RemoveFile(ctx, id, a.ID))
	}
	s, err := b.Do(ctx, id, by, task.AttachmentAdded{Attachment: a})
	if err != nil {
		return s, errors.Join(err, tasks.RemoveFile(ctx, id, a.ID))
	}
	return s, nil
}

// Content returns the content of an attachment.
func (b Board) Content(ctx context.Context, id task.ID, a task.Attachment) ([]byte, error) {
	tasks, err := b.ws.ReadTasks()
	if err != nil {
		return nil, err
	}
	return tasks.File(ctx, id, a)
}

// Detach removes an attachment.
func (b Board) Detach(ctx context.Context, id task.ID, by, attachment string) (task.State, error) {
	s, err := b.Do(ctx, id, by, task.AttachmentRemoved{ID: attachment})
	if err != nil {
		return s, err
	}
	tasks, err := b.ws.Tasks()
	if err != nil {
		return s, err
	}
	return s, tasks.RemoveFile(ctx, id, attachment)
}

// Input returns what a run is told at an assignment: the words, and the files that were
// attached since the one before.
func (b Board) Input(ctx context.Context, s task.State, id run.ID, words string) ([]run.Part, error) {
	var files []File
	r, _ := s.Run(id)
	var since time.Time
	if n := len(r.Assignments); n > 1 {
		since = r.Assignments[n-2].At
	}
	for _, a := range s.Attachments {
		if a.At.Before(since) {
			continue
		}
		content, err := b.Content(ctx, s.Created.Task, a)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Name: a.Name, Content: content})
	}
	if words == "" && len(files) == 0 {
		return nil, nil // it continues without words
	}
	return Words(ctx, run.TextOf(words, run.NotTyped), files), nil // words of agents are among them
}
