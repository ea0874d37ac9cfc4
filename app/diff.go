package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"pawl/internal/text"
	"pawl/run"
	"pawl/tool/journal"
	"pawl/view"
)

// maxDiff bounds the difference of one file, in bytes.
const maxDiff = 256 << 10

// A DiffForm is what the edits of a run have changed, as JSON.
type DiffForm struct {
	Run   run.ID     `json:"run"`
	Files []DiffFile `json:"files"`
}

// A DiffFile is a file before the first edit of a run and after its last one.
type DiffFile struct {
	FileForm
	Diff    string `json:"diff,omitempty"`
	Problem string `json:"problem,omitempty"` // why there is no difference
}

// Diff returns how each file was before the first edit of a run and is after its last one. What
// commands did is not part of it.
func (w *Workspace) Diff(ctx context.Context, id run.ID) (DiffForm, error) {
	events, s, err := w.Load(ctx, id)
	if err != nil {
		return DiffForm{}, err
	}
	var changes []run.FileChange // one a file, in the order of their first edits
	at := map[string]int{}
	for _, e := range events {
		settled, ok := e.Payload.(run.CallSettled)
		if !ok || e.Seq <= s.Created.ForkedAt { // edits that a fork has copied are the other run's
			continue
		}
		for _, c := range settled.Files {
			i, known := at[c.Path]
			if !known {
				at[c.Path] = len(changes)
				changes = append(changes, c)
				continue
			}
			changes[i].After = c.After
		}
	}
	form := DiffForm{id, []DiffFile{}}
	for _, c := range changes {
		if c.Before != c.After {
			form.Files = append(form.Files, w.diffFile(c))
		}
	}
	return form, nil
}

func (w *Workspace) diffFile(c run.FileChange) DiffFile {
	f := DiffFile{FileForm: FileForm{Path: c.Path, Action: "edited"}}
	switch {
	case c.After == "":
		f.Action = "deleted"
	case c.Before == "":
		f.Action = "created"
	}
	kept := journal.In(w.State)
	before, err := contentOf(c.Before, kept.Content)
	if err == nil {
		var after []byte
		after, err = contentOf(c.After, func(hash string) ([]byte, error) {
			// What the last edit has written is the file, unless it was changed since.
			if now, err := w.readFile(c.Path); err == nil && journal.Hash(now) == hash {
				return now, nil
			}
			return kept.Content(hash)
		})
		switch {
		case err != nil:
		case !utf8.Valid(before) || !utf8.Valid(after):
			f.Problem = "it is not text"
		default:
			diff, added, removed := text.Diff(string(before), string(after), maxDiff)
			f.Diff, f.Added, f.Removed = diff, &added, &removed
		}
	}
	if err != nil {
		f.Problem = err.Error()
	}
	return f
}

// WithDiff returns an update with the difference that a call has made to a file, where the
// result of the call does not have it: that of write says how many lines it has replaced. What
// is not kept any more, or has no lines to compare, has no difference.
func (w *Workspace) WithDiff(u view.Update) view.Update {
	if u.Event == nil {
		return u
	}
	f, ok := u.Event.Payload.(run.CallSettled)
	if !ok || len(f.Files) != 1 || f.Files[0].Before == "" || f.Files[0].After == "" || strings.Contains(run.PlainText(f.Content), "\n@@ ") {
		return u
	}
	u.Diff = w.diffFile(f.Files[0]).Diff
	return u
}

// contentOf returns the content with a hash; nothing of a file that is not there.
func contentOf(hash string, read func(hash string) ([]byte, error)) ([]byte, error) {
	if hash == "" {
		return nil, nil
	}
	return read(hash)
}

// maxDiffed bounds the files that are compared, in bytes.
const maxDiffed = 10 << 20

// readFile reads a file of the workspace by its path in it.
func (w *Workspace) readFile(path string) ([]byte, error) {
	f, err := os.OpenInRoot(w.Dir, filepath.FromSlash(path))
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxDiffed+1))
	if err == nil && len(b) > maxDiffed {
		err = fmt.Errorf("%s has more than %s", path, text.Size(maxDiffed))
	}
	return b, err
}

// A FileForm is a file that a call or a turn has changed, as JSON.
type FileForm struct {
	Path    string `json:"path"`
	Action  string `json:"action,omitempty"`  // created, edited, deleted; left out: not known, the turn began in another process
	Added   *int   `json:"added,omitempty"`   // lines; left out: not counted
	Removed *int   `json:"removed,omitempty"` // lines
}

// FileForms returns files in that form.
func FileForms(files []view.File) []FileForm {
	forms := []FileForm{}
	for _, f := range files {
		form := FileForm{Path: f.Path, Action: "edited"}
		switch {
		case f.Partial:
			form.Action = ""
		case f.After == "":
			form.Action = "deleted"
		case f.Before == "":
			form.Action = "created"
		}
		if f.Counted {
			form.Added, form.Removed = &f.Added, &f.Removed
		}
		forms = append(forms, form)
	}
	return forms
}
