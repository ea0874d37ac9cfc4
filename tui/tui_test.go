package tui

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pawl/app"
	"pawl/internal/screen"
	"pawl/internal/screen/screentest"
	"pawl/render"
	"pawl/tui/keys"
	"pawl/worker"
)

// A person sits at a terminal in memory, before the terminal agent in a workspace of their own
// with a scripted model.
type person struct {
	t        *testing.T
	dir      string
	ws       *app.Workspace
	input    chan message
	done     chan error
	terminal *screentest.Terminal
	screen   *screen.Screen

	mu    sync.Mutex
	drawn chan struct{} // closed when a frame was drawn
	last  frame
	stuck chan struct{} // the terminal reads nothing until it is closed; nil: it reads
	ahead atomic.Int64  // how far the clock of the terminal agent is ahead, in nanoseconds
}

// passes lets time pass for the terminal agent.
func (p *person) passes(d time.Duration) {
	p.t.Helper()
	p.ahead.Add(int64(d))
	p.hand(tick{})
}

// A setting changes how a person begins.
type setting struct {
	dir, home     string // "": new ones
	width, height int
	files         map[string]string
	options       func(*Options)
	vars          map[string]string // of the environment, besides the usual ones
	flags         map[string][]string
}

// sit begins the terminal agent with a script of the model.
func sit(t *testing.T, script string, s setting) *person {
	t.Helper()
	if s.dir == "" {
		s.dir = t.TempDir()
	}
	if s.home == "" {
		s.home = t.TempDir()
	}
	if s.width == 0 {
		s.width, s.height = 80, 24
	}
	for name, content := range s.files {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{"HOME": s.home, "PATH": os.Getenv("PATH"), "LANG": "C.UTF-8"}
	if script != "" {
		path := filepath.Join(t.TempDir(), "script.jsonl")
		if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		vars["PAWL_MODEL"] = "script/" + path
	}
	maps.Copy(vars, s.vars)
	env := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	p := &person{t: t, input: make(chan message), done: make(chan error, 1), terminal: screentest.New(t, s.width, s.height), drawn: make(chan struct{})}
	notices := make(chan string, 16)
	ws, err := app.Open(app.Options{Dir: s.dir, Env: env, Given: s.flags, Drives: true, OnAsk: worker.AskWait, Notice: func(text string) {
		select {
		case notices <- text:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.ws, p.dir = ws, ws.Dir
	p.screen = screen.New(p.terminal, true)
	get := func(name string) string { return vars[name] }
	o := Options{Version: "test", Dir: ws.Dir, Home: s.home, Mode: "default", Style: render.Style{}, Getenv: get}
	if given := s.flags["mode"]; len(given) > 0 {
		o.Chosen = given[0]
	}
	if s.options != nil {
		s.options(&o)
	}
	m := newModel(o)
	b := &backend{ws: ws}
	program := newProgram(m, b, p.draw)
	program.now = func() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) }
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		err := program.run(ctx, nil, p.input)
		if e := b.leave(""); err == nil {
			err = e
		}
		p.done <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	p.size(s.width, s.height)
	return p
}

// draw draws a frame on the terminal in memory.
func (p *person) draw(f frame) error {
	p.mu.Lock()
	stuck := p.stuck
	p.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	width, height := p.terminal.Size()
	err := p.screen.Draw(screen.Frame{Width: width, Height: height, Above: f.above, Live: f.live,
		Cursor: screen.Cursor{Row: f.row, Col: f.col, Hidden: f.row < 0}, Now: time.Now()})
	p.last = f
	close(p.drawn)
	p.drawn = make(chan struct{})
	return err
}

// hand hands a message in.
func (p *person) hand(m message) {
	p.t.Helper()
	select {
	case p.input <- m:
	case <-time.After(patience):
		p.t.Fatalf("nothing takes %v in", m)
	}
}

// patience is how long a test waits for what must come: far more than it takes. PAWL_TEST_PATIENCE is another,
// for a person who writes a story and does not yet know what it shows.
var patience = func() time.Duration {
	v := os.Getenv("PAWL_TEST_PATIENCE")
	if v == "" {
		return 2 * time.Minute
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		panic("PAWL_TEST_PATIENCE: " + err.Error())
	}
	return d
}()

// Patience is for the tests outside this package.
var Patience = patience

func (p *person) size(width, height int) {
	p.t.Helper()
	p.mu.Lock()
	p.terminal.Resize(width, height)
	p.mu.Unlock()
	p.hand(resized{width, height})
}

// types types text, key by key.
func (p *person) types(text string) {
	p.t.Helper()
	for _, r := range text {
		name := string(r)
		if r == ' ' {
			name = "space"
		}
		p.hand(pressed{keys.Key{Name: name, Text: string(r)}})
	}
}

// presses presses keys by their names.
func (p *person) presses(names ...string) {
	p.t.Helper()
	for _, name := range names {
		text := ""
		if len(name) == 1 {
			text = name
		}
		p.hand(pressed{keys.Key{Name: name, Text: text}})
	}
}

// says types a line and sends it.
func (p *person) says(text string) {
	p.t.Helper()
	p.types(text)
	p.presses("enter")
}

// sees waits until all texts are on the terminal, scrolled off or not.
func (p *person) sees(texts ...string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q", texts), func(all string) bool {
		for _, text := range texts {
			if !strings.Contains(all, text) {
				return false
			}
		}
		return true
	})
}

// reads waits until a step that asks is on the terminal and its keys count, which takes as long as
// to read it. That the step is there is not enough: its time begins when it has been drawn.
func (p *person) reads() {
	p.t.Helper()
	p.until("something that asks", func(string) bool { return p.last.shown.guard != nil })
	p.until("something that takes keys", func(string) bool {
		if !p.last.asks {
			p.ahead.Add(int64(calm)) // the next frame is drawn when the keys begin to count
		}
		return p.last.asks
	})
}

// answers reads what is asked, and answers with a letter. What would be stored is read, and stored for this folder.
func (p *person) answers(key string) {
	p.t.Helper()
	p.reads()
	p.mu.Lock()
	first := p.last.shown.guard
	p.mu.Unlock()
	p.presses(key, "enter")
	if key == "a" || key == "v" {
		p.until("the rule", func(string) bool { return p.last.shown.guard != nil && p.last.shown.guard != first })
		p.reads()
		p.presses("1", "enter")
	}
}

// rests waits until the agent is at rest, after all that was handed in.
func (p *person) rests() {
	p.t.Helper()
	p.hand(tick{}) // a frame that is begun from here on knows of everything before
	for range 2 {  // the first that is drawn now may have been begun earlier
		p.mu.Lock()
		drawn := p.drawn
		p.mu.Unlock()
		p.hand(tick{})
		select {
		case <-drawn:
		case <-time.After(patience):
			p.t.Fatal("no frame is drawn")
		}
	}
	p.until("the agent at rest", func(string) bool { return !p.last.works })
}

// until waits until a condition on all that is on the terminal holds.
func (p *person) until(what string, holds func(all string) bool) {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		all, drawn := p.terminal.Text(), p.drawn
		ok := holds(all)
		p.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-drawn:
		case err := <-p.done:
			p.t.Fatalf("it has left (%v) before there was %s:\n%s", err, what, all)
		case <-deadline:
			p.t.Fatalf("there is no %s:\n%s", what, all)
		}
	}
}

// text returns all that is on the terminal.
func (p *person) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.terminal.Text()
}

// leaves leaves the terminal agent.
func (p *person) leaves() {
	p.t.Helper()
	p.until("the terminal agent without a pane", func(string) bool { return !p.last.asks })
	p.presses("ctrl+u", "ctrl+d")
	select {
	case err := <-p.done:
		if err != nil {
			p.t.Fatal(err)
		}
	case <-time.After(patience):
		p.t.Fatalf("it does not leave:\n%s", p.text())
	}
}

func (p *person) file(name string) string {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return string(content)
}
