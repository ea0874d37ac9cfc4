package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/config"
	"pawl/forms"
	"pawl/runlog"
)

func runsListCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs of this folder, the one used last first",
		Long: `Lists the runs of this folder, the one used last first. In a folder without runs of its own
these are the runs of the nearest folder above it in the same repository. On a terminal lines
are cut to its width. --all lists the runs of all folders with their folders: pawl -C FOLDER
works with those of another.

A run is working (a process drives it), waiting (for a person), killed (its turn is open and
no process drives it), new (it has had no turn), or its turn has ended, and the list says how.`,
		Example: "  pawl runs list\n  pawl runs list --status killed,waiting\n  pawl runs list --limit 0 --json",
		Args:    cobra.NoArgs,
	}
	limit := cmd.Flags().Int("limit", 20, "list at most `n`; 0: all")
	offset := cmd.Flags().Int("offset", 0, "skip the first `n`")
	status := cmd.Flags().StringSlice("status", nil, "only runs of this `state`: "+strings.Join(command.RunStates, ", "))
	everywhere := cmd.Flags().Bool("all", false, "list the runs of all folders")
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := command.CheckPage(*limit, *offset); err != nil {
			return err
		}
		for _, s := range *status {
			if err := config.OneOf(command.RunStates...)(s); err != nil {
				return command.Usage("--status: %w", err)
			}
		}
		most := 0
		if *limit > 0 && len(*status) == 0 {
			most = *offset + *limit + 1
		}
		all, none, err := runs(cmd.Context(), inv, *everywhere, most)
		if err != nil {
			return err
		}
		any := len(all) > 0
		if len(*status) > 0 {
			all = slices.DeleteFunc(all, func(r runlog.Run) bool { return !slices.Contains(*status, command.RunState(r)) })
		}
		list := command.Page(all, *limit, *offset)
		if *asJSON {
			return inv.Encode(forms.List[forms.RunForm]{Items: forms.Forms(list.Items, forms.RunFormOf), Next: list.Next})
		}
		switch {
		case !any:
			fmt.Fprintln(inv.Stderr, none)
			return nil
		case len(all) == 0 && *everywhere:
			fmt.Fprintf(inv.Stderr, "no run is %s\n", strings.Join(*status, " or "))
			return nil
		case len(all) == 0:
			fmt.Fprintf(inv.Stderr, "no run of this folder is %s; --all lists the runs of all folders\n", strings.Join(*status, " or "))
			return nil
		}
		if err := inv.PrintLines(runLines(list.Items, time.Now(), inv.TableWidth(), *everywhere)); err != nil {
			return err
		}
		if list.Next > 0 {
			fmt.Fprintf(inv.Stderr, "there are more: --offset %d shows what follows, --limit 0 all\n", list.Next)
		}
		return nil
	}
	return cmd
}

// runs returns the runs of this folder, at most limit (0: all), or all of all folders, and what
// to say if there are none.
func runs(ctx context.Context, inv *command.Invocation, everywhere bool, limit int) (_ []runlog.Run, none string, err error) {
	if everywhere {
		all, err := runlog.All(ctx, inv.Env)
		return all, "no runs in any folder yet: start one with `pawl run \"…\"`", err
	}
	ws, err := inv.OpenRuns(nil)
	if err != nil {
		return nil, "", err
	}
	defer ws.Close() // nothing was written
	all, err := ws.Runs(ctx, limit)
	return all, noRunsHere(ws), err
}

// nameAndTitle is what a list says that a run is about.
func nameAndTitle(r runlog.Run) string {
	if r.Name == "" {
		return r.Title
	}
	return r.Name + " · " + r.Title
}

// noRunsHere says that a folder has no runs, and what to do.
func noRunsHere(ws *app.Workspace) string {
	if above := ws.Elsewhere(); above != "" {
		return "no runs in this folder yet; " + above
	}
	return "no runs in this folder yet: start one with `pawl run \"…\"`"
}

// The columns of the list of runs.
var runColumns = []string{"RUN", "STATE", "AGE", "TIME", "STEPS", "COST", "MODEL", "TITLE"}

// narrowRuns are the columns that are left out on a narrow terminal.
var narrowRuns = []command.Narrowing{{Column: "COST", Last: 30}, {Column: "STEPS", Last: 30}, {Column: "TIME", Last: 14}, {Column: "MODEL", Last: 14}, {Column: "AGE", Last: 14}}

// runLines returns the list of runs for people, with a header. Without a width (0) nothing is
// left out or cut. With folders it has the folder of each.
func runLines(runs []runlog.Run, now time.Time, width int, folders bool) []string {
	rows := [][]string{slices.Clone(runColumns)}
	for _, r := range runs {
		rows = append(rows, runRow(r, now, width > 0))
	}
	if folders {
		last := len(runColumns) - 1
		for i, row := range rows {
			folder := "FOLDER"
			if i > 0 {
				folder = command.Visible(runs[i-1].Workspace)
			}
			rows[i] = slices.Insert(row, last, folder)
		}
	}
	return command.NarrowedLines(rows, width, narrowRuns)
}

func runRow(r runlog.Run, now time.Time, short bool) []string {
	if r.Damage != "" {
		return []string{string(r.ID), "damaged", "", "", "", "", "", command.Visible(r.Damage)}
	}
	model := r.Model
	if short { // the provider is in the JSON, and in runs show
		model = model[strings.LastIndexByte(model, '/')+1:]
		model = command.OneLine(model, 20)
	}
	return []string{string(r.ID), command.RunState(r), command.ShortTime(now.Sub(r.Updated)), command.ShortTime(r.Updated.Sub(r.Created)), strconv.Itoa(r.Steps), command.CostCell(r.Usage),
		command.Visible(model), command.OneLine(nameAndTitle(r), 2*command.MaxTitle)}
}
