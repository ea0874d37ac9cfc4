package cli

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/report"
	"pawl/run"
)

func runsExportCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Print a whole run as JSON, Markdown, HTML, or a script that replays it",
		Long: `Prints a whole run.
  json      {"run", "events": [{"seq", "at", "type", "version", "data"}]}
  markdown  the conversation
  html      the conversation as one page, without scripts
  script    the model's answers in the format of the scripted model, with the
            results of its calls as comments: pawl run --model script/FILE
            replays it`,
		Example: `  pawl runs export last --format markdown > run.md
  pawl runs export last --format html > run.html
  pawl runs export last --format script > bug.jsonl
  pawl run --model script/bug.jsonl -p "the same again"`,
	}
	format := cmd.Flags().String("format", "json", strings.Join(report.ExportFormats, ", "))
	return oneRun(inv, cmd, func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		if err := command.OneOf(strings.Join(report.ExportFormats, ", "))(*format); err != nil {
			return command.Usage("--format: %w", err)
		}
		events, _, err := ws.Load(ctx, id)
		if len(events) == 0 {
			return err
		}
		// A damaged log is exported up to the damage; the error follows.
		if *format == "json" {
			return errors.Join(inv.Encode(forms.ExportFormOf(id, events)), err)
		}
		return errors.Join(report.Export(inv.Stdout, *format, events), err)
	})
}
