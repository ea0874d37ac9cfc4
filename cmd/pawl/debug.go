package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"pawl/llm/anthropic"
)

func debugCommand(a *app) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:     "debug",
		Short:   "Tools for reports of bugs",
		Example: "  pawl debug stream --wire anthropic < recording.txt",
	})
	cmd.AddCommand(debugStreamCommand(a))
	return cmd
}

func debugStreamCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stream",
		Short: "Say how a recorded answer of a provider was understood, as one JSON object",
		Long: `Reads the body of one streamed response from standard input and prints what it is
understood as: text, thinking, calls, stop_reason, usage, error_kind. The exit code is
0 also when the stream holds an error: it was understood.`,
		Example: "  pawl debug stream --wire anthropic < recording.txt",
		Args:    cobra.NoArgs,
	}
	wire := cmd.Flags().String("wire", anthropic.Wire, "the `format` of the stream: anthropic")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *wire != anthropic.Wire {
			return usage("--wire: there is no wire format %q; there is anthropic", *wire)
		}
		return json.NewEncoder(a.stdout).Encode(anthropic.Understand(a.stdin))
	}
	return cmd
}
