package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/memory"
)

func memoryCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "memory",
		Short: "See and change what runs noted for later ones",
		Long: `Works with the memory of this folder: facts that runs noted, each with your yes, for those
that come later. It is a file of Markdown in the state folder, and counts with the setting
memory = "on".`,
		Example: "  pawl memory list\n  pawl memory edit",
	})
	cmd.AddCommand(memoryListCommand(inv), memoryEditCommand(inv), memoryRmCommand(inv))
	return cmd
}

func memoryListCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "list",
		Short:             "List the notes",
		Long:              "Lists the notes of this folder with their ids, and says in which file they are.",
		Example:           "  pawl memory list\n  pawl memory list --json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, _ []string) error {
		form, err := memoryOf(ws)
		if err != nil {
			return err
		}
		if *asJSON {
			return inv.Encode(form)
		}
		if !form.On {
			inv.Notice("the memory is off: runs are not told it, and note nothing; `pawl config set memory on` turns it on")
		}
		if !form.All {
			inv.Notice(fmt.Sprintf("runs are told %d lines and %d KiB of it at most: shorten it with `pawl memory edit`",
				memory.MaxLines, memory.MaxTold>>10))
		}
		if len(form.Items) == 0 {
			return inv.PrintLines([]string{"no notes"})
		}
		lines := []string{"in " + command.Visible(form.File)}
		for _, n := range form.Items {
			lines = append(lines, n.ID+"  "+command.Prefixed(command.Visible(n.Text), "          ")[10:])
		}
		return inv.PrintLines(lines)
	})
}

// memoryOf returns the memory of a workspace as JSON.
func memoryOf(ws *app.Workspace) (forms.MemoryForm, error) {
	content, err := memory.Read(ws.State)
	if err != nil {
		return forms.MemoryForm{}, err
	}
	c, err := ws.Config()
	if err != nil {
		return forms.MemoryForm{}, err
	}
	_, all := memory.Told(content)
	items := forms.Forms(memory.Notes(content), forms.MemoryNoteFormOf)
	return forms.MemoryForm{File: memory.Path(ws.State), On: c.On("memory"), All: all, Items: items}, nil
}

func memoryEditCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "edit",
		Short: "Change the notes in your editor",
		Long: `Opens the notes of this folder in $VISUAL or $EDITOR, or replaces them by what standard input holds.
If a run has noted something meanwhile, nothing is replaced.`,
		Example:           "  pawl memory edit\n  pawl memory edit < notes.md",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, _ []string) error {
		if err := inv.AsPerson("change the memory"); err != nil {
			return err
		}
		file := memory.Path(ws.State)
		before, err := memory.Read(ws.State)
		if err != nil {
			return err
		}
		save := func(edited string) error {
			err := editMemory(ws, func(now string) (string, error) {
				if now != before {
					return "", errors.New("the notes were changed meanwhile, and stay as they are: see `pawl memory list`")
				}
				return memory.Clean(edited), nil
			})
			if err != nil {
				return err
			}
			form, err := memoryOf(ws)
			if err != nil {
				return err
			}
			return inv.Print(*asJSON, form, "wrote %s\n", command.Visible(file))
		}
		given, err := inv.InputText(ctx)
		switch {
		case err != nil:
			return err
		case given != "":
			return save(given + "\n")
		}
		return editText(ctx, inv, filepath.Base(file), before, "pawl memory edit", save)
	})
}

func memoryRmCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "rm ID…",
		Short:             "Remove notes",
		Long:              "Removes the notes with these ids, which `pawl memory list` shows, or all of them.",
		Example:           "  pawl memory rm 3f2a91c0\n  pawl memory rm --all",
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	all := cmd.Flags().Bool("all", false, "remove all notes")
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, args []string) error {
		if *all == (len(args) > 0) {
			return command.Usage("give the ids of notes, or --all")
		}
		if err := inv.AsPerson("change the memory"); err != nil {
			return err
		}
		form := forms.ForgottenForm{File: memory.Path(ws.State), Removed: []forms.MemoryNoteForm{}}
		err := editMemory(ws, func(content string) (left string, err error) {
			left = content
			for _, n := range memory.Notes(content) {
				if *all || slices.Contains(args, n.ID) {
					form.Removed = append(form.Removed, forms.MemoryNoteFormOf(n))
					if left, err = (memory.Change{Replace: n.Text}).Apply(left); err != nil {
						return "", err
					}
				}
			}
			for _, id := range args {
				if !slices.ContainsFunc(form.Removed, func(n forms.MemoryNoteForm) bool { return n.ID == id }) {
					return "", command.Usage("there is no note %s, and nothing was removed; see `pawl memory list`",
						command.Quoted(id))
				}
			}
			if *all {
				left = ""
			}
			return left, nil
		})
		if err != nil {
			return err
		}
		if *asJSON {
			return inv.Encode(form)
		}
		lines := []string{"removed " + command.Plural(len(form.Removed), "note")}
		for _, n := range form.Removed {
			lines = append(lines, n.ID+"  "+command.OneLine(n.Text, command.MaxTitle))
		}
		return inv.PrintLines(lines)
	})
}

// editMemory replaces the notes of a workspace by what edit makes of them; see [memory.Edit].
func editMemory(ws *app.Workspace, edit func(content string) (string, error)) error {
	if err := ws.Options().Env.MakeStateDir(); err != nil {
		return err
	}
	_, _, err := memory.Edit(ws.State, edit)
	return err
}
