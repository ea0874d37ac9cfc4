package cli

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"pawl/config"
	"pawl/output"
)

func outputsListCommand(inv *invocation) *cobra.Command {
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
	flags.Int("limit", 20, "at most `n` of a run, 1 to 100")
	flags.Int("offset", 0, "skip the first `n` of a run")
	flags.String("sort", "created_at", "sort by this `key`: created_at, size, tool_name")
	flags.String("order", "desc", "the `order`: asc, desc")
	asJSON := flags.Bool("json", false, "the object that models get, one a line for each run")
	complete(cmd, "sort", "created_at", "size", "tool_name")
	complete(cmd, "order", "asc", "desc")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *all && *which != "" {
			return usage("--all and --run: give one of them")
		}
		args := given(cmd, map[string]string{
			"tool": "tool_name", "success": "success", "limit": "limit", "offset": "offset", "sort": "sort_by", "order": "sort_order",
		})
		for name, text := range map[string]string{"after": *after, "before": *before} {
			at, err := config.ParseSince(text, time.Now())
			if err != nil {
				return usage("--%s: %w", name, err)
			}
			if !at.IsZero() {
				args[name] = at.UnixMilli()
			}
		}
		lists, err := inv.listsOfOutputs(cmd, *which, *all, args)
		if err != nil {
			return err
		}
		if *asJSON {
			for _, l := range lists {
				if err := inv.encode(l); err != nil {
					return err
				}
			}
			return nil
		}
		return inv.printLists(lists, *all)
	}
	return cmd
}

// listsOfOutputs returns the lists of one run or of all, those without outputs left out
// if it is all.
func (inv *invocation) listsOfOutputs(cmd *cobra.Command, which string, all bool, args map[string]any) ([]output.ListResult, error) {
	ws, err := inv.open(nil)
	if err != nil {
		return nil, err
	}
	defer ws.Close() // nothing was written
	if !all {
		if which == "" {
			which = "last"
		}
		scope, err := ws.Scope(cmd.Context(), which)
		if err != nil {
			return nil, err
		}
		l, err := listOutputs(ws.Outputs(), scope, args)
		return []output.ListResult{l}, err
	}
	runs, err := ws.Runs(cmd.Context(), 0)
	if err != nil {
		return nil, err
	}
	var lists []output.ListResult
	for _, sum := range runs {
		l, err := listOutputs(ws.Outputs(), output.Scope{Conversation: sum.ID, Run: sum.ID}, args)
		if err != nil {
			return nil, err
		}
		if l.Total > 0 {
			lists = append(lists, l)
		}
	}
	return lists, nil
}

// listOutputs lists the outputs of a scope; args are those of tool_outputs.list.
func listOutputs(s *output.Store, scope output.Scope, args map[string]any) (output.ListResult, error) {
	var decoded output.ListArgs
	if err := output.Decode(encoded(args), &decoded); err != nil {
		return output.ListResult{}, asUsage(err)
	}
	return s.List(scope, decoded)
}

// printLists prints lists as a table; with full ids where several runs are in it.
func (inv *invocation) printLists(lists []output.ListResult, full bool) error {
	out := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
	shown, total := 0, 0
	for _, l := range lists {
		shown, total = shown+len(l.Outputs), total+l.Total
		for _, o := range l.Outputs {
			id := o.ID
			if full {
				if _, _, has := cutLast(id, "/"); !has {
					id = string(o.Conversation) + "/" + id
				}
			}
			how := "ok"
			if !o.Success {
				how = "error"
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", visible(id), stamp(time.UnixMilli(o.Created)), oneLine(o.ToolName, 64), how, oneLine(o.Summary, maxTitle))
		}
	}
	switch {
	case total == 0 && full:
		fmt.Fprintln(inv.Stderr, "no outputs are stored in this folder, or none that these flags let pass")
	case total == 0:
		fmt.Fprintln(inv.Stderr, "no outputs are stored of this run, or none that these flags let pass; --all lists those of all runs")
	case shown < total:
		fmt.Fprintf(inv.Stderr, "%d of %d are listed; --limit and --offset show others\n", shown, total)
	}
	return out.Flush()
}
