// Package tui is the terminal agent: it shows a run as it happens in the normal screen of a
// terminal and hands in what the person types. It decides nothing about runs: that is package
// app. How a run looks in lines is package render, and where lines come to stand on the
// screen package internal/screen.
//
// A model is plain state: messages change it, and what is to be done outside comes back as
// effects (message.go). Effects run in goroutines of their own and post messages. So a key is
// taken in however busy a run, a disk or the network is.
package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"pawl/app"
	"pawl/internal/screen"
	"pawl/render"
	"pawl/tui/editor"
	"pawl/tui/keys"
)

// Options say what the terminal begins with.
type Options struct {
	Version string // of pawl
	Dir     string // the workspace
	Home    string // that ~ stands for; may be empty
	Mode    string // the permission mode that the settings name
	Chosen  string // the one that was given for this process; "": none
	Agent   string // of new runs; "": none
	Style   render.Style
	Prompt  string // is sent first; may be empty
	Resume  string // the run to begin with, as for [app.Workspace.Find]; "": a new one
	Pick    bool   // let the person choose the run
	History string // the file of earlier prompts; "": they are not kept
	Getenv  func(string) string
	// Restores is told how the terminal is given back by a process that ends at once. May be nil.
	Restores func(restore func())
	// AsPerson returns an error if what works here is a command of a run, which cannot do what only
	// a person may. Nil: it is not known.
	AsPerson func(what string) error
	// CommandLine runs a command line of pawl and returns what it prints, to be shown in so many
	// columns (0: as it is), and its exit code.
	// Nil: commands that need it are not there.
	CommandLine func(ctx context.Context, columns int, args ...string) (output string, code int)
}

// ErrNoTerminal says that there is no terminal that can be used.
var ErrNoTerminal = errors.New("the terminal agent needs a terminal; without one use `pawl run -p \"…\"`")

// ErrTerminated says that the end of Run's context has ended the terminal agent, in good order.
var ErrTerminated = errors.New("terminated")

// Run shows the terminal agent until the person leaves or ctx ends. Notices receives what the workspace
// says; see [app.Options].
func Run(ctx context.Context, ws *app.Workspace, o Options, in, out *os.File, notices <-chan string) (last string, err error) {
	reader, err := keys.Start(in, out)
	if err != nil {
		return "", errors.Join(ErrNoTerminal, err)
	}
	defer reader.Close()
	t := &terminal{reader: reader, out: out, screen: screen.New(out, false)}
	m := newModel(o)
	if size, ok := (<-reader.Events()).(keys.Resize); ok { // the first event
		m.size(size.Width, size.Height)
	}
	b := &backend{ws: ws}
	p := newProgram(m, b, t.draw)
	b.terminal = t
	t.settled = time.AfterFunc(time.Hour, func() { b.post(tick{}) })
	defer t.settled.Stop()
	if o.History != "" {
		if m.input.editor.History, err = editor.NewHistory(maxPrompts, editor.HistoryFile(o.History)); err != nil {
			m.say(err.Error())
		}
		m.composes = m.composes || m.input.editor.History.Typed(isComposed)
	}
	m.input.editor.ASCII = o.Style.ASCII
	if o.Getenv("SSH_TTY") != "" || o.Getenv("SSH_CONNECTION") != "" {
		reader.Slow()
	}
	if err := reader.Ask(keys.Version, keys.Keyboard); err != nil {
		return "", err
	}
	if o.Restores != nil {
		o.Restores(func() { _ = reader.Restore() }) // the process ends anyway
	}
	input := make(chan message)
	stop := ctx.Done()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go t.receive(ctx, input, stop, notices)
	defer func() {
		if r := recover(); r != nil { // what it says needs a terminal that is as it was before
			_ = errors.Join(t.screen.Erase(m.width), reader.Close())
			panic(r)
		}
	}()
	err = p.run(ctx, nil, input)
	cancel()
	err = errors.Join(err, b.leave(app.ForExit), t.screen.Erase(m.width))
	if m.terminated && err == nil {
		err = ErrTerminated
	}
	return string(m.id), err
}

// maxPrompts is how many earlier prompts are kept.
const maxPrompts = 1000

// A terminal joins the keys of the person and what is drawn.
type terminal struct {
	reader *keys.Reader
	out    *os.File
	screen *screen.Screen
	width  int // of the last frame
	// settled draws another frame after a resize, for the cursor; see [screen.Screen.Unsettled].
	settled *time.Timer
}

// receive turns events of the terminal into messages, until ctx ends or the terminal is gone.
// When stop is closed the person is taken to leave.
func (t *terminal) receive(ctx context.Context, input chan<- message, stop <-chan struct{}, notices <-chan string) {
	defer close(input)
	for {
		var m message
		select {
		case e, ok := <-t.reader.Events():
			if !ok {
				return
			}
			if m = messageOf(e); m == nil {
				continue
			}
		case <-stop:
			m, stop = stopped{}, nil
		case text := <-notices:
			m = notice{text}
		case <-ctx.Done():
			return
		}
		select {
		case input <- m:
		case <-ctx.Done():
			return
		}
	}
}

// messageOf returns an event of the terminal as a message; nil for one that means nothing.
func messageOf(e keys.Event) message {
	switch e := e.(type) {
	case keys.Key:
		return pressed{e}
	case keys.Paste:
		return pasted{e.Text, e.Dropped}
	case keys.Focus:
		return focused{e.In}
	case keys.Resize:
		return resized{e.Width, e.Height}
	case keys.Reply:
		return replied{e}
	}
	return nil
}

// draw draws a frame.
func (t *terminal) draw(f frame) error {
	if f.bell != "" {
		if _, err := t.out.WriteString(f.bell); err != nil {
			return err
		}
	}
	if f.clear {
		t.screen.Forget()
		f.above = append([]string{"\x1b[2J\x1b[H"}, f.above...)
	}
	t.width = f.width
	t.reader.Patient(f.shown.guard != nil) // where Esc stops all
	t.screen.SetReflows(f.reflows)
	now := time.Now()
	err := t.screen.Draw(screen.Frame{Width: f.width, Height: f.height, Above: f.above, Live: f.live,
		Cursor: screen.Cursor{Row: f.row, Col: f.col, Hidden: f.row < 0}, Now: now})
	if t.screen.Unsettled(now) {
		t.settled.Reset(screen.Settle)
	}
	return err
}

// pause gives the terminal to another program.
func (t *terminal) pause() error {
	return errors.Join(t.screen.Erase(t.width), t.reader.Pause())
}

// resume takes the terminal back.
func (t *terminal) resume() error { return t.reader.Resume() }

// externalEditor lets the person write in an editor of their own.
func (m *model) externalEditor() []effect {
	draft := m.input.editor.Draft()
	getenv := m.Getenv
	return []effect{exclusive(func(ctx context.Context, b *backend) error {
		f, err := os.CreateTemp("", "pawl-*.md")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		if _, err := f.WriteString(draft.Text()); err != nil {
			return errors.Join(err, f.Close())
		}
		if err := f.Close(); err != nil {
			return err
		}
		name, cmd := editorCommand(ctx, getenv, f.Name())
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Run(); ctx.Err() != nil {
			return nil // the program ends
		} else if err != nil {
			return fmt.Errorf("the editor %s failed: %w; VISUAL or EDITOR names another", name, err)
		}
		content, err := os.ReadFile(f.Name())
		if err == nil {
			b.post(inserted{strings.TrimRight(string(content), "\n"), draft.Images()})
		}
		return err
	})}
}

// suspend stops the process until the person continues it.
func (m *model) suspend() []effect {
	return []effect{exclusive(func(context.Context, *backend) error { return stopSelf() })}
}
