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
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/atomicfile"
	"pawl/internal/text"
	"pawl/run"
	"pawl/task"
	"pawl/tasklog"
)

// MaxAttachment bounds an attached file.
const MaxAttachment = 10_000_000 // bytes: 10 MB

// A TooLargeError says that a file is larger than MaxAttachment. Its code is
// FILE_TOO_LARGE.
type TooLargeError struct{ Name string }

// Code is FILE_TOO_LARGE.
func (e *TooLargeError) Code() string { return "FILE_TOO_LARGE" }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than %s, which is the most that can be attached", e.Name, text.Size(MaxAttachment))
}

// Attach adds a file to a task and returns the task when both are durable.
func (b Board) Attach(ctx context.Context, id task.ID, by, name string, content io.Reader) (task.State, error) {
	data, err := io.ReadAll(io.LimitReader(content, MaxAttachment+1))
	if err != nil {
		return task.State{}, err
	}
	safe := safeName(name)
	if len(data) > MaxAttachment {
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
	if err := b.keep(ctx, id, a, data); err != nil {
		return task.State{}, errors.Join(err, b.drop(ctx, id, a.ID))
	}
	s, err := b.Do(ctx, id, by, task.AttachmentAdded{Attachment: a})
	if err != nil {
		return s, errors.Join(err, b.drop(ctx, id, a.ID))
	}
	return s, nil
}

// SharedFiles keeps the files that are attached to tasks where several machines find them. A store that is one keeps them; with
// others they are in the workspace's state folder. They are removed with their task.
type SharedFiles interface {
	// PutTaskFile stores the content of an attachment. When it returns nil, it is durable.
	PutTaskFile(ctx context.Context, task, attachment string, content []byte) error
	// TaskFile returns it; [fs.ErrNotExist] if there is none.
	TaskFile(ctx context.Context, task, attachment string) ([]byte, error)
	RemoveTaskFile(ctx context.Context, task, attachment string) error
}

// sharedFiles returns where the files of tasks are shared; nil: they are not.
func sharedFiles(tasks *tasklog.Tasks, err error) (SharedFiles, error) {
	if err != nil {
		return nil, err
	}
	shared, _ := tasks.Store.(SharedFiles)
	return shared, nil
}

// keep stores the content of an attachment.
func (b Board) keep(ctx context.Context, id task.ID, a task.Attachment, content []byte) error {
	shared, err := sharedFiles(b.ws.Tasks())
	switch {
	case err != nil:
		return err
	case shared != nil:
		return shared.PutTaskFile(ctx, string(id), a.ID, content)
	}
	return atomicfile.Write(b.file(id, a), content, atomicfile.Durable)
}

// Content returns the content of an attachment.
func (b Board) Content(ctx context.Context, id task.ID, a task.Attachment) ([]byte, error) {
	shared, err := sharedFiles(b.ws.ReadTasks())
	switch {
	case err != nil:
		return nil, err
	case shared != nil:
		return shared.TaskFile(ctx, string(id), a.ID)
	}
	return atomicfile.Read(b.file(id, a))
}

// drop removes what is stored of an attachment.
func (b Board) drop(ctx context.Context, id task.ID, attachment string) error {
	shared, err := sharedFiles(b.ws.Tasks())
	switch {
	case err != nil:
		return err
	case shared != nil:
		return shared.RemoveTaskFile(ctx, string(id), attachment)
	}
	return os.RemoveAll(filepath.Join(b.ws.TaskFiles(id), filepath.Base(attachment)))
}

// file returns where the content of an attachment is that is not shared.
func (b Board) file(id task.ID, a task.Attachment) string {
	return filepath.Join(b.ws.TaskFiles(id), a.ID, a.Name)
}

// Detach removes an attachment.
func (b Board) Detach(ctx context.Context, id task.ID, by, attachment string) (task.State, error) {
	s, err := b.Do(ctx, id, by, task.AttachmentRemoved{ID: attachment})
	if err != nil {
		return s, err
	}
	return s, b.drop(ctx, id, attachment)
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
