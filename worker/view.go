package worker

import (
	"encoding/json"

	"pawl/llm"
	"pawl/run"
)

// A View is something to show. Events are shown in order, after they are durable; the
// rest is gone if no one watched. One field is set.
type View struct {
	Event *run.Event
	Delta *llm.Delta // of the answer under way; Part, Usage and Answer are not shown
	// Drop says that the answer under way will be asked for again: what was shown
	// of it does not count.
	Drop     bool
	Progress *Progress
	// Stopping says that an interrupt has closed the gate: nothing starts any
	// more. Its event follows.
	Stopping *run.Interrupted
	// Notice is something that does not work, and does not keep the run from working.
	Notice string
}

// Progress is what a running call prints.
type Progress struct {
	Call run.CallID `json:"call"`
	Text string     `json:"text"`
}

// line is a View as it goes to viewers in other processes; events they read from
// the database.
type line struct {
	Seq      int64     `json:"seq,omitempty"`
	Text     string    `json:"text,omitempty"`
	Thinking string    `json:"thinking,omitempty"`
	Tool     string    `json:"tool,omitempty"`
	Input    string    `json:"input,omitempty"`
	Drop     bool      `json:"drop,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
	Stopping string    `json:"stopping,omitempty"`
	Notice   string    `json:"notice,omitempty"`
}

func (d *Runner) show(v View) {
	d.showing.Lock()
	defer d.showing.Unlock()
	if d.watch != nil {
		d.watch(v)
	}
	if d.listen == nil || d.listen.Viewers() == 0 {
		return
	}
	l := line{Drop: v.Drop, Notice: v.Notice, Progress: v.Progress}
	switch {
	case v.Event != nil:
		l.Seq = v.Event.Seq
	case v.Delta != nil:
		l.Text, l.Thinking, l.Tool, l.Input = v.Delta.Text, v.Delta.Thinking, v.Delta.Call, v.Delta.Input
	case v.Stopping != nil:
		l.Stopping = string(v.Stopping.Cause)
	}
	if b, err := json.Marshal(l); err == nil {
		d.listen.Broadcast(b)
	}
}
