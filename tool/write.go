package tool

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"pawl/internal/text"
)

//go:embed write.md
var writeText string

const writeSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string"},` +
	`"content":{"type":"string"}},` +
	`"required":["path","content"],"additionalProperties":false}`

// Write returns the tool that makes or replaces a file.
func Write() Tool {
	return changer{&builtin{briefly(NewSpec("write", writeText, writeSchema)), func() arguments { return &writeArgs{} }}}
}

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (a *writeArgs) inspect(env Env) (Intent, error) { return lookAtWrite(env, "write", a.Path) }

func (a *writeArgs) run(ctx context.Context, env Env, c Call) (Result, error) {
	after := []byte(a.Content)
	if len(after) > maxFile {
		return failed(tell("The content has %s, and this tool's limit is %s.", size(int64(len(after))), size(maxFile))), nil
	}
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
	if strings.HasSuffix(a.Path, "/") {
		return failed(tell("%s names a folder: give the path of a file; its folders are made with it.", a.Path)), nil
	}
	before, info, err := at.read()
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err), nil
	}
	if err := mayBeMade(env, at.rel, info); err != nil {
		return failed(err), nil
	}
	if exists {
		if bytes.Equal(before, after) {
			env.saw(at.rel, view(before, info))
			return TextResult(at.rel + " has exactly this content already."), nil
		}
		then, ok := env.Session.sighting(at.rel)
		if !ok {
			return failed(tell("%s exists (%s) and was not read in this session. Nothing was changed: read it first, or use edit.", at.rel, size(info.Size()))), nil
		}
		if changed := changedSince(at.rel, then, before, info); changed != "" {
			return ErrorResult("Nothing was changed: " + changed), nil
		}
	}
	ch := &change{at: at, old: info, before: before, after: after}
	done, err := ch.do(env, c.Run, string(c.ID))
	if err != nil {
		return failed(err), nil
	}
	lines := lineCount(after)
	says := fmt.Sprintf("Made %s: %s, %s.", at.rel, count(lines, "line", "lines"), size(int64(len(after))))
	if exists {
		_, added, removed := text.Diff(string(before), string(after), 0)
		says = fmt.Sprintf("Replaced %s: %s added, %s removed; it has %s, %s.", at.rel,
			count(added, "line", "lines"), count(removed, "line", "lines"), count(lines, "line", "lines"), size(int64(len(after))))
	}
	return changedFile(says, done), nil
}
