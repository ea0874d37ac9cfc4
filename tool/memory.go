package tool

import (
	"context"
	_ "embed"

	"pawl/internal/text"
	"pawl/memory"
	"pawl/permission"
	"pawl/run"
	"pawl/tool/tree"
)

//go:embed memory.md
var memoryText string

const memorySchema = `{"type":"object","properties":{` +
	`"note":{"type":"string","description":"The fact, in Markdown"},` +
	`"replaces":{"type":"string","description":"Text of the note that it corrects"}},` +
	`"required":["note"],"additionalProperties":false}`

// Memory returns the tool that notes facts for later runs, in the memory of the workspace.
func Memory() Tool {
	spec := briefly(NewSpec(permission.MemoryTool, memoryText, memorySchema))
	return remembers{&builtin{spec, func() arguments { return &memoryArgs{} }}}
}

type memoryArgs struct {
	Note     string `json:"note"`
	Replaces string `json:"replaces"`

	change memory.Change
}

func (a *memoryArgs) check(env Env) (err error) {
	if a.Replaces != "" {
		if a.change.Replace, err = memory.CleanNote(a.Replaces); err != nil {
			return tell("replaces: %v", err)
		}
	}
	if a.Note != "" || a.Replaces == "" {
		a.change.Add, err = memory.CleanNote(a.Note)
	}
	return err
}

func (a *memoryArgs) inspect(env Env) (Intent, error) {
	// What cannot be done is not asked about.
	content, err := memory.Read(env.StateDir)
	if err == nil {
		_, err = a.change.Apply(content)
	}
	if err != nil {
		return Intent{}, err
	}
	verb, what := "note", a.change.Add
	if what == "" {
		verb, what = "forget", a.change.Replace
	}
	return Intent{Class: run.Writes, Title: clip(verb+" "+what, 120)}, nil
}

func (a *memoryArgs) run(_ context.Context, env Env, _ Call) (Result, error) {
	before, after, err := memory.Edit(env.StateDir, a.change.Apply)
	if err != nil {
		return failed(tell("Nothing was noted: %v", tree.InWords(err))), nil
	}
	return remembered(before, after), nil
}

// remembered is the result of a change of the memory.
func remembered(before, after string) Result {
	if before == after {
		return TextResult("This is noted already: nothing was changed.")
	}
	diff, _, _ := text.Diff(before, after, maxDiff)
	r := TextResult("The memory of this workspace was changed:\n" + diff)
	r.Change = run.Changed
	r.Kept = true // of this run it is nowhere else
	return r
}

// remembers is the tool whose killed call is told by what is noted.
type remembers struct{ *builtin }

func (t remembers) Reconcile(env Env, c Call) (Result, bool) {
	a, err := t.parse(env, c.Args)
	if err != nil {
		return Result{}, false
	}
	content, err := memory.Read(env.StateDir)
	if err != nil {
		return Result{}, false
	}
	if !a.(*memoryArgs).change.Made(content) {
		return notApplied("the memory"), true
	}
	r := TextResult("The memory of this workspace was changed; the process stopped right after it.")
	r.Change, r.Kept = run.Changed, true
	return r, true
}
