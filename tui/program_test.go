package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl/approval"
	"pawl/run"
	"pawl/tui/keys"
)

// Text that streams is drawn a frame's time after the frame before it; a dialog at once.
func TestADialogDoesNotWaitForTheNextFrame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration // of the frames
		var last frame
		p := newProgram(newModel(Options{Getenv: func(string) string { return "" }}), &backend{}, func(f frame) error {
			at, last = append(at, time.Since(began)), f
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.run(ctx, notice{"first"}, make(chan message)) }()
		synctest.Wait()
		p.mail.put(notice{"second"})
		time.Sleep(frameTime + time.Millisecond)
		synctest.Wait()
		p.mail.put(approvals{calls: []approval.Approval{{Call: run.Call{ID: "c", Tool: "shell", Arguments: `{"command":"make"}`}}}})
		synctest.Wait()
		if want := []time.Duration{0, frameTime, frameTime + time.Millisecond}; !slices.Equal(at, want) {
			t.Errorf("frames were drawn at %v, not at %v", at, want)
		}
		if live := strings.Join(last.live, "\n"); !strings.Contains(live, "Allow this time") {
			t.Errorf("there is no dialog in\n%s", live)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// However many orders wait for a disk that does not answer, the next key is taken in.
func TestAKeyIsTakenInWhileOrderedEffectsWait(t *testing.T) {
	t.Parallel()
	m := newModel(Options{Getenv: func(string) string { return "" }})
	m.id = "r"
	b := &backend{}
	p := newProgram(m, b, func(frame) error { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	ended, input := make(chan error), make(chan message)
	b.mu.Lock() // each effect asks for the conversation
	go func() { ended <- p.run(ctx, notice{"first"}, input) }()
	for range 1000 {
		input <- pressed{keys.Key{Name: "shift+tab"}}
	}
	b.mu.Unlock()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A program that is to end does not wait for the editor of the person.
func TestTheEditorEndsWithTheProgram(t *testing.T) {
	t.Parallel()
	getenv := func(name string) string { return map[string]string{"EDITOR": "exec sleep 1000 #"}[name] }
	m := newModel(Options{Getenv: getenv})
	b := &backend{}
	var above []string
	p := newProgram(m, b, func(f frame) error {
		above = append(above, f.above...)
		return nil
	})
	b.terminal = paused{}
	ended, input := make(chan error), make(chan message)
	go func() { ended <- p.run(t.Context(), notice{"first"}, input) }()
	input <- pressed{keys.Key{Name: "ctrl+g"}}
	input <- notice{"news"}
	input <- stopped{}
	if err := <-ended; err != nil || !m.terminated {
		t.Errorf("%v, terminated: %t", err, m.terminated)
	}
	if all := strings.Join(above, "\n"); !strings.Contains(all, "news") || strings.Contains(all, "failed") {
		t.Errorf("what came meanwhile is told, and no failure; there is\n%s", all)
	}
}

// A paused is a terminal that another program has.
type paused struct{}

func (paused) pause() error  { return nil }
func (paused) resume() error { return nil }
