package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/run"
)

// A whyForm is the answer of runs why as JSON.
type whyForm struct {
	Run   run.ID        `json:"run"`
	Last  app.EventLine `json:"last"`
	End   run.End       `json:"end"` // empty: a turn is open
	State string        `json:"state"`
	Owed  []string      `json:"owed"`
	Owner int           `json:"owner,omitempty"` // pid of the process that owns the run
	Next  string        `json:"next"`
}

func runsWhyCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "why ID",
		Short:   "Show the state of a run: what it waits for and what to do next",
		Example: "  pawl runs why last",
	}
	asJSON := cmd.Flags().Bool("json", false, "one JSON object")
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		y, err := ws.Why(ctx, id)
		if err != nil {
			return err
		}
		form, err := app.LineOf(y.Last)
		if err != nil {
			return err
		}
		w := whyForm{Run: id, Last: form, State: ended(y.State), Owed: y.Owed, Next: next(y.State)}
		if !y.State.Turn.Open() {
			w.End = y.State.Turn.End.End
		}
		if y.Owner != nil {
			w.Owner = y.Owner.PID
			w.State = fmt.Sprintf("process %d drives it", y.Owner.PID)
			w.Next = fmt.Sprintf("wait, or stop it with `pawl runs stop %s`", id)
		}
		if *asJSON {
			return json.NewEncoder(inv.Stdout).Encode(w)
		}
		fmt.Fprintf(inv.Stdout, "run    %s\nlast   event %d, %s, %s: %s\nstate  %s\n", id, form.Seq, stamp(form.At), form.Type,
			eventLine(y.Last, form), visible(w.State))
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
