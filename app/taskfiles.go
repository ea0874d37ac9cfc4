package app

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
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pawl/internal/atomicfile"
	"pawl/internal/text"
	"pawl/run"
	"pawl/task"
	"pawl/tool"
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

// AttachToTask adds a file to a task and returns the task when both are durable.
func (w *Workspace) AttachToTask(ctx context.Context, id task.ID, by, name string, content io.Reader) (task.State, error) {
	b, err := io.ReadAll(io.LimitReader(content, MaxAttachment+1))
	if err != nil {
		return task.State{}, err
	}
	safe := safeName(name)
	if len(b) > MaxAttachment {
		return task.State{}, &TooLargeError{safe}
	}
	kind := mime.TypeByExtension(filepath.Ext(safe))
	if major, _, _ := strings.Cut(kind, "/"); kind == "" || isText(b) && (major == "audio" || major == "video") { // go.mod and a.ts are names of media too
		kind = http.DetectContentType(b)
	}
	sum := sha256.Sum256(b)
	a := task.Attachment{ID: "f-" + strings.ToLower(rand.Text()[:8]), Name: safe, Size: int64(len(b)), Type: kind, SHA256: hex.EncodeToString(sum[:]), At: time.Now().UTC().Round(0)}
	if _, err := w.LoadTask(ctx, id); err != nil {
		return task.State{}, err
	}
	file := w.AttachmentFile(id, a)
	if err := atomicfile.Write(file, b, atomicfile.Durable); err != nil {
		return task.State{}, errors.Join(err, os.RemoveAll(filepath.Dir(file)))
	}
	s, err := w.DoTask(ctx, id, by, task.Attach{Attachment: a})
	if err != nil {
		return s, errors.Join(err, os.RemoveAll(filepath.Dir(file)))
	}
	return s, nil
}

// AttachmentFile returns where the content of an attachment is.
func (w *Workspace) AttachmentFile(id task.ID, a task.Attachment) string {
	return filepath.Join(w.attachments(id), a.ID, a.Name)
}

func (w *Workspace) attachments(id task.ID) string {
	return filepath.Join(w.State, "attachments", string(id))
}

// maxName bounds the name of an attachment, in bytes.
const maxName = 120

// safeName returns the last element of a name with letters, digits and .-_ alone, not hidden.
func safeName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	safe := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(name, "_"))
	if safe = strings.TrimLeft(safe, "."); safe == "" {
		safe = "file"
	}
	for len(safe) > maxName {
		_, size := utf8.DecodeLastRuneInString(safe)
		safe = safe[:len(safe)-size]
	}
	return safe
}

// DetachFromTask removes an attachment.
func (w *Workspace) DetachFromTask(ctx context.Context, id task.ID, by, attachment string) (task.State, error) {
	s, err := w.DoTask(ctx, id, by, task.Detach{ID: attachment})
	if err != nil {
		return s, err
	}
	return s, os.RemoveAll(filepath.Join(w.attachments(id), filepath.Base(attachment)))
}

// How much of attached files an agent is given with its words: bytes of texts, all together and
// with a mark where they are cut, and pictures.
const (
	maxInlineText     = 128 << 10
	maxInlinePictures = 20
)

// inline makes parts of a prompt out of attached files, within the bounds.
type inline struct{ text, pictures int }

// parts returns what the agent is told of a file. Texts and pictures are part of it; of other
// files the agent knows the name.
func (in *inline) parts(ctx context.Context, name string, content []byte) []run.Part {
	if isText(content) {
		shown, cut := string(content), ""
		if room := maxInlineText - in.text; len(shown) > room {
			shown, cut = strings.ToValidUTF8(shown[:room], ""), fmt.Sprintf("\n[cut: %d of %d bytes are shown]", room, len(content))
		}
		in.text += len(shown)
		return []run.Part{run.Text(text.Tagged("attachment", fmt.Sprintf("name=%q", name), shown+cut))}
	}
	if in.pictures < maxInlinePictures && len(content) <= tool.MaxPicture {
		if parts, err := tool.Picture(ctx, name, content); err == nil {
			in.pictures++
			return parts
		}
	}
	return []run.Part{run.Text(fmt.Sprintf("The attached file %s is neither a text nor a picture that can be shown here.", name))}
}

func isText(content []byte) bool { return utf8.Valid(content) && !slices.Contains(content, 0) }

// A File is a file that is attached to words.
type File struct {
	Name    string
	Content []byte
}

// Words returns what is said to an agent with files attached.
func Words(ctx context.Context, words string, files []File) []run.Part {
	parts := []run.Part{run.Text(words)}
	var in inline
	for _, f := range files {
		parts = append(parts, in.parts(ctx, safeName(f.Name), f.Content)...)
	}
	return parts
}

// TaskInput returns what a run is told at an assignment: the words, and the files that were
// attached since the one before.
func (w *Workspace) TaskInput(ctx context.Context, s task.State, id run.ID, words string) ([]run.Part, error) {
	var parts []run.Part
	if words != "" {
		parts = append(parts, run.Text(words))
	}
	r, _ := s.Run(id)
	var since time.Time
	if n := len(r.Assignments); n > 1 {
		since = r.Assignments[n-2].At
	}
	var in inline
	for _, a := range s.Attachments {
		if a.At.Before(since) {
			continue
		}
		content, err := os.ReadFile(w.AttachmentFile(s.Created.Task, a))
		if err != nil {
			return nil, err
		}
		parts = append(parts, in.parts(ctx, a.Name, content)...)
	}
	return parts, nil
}
