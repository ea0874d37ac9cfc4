package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/run"
	"pawl/store"
)

// recoveredName is the database that runs recover makes. It does not begin with
// pawl.db, so that the command it prints does not move it too.
const recoveredName = "recovered.db"

func runsRecoverCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Save what can be read of a damaged database into a new one",
		Long: `Copies the runs of this folder into a new database beside the old one, and reports for each
incomplete run how much of it could be read. The old database is not changed. A run that
has lost its last events can be read and forked, but not continued. A run or task that comes from another state
folder is taken over with what was allowed in it: do that with your own alone.`,
		Example: "  pawl runs recover",
		Args:    cobra.NoArgs,
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, _ []string) error {
		out := filepath.Join(ws.State, recoveredName)
		runs, err := ws.Salvage(ctx, out)
		switch {
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("%s exists already: use it, or remove it and run this again", out)
		case err != nil:
			return err
		}
		return recovered(inv, ws.State, runs, *asJSON)
	})
}

// A recoverForm is what was saved, as JSON.
type recoverForm struct {
	Database string          `json:"database"` // the new one
	Items    []recoveredForm `json:"items"`
}

type recoveredForm struct {
	Run     run.ID `json:"run"`
	Title   string `json:"title,omitempty"`
	Events  int64  `json:"events"`         // that were saved
	Written int64  `json:"written_events"` // that there were
	Lost    string `json:"lost,omitempty"` // what was lost, and why
}

// recovered prints what was saved and how to use it.
func recovered(inv *command.Invocation, state string, runs []store.Salvaged, asJSON bool) error {
	whole, events := 0, int64(0)
	form := recoverForm{filepath.Join(state, recoveredName), []recoveredForm{}}
	for _, r := range runs {
		form.Items = append(form.Items, recoveredForm{r.Run, r.Title, r.Kept, r.Written, r.Lost})
		events += r.Kept
		if r.Lost == "" {
			whole++
			continue
		}
		if asJSON {
			continue
		}
		fmt.Fprintf(inv.Stdout, "%s  %d of %d events: %s  %s\n", r.Run, r.Kept, r.Written, command.Visible(r.Lost), command.Visible(r.Title))
	}
	if asJSON {
		if err := inv.Encode(form); err != nil || whole == len(runs) {
			return err
		}
		return command.Exit{Code: command.ExitFailed}
	}
	fmt.Fprintf(inv.Stdout, `%d of %s whole, %s saved in %s
To use it, while no pawl works in this folder:
  cd %s
  mkdir damaged && mv pawl.db* damaged/ && mv %s pawl.db
`, whole, command.Plural(len(runs), "run"), command.Plural(int(events), "event"), filepath.Join(state, recoveredName), command.ShellWord(state), recoveredName)
	if whole < len(runs) {
		return command.Exit{Code: command.ExitFailed}
	}
	return nil
}
