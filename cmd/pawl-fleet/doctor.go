package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/fleet"
	"pawl/forms"
	"pawl/gitcopy"
)

// A finding is what came of a check, as JSON.
type finding struct {
	What    string `json:"what"`
	OK      bool   `json:"ok"`
	Details string `json:"details"`
}

func fleetDoctorCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what a worker or a server of a fleet needs on this machine",
		Long: `Checks what a worker or a server needs: the database, Temporal, workers for each queue with tasks, and
the shared repository, if there is one: that it can be fetched from and pushed to. It changes nothing.

Exit codes: 0 all is there, 1 something is not.`,
		Example: "  pawl-fleet fleet doctor --store postgres://pawl@db/pawl --temporal temporal:7233",
		Args:    cobra.NoArgs,
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, openShared(inv), func(ctx context.Context, ws *app.Workspace, _ []string) error {
		found := examine(ctx, inv, ws)
		var text strings.Builder
		t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		well := true
		for _, f := range found {
			state := "ok"
			if !f.OK {
				state, well = "problem", false
			}
			fmt.Fprintf(t, "%s\t%s\t%s\n", f.What, state, command.Visible(f.Details))
		}
		t.Flush() // a builder takes everything
		err := inv.Print(*asJSON, struct {
			OK    bool      `json:"ok"`
			Items []finding `json:"items"`
		}{well, found}, "%s", text.String())
		if err == nil && !well {
			err = command.Exit{Code: command.ExitFailed}
		}
		return err
	})
}

// examine makes all checks.
func examine(ctx context.Context, inv *command.Invocation, ws *app.Workspace) (found []finding) {
	check := func(what string, is func() (string, error)) bool {
		began := time.Now()
		details, err := is()
		if err != nil {
			details = err.Error()
		}
		found = append(found, finding{what, err == nil, cmp.Or(details, fmt.Sprintf("answers within %s", time.Since(began).Round(time.Millisecond)))})
		return err == nil
	}
	database := check("database", func() (string, error) {
		tasks, err := ws.Tasks()
		if err == nil {
			_, err = tasks.Store.Runs(ctx, 1)
		}
		return "", err
	})
	if database {
		var s forms.FleetForm
		if check("Temporal", func() (string, error) {
			c, err := dial(ctx, inv.Env, ws)
			if err != nil {
				return "", err
			}
			defer c.Close()
			s, err = fleet.Look(ctx, ws, c)
			return "", err
		}) {
			check("workers", func() (string, error) {
				if queues := s.Unattended; len(queues) > 0 {
					return "", fmt.Errorf("none takes tasks of the queue %s", strings.Join(queues, ", "))
				}
				return fmt.Sprintf("%d; %d tasks have something to be done", len(s.Workers), len(s.Tasks)), nil
			})
		}
	}
	if address := ws.Repository(); address != "" {
		check("repository", func() (string, error) { return "", gitcopy.Check(ctx, address) })
		check("folder", func() (string, error) { return ws.Dir + ", its state in " + ws.State, nil })
	}
	return found
}
