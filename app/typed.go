package app

import (
	"context"
	"os"
	"slices"
	"strings"

	"pawl/config"
	"pawl/instructions"
	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/run"
)

// A Typed is what a person has typed, as it is meant: words, or "/name arguments", which calls one of
// [Workspace.PromptCommands].
type Typed struct {
	Words   string                // as they were typed
	Command *instructions.Command // that is called; nil: they are words

	arguments string
}

// slash is the form of the first word of a line that calls a command.
var slash = lazy.Regexp(`^/[\p{L}\p{N}_:-]+(\s|$)`)

// CallsCommand reports whether words call a command, whether there is one of that name or not. /path/to/file
// is a word, and so is /name if there is such a file, or if a blank stands before it.
func CallsCommand(words string) bool {
	if !slash().MatchString(words) {
		return false
	}
	_, err := os.Lstat(strings.Fields(words)[0])
	return err != nil
}

// Typed returns what words mean that a person has typed. Every face asks it, so that /name means the same
// everywhere. An error says that there is no command of that name, and which is near; see [CallsCommand].
func (w *Workspace) Typed(ctx context.Context, words string) (Typed, error) {
	t := Typed{Words: words}
	if !CallsCommand(words) {
		return t, nil
	}
	name := strings.Fields(words)[0]
	t.arguments = strings.TrimSpace(words[len(name):])
	all, untrusted, _ := w.PromptCommands()
	called := func(c instructions.Command) bool { return c.Name == name[1:] }
	if i := slices.IndexFunc(all, called); i >= 0 {
		t.Command = &all[i]
		return t, ctx.Err()
	}
	var names []string
	for _, c := range all {
		names = append(names, "/"+c.Name)
	}
	why := text.DidYouMean(name, names)
	if len(untrusted) > 0 {
		why += "; commands in " + strings.Join(untrusted, " and ") + " do not count before you review them with `pawl trust`"
	}
	return t, config.Errorf("there is no command %s%s; to say it to the agent, put a blank before it", visible.Quote(name), why)
}

// Parts returns what an agent is given for what was typed: the words, or those that the command makes of its
// arguments, and what they mention by @. dirs are the further folders of the run.
func (w *Workspace) Parts(ctx context.Context, t Typed, dirs ...string) (Attachments, error) {
	words := t.Words
	if t.Command != nil {
		words = t.Command.Prompt(t.arguments)
	}
	a, err := w.Mentions(ctx, words, dirs...)
	if words != "" {
		a.Parts = slices.Insert(a.Parts, 0, run.Text(words))
	}
	return a, err
}

// TypedText is [Workspace.Parts] where text alone can be taken, as for a task: what is mentioned is not attached.
func (w *Workspace) TypedText(ctx context.Context, words string) (string, error) {
	t, err := w.Typed(ctx, words)
	if err != nil || t.Command == nil {
		return words, err
	}
	said, err := w.Parts(ctx, t)
	if err != nil {
		return "", err
	}
	return said.Parts[0].Text, nil
}
