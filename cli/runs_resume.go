package cli

import "github.com/spf13/cobra"

func runsResumeCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resume ID",
		Short:   "Resume a run, as pawl run --resume ID does",
		Example: "  pawl runs resume last\n  pawl runs resume 20261120-2130 -p \"use the second option\"",
		Args:    exactlyOne,
	}
	var r runRequest
	r.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.resume = args[0]
		return inv.run(cmd, r)
	}
	return cmd
}
