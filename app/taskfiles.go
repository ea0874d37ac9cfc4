package app

import (
	"context"
	"os"
	"path/filepath"

	"pawl/internal/atomicfile"
	"pawl/task"
)

// SharedFiles keeps the files that are attached to tasks where several machines find them. A store that is one keeps them; with
// others they are in the workspace's state folder. They are removed with their task.
type SharedFiles interface {
	// PutTaskFile stores the content of an attachment. When it returns nil, it is durable.
	PutTaskFile(ctx context.Context, task, attachment string, content []byte) error
	// TaskFile returns it; [fs.ErrNotExist] if there is none.
	TaskFile(ctx context.Context, task, attachment string) ([]byte, error)
	RemoveTaskFile(ctx context.Context, task, attachment string) error
}

// KeepTaskFile stores the content of an attachment. When it returns nil, it is durable.
func (w *Workspace) KeepTaskFile(ctx context.Context, id task.ID, a task.Attachment, content []byte) error {
	st, err := w.writing()
	if err != nil {
		return err
	}
	if shared, ok := st.(SharedFiles); ok {
		return shared.PutTaskFile(ctx, string(id), a.ID, content)
	}
	return atomicfile.Write(w.taskFile(id, a), content, atomicfile.Durable)
}

// TaskFile returns the content of an attachment.
func (w *Workspace) TaskFile(ctx context.Context, id task.ID, a task.Attachment) ([]byte, error) {
	st, err := w.reading()
	if err != nil {
		return nil, err
	}
	if shared, ok := st.(SharedFiles); ok {
		return shared.TaskFile(ctx, string(id), a.ID)
	}
	return atomicfile.Read(w.taskFile(id, a))
}

// DropTaskFile removes what is stored of an attachment.
func (w *Workspace) DropTaskFile(ctx context.Context, id task.ID, attachment string) error {
	st, err := w.writing()
	if err != nil {
		return err
	}
	if shared, ok := st.(SharedFiles); ok {
		return shared.RemoveTaskFile(ctx, string(id), attachment)
	}
	return os.RemoveAll(filepath.Join(w.TaskFiles(id), filepath.Base(attachment)))
}

// taskFile returns where the content of an attachment is that is not shared.
func (w *Workspace) taskFile(id task.ID, a task.Attachment) string {
	return filepath.Join(w.TaskFiles(id), a.ID, a.Name)
}
