package command

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
	"pawl/output"
	"pawl/run"
)

// OpenFile opens a file, or standard input for -, which is kept in a temporary file.
func (inv *Invocation) OpenFile(name string) (*os.File, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, Usage("the file cannot be read: %w", err)
		}
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() {
			return f, nil
		}
		if err == nil && info.IsDir() {
			err = Usage("%s is a folder: name a file", name)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		defer f.Close()
		return keepInput(f)
	}
	return keepInput(inv.Stdin)
}

// keepInput copies what can be read once only to a temporary file without a name.
func keepInput(r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "pawl-")
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return nil, fmt.Errorf("the input cannot be kept in a temporary file: %w", errors.Join(err, f.Close()))
	}
	return f, nil
}

// OnTerminal reports whether somebody could answer on standard input.
func (inv *Invocation) OnTerminal() bool {
	f, ok := inv.Stdin.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const (
	// MaxWords is how much of standard input becomes part of the prompt. What is larger is
	// stored, and the model asks for what it needs of it.
	MaxWords = 64 << 10 // bytes
	// MaxStdin bounds what is stored: by far more than anyone pipes on purpose.
	MaxStdin = 1 << 30 // bytes
)

// Stdin is standard input of which the beginning has been read.
type Stdin struct {
	Head []byte    // at most maxWords+1
	rest io.Reader // what follows it
}

// Small reports whether it is text that fits the prompt.
func (s *Stdin) Small() bool { return len(s.Head) <= MaxWords && !output.IsBinary(s.Head) }

// Store stores it as an output of the run.
func (s *Stdin) Store(ctx context.Context, session *app.Session) ([]run.Part, error) {
	type stored struct {
		parts []run.Part
		err   error
	}
	done := make(chan stored, 1)
	go func() { // outlives ctx: a read of a pipe cannot be cancelled
		parts, err := session.Store(ctx, "stdin", io.MultiReader(bytes.NewReader(s.Head), s.rest), MaxStdin)
		done <- stored{parts, err}
	}()
	select {
	case r := <-done:
		if errors.Is(r.err, output.ErrTooLarge) {
			return nil, Usage("standard input is larger than %d MB: save it as a file in the workspace and name that", MaxStdin>>20)
		}
		if r.err != nil {
			return nil, fmt.Errorf("standard input: %w", r.err)
		}
		return r.parts, nil
	case <-ctx.Done():
		return nil, Exit{Code: InterruptCode(ctx)}
	}
}

// stdinPatience is how long pawl reads standard input before it says so: a pipe that was
// left open looks like a hang.
const stdinPatience = 2 * time.Second

// Input reads the beginning of standard input, unless it is a terminal or /dev/null; nil if
// there is nothing on it.
func (inv *Invocation) Input(ctx context.Context) (*Stdin, error) {
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
		head, err := io.ReadAll(io.LimitReader(inv.Stdin, MaxWords+1))
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
			return &Stdin{r.head, inv.Stdin}, nil
		case <-patience.C:
			fmt.Fprintln(inv.Stderr, "pawl: reading context from standard input; close it, or redirect it from /dev/null")
		case <-ctx.Done():
			return nil, Exit{Code: InterruptCode(ctx)}
		}
	}
}

// InputText returns standard input as text, of at most maxWords; "" if there is none.
func (inv *Invocation) InputText(ctx context.Context) (string, error) {
	in, err := inv.Input(ctx)
	switch {
	case err != nil || in == nil:
		return "", err
	case !in.Small():
		return "", Usage("standard input is not text of at most %d KB: give a file", MaxWords>>10)
	}
	return strings.TrimSpace(string(in.Head)), nil
}
