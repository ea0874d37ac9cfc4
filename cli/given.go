package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"pawl/app"
	"pawl/internal/text"
	"pawl/output"
	"pawl/run"
)

// A runInput is what a command line gives a run to do: words, with what they mention, pictures
// and standard input.
type runInput struct {
	words    string
	prompt   string // of the command line: what is mentioned in it is attached
	pictures []run.Part
	stdin    *stdin // to be stored as an output of the run; nil: it is among the words, or empty
}

func (t *runInput) empty() bool { return t.words == "" && len(t.pictures) == 0 && t.stdin == nil }

// handIn returns the parts of the prompt, once there is a run that standard input can be
// stored for.
func (inv *invocation) handIn(ctx context.Context, ws *app.Workspace, s *app.Session, t *runInput) ([]run.Part, error) {
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
		inv.notice(note)
	}
	parts = append(parts, mentioned.Parts...)
	if t.stdin == nil {
		return parts, nil
	}
	stored, err := t.stdin.store(ctx, s)
	return append(parts, stored...), err
}

// taskOf reads the task. What is mentioned counts in the words of the command line alone:
// standard input may be anyone's.
func (inv *invocation) taskOf(ctx context.Context, ws *app.Workspace, r runRequest) (*runInput, error) {
	t := &runInput{words: r.prompt, prompt: r.prompt}
	for _, file := range r.images {
		parts, err := ws.Picture(ctx, file)
		if err != nil {
			return nil, usage("--image: %w", err)
		}
		t.pictures = append(t.pictures, parts...)
	}
	in, err := inv.input(ctx)
	if err != nil {
		return nil, err
	}
	words := ""
	if in != nil && in.small() {
		words = strings.TrimSpace(strings.ToValidUTF8(string(in.head), "\uFFFD"))
	} else {
		t.stdin = in
	}
	switch {
	case r.prompt == "-" && words == "" && t.stdin == nil:
		return nil, usage("- is standard input, which is empty: pawl run - < task.txt")
	case r.prompt == "-" || r.prompt == "":
		t.words = words
	case words != "":
		t.words += "\n\n" + text.Tagged("stdin", "", words)
	}
	return t, nil
}

const (
	// maxWords is how much of standard input becomes part of the prompt. What is larger is
	// stored, and the model asks for what it needs of it.
	maxWords = 64 << 10 // bytes
	// maxStdin bounds what is stored: by far more than anyone pipes on purpose.
	maxStdin = 1 << 30 // bytes
)

// stdin is standard input of which the beginning has been read.
type stdin struct {
	head []byte    // at most maxWords+1
	rest io.Reader // what follows it
}

// small reports whether it is text that fits the prompt.
func (s *stdin) small() bool { return len(s.head) <= maxWords && !output.IsBinary(s.head) }

// store stores it as an output of the run.
func (s *stdin) store(ctx context.Context, session *app.Session) ([]run.Part, error) {
	type stored struct {
		parts []run.Part
		err   error
	}
	done := make(chan stored, 1)
	go func() { // outlives ctx: a read of a pipe cannot be cancelled
		parts, err := session.Store(ctx, "stdin", io.MultiReader(bytes.NewReader(s.head), s.rest), maxStdin)
		done <- stored{parts, err}
	}()
	select {
	case r := <-done:
		if errors.Is(r.err, app.ErrTooLarge) {
			return nil, usage("standard input is larger than %d MB: save it as a file in the workspace and name that", maxStdin>>20)
		}
		if r.err != nil {
			return nil, fmt.Errorf("standard input: %w", r.err)
		}
		return r.parts, nil
	case <-ctx.Done():
		return nil, exit{code: interruptCode(ctx)}
	}
}

// stdinPatience is how long pawl reads standard input before it says so: a pipe that was
// left open looks like a hang.
const stdinPatience = 2 * time.Second

// input reads the beginning of standard input, unless it is a terminal or /dev/null; nil if
// there is nothing on it.
func (inv *invocation) input(ctx context.Context) (*stdin, error) {
	if f, ok := inv.Stdin.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
			return nil, nil // or the descriptor is closed
		}
	}
	type read struct {
		head []byte
		err  error
	}
	done := make(chan read, 1)
	go func() { // outlives ctx: a read of a pipe cannot be cancelled
		head, err := io.ReadAll(io.LimitReader(inv.Stdin, maxWords+1))
		done <- read{head, err}
	}()
	patience := time.NewTimer(stdinPatience)
	defer patience.Stop()
	for {
		select {
		case r := <-done:
			if r.err != nil {
				return nil, fmt.Errorf("read standard input: %w", r.err)
			}
			if len(r.head) == 0 {
				return nil, nil
			}
			return &stdin{r.head, inv.Stdin}, nil
		case <-patience.C:
			fmt.Fprintln(inv.Stderr, "pawl: reading context from standard input; close it, or redirect it from /dev/null")
		case <-ctx.Done():
			return nil, exit{code: interruptCode(ctx)}
		}
	}
}

// inputText returns standard input as text, of at most maxWords; "" if there is none.
func (inv *invocation) inputText(ctx context.Context) (string, error) {
	in, err := inv.input(ctx)
	switch {
	case err != nil || in == nil:
		return "", err
	case !in.small():
		return "", usage("standard input is not text of at most %d KB: give a file", maxWords>>10)
	}
	return strings.TrimSpace(string(in.head)), nil
}
