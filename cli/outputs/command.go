package outputs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/output"
	"pawl/run"
)

func Command(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "outputs",
		Short: "Query stored outputs of tools, or any file of JSON, CSV or text",
		Long: `Queries the outputs of tools that runs have stored, with the operations that models have, or
with --file any file of JSON, JSON Lines, CSV, YAML or text. Large files need little
memory. Paths are JSONPath (RFC 9535).

An output is named by the id of its call, such as c_3, in the most recent run or the one
given with --run; RUN/c_3 names both. Without a name the most recent output is used.

Exit codes: 0 found, 1 no match (extract, search, sample) or failed, 2 usage.`,
		Example: `  pawl outputs list
  pawl outputs stats c_3
  pawl outputs extract --file big.json --path '$.users[*].email'
  pawl outputs count --file big.json --count 'high=$.users[?@.score>99]'`,
	})
	cmd.AddCommand(outputsListCommand(inv), outputsPruneCommand(inv))
	for _, q := range outputQuestions {
		cmd.AddCommand(q.command(inv))
	}
	for _, sub := range cmd.Commands() {
		sub.RunE = quietly(sub.RunE)
	}
	return cmd
}

// quietly makes a command end without an error when its output is no longer read, as in
// `pawl … | head`.
func quietly(do func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := do(cmd, args)
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
			return command.Exit{Code: command.ExitDone}
		}
		return err
	}
}

// A source says what a question is about: flags, and the argument.
type source struct {
	file string // - is standard input; "": a stored output
	run  string // "": the newest
	id   string // as c_3 or RUN/c_3; "": the newest
}

// flags gives cmd the flags of a source, and what completes its argument.
func (s *source) flags(inv *command.Invocation, cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.file, "file", "", "query this `file` instead of a stored output; -: standard input")
	cmd.Flags().StringVar(&s.run, "run", "", "the `run`: an id, a prefix of one, or last (default last)")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || s.file != "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeOutputs(cmd.Context(), inv, s.run), cobra.ShellCompDirectiveNoFileComp
	}
}

// read takes the argument, and says what does not go together.
func (s *source) read(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return command.Usage("%s takes at most one output, such as c_3 or RUN/c_3; --file names a file", cmd.CommandPath())
	case len(args) == 1 && s.file != "" && cmd.Flags().Lookup("path") != nil && (args[0][:min(1, len(args[0]))] == "$" || args[0][:min(1, len(args[0]))] == "."):
		return command.Usage("a path is given with --path: %s --file %s --path %s", cmd.CommandPath(), command.ShellWord(s.file), command.ShellWord(args[0]))
	case len(args) == 1 && s.file != "":
		return command.Usage("%s and --file cannot be used together; a value follows its flag, as in --op sum", args[0])
	case s.run != "" && s.file != "":
		return command.Usage("--run and --file cannot be used together")
	case len(args) == 1 && args[0] == "":
		return command.Usage("no output is named: give the id of its call, such as c_3")
	}
	if s.id = strings.Join(args, ""); s.run == "" {
		s.run = "last"
		if which, call, ok := cutLast(s.id, "/"); ok {
			s.run, s.id = which, call
		}
	}
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// A subject is the document that a question is about.
type subject struct {
	*output.Document
	io.Closer
	stored *output.Output // nil: a file
	scope  output.Scope   // of the run that the question names
}

// openSource opens what a source says. The caller closes it.
func openSource(ctx context.Context, inv *command.Invocation, s source) (*subject, error) {
	if s.file != "" {
		f, err := inv.OpenFile(s.file)
		if err != nil {
			return nil, err
		}
		d, err := output.File(s.file, f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return &subject{Document: d, Closer: f}, nil
	}
	ws, err := inv.OpenRuns(nil)
	if err != nil {
		return nil, err
	}
	sub, err := openStored(ctx, inv, ws, s)
	if err != nil {
		ws.Close() // nothing was written
	}
	return sub, err
}

// openStored opens the output of a run that a source says. If there is no error, the subject closes the workspace: the
// output may be in its store.
func openStored(ctx context.Context, inv *command.Invocation, ws *app.Workspace, s source) (*subject, error) {
	scope, err := ws.Scope(ctx, s.run)
	if err != nil {
		return nil, err
	}
	o, err := ws.Outputs().Find(scope, s.id)
	if err != nil {
		err = missingOutput(err, scope.Run)
		if in, readErr := inv.Input(ctx); s.id == "" && readErr == nil && in != nil {
			err = command.Usage("%w; standard input is read with --file -", err)
		}
		return nil, err
	}
	return &subject{Document: o.Document, Closer: both{o, ws}, stored: o, scope: scope}, nil
}

// both closes one after the other.
type both [2]io.Closer

func (b both) Close() error { return errors.Join(b[0].Close(), b[1].Close()) }

// missingOutput says of an output that is not there what a person can do.
func missingOutput(err error, id run.ID) error {
	var missing *output.NotFoundError
	if !errors.As(err, &missing) {
		return err
	}
	known := strings.Join(missing.Known, ", ")
	if missing.Total > len(missing.Known) {
		known = fmt.Sprintf("the newest of %d are %s", missing.Total, known)
	}
	_, statErr := os.Stat(missing.ID)
	switch {
	case missing.ID == "-":
		return command.Usage("standard input is read with --file -")
	case missing.ID != "" && (statErr == nil || filepath.Ext(missing.ID) != ""):
		return command.Usage("run %s has no stored output %s; of a file: --file %s", id, command.Quoted(missing.ID), command.ShellWord(missing.ID))
	case missing.Total == 0:
		return command.Usage("run %s has no stored outputs; `pawl outputs list --all` shows those of all runs", id)
	case missing.Several:
		return command.Usage("several runs have an output %s: name one as RUN/%s; %s", command.Quoted(missing.ID), missing.ID, known)
	}
	return command.Usage("run %s has no stored output %s; stored: %s", id, command.Quoted(missing.ID), known)
}

// maxCompletions bounds the outputs that are offered: a shell waits for them.
const maxCompletions = 200

// completeOutputs returns the ids of a run's outputs, the newest ones, for the shell.
func completeOutputs(ctx context.Context, inv *command.Invocation, which string) []string {
	if which == "" {
		which = "last"
	}
	ws, err := inv.OpenRuns(nil)
	if err != nil {
		return nil
	}
	defer ws.Close() // nothing was written
	scope, err := ws.Scope(ctx, which)
	if err != nil {
		return nil
	}
	newest := output.ListArgs{SortBy: "created_at", SortOrder: "desc", Limit: maxCompletions}
	list, _, err := forms.ListOutputs(ws.Outputs(), newest, scope)
	if err != nil {
		return nil
	}
	var ids []string
	for _, o := range list.Items {
		ids = append(ids, cobra.CompletionWithDesc(o.ID, command.OneLine(o.Tool+", "+o.Summary, command.MaxTitle)))
	}
	return ids
}
