// Package plugins has the commands about plugins: pawl plugin add, list, show, update, rm and marketplace.
package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/cli/console"
	"pawl/forms"
	"pawl/internal/text"
	"pawl/plugin"
	"pawl/policy"
)

// maxShown is how many lines of a file are shown before --full is needed, as in pawl trust.
const maxShown = 200

// Command returns pawl plugin.
func Command(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "plugin",
		Short: "Add, look at and remove plugins",
		Long: `Works with plugins in the form of Claude Code: folders or git repositories with skills, commands,
agents, hooks and MCP servers. One that you add counts in every folder, as you have seen it: it is a copy, and
what changes where it came from does not count before ` + "`pawl plugin update`" + ` has shown it to you.`,
		Example: "  pawl plugin add https://github.com/OWNER/NAME@v1.2\n  pawl plugin add ./my-plugin\n  pawl plugin list",
	})
	cmd.AddCommand(addCommand(inv), listCommand(inv), showCommand(inv), updateCommand(inv), rmCommand(inv), marketplaceCommand(inv))
	return cmd
}

// source reads a source that a person has typed.
func source(ws *app.Workspace, typed string) (plugin.Source, error) {
	src, err := plugin.ParseSource(typed, ws.Dir)
	if err != nil {
		err = command.Usage("%w", err)
	}
	return src, err
}

// A review is how a plugin is shown and trusted.
type review struct {
	yes, dryRun, full, asJSON *bool
}

func reviewFlags(cmd *cobra.Command) review {
	return review{cmd.Flags().Bool("yes", false, "trust what is shown without asking"),
		cmd.Flags().Bool("dry-run", false, "only show it"),
		cmd.Flags().Bool("full", false, "show long files whole"), command.JSONFlag(cmd)}
}

// trust shows a plugin, or how it differs from the one that is there, and stores it if the person says so.
func (r review) trust(inv *command.Invocation, store plugin.Store, p plugin.Plugin, old *plugin.Plugin) error {
	was, replaces, form := plugin.Tree{}, "", forms.PluginFormOf(p)
	change := forms.PluginChangeForm{Name: p.Name, State: "added", Plugin: &form}
	if old != nil {
		was, replaces, change.State = old.Tree, old.Digest, "updated"
	}
	files, others := p.Changes(was)
	if replaces == p.Digest {
		change.State, files, others = "unchanged", nil, nil
	}
	change.Files, change.Others = forms.TrustFormOf(files).Items, others
	whole, state := true, change.State
	if !*r.asJSON && state != "unchanged" {
		var err error
		if whole, err = r.show(inv, p, files, others); err != nil {
			return err
		}
	}
	wait := command.Exit{Code: command.ExitPerson}
	switch {
	case *r.dryRun:
		change.State = "shown"
	case state == "unchanged", *r.yes:
	case *r.asJSON:
		change.State = "shown"
	case !whole:
		wait.Err = errors.New("not all of it was shown, so nothing was asked: see it with --full")
	case !inv.OnTerminal():
		wait.Err = errors.New("a plugin needs your review, and there is no terminal to ask on: give --yes after reading this")
	case !console.Confirm(inv, fmt.Sprintf("Trust the plugin %s as shown? [y/N] ", p.Name)):
		wait.Err = errors.New("nothing was changed")
	}
	if wait.Err != nil {
		return wait
	}
	if change.State != "shown" {
		if err := store.Put(p, replaces); err != nil {
			return err
		}
	}
	switch {
	case *r.asJSON:
		if err := inv.Encode(change); err != nil {
			return err
		}
		if change.State == "shown" && !*r.dryRun {
			return wait
		}
	case change.State == "unchanged":
		inv.Hint(p.Name + ": nothing is new")
	case change.State == "shown":
		inv.Hint("nothing is changed: without --dry-run you are asked")
	default:
		fmt.Fprintf(inv.Stdout, "%s: %s; `pawl plugin show %s` shows it\n", change.State, p.Name, p.Name)
	}
	return nil
}

// show prints a plugin and its files. It reports whether all of what has to be looked at was shown.
func (r review) show(inv *command.Invocation, p plugin.Plugin, files []policy.Change, others []string) (whole bool, err error) {
	lines, whole := maxShown, true
	if *r.full {
		lines = 0
	}
	for _, c := range files {
		text, all := c.Show(lines)
		whole = whole && all
		if _, err := fmt.Fprintf(inv.Stdout, "── %s: %s\n%s\n", c.Kind(), policy.Visible(c.File), text); err != nil {
			return false, err
		}
	}
	out := summary(p)
	if len(others) > 0 {
		out = append(out, "not shown: "+policy.Visible(strings.Join(others, ", ")))
	}
	return whole, inv.PrintLines(out) // after the files, so that it is what stands above the question
}

// summary returns what a plugin is in lines.
func summary(p plugin.Plugin) []string {
	f := forms.PluginFormOf(p)
	rows := [][]string{{"plugin:", strings.TrimSpace(f.Name + " " + f.Version)}}
	add := func(label string, texts ...string) {
		for _, t := range texts {
			if t != "" {
				rows = append(rows, []string{label, t})
				label = ""
			}
		}
	}
	add("for:", f.Description)
	add("from:", f.Source)
	add("skills:", strings.Join(f.Skills, ", "))
	add("commands:", strings.Join(f.Commands, ", "))
	add("agents:", strings.Join(f.Agents, ", "))
	add("runs:", f.Runs...)
	add("not used:", strings.Join(f.Unused, ", "))
	add("does not count:", f.Problems...)
	for _, r := range rows {
		r[1] = policy.Visible(text.OneLine(r[1], 2000))
	}
	return command.TableLines(rows, 0)
}

func addCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add SOURCE",
		Short: "Show a plugin, and add it when you trust it",
		Long: `Shows a plugin - each file that counts, and each command that it would run - and asks whether to trust it.
SOURCE is a folder, a git address or OWNER/NAME of GitHub (with @ and a branch, a tag or a commit), or PLUGIN@MARKETPLACE. Of
a git repository the commit is noted. Nothing of it runs before, and git asks for no password.

Exit code 3: it was not trusted.`,
		Example: "  pawl plugin add ./my-plugin\n  pawl plugin add OWNER/NAME@v1.2 --dry-run\n  pawl plugin add review@team-tools --yes",
		Args:    command.Exactly("one source", "./my-plugin or https://github.com/OWNER/NAME"),
	}
	path := cmd.Flags().String("path", "", "the `folder` of the plugin in the repository")
	r := reviewFlags(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, args []string) error {
		if err := inv.AsPerson("add plugins"); err != nil {
			return err
		}
		src, err := source(ws, args[0])
		if err != nil {
			return err
		}
		if err := src.Below(*path); err != nil {
			return command.Usage("--path: %w", err)
		}
		p, err := ws.Plugins().Get(ctx, src)
		if err == nil {
			err = ws.Plugins().Free(p.Name)
		}
		if err != nil {
			return err
		}
		return r.trust(inv, ws.Plugins(), p, nil)
	})
}

func listCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "list",
		Short:             "List the plugins that you have added",
		Long:              "Lists the plugins by name, with where they come from and what they bring, and says which do not count, and why.",
		Example:           "  pawl plugin list\n  pawl plugin list --json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, _ []string) error {
		all, problems, err := ws.Plugins().All()
		if err != nil {
			return err
		}
		if *asJSON {
			return inv.Encode(forms.ListOf(forms.Forms(all, forms.PluginFormOf)))
		}
		for _, p := range problems {
			inv.Notice(p)
		}
		if len(all) == 0 {
			return inv.PrintLines([]string{"no plugins"})
		}
		rows := [][]string{{"NAME", "VERSION", "FROM", "BRINGS"}}
		for _, p := range all {
			var brings []string
			parts := []int{len(p.Skills), len(p.Commands), len(p.Agents), len(p.Hooks), len(p.Servers)}
			for i, what := range []string{"skill", "command", "agent", "hook", "server"} {
				if parts[i] > 0 {
					brings = append(brings, command.Plural(parts[i], what))
				}
			}
			rows = append(rows, []string{p.Name, command.Visible(p.Version), p.Source.Short(), strings.Join(brings, ", ")})
		}
		return inv.PrintLines(command.TableLines(rows, inv.TableWidth()))
	})
}

// named returns the plugin of a name.
func named(store plugin.Store, name string) (plugin.Plugin, error) {
	all, _, err := store.All()
	if err != nil {
		return plugin.Plugin{}, err
	}
	var names []string
	for _, p := range all {
		if names = append(names, p.Name); p.Name == name {
			return p, nil
		}
	}
	return plugin.Plugin{}, command.Usage("there is no plugin %s%s; see `pawl plugin list`", command.Quoted(name), text.DidYouMean(name, names))
}

// complete completes the names of plugins that are not given yet.
func complete(inv *command.Invocation, several bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return inv.FromWorkspace(func(ws *app.Workspace) (names []cobra.Completion, err error) {
			all, _, err := ws.Plugins().All()
			for _, p := range all {
				if (several || len(args) == 0) && !slices.Contains(args, p.Name) {
					names = append(names, p.Name)
				}
			}
			return names, err
		})
	}
}

func showCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "show NAME",
		Short:             "Show a plugin that you have added",
		Long:              "Shows a plugin: where it comes from, what it brings, what it runs by itself, what of it does not count, and with --full its files.",
		Example:           "  pawl plugin show review\n  pawl plugin show review --full",
		Args:              command.Exactly("the name of a plugin", "review"),
		ValidArgsFunction: complete(inv, false),
	}
	full := cmd.Flags().Bool("full", false, "show its files too")
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, args []string) error {
		p, err := named(ws.Plugins(), args[0])
		switch {
		case err != nil:
			return err
		case *asJSON:
			return inv.Encode(forms.PluginFormOf(p))
		case !*full:
			return inv.PrintLines(summary(p))
		}
		files, others := p.Changes(plugin.Tree{})
		_, err = review{full: full}.show(inv, p, files, others)
		return err
	})
}

func updateCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update [NAME...]",
		Short: "Show what is new of plugins, and take it when you trust it",
		Long: `Gets plugins from where they came - without names all of them - shows what is different from what you have
trusted, and asks. Of a git repository it is the branch or tag that you named when you added it, or the newest commit.

Exit code 3: something new was not trusted.`,
		Example:           "  pawl plugin update\n  pawl plugin update review --dry-run",
		ValidArgsFunction: complete(inv, true),
	}
	r := reviewFlags(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, names []string) error {
		if err := inv.AsPerson("update plugins"); err != nil {
			return err
		}
		store := ws.Plugins()
		if len(names) == 0 {
			all, _, err := store.All()
			if err != nil {
				return err
			}
			for _, p := range all {
				names = append(names, p.Name)
			}
		}
		if *r.asJSON && len(names) != 1 {
			return command.Usage("with --json pawl plugin update takes the name of one plugin")
		}
		var errs []error
		for _, name := range names {
			errs = append(errs, r.update(ctx, inv, store, name))
		}
		return errors.Join(errs...)
	})
}

func (r review) update(ctx context.Context, inv *command.Invocation, store plugin.Store, name string) error {
	old, err := named(store, name)
	if err != nil {
		return err
	}
	p, err := store.Get(ctx, old.Source)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case p.Name != name:
		return fmt.Errorf("the plugin %s calls itself %s now: remove it and add it again", name, p.Name)
	}
	return r.trust(inv, store, p, &old)
}

func rmCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "rm NAME",
		Aliases:           []string{"remove"},
		Short:             "Remove a plugin",
		Long:              "Removes a plugin. Runs that have begun with it keep it until they end; its copy is deleted a week later.",
		Example:           "  pawl plugin rm review",
		Args:              command.Exactly("the name of a plugin", "review"),
		ValidArgsFunction: complete(inv, false),
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, args []string) error {
		if err := inv.AsPerson("remove plugins"); err != nil {
			return err
		}
		if _, err := named(ws.Plugins(), args[0]); err != nil {
			return err
		}
		if _, err := ws.Plugins().Remove(args[0]); err != nil {
			return err
		}
		return inv.Print(*asJSON, forms.PluginChangeForm{Name: args[0], State: "removed"}, "removed: %s\n", args[0])
	})
}
