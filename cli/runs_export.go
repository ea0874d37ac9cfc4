package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/board"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/report"
	"pawl/run"
	"pawl/task"
)

// archiveFormat is the format of an export that can be imported.
const archiveFormat = "archive"

func runsExportCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [ID...]",
		Short: "Print a whole run as JSON, Markdown, HTML, a script that replays it, or an archive",
		Long: `Prints a whole run.
  json      {"run", "events": [{"seq", "at", "type", "version", "data"}]}
  markdown  the conversation
  html      the conversation as one page, without scripts
  script    the model's answers in the format of the scripted model, with the
            results of its calls as comments: pawl run --model script/FILE
            replays it
  archive   runs as pawl runs import takes them elsewhere, unchanged: with a run
            the runs below it, those it was forked from, its stored outputs, and
            the task that it belongs to, with files and all runs. Nothing of the
            workspace is in it, nor what is needed to undo edits.`,
		Example: `  pawl runs export last --format markdown > run.md
  pawl runs export last --format html > run.html
  pawl runs export last --format script > bug.jsonl
  pawl run --model script/bug.jsonl -p "the same again"
  pawl runs export --all --format archive | gzip > runs.pawl.gz
  pawl runs export --task t-k3f9xy --format archive > task.pawl`,
	}
	formats := strings.Join(append(slices.Clone(report.ExportFormats), archiveFormat), ", ")
	format := cmd.Flags().String("format", "json", formats)
	tasks := cmd.Flags().StringArray("task", nil, "export this `task`; with --format archive, may be repeated")
	all := cmd.Flags().Bool("all", false, "export all runs and tasks of the folder; with --format archive")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *format == archiveFormat || *all || len(*tasks) > 0 {
			return nil
		}
		return exactlyOne(cmd, args)
	}
	return command.InWorkspace(cmd, inv.OpenRunsPlain, func(ctx context.Context, ws *app.Workspace, args []string) error {
		if err := command.OneOf(formats)(*format); err != nil {
			return command.Usage("--format: %w", err)
		}
		if *format == archiveFormat {
			return exportArchive(ctx, inv, ws, args, *tasks, *all)
		}
		if *all || len(*tasks) > 0 {
			return command.Usage("--all and --task are for --format archive; another format is of one run: pawl runs export last")
		}
		id, err := findOne(ctx, ws, args[0])
		if err != nil {
			return err
		}
		return exportOne(ctx, inv, ws, id, *format)
	})
}

func exportOne(ctx context.Context, inv *command.Invocation, ws *app.Workspace, id run.ID, format string) error {
	events, _, err := ws.Load(ctx, id)
	if len(events) == 0 {
		return err
	}
	// A damaged log is exported up to the damage; the error follows.
	if format == "json" {
		return errors.Join(inv.Encode(forms.ExportFormOf(id, events)), err)
	}
	return errors.Join(report.Export(inv.Stdout, format, events), err)
}

func exportArchive(ctx context.Context, inv *command.Invocation, ws *app.Workspace, args, tasks []string, all bool) error {
	switch {
	case all && len(args)+len(tasks) > 0:
		return command.Usage("--all exports everything: name no run and no task with it")
	case !all && len(args)+len(tasks) == 0:
		return command.Usage("name runs, --task, or --all: pawl runs export --all --format archive")
	}
	var runs []run.ID
	for _, arg := range args {
		id, err := findOne(ctx, ws, arg)
		if err != nil {
			return err
		}
		runs = append(runs, id)
	}
	var of []task.ID
	for _, name := range tasks {
		id, err := board.Of(ws).Find(ctx, name)
		if err != nil {
			return err
		}
		of = append(of, id)
	}
	notes, err := ws.Export(ctx, inv.Stdout, runs, of, all)
	inv.Hint(notes...)
	return err
}
