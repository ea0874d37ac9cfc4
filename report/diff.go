package report

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"pawl/app"
	"pawl/internal/text"
	"pawl/run"
	"pawl/tool/changes"
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
	view.FileForm
	Diff    string `json:"diff,omitempty"`
	Mode    string `json:"mode,omitempty"`    // kind and permission bits before and after, where they differ: 100644 to 100755
	Problem string `json:"problem,omitempty"` // why there is no difference
}

// Diff returns how each file was before the first edit or command of a run that changed it and is after the last one.
func Diff(ctx context.Context, w *app.Workspace, id run.ID) (DiffForm, error) {
	events, s, err := w.Load(ctx, id)
	if err != nil {
		return DiffForm{}, err
	}
	var files []run.FileChange // one a file, in the order of their first changes
	at := map[string]int{}
	// Changes that a fork has copied are the other run's.
	changed := changes.By(w.State, id, events, s.Created.ForkedAt, false)
	for _, c := range changed.Files {
		i, known := at[c.Path]
		if !known {
			at[c.Path] = len(files)
			files = append(files, c)
			continue
		}
		files[i].After, files[i].AfterMode = c.After, c.AfterMode
	}
	form := DiffForm{id, []DiffFile{}}
	for _, c := range files {
		if c.Before != c.After || c.BeforeMode != c.AfterMode && c.BeforeMode != "" && c.AfterMode != "" {
			form.Files = append(form.Files, diffFile(w, s.Created.Workspace, c))
		}
	}
	for _, l := range changed.Left {
		form.Files = append(form.Files, DiffFile{FileForm: view.FileForm{Path: l.Change.Path, Action: "edited"}, Problem: l.Reason})
	}
	return form, nil
}

func diffFile(w *app.Workspace, dir string, c run.FileChange) DiffFile {
	f := DiffFile{FileForm: view.FileForm{Path: c.Path, Action: "edited"}}
	switch {
	case c.After == "":
		f.Action = "deleted"
	case c.Before == "":
		f.Action = "created"
	}
	if c.BeforeMode != c.AfterMode && c.BeforeMode != "" && c.AfterMode != "" {
		f.Mode = c.BeforeMode + " to " + c.AfterMode
	}
	kept := journal.In(w.State)
	before, err := contentOf(c.Before, func(string) ([]byte, error) { return changes.Content(w.State, dir, c.Before, c.Git) })
	if err == nil {
		var after []byte
		after, err = contentOf(c.After, func(hash string) ([]byte, error) {
			// What the last edit has written is the file, unless it was changed since.
			if now, err := readFile(dir, c.Path); err == nil && journal.Hash(now) == hash {
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
func WithDiff(w *app.Workspace, u view.Update) view.Update {
	if u.Event == nil {
		return u
	}
	f, ok := u.Event.Payload.(run.CallSettled)
	if !ok || len(f.Files) != 1 || f.Files[0].Before == "" || f.Files[0].After == "" || strings.Contains(run.PlainText(f.Content), "\n@@ ") {
		return u
	}
	u.Diff = diffFile(w, w.Dir, f.Files[0]).Diff
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

// readFile reads a file of a folder by its path in it.
func readFile(dir, path string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if to, err := root.Readlink(filepath.FromSlash(path)); err == nil {
		return []byte(filepath.ToSlash(to)), nil // the content of a link
	}
	f, err := root.Open(filepath.FromSlash(path))
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
