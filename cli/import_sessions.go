package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/external"
	"pawl/forms"
	"pawl/internal/text"
)

func importSessionsCommand(inv *command.Invocation, names []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions [AGENT|ID...]",
		Short: "Make runs of the conversations that another agent has kept",
		Long: `Shows the conversations that Claude Code, Codex, OpenCode and Gemini CLI have kept of this
folder. With --yes they become runs: read them with ` + "`pawl runs show`" + `, and continue one with
` + "`pawl run --resume`" + `, in the same conversation of the same agent. What was said in one since it
was imported is added. Name agents, or conversations by the beginning of their ids.`,
		Example: "  pawl import sessions\n  pawl import sessions claude-code --yes\n  pawl import sessions 539322f0 --yes",
	}
	yes := cmd.Flags().Bool("yes", false, "import what is new")
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, args []string) error {
		if *yes {
			if err := inv.AsPerson("import conversations"); err != nil {
				return err
			}
		}
		all, wrong := ws.Kept(ctx)
		if wrong != nil {
			inv.Notice(wrong.Error())
		}
		for _, arg := range args {
			named := func(c external.Kept) bool { return keptIs(c, arg) }
			if !slices.Contains(names, arg) && !slices.ContainsFunc(all, named) {
				return command.Usage("no conversation of this folder has an id that begins with %s; agents are %s", command.Quoted(arg), strings.Join(names, ", "))
			}
		}
		list := []forms.KeptForm{}
		for _, c := range all {
			if len(args) > 0 && !slices.ContainsFunc(args, func(arg string) bool { return keptIs(c, arg) }) {
				continue
			}
			r, err := ws.Import(ctx, c, !*yes)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			list = append(list, forms.KeptFormOf(c, r, *yes, err))
		}
		if *asJSON {
			return inv.Encode(forms.List[forms.KeptForm]{Items: list})
		}
		return printKept(inv, list, *yes)
	})
}

// keptIs reports whether a conversation is meant by the name of its agent, or the beginning of its id.
func keptIs(c external.Kept, arg string) bool {
	return c.Kind.Name == arg || strings.HasPrefix(c.ID, arg)
}

func printKept(inv *command.Invocation, list []forms.KeptForm, yes bool) error {
	open := 0
	rows := [][]string{{"FROM", "ID", "LAST", "TURNS", "RUN", "SAID FIRST", ""}}
	for _, f := range list {
		state := map[string]string{"new": "new", "added": "added", "there": "you have it"}[f.State]
		switch {
		case f.State == "left":
			state = "left: " + f.Why
		case f.New > 0 && f.New < f.Turns:
			state += fmt.Sprintf(" (%s)", text.Plural(int64(f.New), "turn"))
		}
		if f.New > 0 {
			open++
		}
		rows = append(rows, []string{f.Agent, command.OneLine(f.ID, 14), command.Stamp(f.Last), fmt.Sprint(f.Turns), cmp.Or(f.Run, "-"),
			command.OneLine(f.Words, 50), command.OneLine(state, 2*command.MaxTitle)})
	}
	switch {
	case len(list) == 0:
		inv.Hint("Claude Code, Codex, OpenCode and Gemini CLI have kept no conversation of this folder")
		return nil
	case yes && open > 0:
		inv.Hint(text.Plural(int64(open), "conversation") + " imported; see `pawl runs list`, `pawl runs show RUN`")
	case open > 0:
		inv.Hint("nothing is changed yet: pawl import sessions --yes takes what is new")
	}
	return inv.PrintLines(command.TableLines(rows, inv.TableWidth()))
}
