package cli

import (
	"errors"
	"io"
	"os"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/internal/text"
	"pawl/llm/anthropic"
	"pawl/llm/chat"
	"pawl/llm/gemini"
	"pawl/llm/responses"
	"pawl/llm/wire"
)

func debugCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:     "debug",
		Short:   "Tools for bug reports",
		Example: "  pawl debug stream --wire anthropic < recording.txt",
	})
	cmd.AddCommand(debugStreamCommand(inv), debugProfileCommand(inv))
	return cmd
}

func debugProfileCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile [FLAGS] -- COMMAND [ARGUMENT…]",
		Short: "Run a pawl command and record where its time goes",
		Long: `Runs another command of pawl in this process, and ends with its exit code. The files are
for go tool pprof and go tool trace. Commands that the tools run are not in them.`,
		Example: "  pawl debug profile --cpu cpu.pprof -- run -p \"fix the bug\"\n  pawl debug profile --trace trace.out -- runs list",
		Args:    cobra.MinimumNArgs(1),
	}
	cpu := cmd.Flags().String("cpu", "", "write a profile of the processor's time to this `file`")
	events := cmd.Flags().String("trace", "", "write a trace of goroutines, collections and system calls to this `file`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		recordings := []recording{
			{*cpu, pprof.StartCPUProfile, func(io.Writer) error { pprof.StopCPUProfile(); return nil }},
			{*events, trace.Start, func(io.Writer) error { trace.Stop(); return nil }},
		}
		recordings = slices.DeleteFunc(recordings, func(r recording) bool { return r.path == "" })
		if len(recordings) == 0 {
			return command.Usage("give --cpu or --trace, each with a file")
		}
		code := command.ExitDone
		err := record(recordings, func() { code = execute(cmd.Context(), inv, args) })
		if err == nil && code != command.ExitDone {
			return command.Exit{Code: code} // the command has said why
		}
		return err
	}
	return cmd
}

// A recording is written to a file while a command runs.
type recording struct {
	path        string
	start, stop func(io.Writer) error
}

// record calls run while all recordings are made.
func record(recordings []recording, run func()) error {
	if len(recordings) == 0 {
		run()
		return nil
	}
	r := recordings[0]
	f, err := os.Create(r.path)
	if err != nil {
		return err
	}
	if err := r.start(f); err != nil {
		return errors.Join(err, f.Close())
	}
	err = record(recordings[1:], run)
	return errors.Join(err, r.stop(f), f.Close())
}

func debugStreamCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stream",
		Short: "Parse a recorded response of a provider and print it as JSON",
		Long: `Reads the body of one streamed response from standard input and prints how it is parsed:
text, thinking, calls, stop_reason, usage, error_kind. An error in the stream is part of
the result: the exit code is then 0 too.`,
		Example: "  pawl debug stream --wire anthropic < recording.txt\n  pawl debug stream --wire chat < recording.txt",
		Args:    cobra.NoArgs,
	}
	format := cmd.Flags().String("wire", anthropic.Wire, "the `format` of the stream: "+strings.Join(command.StreamFormats, ", "))
	cmd.RunE = func(*cobra.Command, []string) error {
		decode := map[string]func(io.Reader) wire.Decoded{
			anthropic.Wire: anthropic.DecodeRecording, responses.Wire: responses.DecodeRecording,
			chat.Wire: chat.DecodeRecording, gemini.Wire: gemini.DecodeRecording,
		}[*format]
		if decode == nil {
			return command.Usage("--wire: unknown format %s; formats are %s%s", command.Quoted(*format), strings.Join(command.StreamFormats, ", "), text.DidYouMean(*format, command.StreamFormats))
		}
		return inv.Encode(decode(inv.Stdin))
	}
	return cmd
}
