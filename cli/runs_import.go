package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/internal/text"
)

func runsImportCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Take runs and tasks from an archive that runs export has written",
		Long: `Shows what an archive of pawl runs export --format archive has; - is standard input. With --yes
it is imported, unchanged: with the same ids, times and hashes. The whole archive is checked
before. What is here already is not imported again, and nothing that is here is changed. Of a
task with its runs, or of a run with those below it, all is imported or nothing. A run that is
continued does what its log says was allowed: import what you would have allowed yourself.`,
		Example: `  pawl runs import runs.pawl
  pawl runs import runs.pawl --yes
  ssh other pawl -C app runs export --all --format archive | pawl runs import -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes one file, or - for standard input", cmd.CommandPath())
			}
			return nil
		},
	}
	yes := cmd.Flags().Bool("yes", false, "import what is new")
	elsewhere := cmd.Flags().Bool("any-folder", false, "also import runs that work in another folder than this one")
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, args []string) error {
		if *yes {
			if err := inv.AsPerson("import runs"); err != nil {
				return err
			}
		}
		file, err := openArchive(inv, args[0])
		if err != nil {
			return err
		}
		defer file.Close() // it is only read
		info, err := file.Stat()
		if err != nil {
			return err
		}
		all, err := ws.ImportArchive(ctx, file, info.Size(), *elsewhere, !*yes)
		if err != nil && len(all) == 0 {
			return err
		}
		list := []forms.ImportedForm{}
		left := 0
		for _, i := range all {
			list = append(list, forms.ImportedFormOf(i))
			if i.Why != nil {
				left++
			}
		}
		if *asJSON {
			err = errors.Join(err, inv.Encode(forms.List[forms.ImportedForm]{Items: list}))
		} else {
			err = errors.Join(err, printImported(inv, list))
		}
		if err == nil && left > 0 {
			err = fmt.Errorf("%d of %d parts of the archive cannot be imported", left, len(list))
		}
		return err
	})
}

// openArchive opens a file that can be read at any place: what comes through a pipe is put into a temporary one, which
// the system removes with this process.
func openArchive(inv *command.Invocation, name string) (*os.File, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err == nil {
			if info, serr := file.Stat(); serr == nil && !info.Mode().IsRegular() {
				err = errors.Join(command.Usage("%s is not a file", command.Quoted(name)), file.Close())
			}
		}
		return file, err
	}
	file, err := os.CreateTemp("", "pawl-import-*")
	if err != nil {
		return nil, err
	}
	if err = os.Remove(file.Name()); err == nil {
		_, err = io.Copy(file, inv.Stdin)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("standard input: %w", err), file.Close())
	}
	return file, nil
}

func printImported(inv *command.Invocation, list []forms.ImportedForm) error {
	isNew, added := 0, 0
	rows := [][]string{{"ID", "RUNS", "EVENTS", "OUTPUTS", "TITLE", ""}}
	var why []string
	for _, f := range list {
		id, state := cmp.Or(string(f.Task), string(f.Run)), f.State
		switch f.State {
		case "new":
			isNew++
		case "added":
			added++
		case "there":
			state = "you have it"
		case "left":
			why = append(why, "left: "+f.Why)
		}
		rows = append(rows, []string{id, fmt.Sprint(len(f.Runs)), fmt.Sprint(f.Events), fmt.Sprintf("%d, %s", f.Outputs, text.Size(f.Bytes)),
			command.OneLine(f.Title, 50), state})
	}
	switch {
	case len(list) == 0:
		inv.Hint("the archive is empty")
		return nil
	case added > 0:
		inv.Hint(text.Plural(int64(added), "part") + " imported; see `pawl runs list`, `pawl task list`")
	case isNew > 0:
		inv.Hint("nothing is changed yet: pawl runs import FILE --yes takes what is new")
	}
	err := inv.PrintLines(command.TableLines(rows, inv.TableWidth()))
	for _, line := range why {
		_, werr := fmt.Fprintln(inv.Stdout, command.Visible(line))
		err = errors.Join(err, werr)
	}
	return err
}
