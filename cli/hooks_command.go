package cli

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/internal/text"
)

func hooksCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "hooks",
		Short: "List hooks",
		Long: `Works with hooks: commands of yours that run at moments of a run, such as before a call.
They are in the file hooks.json beside config.toml, and in .pawl/hooks.json, .claude/settings.json and
.claude/settings.local.json of the repository and of your home, which need trust, and in plugins.`,
		Example: "  pawl hooks list",
	})
	cmd.AddCommand(hooksListCommand(inv))
	return cmd
}

func hooksListCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the hooks of runs",
		Long:    "Lists the hooks in the order of their files, and says which do not run, and why.",
		Example: "  pawl hooks list\n  pawl hooks list --json",
		Args:    cobra.NoArgs,
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, _ []string) error {
		all, untrusted, problems, err := ws.Hooks()
		if err != nil {
			return err
		}
		found := forms.HooksForm{Items: forms.Forms(all, forms.HookFormOf), Untrusted: append([]string{}, untrusted...),
			Problems: append([]string{}, problems...)}
		if *asJSON {
			return inv.Encode(found)
		}
		for _, line := range found.Problems {
			inv.Notice(command.Visible(line))
		}
		for _, file := range found.Untrusted {
			trust := "pawl trust"
			if dir := filepath.Dir(filepath.Dir(file)); dir != ws.Dir {
				trust = "pawl -C " + command.ShellWord(dir) + " trust"
			}
			inv.Notice(command.Visible(file) + " is not used until you review it with `" + trust + "`")
		}
		if len(found.Items) == 0 {
			return inv.PrintLines([]string{"no hooks"})
		}
		rows := [][]string{{"EVENT", "FOR", "RUNS", "FROM"}}
		for _, h := range found.Items {
			about, runs := command.Visible(cmp.Or(h.Matcher, "all")), command.Visible(text.OneLine(h.Runs, 100))
			rows = append(rows, []string{h.Event, about, runs, command.Visible(h.File)})
		}
		return inv.PrintLines(command.TableLines(rows, inv.TableWidth()))
	})
}
