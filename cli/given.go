package cli

import (
	"context"
	"strings"

	"pawl/app"
	"pawl/cli/command"
	"pawl/internal/text"
	"pawl/run"
)

// A runInput is what a command line gives a run to do: words, with what they mention, pictures
// and standard input.
type runInput struct {
	words    string
	prompt   string // of the command line: what is mentioned in it is attached
	pictures []run.Part
	stdin    *command.Stdin // to be stored as an output of the run; nil: it is among the words, or empty
}

func (t *runInput) empty() bool { return t.words == "" && len(t.pictures) == 0 && t.stdin == nil }

// handIn returns the parts of the prompt, once there is a run that standard input can be
// stored for.
func handIn(ctx context.Context, inv *command.Invocation, ws *app.Workspace, s *app.Session, t *runInput) ([]run.Part, error) {
	var parts []run.Part
	if t.words != "" {
		parts = append(parts, run.Text(t.words))
	}
	parts = append(parts, t.pictures...)
	mentioned, err := ws.Mentions(ctx, t.prompt, s.State().Config.Dirs...)
	if err != nil {
		return nil, err
	}
	for _, note := range mentioned.Notes {
		inv.Notice(note)
	}
	parts = append(parts, mentioned.Parts...)
	if t.stdin == nil {
		return parts, nil
	}
	stored, err := t.stdin.Store(ctx, s)
	return append(parts, stored...), err
}

// taskOf reads the task. What is mentioned counts in the words of the command line alone:
// standard input may be anyone's.
func taskOf(ctx context.Context, inv *command.Invocation, ws *app.Workspace, r runRequest) (*runInput, error) {
	t := &runInput{words: r.prompt, prompt: r.prompt}
	for _, file := range r.images {
		parts, err := ws.Picture(ctx, file)
		if err != nil {
			return nil, command.Usage("--image: %w", err)
		}
		t.pictures = append(t.pictures, parts...)
	}
	in, err := inv.Input(ctx)
	if err != nil {
		return nil, err
	}
	words := ""
	if in != nil && in.Small() {
		words = strings.TrimSpace(strings.ToValidUTF8(string(in.Head), "\uFFFD"))
	} else {
		t.stdin = in
	}
	switch {
	case r.prompt == "-" && words == "" && t.stdin == nil:
		return nil, command.Usage("- is standard input, which is empty: pawl run - < task.txt")
	case r.prompt == "-" || r.prompt == "":
		t.words = words
	case words != "":
		t.words += "\n\n" + text.Tagged("stdin", "", words)
	}
	return t, nil
}
