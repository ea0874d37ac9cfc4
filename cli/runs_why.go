package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/run"
	"pawl/store"
	"pawl/view"
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
		events, s, err := ws.Load(ctx, id)
		if err != nil {
			return err
		}
		owner, owned, err := ws.Owner(ctx, id)
		if err != nil {
			return err
		}
		last := events[len(events)-1]
		form, err := app.LineOf(last)
		if err != nil {
			return err
		}
		w := whyForm{Run: id, Last: form, State: ended(s), Owed: []string{}, Next: next(s)}
		if !s.Turn.Open() {
			w.End = s.Turn.End.End
		}
		for _, c := range s.Next() {
			w.Owed = append(w.Owed, owedWords(c))
		}
		for _, q := range s.Questions() {
			w.Owed = append(w.Owed, "an answer: "+app.QuestionOf(q.Call).Text)
		}
		if owned {
			w.Owner = owner.PID
			w.State = fmt.Sprintf("process %d drives it", owner.PID)
			w.Next = fmt.Sprintf("wait, or stop it with `pawl runs stop %s`", id)
		}
		if *asJSON {
			return json.NewEncoder(inv.Stdout).Encode(w)
		}
		fmt.Fprintf(inv.Stdout, "run    %s\nlast   event %d, %s, %s: %s\nstate  %s\n", id, form.Seq, stamp(form.At), form.Type,
			eventLine(last, form), visible(w.State))
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

// owedWords describes a command.
func owedWords(c run.Command) string {
	switch c := c.(type) {
	case run.Derive:
		if end, ok := c.Payload.(run.Ended); ok {
			return "the end of the turn: " + string(end.End)
		}
		return "an event that follows from the log: " + store.Type(c.Payload)
	case run.Inspect:
		return "an inspection of the call " + view.Title(c.Call.Tool, c.Call.Arguments)
	case run.Decide:
		return "a decision: may this run? " + view.Title(c.Call.Tool, c.Call.Arguments)
	case run.Perform:
		if c.Call.Status == run.CallRunning {
			return "the end of a call that has started: " + view.Title(c.Call.Tool, c.Call.Arguments)
		}
		return "the call " + view.Title(c.Call.Tool, c.Call.Arguments)
	case run.Request:
		text := fmt.Sprintf("a model request (%s, attempt %d)", c.Purpose, c.Attempt)
		if c.Wait > 0 {
			text += fmt.Sprintf(", %s after the last one failed", c.Wait.Round(100*time.Millisecond))
		}
		return text
	case run.ExternalTurn:
		return fmt.Sprintf("a turn of the external agent (attempt %d)", c.Attempt)
	}
	return c.Key()
}
