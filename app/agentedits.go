package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/external"
	"pawl/internal/atomicfile"
	"pawl/internal/text"
	"pawl/run"
	"pawl/tool"
	"pawl/tool/changes"
	"pawl/tool/journal"
	"pawl/worker"
)

// The tools of external agents change files by themselves. Their hook, which is asked before each use, keeps how the files
// are then, or before a command the workspace; when a use has ended it is seen how it has changed them. So they are shown, and
// undone, like edits and commands of pawl's tools.

// maxEdited bounds a file of which that is kept, and maxEditDiff how much of a difference the log has, in bytes.
const (
	maxEdited   = 8 << 20
	maxEditDiff = 32 << 10
)

// An edited is a file that a use of a tool is about to change, or a command.
type edited struct {
	Path    string `json:"path"` // relative to the workspace, slashes; empty: it is a command
	Before  string `json:"before,omitempty"`
	Command string `json:"command,omitempty"`
	Use     string `json:"use,omitempty"` // its name in the journal
}

// isBy reports whether the arguments of a call are those of the use.
func (e edited) isBy(arguments string) bool {
	if e.Use != "" {
		return mentions(arguments, e.Command)
	}
	return mentions(arguments, filepath.Base(e.Path))
}

func (w *Workspace) editsDir(id run.ID) string {
	return filepath.Join(external.Folder(w.externalState(), id), "edits")
}

// keepCommand keeps what is in the workspace before a command. Of one that is asked about twice that is what was there first.
func (w *Workspace) keepCommand(ctx context.Context, id run.ID, dir, command, use string) error {
	t := changes.Track(w.State, dir)
	t.Begin(ctx, id, use, false)
	t.Release()
	return w.keepUse(id, use, edited{Command: command, Use: use})
}

// keepUse stores a use for when it has ended.
func (w *Workspace) keepUse(id run.ID, name string, use edited) error {
	b, err := json.Marshal(use)
	if err == nil {
		err = os.MkdirAll(w.editsDir(id), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(filepath.Join(w.editsDir(id), name), b, atomicfile.NoSync)
	}
	return err
}

// keepEdited keeps the files of the workspace that a use of a tool is about to change.
func (w *Workspace) keepEdited(ctx context.Context, id run.ID, state run.State, asked external.Asked) error {
	args, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	dir := state.Created.Workspace
	in, err := permissionTool{}.Inspect(tool.Env{Workspace: dir, StateDir: w.State, Session: &tool.Session{}}, args)
	switch {
	case err == nil && in.Command != "" && in.Class != run.Reads:
		return w.keepCommand(ctx, id, dir, in.Command, journal.UseOf(asked.ID))
	case err != nil || in.As != "edit" && in.As != "write":
		return nil // which is judged elsewhere
	}
	for _, path := range in.Paths {
		if filepath.IsAbs(path) {
			path, _ = filepath.Rel(dir, path) // else it is not local
		}
		content, mode, err := contentIn(dir, path)
		if err != nil {
			continue // there is nothing that could be kept
		}
		path = filepath.ToSlash(filepath.Clean(path))
		sum := sha256.Sum256([]byte(path))
		name := hex.EncodeToString(sum[:12])
		use := edited{Path: path}
		if content != nil {
			e, err := journal.In(w.State).Record(id, "edit-"+name+"-"+journal.Hash(content)[:24], journal.Entry{Path: path, Mode: fmt.Sprintf("%o", mode.Perm())}, content)
			if err != nil {
				return err
			}
			use.Before = e.Before
		}
		if err := w.keepUse(id, name, use); err != nil {
			return err
		}
	}
	return nil
}

// contentIn returns the content of a file in a folder; nil: there is none.
func contentIn(dir, path string) (content []byte, mode fs.FileMode, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close() // it was only read
	info, err := root.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular() || info.Size() > maxEdited:
		return nil, 0, fmt.Errorf("%s is not a file of at most %s", path, text.Size(maxEdited))
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close() // likewise
	content, err = io.ReadAll(io.LimitReader(f, maxEdited))
	return append([]byte{}, content...), info.Mode(), err
}

// uses yields the uses that were kept of a run, each with the file that it is in.
func (w *Workspace) uses(id run.ID) iter.Seq2[string, edited] {
	return func(yield func(string, edited) bool) {
		files, _ := os.ReadDir(w.editsDir(id)) // without it nothing was edited
		for _, f := range files {
			file := filepath.Join(w.editsDir(id), f.Name())
			var use edited
			if b, err := os.ReadFile(file); err == nil && json.Unmarshal(b, &use) == nil && !yield(file, use) {
				return
			}
		}
	}
}

// addEdits adds to the results of tools that an agent has reported what they have changed. uses are the arguments of those that have not
// ended.
func (w *Workspace) addEdits(t worker.AgentTurn, uses map[run.CallID]string, parts []run.Part) {
	for _, p := range parts {
		if p.Call != nil {
			uses[p.Call.ID] = p.Call.Arguments
		}
		if p.Result == nil {
			continue
		}
		arguments := uses[p.Result.Call]
		delete(uses, p.Result.Call)
		var diffs []string
		var command edited // of those that the arguments hold the longest: it may hold the others
		commandFile := ""
		for file, use := range w.uses(t.Run) {
			if !use.isBy(arguments) {
				continue
			}
			if use.Use != "" {
				if len(use.Command) > len(command.Command) {
					command, commandFile = use, file
				}
				continue
			}
			if p.Result.IsError {
				continue
			}
			change, diff, ok := w.editOf(t.Workspace, use)
			if !ok {
				continue
			}
			_ = os.Remove(file) // else it is found as it is now
			p.Result.Files = append(p.Result.Files, change)
			diffs = append(diffs, diff)
		}
		if command.Use != "" {
			_ = os.Remove(commandFile) // else it is another's, too
			p.Result.Files = append(p.Result.Files, changes.Ended(w.State, t.Run, command.Use, string(p.Result.Call))...)
		}
		for i, diff := range diffs {
			if len(diffs) > 1 && diff != "" {
				path := p.Result.Files[i].Path
				diff = fmt.Sprintf("diff --git a/%s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n%s", path, diff)
			}
			if len(p.Result.Diff)+len(diff) <= 2*maxEditDiff {
				p.Result.Diff = strings.TrimPrefix(p.Result.Diff+"\n"+diff, "\n")
			}
		}
	}
}

// endUses settles the commands that were running when the agent was stopped. open are the arguments of the calls that had no
// result; a command that none of them names is forgotten, because it is not known when it ended.
func (w *Workspace) endUses(t worker.AgentTurn, open map[run.CallID]string) {
	for _, use := range w.uses(t.Run) {
		switch {
		case use.Use == "":
		case slices.ContainsFunc(slices.Collect(maps.Values(open)), use.isBy):
			changes.Ended(w.State, t.Run, use.Use, use.Use)
		default:
			changes.Forget(w.State, t.Run, use.Use)
		}
	}
}

// mentions reports whether arguments, which are JSON, hold a name.
func mentions(arguments, name string) bool {
	quoted, _ := json.Marshal(name) // a string
	return strings.Contains(arguments, name) || strings.Contains(arguments, strings.Trim(string(quoted), `"`))
}

// editOf returns how a file differs from what it was before a use; ok is false if it does not.
func (w *Workspace) editOf(dir string, use edited) (c run.FileChange, diff string, ok bool) {
	after, _, err := contentIn(dir, use.Path)
	if err != nil {
		return c, "", false
	}
	c = run.FileChange{Path: use.Path, Before: use.Before}
	if after != nil {
		c.After = journal.Hash(after)
	}
	if c.Before == c.After {
		return c, "", false
	}
	var before []byte
	if c.Before != "" {
		if before, err = journal.In(w.State).Content(c.Before); err != nil {
			return c, "", true // that it has changed is known
		}
	}
	if utf8.Valid(before) && utf8.Valid(after) {
		diff, c.Added, c.Removed = text.Diff(string(before), string(after), maxEditDiff)
	}
	return c, diff, true
}
