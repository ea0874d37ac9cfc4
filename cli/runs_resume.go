package cli

import (
	"github.com/spf13/cobra"

	"pawl/cli/command"
)

func runsResumeCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resume ID [TASK…]",
		Short:   "Resume a run, as pawl run --resume ID does",
		Example: "  pawl runs resume last\n  pawl runs resume 20261120-2130 \"use the second option\"",
		Args: func(cmd *cobra.Command, args []string) error {
			return exactlyOne(cmd, args[:min(1, len(args))])
		},
	}
	var r runRequest
	r.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.resume = args[0]
		if err := r.words(cmd, args[1:]); err != nil {
			return err
		}
		return startRun(inv, cmd, r)
	}
	return cmd
}
