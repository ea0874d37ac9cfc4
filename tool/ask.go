package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"

	"pawl/run"
)

//go:embed ask.md
var askText string

const askSchema = `{"type":"object","properties":{` +
	`"question":{"type":"string","description":"The question, with what is needed to decide it"},` +
	`"options":{"type":"array","description":"Others stay possible","items":{"type":"string"}}},` +
	`"required":["question"],"additionalProperties":false}`

// Ask returns the tool that asks the person something. It never runs: the turn
// ends with its call open, and the answer, whenever it comes, is the result.
func Ask() Tool {
	spec := NewSpec("ask", askText, askSchema)
	spec.Unstored = true
	return askTool{&builtin{spec, func() arguments { return &askArgs{} }}}
}

type askTool struct{ *builtin }

// Run does not look at the arguments.
func (askTool) Run(ctx context.Context, env Env, c Call) (Result, error) {
	return (*askArgs)(nil).run(ctx, env, c)
}

type askArgs struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

func (a *askArgs) check(Env) error {
	if strings.TrimSpace(a.Question) == "" {
		return errors.New("question is empty: ask something")
	}
	return nil
}

func (a *askArgs) inspect(Env) (Intent, error) {
	return Intent{Class: run.Resumable, Question: true, Title: clip(a.Question, 120)}, nil
}

// Asked returns what a call of ask asks, and the answers to choose from. Arguments that cannot be
// read are the question.
func Asked(c run.CallState) (question string, options []string) {
	if c.Asks.Question != "" { // while it runs
		return c.Asks.Question, c.Asks.Options
	}
	var a askArgs
	if json.Unmarshal([]byte(c.Arguments), &a) != nil || a.Question == "" {
		return c.Arguments, nil
	}
	return a.Question, a.Options
}

func (*askArgs) run(context.Context, Env, Call) (Result, error) {
	return Result{}, errors.New("ask does not run: its result is the person's answer")
}
