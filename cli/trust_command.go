package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pawl/forms"
	"pawl/policy"
)

// maxShown is how many lines of a file are shown before --full is needed: a few
// screens, so that what matters is not scrolled past.
const maxShown = 200

func trustCommand(inv *invocation) *cobra.Command {
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
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if *yes && *revoke || *yes && *list || *revoke && *list {
			return usage("--yes, --revoke, --list: give one of them")
		}
		ws, err := inv.open(nil)
		if err != nil {
			return err
		}
		workspace := ws.Dir
		if inv.asPerson("undo changes") == nil {
			if err := ws.Recover(); err != nil {
				return err
			}
		}
		p, err := ws.Trust()
		if err != nil {
			return err
		}
		if *yes || *revoke {
			if err := inv.asPerson("trust its workspace"); err != nil {
				return err
			}
		}
		switch {
		case *list:
			return inv.listTrust(p, *asJSON)
		case *revoke:
			was, err := p.Revoke()
			if err != nil {
				return err
			}
			said := "%s is no longer trusted; its deny and ask rules still apply\n"
			if !was {
				said = "%s was not trusted\n"
			}
			return inv.print(*asJSON, forms.RevokeForm{Workspace: workspace, Changed: was}, said, visible(workspace))
		}
		changes, err := p.Pending()
		if err != nil {
			return err
		}
		if *asJSON {
			return inv.trustJSON(p, changes, *yes)
		}
		return inv.askTrust(p, workspace, changes, *yes, *full)
	}
	return cmd
}

// askTrust shows what waits for trust, and trusts it if the person says so.
func (inv *invocation) askTrust(p *policy.Policy, workspace string, changes []policy.Change, yes, full bool) error {
	if len(changes) == 0 {
		fmt.Fprintf(inv.Stdout, "nothing to review in %s\n", visible(workspace))
		return p.Check()
	}
	whole, err := inv.showChanges(changes, full)
	if err != nil {
		return err
	}
	some := forms.Trustable(changes)
	wait := exit{code: exitPerson}
	switch {
	case len(some) == 0:
		wait.err = fmt.Errorf("none of this can be trusted as it is: repair or remove it")
		return wait
	case !yes && !whole:
		wait.err = fmt.Errorf("not all of it was shown, so nothing was asked: see it with `pawl trust --full`")
		return wait
	case !yes && !inv.onTerminal():
		wait.err = fmt.Errorf("%s need review, and there is no terminal to ask on: run `pawl trust` on a terminal, or `pawl trust --yes` after reading this", plural(len(some), "file"))
		return wait
	case !yes:
		if err := inv.asPerson("trust its workspace"); err != nil {
			return err
		}
		said, err := inv.confirm(fmt.Sprintf("Trust %s of %s as shown? [y/N] ", plural(len(some), "file"), oneLine(visible(workspace), maxTitle)))
		if err != nil {
			return err
		}
		if !said {
			wait.err = errors.New("nothing was trusted; its deny and ask rules still apply")
			return wait
		}
	}
	if err := p.Trust(some); err != nil {
		return err
	}
	fmt.Fprintf(inv.Stdout, "trusted: %s; revoke with `pawl trust --revoke`\n", plural(len(some), "file"))
	inv.tellNotes(p)
	if len(some) < len(changes) {
		wait.err = fmt.Errorf("%s cannot be trusted as it is: repair or remove it", plural(len(changes)-len(some), "file"))
		return wait
	}
	return p.Check()
}

// showChanges prints changes with their content. It reports whether all of it was shown.
func (inv *invocation) showChanges(changes []policy.Change, full bool) (whole bool, err error) {
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

func (inv *invocation) trustJSON(p *policy.Policy, changes []policy.Change, yes bool) error {
	if yes {
		if err := p.Trust(forms.Trustable(changes)); err != nil {
			return err
		}
		var err error
		if changes, err = p.Pending(); err != nil {
			return err
		}
	}
	form := forms.TrustFormOf(changes)
	if err := inv.encode(form); err != nil {
		return err
	}
	if !form.Trusted {
		return exit{code: exitPerson}
	}
	return nil
}

func (inv *invocation) listTrust(p *policy.Policy, asJSON bool) error {
	records, err := p.Records()
	if err != nil {
		return err
	}
	if asJSON {
		return inv.encode(forms.ListOf(forms.TrustRecords(records)))
	}
	if len(records) == 0 {
		fmt.Fprintln(inv.Stderr, "nothing is trusted yet; review this workspace with `pawl trust`")
	}
	for _, r := range records {
		owner := ""
		if r.Owner >= 0 {
			owner = fmt.Sprintf(" (of user %d)", r.Owner)
		}
		fmt.Fprintf(inv.Stdout, "%s%s\n", visible(r.Workspace), owner)
		for _, f := range r.Files {
			fmt.Fprintf(inv.Stdout, "  %s  %s  %s, %s\n", f.SHA256[:min(12, len(f.SHA256))], policy.Visible(f.File), visible(f.By), stamp(f.When))
		}
	}
	return nil
}

// onTerminal reports whether somebody could answer on standard input.
func (inv *invocation) onTerminal() bool {
	f, ok := inv.Stdin.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// confirm asks a question on the terminal. Anything but y or yes is no, and so is an
// input that has ended, as /dev/null has.
func (inv *invocation) confirm(question string) (bool, error) {
	fmt.Fprint(inv.Stderr, question)
	line, err := bufio.NewReader(inv.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if err != nil {
		fmt.Fprintln(inv.Stderr)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
