package tasks

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"

	"pawl/app"
	"pawl/board"
	"pawl/cli/command"
	"pawl/cli/console"
	"pawl/forms"
	"pawl/permission"
	"pawl/report"
	"pawl/run"
	tasks "pawl/task"
	"pawl/view"
)

// A taskHistory prints the history of tasks as it grows, and between its events what the runs
// of the tasks do that this process drives: after what was in the history when the run was
// opened, and before every event of the run that follows.
type taskHistory struct {
	inv    *command.Invocation
	ws     *app.Workspace
	asJSON bool
	named  bool // lines begin with the id of the task
	asks   bool // what a run waits for that is driven here is asked at the terminal
	out    io.Writer

	sessions sync.WaitGroup // what prints runs

	mu     sync.Mutex // held while events are printed; what prints a run takes it only when it has ended
	seen   map[tasks.ID]int64
	runs   map[run.ID]*console.Printer // of the runs that are driven here
	driven map[tasks.ID]bool           // a run of the task was driven here
}

// show prints what is new in the history of a task. The error says that it cannot be read.
func (h *taskHistory) show(id tasks.ID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	events, err := board.Of(h.ws).Events(context.Background(), id, h.seen[id], 0)
	for _, e := range events {
		h.print(id, e)
	}
	return err
}

// event prints an event, unless it was printed.
func (h *taskHistory) event(id tasks.ID, e tasks.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Seq > h.seen[id] {
		h.print(id, e)
	}
}

func (h *taskHistory) print(id tasks.ID, e tasks.Event) {
	h.seen[id] = e.Seq
	if p := h.runs[e.Run]; p != nil {
		if r, err := h.ws.Run(context.Background(), e.Run); err == nil {
			p.Await(r.Seq)
		}
	}
	if h.asJSON {
		if line, err := forms.TaskLineOf(id, e); err == nil {
			_ = h.inv.Encode(line) // who does not read it needs no more
		}
		return
	}
	if !report.TaskTold(e) || h.driven[id] && h.shownWithRun(e) {
		return
	}
	h.line(id, report.TaskWords(e))
	p, ok := e.Payload.(tasks.StatusChanged)
	if ok && h.named {
		h.next(id, p.To)
	}
	if ok && p.To == tasks.Active {
		beside, _ := board.Of(h.ws).Beside(context.Background(), id) // what cannot be read is not known
		for _, other := range beside {
			h.line(id, fmt.Sprintf("note: task %s works in this folder too, and each may change what the other one works on; a task with `--isolation clone` works in a copy", other))
		}
	}
}

// shownWithRun reports whether an event is shown where the run is, which is driven here: a call, and
// what is asked and answered at this terminal.
func (h *taskHistory) shownWithRun(e tasks.Event) bool {
	switch p := e.Payload.(type) {
	case tasks.ToolExecuted:
		return p.Call != ""
	case tasks.PermissionRequested, tasks.PermissionDecided:
		return h.asks
	}
	return false
}

// line prints a line about a task.
func (h *taskHistory) line(id tasks.ID, line string) {
	for l := range strings.SplitSeq(line, "\n") {
		if h.named {
			l = string(id) + "  " + l
		}
		fmt.Fprintln(h.out, command.Visible(l))
	}
}

// next prints what a task that has come to rest needs of a person.
func (h *taskHistory) next(id tasks.ID, status tasks.StatusName) {
	switch status {
	case tasks.AwaitingInput, tasks.Planned, tasks.Waiting, tasks.Failed:
	default:
		return
	}
	s, err := board.Of(h.ws).Load(context.Background(), id)
	if err != nil || s.Status.Name != status || s.Starts() {
		return // it is told with what has happened since, or nothing is needed
	}
	for i, q := range s.OpenQuestions() {
		h.line(id, fmt.Sprintf("  %d. %s", i+1, command.OneLine(q, 3*command.MaxTitle)))
	}
	h.line(id, "  next: "+s.Advice())
}

// session prints what the agent of a task does while it works, and asks what it waits for if
// asks is not nil. It is for [board.Options].
func (h *taskHistory) session(ctx context.Context, asks *taskAsker) func(tasks.ID, *app.Session) {
	return func(id tasks.ID, s *app.Session) {
		_ = h.show(id) // what cannot be read now is printed later
		m := permission.ModeOf(s.Config().Mode)
		given := m
		if c, err := h.ws.Config(); err == nil && c.Has("mode", true) {
			given = permission.ModeOf(c.Get("mode"))
		}
		switch {
		case h.asJSON:
		case given != m:
			h.line(id, fmt.Sprintf("%s stays in mode %s: %s is for runs that begin; to change it: pawl runs set %s --mode %s", s.ID(), m, given, s.ID(), given))
		case m != permission.Default:
			h.line(id, fmt.Sprintf("%s works in mode %s", s.ID(), m))
		}
		state := s.State()
		out := &console.Printer{Output: "text", Stdout: h.inv.Stdout, Stderr: h.out, View: view.From(state), Moved: make(chan struct{})}
		out.Shown(state.Seq)
		h.mu.Lock()
		h.runs[s.ID()], h.driven[id] = out, true
		h.mu.Unlock()
		changed := make(chan struct{}, 1)
		if asks != nil {
			go asks.calls(ctx, s, out, changed)
		}
		h.sessions.Go(func() {
			defer func() {
				out.Shown(math.MaxInt64)
				close(changed)
				h.mu.Lock()
				defer h.mu.Unlock()
				if h.runs[s.ID()] == out {
					delete(h.runs, s.ID())
				}
			}()
			var progress console.Progress
			for u, err := range s.Follow(context.Background(), state.Seq) {
				if err != nil {
					return
				}
				for _, item := range out.View.Update(u) {
					notice := item.Note != nil && item.Note.Kind == view.NoteNotice
					if item.Kind == view.KindText || item.Kind == view.KindCall || notice { // the history has the rest
						line := progress.Line(item)
						if item.Final && item.Answer { // it is not the result of the task
							line = command.Said(command.OneLine(item.Text, command.MaxTitle))
						}
						if line != "" {
							h.line(id, line)
						}
					}
				}
				if u.Event != nil {
					out.Shown(u.Event.Seq)
				}
				select {
				case changed <- struct{}{}:
				default: // it looks when it has asked
				}
			}
		})
	}
}
