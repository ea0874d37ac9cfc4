package servers

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/config"
	"pawl/forms"
)

func importCommand(inv *command.Invocation) *cobra.Command {
	agents := strings.Join(config.ForeignAgents, ", ")
	cmd := &cobra.Command{
		Use:   "import [AGENT...]",
		Short: "Take the MCP servers that you have in another agent",
		Long: "Shows the MCP servers in your own files of other agents (" + agents + `), and with --yes adds those that pawl does
not have to your config.toml, for all folders. Those that Claude Code has for this folder alone are among them, and marked.
Servers of repositories are not among them: pawl reads .mcp.json itself.`,
		Example:   "  pawl mcp import\n  pawl mcp import claude --yes",
		ValidArgs: config.ForeignAgents,
	}
	yes := cmd.Flags().Bool("yes", false, "add them")
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		for _, a := range args {
			if !slices.Contains(config.ForeignAgents, a) {
				return command.Usage("pawl knows no servers of %s; it reads those of %s", command.Quoted(a), agents)
			}
		}
		if *yes {
			if err := inv.AsPerson("imports MCP servers"); err != nil {
				return err
			}
		}
		env := config.Env(inv.Env)
		folder, err := config.Workspace(inv.Dir)
		if err != nil {
			return err
		}
		found, notes := env.ForeignServers(folder, args...)
		for _, note := range notes {
			inv.Notice(note)
		}
		items, err := Import(env, found, *yes)
		if err != nil {
			return err
		}
		list := forms.List[forms.ImportForm]{Items: items}
		rows := [][]string{{"NAME", "FROM", "IS", ""}}
		open, taken := 0, 0
		for _, f := range items {
			if f.Why == "" {
				open++
			}
			if f.Taken {
				taken++
			}
			rows = append(rows, []string{command.Visible(f.Name), command.Visible(f.Source), command.OneLine(f.Is, 100), importState(f, *yes)})
		}
		if *asJSON {
			return inv.Encode(list)
		}
		switch {
		case len(list.Items) == 0:
			inv.Hint("no MCP servers were found in the files of " + agents)
			return nil
		case *yes:
			inv.Hint(command.Plural(taken, "server") + " added to " + env.UserFile())
		case open > 0:
			inv.Hint("nothing is changed yet: pawl mcp import --yes adds " + command.Plural(open, "server"))
		}
		return inv.PrintLines(command.TableLines(rows, inv.TableWidth()))
	}
	return cmd
}

// Import says of each of the servers of other agents whether it is taken; with yes it adds it to the user's file.
func Import(env config.Env, found []config.ForeignServer, yes bool) ([]forms.ImportForm, error) {
	have, err := env.UserServers()
	if err != nil {
		return nil, err
	}
	items := []forms.ImportForm{}
	for _, s := range found {
		f := forms.ImportForm{Name: s.Name, Source: s.Source, Is: s.String(), Why: s.Why}
		if slices.Contains(have, s.Name) {
			f.Why = "you have one of that name"
		}
		if f.Why == "" {
			have = append(have, s.Name)
			if yes {
				if _, err := env.AddServer(s.Definition); err != nil {
					f.Why = err.Error()
				} else {
					f.Taken = true
				}
			}
		}
		items = append(items, f)
	}
	return items, nil
}

func importState(f forms.ImportForm, yes bool) string {
	switch {
	case f.Why != "":
		return "left: " + command.Visible(f.Why)
	case yes:
		return "added"
	}
	return "new"
}
