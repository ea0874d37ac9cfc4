package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/run"
	"pawl/store"
)

// A whyForm is the answer of runs why as JSON.
type whyForm struct {
	Run    run.ID        `json:"run"`
	State  app.Condition `json:"state"`
	End    run.End       `json:"end,omitempty"` // of the last turn
	Reason string        `json:"reason,omitempty"`
	Text   string        `json:"text"` // the state in a sentence
	Last   lastForm      `json:"last"`
	Owed   []string      `json:"owed"`
	PID    int           `json:"pid,omitempty"` // of the process that drives the run
	Next   string        `json:"next,omitempty"`
}

// A lastForm is the last event of a run.
type lastForm struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Type string    `json:"type"`
	Text string    `json:"text"` // what it is, in a line
}

func runsWhyCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "why ID",
		Short:   "Show the state of a run: what it waits for and what to do next",
		Example: "  pawl runs why last",
	}
	asJSON := jsonFlag(cmd)
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		y, err := ws.Why(ctx, id)
		if err != nil {
			return err
		}
		w := whyOf(y)
		if *asJSON {
			return inv.encode(w)
		}
		fmt.Fprintf(inv.Stdout, "run    %s\nstate  %s\nlast   %s (event %d, %s)\n", id, visible(w.Text), visible(w.Last.Text), w.Last.Seq, stamp(w.Last.At))
		for _, o := range w.Owed {
			fmt.Fprintf(inv.Stdout, "owed   %s\n", oneLine(o, 2*maxTitle))
		}
		if len(w.Owed) == 0 {
			fmt.Fprintln(inv.Stdout, "owed   nothing")
		}
		if w.Next != "" {
			fmt.Fprintf(inv.Stdout, "next   %s\n", w.Next)
		}
		return nil
	})
}

func whyOf(y app.Why) whyForm {
	s := y.State
	var words eventWords
	for _, c := range s.Turn.Calls {
		words.named(c.Call)
	}
	w := whyForm{Run: y.Run, State: app.ConditionOf(s, y.Owner != nil), Text: app.ConditionWords(s, y.Owner), Owed: y.Owed, Next: next(s),
		Last: lastForm{y.Last.Seq, y.Last.At, store.Type(y.Last.Payload), words.of(y.Last)}}
	if !s.Turn.Open() {
		w.End, w.Reason = s.Turn.End.End, s.Turn.End.Reason
	}
	if y.Owner != nil {
		w.PID = y.Owner.PID
	}
	if w.State == app.Working {
		w.Next = fmt.Sprintf("wait, or stop it with `pawl runs stop %s`", y.Run)
	}
	return w
}
