package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pawl/app"
	"pawl/cli/command"
	"pawl/cli/console"
	"pawl/internal/text"
	"pawl/run"
)

// A runInput is what a command line gives a run to do: words, with what they mention, pictures
// and standard input.
type runInput struct {
	typed    app.Typed // the words of the command line
	words    string    // that standard input has
	pictures []run.Part
	stdin    *command.Stdin // to be stored as an output of the run; nil: its words are there, or it is empty
}

func (t *runInput) empty() bool {
	return t.typed.Words == "" && t.words == "" && len(t.pictures) == 0 && t.stdin == nil
}

// handIn returns the parts of the prompt, once there is a run that standard input can be
// stored for.
func handIn(ctx context.Context, inv *command.Invocation, ws *app.Workspace, s *app.Session, t *runInput) ([]run.Part, error) {
	asked, err := ws.Asks()
	if err != nil {
		return nil, err
	}
	said, err := ws.Parts(ctx, t.typed, s.State(), console.Approve(inv, asked))
	if err != nil {
		return nil, err
	}
	for _, note := range said.Notes {
		inv.Notice(note)
	}
	parts := said.Parts
	switch {
	case t.words == "":
	case len(parts) > 0:
		parts[0].Typed = cmp.Or(parts[0].Typed, parts[0].Text)
		parts[0].Text += "\n\n" + text.Tagged("stdin", "", t.words)
	default:
		parts = []run.Part{run.TextOf(t.words, run.NotTyped)}
	}
	parts = slices.Insert(parts, min(1, len(parts)), t.pictures...)
	if t.stdin == nil {
		return parts, nil
	}
	stored, err := t.stdin.Store(ctx, s)
	return append(parts, stored...), err
}

// taskOf reads the task. Commands and what is mentioned count in the words of the command line alone:
// standard input may be anyone's.
func taskOf(ctx context.Context, inv *command.Invocation, ws *app.Workspace, r runRequest) (*runInput, error) {
	t := &runInput{}
	if r.prompt != "-" {
		var err error
		if t.typed, err = ws.Typed(ctx, r.prompt); err != nil {
			return nil, err
		}
	}
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
	if in != nil && in.Small() {
		t.words = strings.TrimSpace(strings.ToValidUTF8(string(in.Head), "\uFFFD"))
	} else {
		t.stdin = in
	}
	if r.prompt == "-" && t.words == "" && t.stdin == nil {
		return nil, command.Usage("- is standard input, which is empty: pawl run - < task.txt")
	}
	return t, nil
}
