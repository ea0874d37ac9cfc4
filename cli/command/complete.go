package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
)

// CompleteFlag offers the values that a flag may have.
func CompleteFlag(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // unreachable: the flag is defined
	}
}

// FromWorkspace returns what find finds in the workspace of the command line. What cannot be
// found is not completed: the command itself will say why.
func (inv *Invocation) FromWorkspace(find func(*app.Workspace) ([]cobra.Completion, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	ws, err := app.Open(app.Options{Dir: inv.Dir, Env: inv.Env, Nearest: true})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer ws.Close() // only read
	found, err := find(ws)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func StartingWith(all []cobra.Completion, typed string) []cobra.Completion {
	var found []cobra.Completion
	for _, c := range all {
		if strings.HasPrefix(c, typed) {
			found = append(found, c)
		}
	}
	return found
}

func Context(cmd *cobra.Command) context.Context {
	if ctx := cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}

// CompleteRuns completes the id of a run, with its first words.
func CompleteRuns(inv *Invocation) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return inv.FromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
			const most = 100
			runs, err := ws.Runs(Context(cmd), most)
			if err != nil || len(runs) == 0 {
				return nil, err
			}
			all := []cobra.Completion{"last\tthe run used last"}
			for _, r := range runs {
				all = append(all, cobra.CompletionWithDesc(string(r.ID), Stamp(r.Updated)+"  "+RunState(r)+"  "+OneLine(r.Title, 60)))
			}
			return StartingWith(all, typed), nil
		})
	}
}
