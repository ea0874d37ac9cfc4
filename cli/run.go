package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl/run"
	"pawl/store"
	"pawl/worker"
)

// A runRequest is what a command line of run or runs resume asks for.
type runRequest struct {
	prompt string // -p
	output string // text, json, stream-json
	schema string // file with the JSON Schema of the result; "": words
	resume string // the run to resume; "" for a new one
}

func runCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Work on a task until it is done, without a terminal",
		Long: `Works on a task until it is done. Standard input, if it is not a terminal, is context
for the task, or the task itself without -p. Progress is written to standard error, only
the result to standard output.

--continue resumes a run that ended early or was killed. The text of -p is then the answer
to its open question, the next prompt, or, after a kill in the middle of a turn, a message
to the agent while it works.

Exit codes: 0 done, 1 failed, 2 usage, 3 needs a person, 4 a limit, 5 a loop,
130 interrupted, 143 terminated.`,
		Example: `  pawl run -p "make the failing test pass" --mode accept-edits --allow 'shell(go test *)'
  git diff | pawl run -p "review this change" --mode plan
  pawl run -p "update the changelog" --output json --max-cost 0.50
  pawl run --continue
  pawl run --continue -p "use the second option"`,
		Args: cobra.NoArgs,
	}
	var r runRequest
	var last bool
	r.flags(cmd)
	cmd.Flags().BoolVar(&last, "continue", false, "resume the most recent run of this folder")
	cmd.Flags().StringVar(&r.resume, "resume", "", "resume this `run`: an id, a prefix of one, or last")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case last && r.resume != "":
			return usage("--continue and --resume cannot be used together")
		case last:
			r.resume = "last"
		case cmd.Flags().Changed("resume") && r.resume == "":
			return usage("--resume needs a run: an id, a prefix of one, or last")
		}
		return inv.run(cmd, r)
	}
	return cmd
}

// flags gives cmd the flags of everything that drives a run.
func (r *runRequest) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&r.prompt, "prompt", "p", "", "the `task`, or the message to a resumed run")
	cmd.Flags().StringVar(&r.output, "output", "text", "`form` of the result: text, json, stream-json")
	cmd.Flags().StringVar(&r.schema, "output-schema", "", "`file` with a JSON Schema: the result is JSON that fits it, or the run fails")
	cmd.Flags().Bool("trust", false, "trust the workspace's own configuration and rules for this run (see pawl trust)")
	addSettings(cmd.Flags())
}

// run starts or resumes a run, drives it, and prints its result.
func (inv *invocation) run(cmd *cobra.Command, r runRequest) error {
	inv.driving.Store(true)
	ctx := cmd.Context()
	if err := oneOf("text, json, stream-json")(r.output); err != nil {
		return usage("--output: %w", err)
	}
	if cmd.Flags().Changed("prompt") && strings.TrimSpace(r.prompt) == "" {
		return usage("-p is empty: give the task, or omit -p with --continue")
	}
	workspace, err := inv.workspace()
	if err != nil {
		return err
	}
	s, err := inv.readSettings(cmd.Flags(), workspace)
	if err != nil {
		return err
	}
	for _, note := range s.notes {
		fmt.Fprintf(inv.Stderr, "pawl: %s\n", visible(note))
	}
	if f := cmd.Flags().Lookup("output-schema"); f != nil && f.Changed && r.schema == "" {
		return usage("--output-schema needs a file")
	}
	asked, err := inv.readOutputSchema(r.schema)
	if err != nil {
		return err
	}
	words, err := inv.words(ctx, r.prompt)
	if err != nil {
		return err
	}
	if words == "" && r.resume == "" {
		return usage("no task: give one with -p \"…\" or on standard input, or resume a run with --continue")
	}
	if r.resume == "" {
		if err := inv.choose(ctx, s, workspace); err != nil {
			return err
		}
	}
	p, err := inv.open()
	if err != nil {
		return err
	}
	defer p.store.Close() // what counts is durable when Append returns
	w, err := inv.worker(p, s)
	if err != nil {
		return err
	}
	out := newPrinter(inv, r.output)
	d, given, err := inv.take(ctx, p, w, s, asked, r.resume, words, out)
	if err != nil {
		out.close()
		return err
	}
	state, err := d.Run(ctx, given...)
	err = errors.Join(err, d.Close())
	if err != nil {
		out.close()
		return fmt.Errorf("run %s: %w; continue with `pawl run --resume %s`", d.ID(), err, d.ID())
	}
	inv.ended.Store(true) // from here on a signal ends the process: no turn is left to interrupt
	out.result(state)
	out.close()
	inv.tidyOutputs(p, s)
	if out.lost != nil {
		return fmt.Errorf("the result could not be written (%w); see it with `pawl runs show %s`", out.lost, d.ID())
	}
	return exit{code: exitCode(state)}
}

// take creates a run, or opens one, and returns the events that the prompt becomes.
func (inv *invocation) take(ctx context.Context, p place, w *worker.Worker, s settings, asked run.Output, which, words string, out *printer) (*worker.Runner, []run.Payload, error) {
	// A signal that cancels ctx interrupts the turn. The turn must begin all the same,
	// so that the interrupt is recorded.
	stoppable := ctx
	ctx = context.WithoutCancel(ctx)
	if which == "" {
		c := run.Created{
			Run: newRun(time.Now()), Workspace: p.workspace, System: systemPrompt(p.workspace, s.policy),
			Config: s.change(false, "").Apply(run.Config{Output: asked}), Version: version(),
		}
		if asked.Schema != "" {
			c.System += resultPrompt(asked)
		}
		d, err := w.Create(ctx, c, out.watch)
		if err != nil {
			return nil, nil, err
		}
		out.begin(d.State(), false)
		return d, []run.Payload{run.Prompted{Parts: []run.Part{run.Text(words)}}}, nil
	}
	sum, err := find(ctx, p.store, which)
	if err != nil {
		return nil, nil, err
	}
	d, err := w.Open(ctx, sum.ID, out.watch)
	if err != nil {
		return nil, nil, inv.owned(err)
	}
	config, words, err := inv.resume(ctx, p, d.State(), s, asked, words)
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	out.begin(d.State(), true)
	if t := d.State().Turn; t.Phase == run.Interrupting && words != "" {
		// The process was killed while it was stopping the turn: finish that first.
		if _, err := d.Run(stoppable, config...); err != nil {
			return nil, nil, errors.Join(err, d.Close())
		}
		config = nil
	}
	given, err := continued(d.State(), words)
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	return d, append(config, given...), nil
}

// resume returns the configuration change that the flags make to a resumed run, if it
// changes anything, and the prompt with what the change adds to it. It fails if the model
// that the run will use cannot be used: the one of the flags, of a change in the run's
// inbox, or its own.
func (inv *invocation) resume(ctx context.Context, p place, s run.State, set settings, asked run.Output, words string) ([]run.Payload, string, error) {
	wished, pending := s.Config, false
	rows, err := p.store.Inbox(ctx, s.Created.Run)
	if err != nil {
		return nil, "", err
	}
	for _, row := range rows {
		var c run.ConfigChange
		if row.Kind == store.Configure && json.Unmarshal([]byte(row.Payload), &c) == nil {
			wished, pending = c.Apply(wished), true
		}
	}
	c := set.change(true, wished.Model)
	if asked.Schema != "" && asked != s.Config.Output {
		c.Output = &asked
		if words != "" {
			words += resultPrompt(asked)
		}
	}
	if err := inv.checkModel(c.Apply(wished).Model, p.workspace); err != nil {
		return nil, "", err
	}
	// A wish may be refused: what is equal to one is still a change.
	if !pending && c.Apply(s.Config) == s.Config {
		return nil, words, nil
	}
	return []run.Payload{run.Configured{Change: c}}, words, nil
}

// continued returns the events with which a run continues: what the words mean in s, or
// else a turn without new words.
func continued(s run.State, words string) ([]run.Payload, error) {
	switch {
	case words != "":
		return []run.Payload{run.Say(s, string(newRun(time.Now())), run.Steer, []run.Part{run.Text(words)})}, nil
	case s.Turn.Open(), len(s.Turn.Interrupt.Then) > 0 && s.Turn.Phase == run.Interrupting:
		return nil, nil
	case len(s.Questions()) > 0:
		q := s.Questions()[0]
		return nil, exit{exitPerson, fmt.Errorf("run %s is waiting for an answer: %s\nanswer with `pawl run --resume %s -p \"…\"`",
			s.Created.Run, question(q.Call).Question, s.Created.Run)}
	}
	return []run.Payload{run.Prompted{Continue: true}}, nil
}

// owned adds to an [*store.OwnedError] what the user can do.
func (inv *invocation) owned(err error) error {
	var o *store.OwnedError
	if errors.As(err, &o) {
		return fmt.Errorf("%w; wait for it, or stop it with `pawl runs stop %s`", o, o.Run)
	}
	return err
}

// maxStdin bounds standard input. It is more than fits any model's window.
const maxStdin = 8 << 20 // bytes

// words returns the prompt with standard input as its context, or standard input alone
// if the prompt is empty.
func (inv *invocation) words(ctx context.Context, prompt string) (string, error) {
	text, err := inv.input(ctx)
	text = strings.TrimSpace(text)
	switch {
	case err != nil:
		return "", err
	case text == "":
		return prompt, nil
	case prompt == "":
		return text, nil
	}
	return prompt + "\n\n<stdin>\n" + text + "\n</stdin>", nil
}

// stdinPatience is how long pawl reads standard input before it says so: a pipe that was
// left open looks like a hang.
const stdinPatience = 2 * time.Second

// input reads standard input, unless it is a terminal or /dev/null.
func (inv *invocation) input(ctx context.Context) (string, error) {
	if f, ok := inv.Stdin.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
			return "", nil // or the descriptor is closed
		}
	}
	type read struct {
		text []byte
		err  error
	}
	done := make(chan read, 1)
	go func() { // outlives ctx: a read of a pipe cannot be cancelled
		text, err := io.ReadAll(io.LimitReader(inv.Stdin, maxStdin+1))
		done <- read{text, err}
	}()
	patience := time.NewTimer(stdinPatience)
	defer patience.Stop()
	for {
		select {
		case r := <-done:
			switch {
			case r.err != nil:
				return "", fmt.Errorf("read standard input: %w", r.err)
			case len(r.text) > maxStdin:
				return "", usage("standard input is larger than %d MB: save it as a file in the workspace and name that", maxStdin>>20)
			}
			return strings.ToValidUTF8(string(r.text), "\uFFFD"), nil
		case <-patience.C:
			fmt.Fprintln(inv.Stderr, "pawl: reading context from standard input; close it, or redirect it from /dev/null")
		case <-ctx.Done():
			return "", exit{code: interruptCode(ctx)}
		}
	}
}

// interruptCode is the exit code after an interrupt that came before the run began.
func interruptCode(ctx context.Context) int {
	var stop worker.Stop
	if errors.As(context.Cause(ctx), &stop) && stop.Interrupted.Cause == run.ByShutdown {
		return exitTerminated
	}
	return exitInterrupted
}

// exitCode returns the exit code for the end of the run's last turn.
func exitCode(s run.State) int {
	if s.Turn.Open() {
		return exitPerson // it is waiting for a decision
	}
	end := s.Turn.End
	switch end.End {
	case run.Completed:
		return exitDone
	case run.Asked:
		return exitPerson
	case run.LimitReached:
		return exitLimit
	case run.LoopStopped:
		return exitLoop
	case run.EndInterrupted:
		if end.Reason == string(run.ByShutdown) {
			return exitTerminated
		}
		return exitInterrupted
	case run.EndFailed:
		if end.Reason == "permission_required" {
			return exitPerson
		}
	}
	return exitFailed
}
