package plugins

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/internal/text"
	"pawl/plugin"
)

func marketplaceCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "marketplace",
		Short: "Add, list and remove marketplaces of plugins",
		Long: `Works with marketplaces: lists of plugins, in the file .claude-plugin/marketplace.json of a folder or a git
repository. One that you add brings nothing by itself: ` + "`pawl plugin add NAME@MARKETPLACE`" + ` adds a plugin of it.`,
		Example: "  pawl plugin marketplace add OWNER/NAME\n  pawl plugin marketplace list",
	})
	cmd.AddCommand(marketplaceAddCommand(inv), marketplaceListCommand(inv), marketplaceUpdateCommand(inv), marketplaceRmCommand(inv))
	return cmd
}

func marketplaceAddCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "add SOURCE",
		Short:   "Add a marketplace",
		Long:    "Adds a marketplace: a folder, a git address or OWNER/NAME of GitHub, with @ and a branch or tag if it is not the newest commit.",
		Example: "  pawl plugin marketplace add OWNER/NAME",
		Args:    command.Exactly("one source", "https://github.com/OWNER/NAME"),
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, args []string) error {
		if err := inv.AsPerson("add marketplaces"); err != nil {
			return err
		}
		src, err := source(ws, args[0])
		if err != nil {
			return err
		}
		m, err := ws.Plugins().PutMarketplace(ctx, src, "")
		if err != nil {
			return err
		}
		return inv.Print(*asJSON, forms.MarketplaceFormOf(m), "added: the marketplace %s with %s; `pawl plugin add NAME@%s` adds one\n",
			m.Name, text.Plural(int64(len(m.Entries)), "plugin"), m.Name)
	})
}

func marketplaceListCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "list",
		Short:             "List the marketplaces and their plugins",
		Long:              "Lists the marketplaces that you have added, with their plugins as they were when they were last looked at.",
		Example:           "  pawl plugin marketplace list\n  pawl plugin marketplace list --json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, _ []string) error {
		all, err := ws.Plugins().Marketplaces()
		switch {
		case err != nil:
			return err
		case *asJSON:
			return inv.Encode(forms.ListOf(forms.Forms(all, forms.MarketplaceFormOf)))
		case len(all) == 0:
			return inv.PrintLines([]string{"no marketplaces"})
		}
		rows := [][]string{{"PLUGIN", "FROM", "FOR"}}
		for _, m := range all {
			for _, e := range m.Entries {
				what := e.Description
				if e.Why != "" {
					what = "cannot be had: " + e.Why
				}
				rows = append(rows, []string{e.Name + "@" + m.Name, m.Source.Short(), command.Visible(command.OneLine(what, 100))})
			}
		}
		return inv.PrintLines(command.TableLines(rows, inv.TableWidth()))
	})
}

func marketplaceNames(store plugin.Store) (names []string, err error) {
	all, err := store.Marketplaces()
	for _, m := range all {
		names = append(names, m.Name)
	}
	return names, err
}

func completeMarketplace(inv *command.Invocation) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return inv.FromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
			if len(args) > 0 {
				return nil, nil
			}
			return marketplaceNames(ws.Plugins())
		})
	}
}

func marketplaceUpdateCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update [NAME]",
		Short: "Look again what marketplaces have",
		Long: `Reads a marketplace anew - without a name all - for ` + "`pawl plugin marketplace list`" + `. The plugins that you have added
stay as they are: that is what ` + "`pawl plugin update`" + ` is for.`,
		Example:           "  pawl plugin marketplace update",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeMarketplace(inv),
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, names []string) (err error) {
		if err := inv.AsPerson("update marketplaces"); err != nil {
			return err
		}
		if len(names) == 0 {
			if names, err = marketplaceNames(ws.Plugins()); err != nil {
				return err
			}
		}
		list := forms.List[forms.MarketplaceForm]{Items: []forms.MarketplaceForm{}}
		var errs []error
		for _, name := range names {
			m, err := ws.Plugins().PutMarketplace(ctx, plugin.Source{}, name)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if list.Items = append(list.Items, forms.MarketplaceFormOf(m)); !*asJSON {
				inv.Hint(m.Name + ": " + text.Plural(int64(len(m.Entries)), "plugin"))
			}
		}
		if *asJSON {
			errs = append(errs, inv.Encode(list))
		}
		return errors.Join(errs...)
	})
}

func marketplaceRmCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "rm NAME",
		Aliases:           []string{"remove"},
		Short:             "Remove a marketplace",
		Long:              "Removes a marketplace. The plugins that you have added from it stay, and are not updated any more.",
		Example:           "  pawl plugin marketplace rm team-tools",
		Args:              command.Exactly("the name of a marketplace", "team-tools"),
		ValidArgsFunction: completeMarketplace(inv),
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, args []string) error {
		if err := inv.AsPerson("remove marketplaces"); err != nil {
			return err
		}
		was, err := ws.Plugins().RemoveMarketplace(args[0])
		if err != nil {
			return err
		}
		if !was {
			names, _ := marketplaceNames(ws.Plugins())
			return command.Usage("there is no marketplace %s%s; see `pawl plugin marketplace list`", command.Quoted(args[0]), text.DidYouMean(args[0], names))
		}
		return inv.Print(*asJSON, forms.PluginChangeForm{Name: args[0], State: "removed"}, "removed: %s\n", args[0])
	})
}
