package tool

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"pawl/run"
)

//go:embed todo.md
var todoText string

const todoSchema = `{"type":"object","properties":{` +
	`"items":{"type":"array","items":{"type":"object","properties":{` +
	`"text":{"type":"string"},` +
	`"status":{"type":"string","enum":["pending","active","done"]}},` +
	`"required":["text","status"],"additionalProperties":false}}},` +
	`"required":["items"],"additionalProperties":false}`

const (
	maxTodos    = 100
	maxTodoText = 300 // characters
)

// Todo returns the tool that keeps the agent's list of what is to be done. The
// list is nowhere but in the run's log, as the newest call's arguments and
// result: so it survives what the log survives.
func Todo() Tool {
	return &builtin{briefly(NewSpec("todo", todoText, todoSchema)), func() arguments { return &todoArgs{} }}
}

type todoArgs struct {
	Items []struct {
		Text   string `json:"text"`
		Status string `json:"status"`
	} `json:"items"`
}

func (a *todoArgs) check(Env) error {
	if len(a.Items) > maxTodos {
		return tell("the list has %d items, and may have %d: join some", len(a.Items), maxTodos)
	}
	for i, item := range a.Items {
		switch {
		case strings.TrimSpace(item.Text) == "":
			return tell("items[%d].text is empty", i)
		case utf8.RuneCountInString(item.Text) > maxTodoText:
			return tell("items[%d].text has more than %d characters: make it a line", i, maxTodoText)
		case todoMarks[item.Status] == "":
			return tell("items[%d].status is %q: it may be pending, active or done", i, item.Status)
		}
	}
	return nil
}

var todoMarks = map[string]string{"pending": "[ ]", "active": "[>]", "done": "[x]"}

func (a *todoArgs) inspect(Env) (Intent, error) {
	return Intent{Class: run.Reads, Title: "to do: " + a.summary()}, nil
}

func (a *todoArgs) run(context.Context, Env, Call) (Result, error) {
	var b strings.Builder
	for _, item := range a.Items {
		fmt.Fprintf(&b, "%s %s\n", todoMarks[item.Status], clip(item.Text, maxTodoText))
	}
	return TextResult(b.String() + a.summary()), nil
}

// summary says how far the list is.
func (a *todoArgs) summary() string {
	if len(a.Items) == 0 {
		return "nothing"
	}
	done := 0
	for _, item := range a.Items {
		if item.Status == "done" {
			done++
		}
	}
	return fmt.Sprintf("%d of %d done", done, len(a.Items))
}
