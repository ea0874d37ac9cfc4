package permissions

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/cli/console"
	"pawl/forms"
	"pawl/policy"
)

// maxShown is how many lines of a file are shown before --full is needed: a few
// screens, so that what matters is not scrolled past.
const maxShown = 200

func TrustCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Review and trust the configuration and rules of this workspace",
		Long: `Shows the files of this workspace that configure what an agent may do (everything in .pawl,
and .mcp.json) and are not trusted: new files whole, changed ones as a difference. On a
terminal it asks whether to trust them. Until they are trusted only their deny and ask
rules count.

Trust is in the content that was shown: a file that changes has to be trusted again.

Exit codes: 0 everything is trusted, 3 something is not.`,
		Example: "  pawl trust\n  pawl trust --yes\n  pawl trust --revoke\n  pawl trust --list",
		Args:    cobra.NoArgs,
	}
	yes := cmd.Flags().Bool("yes", false, "trust what is shown without asking")
	revoke := cmd.Flags().Bool("revoke", false, "stop trusting this workspace")
	list := cmd.Flags().Bool("list", false, "list what is trusted in all workspaces")
	full := cmd.Flags().Bool("full", false, "show long files whole")
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if *yes && *revoke || *yes && *list || *revoke && *list {
			return command.Usage("--yes, --revoke, --list: give one of them")
		}
		ws, err := inv.Open(nil)
		if err != nil {
			return err
		}
		workspace := ws.Dir
		if inv.AsPerson("undo changes") == nil {
			if err := ws.Recover(); err != nil {
				return err
			}
		}
		p, err := ws.Trust()
		if err != nil {
			return err
		}
		if *yes || *revoke {
			if err := inv.AsPerson("trust its workspace"); err != nil {
				return err
			}
		}
		switch {
		case *list:
			return listTrust(inv, p, *asJSON)
		case *revoke:
			was, err := p.Revoke()
			if err != nil {
				return err
			}
			said := "%s is no longer trusted; its deny and ask rules still apply\n"
			if !was {
				said = "%s was not trusted\n"
			}
			return inv.Print(*asJSON, forms.RevokeForm{Workspace: workspace, Changed: was}, said, command.Visible(workspace))
		}
		changes, err := p.Pending()
		if err != nil {
			return err
		}
		if *asJSON {
			return trustJSON(inv, p, changes, *yes)
		}
		return askTrust(inv, p, workspace, changes, *yes, *full)
	}
	return cmd
}

// askTrust shows what waits for trust, and trusts it if the person says so.
func askTrust(inv *command.Invocation, p *policy.Policy, workspace string, changes []policy.Change, yes, full bool) error {
	if len(changes) == 0 {
		fmt.Fprintf(inv.Stdout, "nothing to review in %s\n", command.Visible(workspace))
		return p.Check()
	}
	whole, err := showChanges(inv, changes, full)
	if err != nil {
		return err
	}
	some := policy.Trustable(changes)
	wait := command.Exit{Code: command.ExitPerson}
	switch {
	case len(some) == 0:
		wait.Err = fmt.Errorf("none of this can be trusted as it is: repair or remove it")
		return wait
	case !yes && !whole:
		wait.Err = fmt.Errorf("not all of it was shown, so nothing was asked: see it with `pawl trust --full`")
		return wait
	case !yes && !inv.OnTerminal():
		wait.Err = fmt.Errorf("%s need review, and there is no terminal to ask on: run `pawl trust` on a terminal, or `pawl trust --yes` after reading this", command.Plural(len(some), "file"))
		return wait
	case !yes:
		if err := inv.AsPerson("trust its workspace"); err != nil {
			return err
		}
		files, folder := command.Plural(len(some), "file"), command.OneLine(command.Visible(workspace), command.MaxTitle)
		if !console.Confirm(inv, fmt.Sprintf("Trust %s of %s as shown? [y/N] ", files, folder)) {
			wait.Err = errors.New("nothing was trusted; its deny and ask rules still apply")
			return wait
		}
	}
	if err := p.Trust(some); err != nil {
		return err
	}
	fmt.Fprintf(inv.Stdout, "trusted: %s; revoke with `pawl trust --revoke`\n", command.Plural(len(some), "file"))
	tellNotes(inv, p)
	if len(some) < len(changes) {
		wait.Err = fmt.Errorf("%s cannot be trusted as it is: repair or remove it", command.Plural(len(changes)-len(some), "file"))
		return wait
	}
	return p.Check()
}

// showChanges prints changes with their content. It reports whether all of it was shown.
func showChanges(inv *command.Invocation, changes []policy.Change, full bool) (whole bool, err error) {
	lines := maxShown
	if full {
		lines = 0
	}
	whole = true
	for _, c := range changes {
		text, all := c.Show(lines)
		whole = whole && all
		if _, err := fmt.Fprintf(inv.Stdout, "── %s: %s\n%s\n", c.Kind(), policy.Visible(c.File), text); err != nil {
			return false, err
		}
	}
	return whole, nil
}

func trustJSON(inv *command.Invocation, p *policy.Policy, changes []policy.Change, yes bool) error {
	if yes {
		if err := p.Trust(policy.Trustable(changes)); err != nil {
			return err
		}
		var err error
		if changes, err = p.Pending(); err != nil {
			return err
		}
	}
	form := forms.TrustFormOf(changes)
	if err := inv.Encode(form); err != nil {
		return err
	}
	if !form.Trusted {
		return command.Exit{Code: command.ExitPerson}
	}
	return nil
}

func listTrust(inv *command.Invocation, p *policy.Policy, asJSON bool) error {
	records, err := p.Records()
	if err != nil {
		return err
	}
	if asJSON {
		return inv.Encode(forms.ListOf(forms.TrustRecords(records)))
	}
	if len(records) == 0 {
		fmt.Fprintln(inv.Stderr, "nothing is trusted yet; review this workspace with `pawl trust`")
	}
	for _, r := range records {
		owner := ""
		if r.Owner >= 0 {
			owner = fmt.Sprintf(" (of user %d)", r.Owner)
		}
		fmt.Fprintf(inv.Stdout, "%s%s\n", command.Visible(r.Workspace), owner)
		for _, f := range r.Files {
			fmt.Fprintf(inv.Stdout, "  %s  %s  %s, %s\n", f.SHA256[:min(12, len(f.SHA256))], policy.Visible(f.File), command.Visible(f.By), command.Stamp(f.When))
		}
	}
	return nil
}
