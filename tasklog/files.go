package tasklog

import (
	"context"
	"os"
	"path/filepath"

	"pawl/internal/atomicfile"
	"pawl/task"
)

// MaxAttachment bounds an attached file.
const MaxAttachment = 10_000_000 // bytes: 10 MB

// SharedFiles keeps the files that are attached to tasks where several machines find them. A store that is one keeps them; with
// others they are in a folder. They are removed with their task.
type SharedFiles interface {
	// PutTaskFile stores the content of an attachment. When it returns nil, it is durable.
	PutTaskFile(ctx context.Context, task, attachment string, content []byte) error
	// TaskFile returns it; [fs.ErrNotExist] if there is none.
	TaskFile(ctx context.Context, task, attachment string) ([]byte, error)
	RemoveTaskFile(ctx context.Context, task, attachment string) error
}

// PutFile stores the content of an attachment. When it returns nil, it is durable.
func (t *Tasks) PutFile(ctx context.Context, id task.ID, a task.Attachment, content []byte) error {
	if shared, ok := t.Store.(SharedFiles); ok {
		return shared.PutTaskFile(ctx, string(id), a.ID, content)
	}
	return atomicfile.Write(t.file(id, a), content, atomicfile.Durable)
}

// File returns the content of an attachment.
func (t *Tasks) File(ctx context.Context, id task.ID, a task.Attachment) ([]byte, error) {
	if shared, ok := t.Store.(SharedFiles); ok {
		return shared.TaskFile(ctx, string(id), a.ID)
	}
	return atomicfile.Read(t.file(id, a))
}

// RemoveFile removes what is stored of an attachment.
func (t *Tasks) RemoveFile(ctx context.Context, id task.ID, attachment string) error {
	if shared, ok := t.Store.(SharedFiles); ok {
		return shared.RemoveTaskFile(ctx, string(id), attachment)
	}
	return os.RemoveAll(filepath.Join(t.Files, string(id), filepath.Base(attachment)))
}

// RemoveFolder removes the folder with the files of a task that is removed.
func (t *Tasks) RemoveFolder(id task.ID) error {
	return os.RemoveAll(filepath.Join(t.Files, string(id)))
}

// file returns where the content of an attachment is that is not shared.
func (t *Tasks) file(id task.ID, a task.Attachment) string {
	return filepath.Join(t.Files, string(id), a.ID, a.Name)
}
