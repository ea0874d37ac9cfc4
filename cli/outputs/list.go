package outputs

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/config"
	"pawl/forms"
	"pawl/output"
)

func outputsListCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stored outputs of a run, the most recent first",
		Long: `Lists the stored outputs of the most recent run and its child runs, of the run given with
--run, or of all runs of this folder.`,
		Example: "  pawl outputs list\n  pawl outputs list --all --sort size\n  pawl outputs list --run 20261120-2130 --tool shell --json",
		Args:    cobra.NoArgs,
	}
	flags := cmd.Flags()
	which := flags.String("run", "", "the `run`: an id, a prefix of one, or last (default last)")
	all := flags.Bool("all", false, "those of all runs of this folder")
	flags.String("tool", "", "only outputs of this `tool`")
	flags.Bool("success", true, "those of calls that succeeded, or with =false of those that failed")
	after := flags.String("after", "", "stored after this `time`: 36h or 7d (ago), or a day such as 2026-11-20")
	before := flags.String("before", "", "stored before this `time`")
	limit := flags.Int("limit", 20, "list at most `n`; 0: all")
	offset := flags.Int("offset", 0, "skip the first `n`")
	flags.String("sort", "created_at", "sort by this `key`: created_at, size, tool_name")
	flags.String("order", "desc", "the `order`: asc, desc")
	asJSON := command.JSONFlag(cmd)
	command.CompleteFlag(cmd, "sort", "created_at", "size", "tool_name")
	command.CompleteFlag(cmd, "order", "asc", "desc")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *all && *which != "" {
			return command.Usage("--all and --run: give one of them")
		}
		if err := command.CheckPage(*limit, *offset); err != nil {
			return err
		}
		args := given(cmd, listArguments)
		for name, text := range map[string]string{"after": *after, "before": *before} {
			at, err := config.ParseSince(text, time.Now())
			if err != nil {
				return command.Usage("--%s: %w", name, err)
			}
			if !at.IsZero() {
				args[name] = at.UnixMilli()
			}
		}
		decoded := output.ListArgs{}
		if err := output.Decode(encoded(args), &decoded); err != nil {
			return asUsage(err, listArguments)
		}
		decoded.Limit, decoded.Offset = *limit, *offset
		list, total, err := listedOutputs(inv, cmd, *which, *all, decoded)
		if err != nil {
			return err
		}
		if *asJSON {
			return inv.Encode(list)
		}
		return printOutputs(inv, list, total, *all)
	}
	return cmd
}

// listArguments are the arguments of tool_outputs.list that flags give as they are.
var listArguments = map[string]string{"tool": "tool_name", "success": "success", "sort": "sort_by", "order": "sort_order"}

// listedOutputs returns a page of the outputs of one run, or of all, and how many there are; with full
// ids if it is all.
func listedOutputs(inv *command.Invocation, cmd *cobra.Command, which string, all bool, args output.ListArgs) (list forms.List[forms.OutputForm], total int, err error) {
	ws, err := inv.OpenRuns(nil)
	if err != nil {
		return list, 0, err
	}
	defer ws.Close() // nothing was written
	if !all {
		scope, err := ws.Scope(cmd.Context(), cmp.Or(which, "last"))
		if err != nil {
			return list, 0, err
		}
		return forms.ListOutputs(ws.Outputs(), args, scope)
	}
	runs, err := ws.Runs(cmd.Context(), 0)
	if err != nil {
		return list, 0, err
	}
	scopes := make([]output.Scope, len(runs))
	for i, sum := range runs {
		scopes[i] = output.Scope{Conversation: sum.ID, Run: sum.ID}
	}
	list, total, err = forms.ListOutputs(ws.Outputs(), args, scopes...)
	for i, o := range list.Items {
		if _, _, full := cutLast(o.ID, "/"); !full {
			list.Items[i].ID = string(o.Run) + "/" + o.ID
		}
	}
	return list, total, err
}

// printOutputs prints a page of a list of outputs as a table. total is how many there are on
// all pages.
func printOutputs(inv *command.Invocation, list forms.List[forms.OutputForm], total int, all bool) error {
	rows := [][]string{{"ID", "STORED", "TOOL", "STATE", "WHAT"}}
	for _, o := range list.Items {
		state := "ok"
		if !o.Success {
			state = "failed"
		}
		rows = append(rows, []string{command.Visible(o.ID), command.Stamp(o.Created), command.OneLine(o.Tool, 64), state, command.OneLine(o.Summary, command.MaxTitle)})
	}
	switch {
	case total == 0 && all:
		fmt.Fprintln(inv.Stderr, "no outputs are stored in this folder, or these flags exclude them")
		return nil
	case total == 0:
		fmt.Fprintln(inv.Stderr, "no stored outputs in this run match; --all lists those of all runs")
		return nil
	}
	if err := inv.PrintLines(command.TableLines(rows, inv.TableWidth())); err != nil {
		return err
	}
	if len(list.Items) < total {
		fmt.Fprintf(inv.Stderr, "%d of %d are listed; --limit and --offset show others\n", len(list.Items), total)
	}
	return nil
}
