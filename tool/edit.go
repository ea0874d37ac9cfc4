package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"

	"pawl/internal/text"
	"pawl/run"
)

//go:embed edit.md
var editText string

const editSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string"},` +
	`"edits":{"type":"array","items":{"type":"object","properties":{` +
	`"old":{"type":"string"},` +
	`"new":{"type":"string"},` +
	`"all":{"type":"boolean"}},` +
	`"required":["old","new"],"additionalProperties":false}}},` +
	`"required":["path","edits"],"additionalProperties":false}`

// maxDiff is how many bytes of difference an edit's result shows.
const maxDiff = 4000

// Edit returns the tool that changes parts of a file.
func Edit() Tool {
	return changer{&builtin{briefly(NewSpec("edit", editText, editSchema)), func() arguments { return &editArgs{} }}}
}

type editArgs struct {
	Path  string        `json:"path"`
	Edits []replacement `json:"edits"`
}

func (a *editArgs) check(Env) error {
	if len(a.Edits) == 0 {
		return tell("edits is empty: there is nothing to do")
	}
	return nil
}

func (a *editArgs) inspect(env Env) (Intent, error) {
	intent, err := lookAtWrite(env, "edit", a.Path)
	if n := len(a.Edits); n > 1 {
		intent.Title += fmt.Sprintf(" in %d places", n)
	}
	return intent, err
}

// lookAtWrite inspects a call that changes a file.
func lookAtWrite(env Env, verb, path string) (Intent, error) {
	rel, err := inside(env, path)
	if err == nil {
		err = mayBeMade(env, rel, nil)
	}
	if err != nil {
		return Intent{}, err
	}
	return Intent{Class: run.Writes, Paths: []string{path}, Title: clip(verb+" "+rel, 120)}, nil
}

func (a *editArgs) run(ctx context.Context, env Env, c Call) (Result, error) {
	replacing.Lock()
	defer replacing.Unlock()
	if ctx.Err() != nil {
		return stopped(), nil
	}
	at, err := locate(env, a.Path)
	if err != nil {
		return failed(err), nil
	}
	defer at.Close()
	content, info, err := at.read()
	if errors.Is(err, fs.ErrNotExist) {
		return failed(tell("%v To make a new file use write.", missing(ctx, env, at.rel))), nil
	}
	if err != nil {
		return failed(err), nil
	}
	if err := errors.Join(writable(at.rel, info), makesNoRepository(env, at.rel)); err != nil {
		return failed(err), nil
	}
	if kind, _ := kindOf(at.rel, content[:min(len(content), sniffed)]); kind != "" && kind != notebook {
		return failed(tell("%s is %s: edit changes text only.", at.rel, kind)), nil
	}
	// A file that was never read may be edited: that old is found in it, once,
	// proves that the model knows what is there. One that it knows an older state
	// of may not.
	if then, ok := env.Session.sighting(at.rel); ok {
		if changed := changedSince(at.rel, then, content, info); changed != "" {
			return ErrorResult("Nothing was changed: " + changed), nil
		}
	}
	after, err := replaceAll(at.rel, content, a.Edits)
	if err != nil {
		return failed(err), nil
	}
	if len(after) > maxFile {
		return failed(tell("%s would have %s, and this tool's limit is %s. Nothing was changed.", at.rel, size(int64(len(after))), size(maxFile))), nil
	}
	if hashOf(after) == hashOf(content) {
		return failed(tell("Taken together the edits leave %s as it is. Nothing was changed.", at.rel)), nil
	}
	ch := &change{at: at, old: info, before: content, after: after}
	done, err := ch.do(env, c.Run, string(c.ID))
	if err != nil {
		return failed(err), nil
	}
	diff, added, removed := text.Diff(string(content), string(after), maxDiff)
	return changedFile(fmt.Sprintf("Edited %s: %s added, %s removed.\n%s", at.rel, count(added, "line", "lines"), count(removed, "line", "lines"), diff), done), nil
}
