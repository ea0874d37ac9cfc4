package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/instructions"
)

// An initForm is a first AGENTS.md as JSON.
type initForm struct {
	Path    string `json:"path"`
	Written bool   `json:"written"` // false: with --print
	Text    string `json:"text"`
}

func initCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a first AGENTS.md from what the repository contains",
		Long: `Writes AGENTS.md into the root of the repository: what the project is, the commands that
build and test it, and what else to read, as far as its files say. Runs nothing and asks no
model. Read the file, correct it, and add what no file says.

A file that exists is not overwritten.`,
		Example: "  pawl init\n  pawl init --print",
		Args:    cobra.NoArgs,
	}
	asJSON := command.JSONFlag(cmd)
	printed := cmd.Flags().Bool("print", false, "print the draft instead of writing it")
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, _ []string) error {
		root := ws.Instructions().Root
		draft, err := instructions.Draft(root)
		if err != nil {
			return err
		}
		if draft == "" {
			return fmt.Errorf("found nothing in %s to draft from; write AGENTS.md yourself: what the project is, how it is built and tested, and what to know before changing it", root)
		}
		path := filepath.Join(root, "AGENTS.md")
		if *printed {
			return inv.Print(*asJSON, initForm{Path: path, Text: draft}, "%s", command.Visible(draft))
		}
		if err := writeNew(path, draft); errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s already exists and is not overwritten; `pawl init --print` prints the draft", path)
		} else if err != nil {
			return err
		}
		return inv.Print(*asJSON, initForm{path, true, draft}, "wrote %s (%s)\nread it, correct it, and add what no file says; new runs are given it\n",
			command.Visible(path), command.Plural(strings.Count(draft, "\n"), "line"))
	})
}

// writeNew writes a file that must not exist. If it cannot be written whole it is removed.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
