package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pawl/internal/text"
	"pawl/llm/anthropic"
	"pawl/llm/chat"
	"pawl/llm/gemini"
	"pawl/llm/responses"
	"pawl/llm/wire"
)

func debugCommand(inv *invocation) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:     "debug",
		Short:   "Tools for bug reports",
		Example: "  pawl debug stream --wire anthropic < recording.txt",
	})
	cmd.AddCommand(debugStreamCommand(inv))
	return cmd
}

func debugStreamCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stream",
		Short: "Parse a recorded response of a provider and print it as JSON",
		Long: `Reads the body of one streamed response from standard input and prints how it is parsed:
text, thinking, calls, stop_reason, usage, error_kind. An error in the stream is part of
the result: the exit code is then 0 too.`,
		Example: "  pawl debug stream --wire anthropic < recording.txt\n  pawl debug stream --wire chat < recording.txt",
		Args:    cobra.NoArgs,
	}
	format := cmd.Flags().String("wire", anthropic.Wire, "the `format` of the stream: "+strings.Join(streamed, ", "))
	cmd.RunE = func(*cobra.Command, []string) error {
		decode := map[string]func(io.Reader) wire.Decoded{
			anthropic.Wire: anthropic.DecodeRecording, responses.Wire: responses.DecodeRecording,
			chat.Wire: chat.DecodeRecording, gemini.Wire: gemini.DecodeRecording,
		}[*format]
		if decode == nil {
			return usage("--wire: unknown format %q; formats are %s%s", *format, strings.Join(streamed, ", "), text.DidYouMean(*format, streamed))
		}
		return inv.encode(decode(inv.Stdin))
	}
	return cmd
}

// streamed are the wire formats that come as streams.
var streamed = []string{anthropic.Wire, responses.Wire, chat.Wire, gemini.Wire}
