package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"pawl/config"
	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/judge"
	"pawl/output"
	"pawl/permission"
	"pawl/run"
	"pawl/tool"
	"pawl/tool/outputs"
)

// Attachments are what a person attaches to words.
type Attachments struct {
	Parts []run.Part // to be handed in after the words
	Notes []string   // a sentence each: what was not attached, and why
}

const (
	// maxMentions and maxMentioned bound what the mentions of one prompt attach; each file is
	// bounded by the tool read.
	maxMentions  = 20
	maxMentioned = 128 << 10 // bytes of text
)

// mentions returns what the words of a person mention by @: the content of @file, the
// picture @image.png, what is in @folder. The words stay as they are, and so does what
// begins with @ and is not a file of the workspace, such as @types/node or a name (a note says
// so of what has the form of a file); in an e-mail
// address nothing is mentioned. A path with spaces is @"in quotes".
//
// What a call of read or list would need approval for (secrets, files outside the
// workspace) is not attached; a note says so. Of a large file the beginning is attached, and
// says that the rest can be read. dirs are the further folders of the run.
func (w *Workspace) mentions(ctx context.Context, words string, dirs ...string) (a Attachments, err error) {
	if !strings.Contains(words, "@") {
		return a, nil
	}
	s, err := w.load()
	if err != nil {
		return a, err
	}
	env := w.toolEnv()
	env.Dirs = dirs
	var done []string
	size := 0
	for _, candidates := range mentioned(words) {
		found := false
		for _, path := range candidates {
			at, _, err := tool.Resolve(env, path)
			if err != nil {
				continue
			}
			if !filepath.IsAbs(at) {
				at = filepath.Join(w.Dir, at)
			}
			info, err := os.Stat(at)
			if err != nil {
				continue
			}
			found = true
			switch {
			case slices.Contains(done, at):
			case len(done) >= maxMentions || size > maxMentioned:
				a.Notes = append(a.Notes, fmt.Sprintf("@%s is not attached: there is enough already; the agent can read it", path))
			default:
				done = append(done, at)
				parts, why := w.mention(ctx, s, env, path, info.IsDir())
				if why != "" {
					a.Notes = append(a.Notes, fmt.Sprintf("@%s is not attached: %s", path, why))
				}
				for _, p := range parts {
					size += len(p.Text)
				}
				a.Parts = append(a.Parts, parts...)
			}
			break
		}
		if last := candidates[len(candidates)-1]; !found && fileForm().MatchString(last) && !w.isServed(last) {
			a.Notes = append(a.Notes, fmt.Sprintf("@%s is not attached: there is no such file", last))
		}
	}
	return a, ctx.Err()
}

// fileForm is the form of the name of a file, which a package such as @types/node does not have.
var fileForm = lazy.Regexp(`\.[A-Za-z][A-Za-z0-9]{0,5}$`)

// toolEnv is where tools work that are used for a person, outside of any run.
func (w *Workspace) toolEnv() tool.Env {
	return tool.Env{Workspace: w.Dir, StateDir: w.State, Session: &tool.Session{}}
}

// mention returns the content of a file or folder, or why it is not attached.
func (w *Workspace) mention(ctx context.Context, s *settings, env tool.Env, path string, folder bool) (parts []run.Part, why string) {
	t, name := tool.Read(), "read"
	if folder {
		t, name = tool.List(), "list"
	}
	args, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		return nil, err.Error() // unreachable: it is a text
	}
	in, err := t.Inspect(env, args)
	if err != nil {
		return nil, err.Error()
	}
	call := judge.Call{Mode: permission.Default, Tool: name, Class: in.Class, Intent: in, Args: args, Env: env}
	if d := w.judge(s.policy).Of(call).Decision(); d.Verdict != permission.Allow {
		return nil, d.Reason
	}
	r, err := t.Run(ctx, env, tool.Call{Args: args})
	switch {
	case err != nil:
		return nil, err.Error()
	case r.IsError:
		return nil, run.PlainText(r.Content)
	}
	kind := "file"
	if folder {
		kind = "folder"
	}
	return attached(kind, path, r.Content), ""
}

// attached returns content as what is attached under a name.
func attached(kind, name string, content []run.Part) []run.Part {
	var parts []run.Part
	for _, p := range content {
		if p.Type == run.TextPart {
			p.Text = text.Tagged(kind, fmt.Sprintf("path=%q", name), strings.TrimSuffix(p.Text, "\n"))
		}
		p.Attached = name
		parts = append(parts, p)
	}
	return parts
}

// mentioned returns what words mention by @: for each mention the paths that may be meant,
// the longest first, because a sentence may continue after it.
func mentioned(words string) (all [][]string) {
	before := ' '
	for i, c := range words {
		begins := c == '@' && (unicode.IsSpace(before) || strings.ContainsRune("([{<\"'`,;:", before))
		before = c
		if !begins {
			continue
		}
		rest := words[i+1:]
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			if path, _, ok := strings.Cut(quoted, `"`); ok && path != "" {
				all = append(all, []string{path})
			}
			continue
		}
		end := strings.IndexFunc(rest, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("\"'`<>|", c) })
		if end < 0 {
			end = len(rest)
		}
		var candidates []string
		for path := rest[:end]; path != ""; {
			candidates = append(candidates, path)
			short := strings.TrimRight(path, ".,;:!?)]}…")
			if short == path {
				break
			}
			path = path[:len(path)-1]
			for !validEnd(path) {
				path = path[:len(path)-1]
			}
		}
		if len(candidates) > 0 {
			all = append(all, candidates)
		}
	}
	return all
}

// validEnd reports whether s does not end in the middle of a character.
func validEnd(s string) bool { return s == "" || strings.ToValidUTF8(s, "") == s }

// Picture returns a picture as a person attaches it, from any file that can be read:
// PNG, JPEG, GIF or WebP, made smaller as the tool read does. The path starts in the folder
// that pawl was started in.
func (w *Workspace) Picture(ctx context.Context, file string) ([]run.Part, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, config.Errorf("%w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, config.Errorf("%s is not a file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, config.Errorf("%w", err)
	}
	defer f.Close() // it was only read
	parts, err := picture(ctx, file, f)
	if err != nil {
		return nil, config.Errorf("%w", err)
	}
	return parts, nil
}

// picture returns the picture that r has as what is attached under a name.
func picture(ctx context.Context, name string, r io.Reader) ([]run.Part, error) {
	content, err := io.ReadAll(io.LimitReader(r, tool.MaxPicture+1))
	if err != nil {
		return nil, err
	}
	if len(content) > tool.MaxPicture {
		return nil, fmt.Errorf("%s has more than %d MB: make it smaller", name, tool.MaxPicture>>20)
	}
	parts, err := tool.Picture(ctx, name, content)
	return attached("image", name, parts), err
}

// Store stores what r has as an output of the run, under name or one like it, and returns
// the parts of a prompt that describe it: what a stored result of a tool is to the model.
// A picture is described, and attached as it can be shown. More than limit bytes are
// [output.ErrTooLarge].
func (s *Session) Store(ctx context.Context, name string, r io.Reader, limit int64) ([]run.Part, error) {
	return s.w.storeFor(ctx, s.State().Created, name, r, limit)
}

// storeFor is [Session.Store] for a run.
func (w *Workspace) storeFor(ctx context.Context, of run.Created, name string, r io.Reader, limit int64) ([]run.Part, error) {
	runs, err := w.writing()
	if err != nil {
		return nil, err
	}
	st := w.outputsIn(runs)
	key := output.Key{Conversation: of.Conversation(), Run: of.Run, Call: run.CallID(name)}
	for n := 2; ; n++ {
		old, err := st.Open(key)
		if err != nil {
			break // there is none: a damaged one is replaced
		}
		old.Close() // it was only looked for
		key.Call = run.CallID(fmt.Sprintf("%s_%d", name, n))
	}
	out, err := st.Create(key, name, "")
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	if n, err := io.Copy(out, io.LimitReader(r, limit+1)); err != nil {
		return nil, err
	} else if n > limit {
		return nil, output.ErrTooLarge
	}
	settings, err := w.load()
	if err != nil {
		return nil, err
	}
	out.Mode, out.Limits = output.Persist, settings.OutputLimits()
	o, err := out.Commit(true)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	if strings.HasPrefix(o.MediaType, "image/") {
		if parts, err := picture(ctx, name, o.Reader()); err == nil {
			return parts, nil
		}
	}
	says := "it cannot be shown"
	if parts, form := output.Deliver(output.Result{Output: o, Tools: outputs.Available()}, output.Persist, settings.OutputLimits()); form == output.Stored {
		says = run.PlainText(parts)
	} else if form == output.Failed {
		return nil, errors.New(run.PlainText(parts))
	}
	p := run.Text(fmt.Sprintf("<%s>\nIt is stored as the output %s, and described here:\n%s\n</%s>", name, key.Call, says, name))
	p.Attached = name
	return []run.Part{p}, nil
}
