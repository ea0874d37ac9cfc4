package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/approval"
	"pawl/cli/command"
	"pawl/cli/commandline"
	"pawl/cli/console"
	"pawl/config"
	"pawl/forms"
	"pawl/internal/lazy"
	"pawl/provider"
	"pawl/report"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
	"pawl/view"
	"pawl/worker"
)

// A runRequest is what a command line of run or runs resume asks for.
type runRequest struct {
	prompt string // -p, or the words of the command line
	quiet  bool
	output string // text, json, stream-json
	schema string // the JSON Schema of the result, or a file with it; "": words
	name   string // what the run is called
	images []string
	resume string // the run to resume; "" for a new one
	agent  string // name of the agent of a new run; "": none
	trust  bool
}

func runCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [TASK…]",
		Short: "Work on a task until it is done",
		Long: `Works on a task until it is done. The task is given as words or with -p. Standard input,
if it is not a terminal, is context for it, or the task itself if there are no words or - in
their place. More than 64 KB of it, or what is not text, is stored as an output of the run,
and the model asks for what it needs. Progress is written to standard error, only the
result to standard output.

@file, @folder and @picture.png in the task attach what is in them, as far as the agent may
read it without a question; @"a name with spaces" too.

--continue resumes a run that ended early or was killed. The words are then the answer to
its open question or that of a sub-agent, the next prompt, or, after a kill in the middle of a
turn, a message to the agent while it works.

Exit codes: 0 done, 1 failed, 2 usage, 3 needs a person, 4 a limit, 5 a loop,
130 interrupted, 141 standard output closed, 143 terminated.`,
		Example: `  pawl run "fix the test" --mode accept-edits --allow 'shell(go test *)'
  git diff | pawl run "review this change" --mode plan
  pawl run "update the changelog" --output json --max-cost 0.50
  pawl run --continue
  pawl run --continue "use the second option"`,
	}
	var r runRequest
	var last bool
	r.flags(cmd)
	cmd.Flags().BoolVarP(&last, "continue", "c", false, "resume the most recent run of this folder")
	cmd.Flags().StringVarP(&r.resume, "resume", "r", "", "resume this `run`: an id, a prefix of one, its name, or last")
	cmd.Flags().StringVar(&r.agent, "agent", "", "start the run as this `agent`; see pawl agents list")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := r.words(cmd, args); err != nil {
			return err
		}
		switch {
		case r.agent != "" && (last || r.resume != ""):
			return command.Usage("--agent is for a new run: a run that is resumed keeps its own")
		case last && r.resume != "":
			return command.Usage("--continue and --resume cannot be used together")
		case last:
			r.resume = "last"
		case cmd.Flags().Changed("resume") && r.resume == "":
			return command.Usage("--resume needs a run: an id, a prefix of one, or last")
		}
		return startRun(inv, cmd, r)
	}
	return cmd
}

// flags gives cmd the flags of everything that drives a run.
func (r *runRequest) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&r.prompt, "prompt", "p", "", "the `task`, or the message to a resumed run")
	cmd.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "print only the result, and errors; ask nothing")
	cmd.Flags().StringVarP(&r.output, "output", "o", "text", "the `format` of the result: text, json, stream-json")
	cmd.Flags().StringVar(&r.schema, "output-schema", "", "a JSON Schema, `JSON` or a file with it: the result is JSON that fits it, or the run fails")
	cmd.Flags().StringArrayVar(&r.images, "image", nil, "attach a picture, a `file`: PNG, JPEG, GIF or WebP; repeatable")
	cmd.Flags().StringVar(&r.name, "name", "", "what the run is called: `text` by which runs list shows it and --resume finds it")
	cmd.Flags().BoolVar(&r.trust, "trust", false, "trust the workspace's own configuration and rules for this run (see pawl trust)")
	command.AddSettings(cmd.Flags())
}

// words takes the words of the command line as the task.
func (r *runRequest) words(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	joined := strings.Join(args, " ")
	if cmd.Flags().Changed("prompt") {
		return command.Usage("the task is given with -p and as words: quote it as one, pawl run %s", command.ShellWord(strings.TrimSpace(r.prompt+" "+joined)))
	}
	resumed := cmd.Flags().Changed("continue") || cmd.Flags().Changed("resume")
	if runs, _, err := cmd.Root().Find([]string{"runs"}); err == nil && cmd.Parent() != runs && !resumed && commandline.Subcommand(runs, args[0]) != "" &&
		(len(args) == 1 || len(args) == 2 && (commandline.IsReference(args[1]) || isNumber(args[1]))) {
		line := commandline.ShellLine(append([]string{commandline.Subcommand(runs, args[0])}, args[1:]...))
		return command.Usage("did you mean pawl runs %s? As a task: pawl run -p %s", line, command.ShellWord(joined))
	}
	if (len(args) == 1 || len(args) == 2 && (commandline.IsReference(args[1]) || isNumber(args[1]))) && !resumed {
		reading := commandline.ReadIn(cmd.Root(), "runs", args, args)
		if reading != nil && len(reading.Lines) > 0 && (len(args) == 2 || strings.HasPrefix(reading.Lines[0], "runs ")) {
			return command.Usage("did you mean pawl %s? As a task: pawl run -p %s", reading.Lines[0], command.ShellWord(joined))
		}
	}
	if len(args) == 1 && !resumed {
		if commandline.IsReference(args[0]) {
			line := commandline.ReadAsReference(args[0], true).Lines[0]
			return command.Usage("did you mean pawl %s? As a task: pawl run -p %s", line, args[0])
		}
		if name := strings.TrimPrefix(args[0], "@"); name == args[0] && !strings.ContainsAny(name, " \n") && !app.CallsCommand(name) && (commandline.Exists(name) || commandline.PathForm().MatchString(name)) {
			return command.Usage("did you mean pawl run %s? As a task: pawl run -p %s", command.ShellWord("… @"+name), command.ShellWord(name))
		}
		if args[0] == "help" || slices.ContainsFunc(topCommands(), func(c topCommand) bool { return c.name == args[0] }) {
			return command.Usage("did you mean pawl %s? As a task: pawl run -p %s", args[0], args[0])
		}
	}
	for _, a := range args {
		if tool, _, _ := strings.Cut(a, "("); commandline.IsRule(a) && len(args) > 1 && slices.Contains(app.ToolNames(), tool) {
			return command.Usage("%s is a rule: give each with a flag of its own, as --allow %s", a, command.ShellWord(a))
		}
	}
	if setting, _, ok := strings.Cut(args[0], "="); ok && cmd.Flags().Changed("continue") && settingName().MatchString(setting) {
		return command.Usage("-c is --continue, not a setting: settings are flags, PAWL_… variables and config.toml; see pawl config")
	}
	r.prompt = joined
	return nil
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

var (
	settingName = lazy.Regexp(`^[a-z_]+(\.[a-z_]+)*$`)
)

// startRun starts or resumes a run, shows what it does, and prints its result.
func startRun(inv *command.Invocation, cmd *cobra.Command, r runRequest) error {
	inv.Driving.Store(true)
	ctx := cmd.Context()
	if err := command.OneOf("text, json, stream-json")(r.output); err != nil {
		return command.Usage("--output: %w", err)
	}
	if (cmd.Flags().Changed("prompt") || cmd.Flags().NArg() > 0 && cmd.Name() == "run") && strings.TrimSpace(r.prompt) == "" {
		return command.Usage("the task is empty: give one, or omit it with --continue")
	}
	if r.quiet {
		inv.Errors, inv.Stderr = inv.Stderr, io.Discard
	}
	if err := checkVariables(inv); err != nil {
		return err
	}
	if f := cmd.Flags().Lookup("output-schema"); f != nil && f.Changed && r.schema == "" {
		return command.Usage("--output-schema needs a JSON Schema, or a file with one")
	}
	opt := inv.Options(cmd.Flags())
	opt.Drives, opt.Trust, opt.Asks = true, r.trust, !r.quiet && console.CanAsk(inv)
	opt.Nearest = r.resume != ""
	ws, c, err := openToDrive(opt) // before standard input is waited for
	if err != nil {
		return err
	}
	defer ws.Close() // what counts is durable when it was shown
	inv.ScreenReader = c.On("screen_reader")
	task := app.Task{Name: r.name, Agent: r.agent}
	if task.Output, err = readOutputSchema(inv, r.schema); err != nil {
		return err
	}
	given, err := taskOf(ctx, inv, ws, r)
	if err != nil {
		return err
	}
	var s *app.Session
	switch {
	case r.resume != "":
		s, err = ws.Resume(ctx, r.resume, task)
	case given.empty():
		return command.Usage("no task: pawl run \"…\", or give one on standard input, or resume a run with --continue")
	default:
		task.Typed = given.typed
		s, err = ws.Start(ctx, task)
	}
	if err != nil {
		return err
	}
	parts, err := handIn(ctx, inv, ws, s, given)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return driveRun(ctx, inv, ws, s, r, parts)
}

// openToDrive opens a workspace whose runs are to be driven, with settings and rules that can be
// used, and tells of those that do not count.
func openToDrive(opt app.Options) (*app.Workspace, *config.Config, error) {
	ws, err := app.Open(opt)
	if err != nil {
		return nil, nil, err
	}
	c, err := ws.Config()
	if err == nil {
		for _, note := range c.Notes {
			opt.Notice(note)
		}
		if _, err = ws.Policy(); err != nil {
			err = command.Usage("%w", err)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, ws.Close())
	}
	return ws, c, nil
}

// checkVariables says which variables of pawl's are not known.
func checkVariables(inv *command.Invocation) error {
	if inv.Environ == nil {
		return nil
	}
	notes, err := config.CheckVariables(inv.Environ())
	for _, note := range notes {
		inv.Notice(note)
	}
	return err
}

// A drive is a run that this command drives until it is at rest.
type drive struct {
	inv     *command.Invocation
	ws      *app.Workspace
	session *app.Session
	out     *console.Printer
	asks    bool          // what the run waits for is asked on the terminal
	waiting chan struct{} // has a value when a call of an external agent has come to wait for a person
}

// driveRun hands the prompt to a run, shows what happens until it is at rest, and prints its
// result. What the run waits for is asked on the terminal, if there is one.
func driveRun(ctx context.Context, inv *command.Invocation, ws *app.Workspace, s *app.Session, r runRequest, words []run.Part) error {
	asks, err := ws.Asks()
	if err != nil {
		return err
	}
	d := &drive{inv, ws, s, console.NewPrinter(inv, r.output, s.State(), r.resume != ""), asks, make(chan struct{}, 1)}
	defer console.Showing(inv, d.out)()
	defer s.Close() // also after a panic; what it returns was returned before
	watchReader, unread := console.StopUnread(inv, d.out, s)
	start := forms.StartOf(s.State(), r.resume != "")
	from := s.State()
	if r.resume == "" {
		from.Seq = 0
	}
	d.out.Shown(from.Seq)
	shown := make(chan struct{})
	var lines *forms.Lines
	if r.output == "stream-json" {
		lines = new(forms.Lines)
		lines.From(s.State())
	}
	go func() {
		defer close(shown)
		if lines != nil {
			d.out.Line(start)
		}
		d.show(from, lines)
	}()
	finished := false
	if r.resume != "" && len(words) == 0 {
		if finished, err = s.Finished(ctx); err != nil {
			return err
		}
	}
	state, err := d.begin(ctx, words, finished)
	watchReader()
	stop := context.AfterFunc(ctx, func() { s.Interrupt(worker.StopOf(ctx).Interrupted) })
	defer stop()
	if err == nil {
		state, err = d.wait(ctx, state)
	}
	var denials []approval.Denial
	if err == nil {
		denials, err = ws.Denials(context.Background(), s.State())
	}
	err = errors.Join(err, s.Close())
	inv.TurnEnded() // from here on a signal ends the process: no turn is left to interrupt
	<-shown
	if err != nil {
		return d.failed(state, err)
	}
	if unread() {
		if text := report.Next(ws, state); text != "" {
			fmt.Fprintln(d.out.Stderr, "standard output was closed, and the run was stopped; "+text)
		}
		inv.Tidy(ws)
		return command.Exit{Code: command.ExitUnread}
	}
	if inv.Errors != nil && command.ExitCode(state) != command.ExitDone && r.output == "text" {
		d.out.Stderr = inv.Errors // how it ended is said also with --quiet
	}
	d.out.Result(state, denials, report.Next(ws, state))
	if len(words) > 0 && r.resume != "" && runlog.NeedsApproval(state) {
		fmt.Fprintln(d.out.Stderr, "the message is delivered after the decision")
	}
	if above, err := ws.LeftAbove(context.Background(), state); err == nil && above != "" {
		fmt.Fprintf(d.out.Stderr, "continue the run above with `pawl run --resume %s`\n", above)
	}
	if finished {
		fmt.Fprintf(d.out.Stderr, "the run had completed, and nothing was sent to the model; continue with `pawl run --resume %s \"…\"`\n", s.ID())
	}
	if state.Turn.End.Reason == string(run.ErrAuth) {
		tellKey(inv, ws, state.Config.Model)
	}
	inv.Tidy(ws)
	if d.out.Lost != nil {
		return fmt.Errorf("the result could not be written (%w); see it with `pawl runs show %s`", d.out.Lost, s.ID())
	}
	return command.Exit{Code: command.ExitCode(state)}
}

// line returns an update as a line of the stream: of calls that wait with what a person has to know.
func (d *drive) line(lines *forms.Lines, u view.Update) (any, error) {
	if u.Waiting == nil && u.Below == "" {
		return lines.Line(u), nil
	}
	all, err := d.session.Approvals()
	return forms.WaitingLineOf(all), err
}

// show shows what happens in the run, from state from on, and below it, until the session is closed. lines,
// if not nil, makes the lines of its stream.
func (d *drive) show(from run.State, lines *forms.Lines) {
	defer d.out.Shown(math.MaxInt64)
	err := d.ws.FollowTree(context.Background(), from, d.session.Follow(context.Background(), from.Seq), func(id run.ID, u view.Update) {
		if lines != nil && id == d.session.ID() {
			d.out.Stream(d.line(lines, u))
		}
		if d.out.Display != nil {
			u = report.WithDiff(d.ws, u)
		}
		if u.Event != nil {
			if _, asked := u.Event.Payload.(run.CallAsked); asked {
				defer d.interruptWait()
			}
		}
		if id != d.session.ID() {
			d.out.ShowChild(id, u)
			return
		}
		d.out.Show(u)
		if len(u.Waiting) == 0 || !d.session.State().Created.External {
			return
		}
		if !d.asks {
			d.inv.Notice(fmt.Sprintf("a call needs approval; answer with `pawl runs decide %s %s allow`", id, u.Waiting[0]))
		}
		d.interruptWait()
	})
	if err != nil {
		d.inv.Notice(err.Error())
	}
}

// interruptWait makes wait return before the run is at rest, so that the person can be asked.
func (d *drive) interruptWait() {
	select {
	case d.waiting <- struct{}{}:
	default:
	}
}

// begin hands the words in, or lets the run continue. A state that is returned is that of a run with
// which nothing has to begin: it has finished, or it continues with the answer to its question.
func (d *drive) begin(ctx context.Context, words []run.Part, finished bool) (run.State, error) {
	switch before := d.session.State(); {
	case finished, d.asks && len(words) == 0 && !before.Turn.Open() && len(before.Questions()) > 0:
		return before, nil
	case len(words) > 0:
		return run.State{}, d.session.Reply(ctx, words...)
	default:
		return run.State{}, d.session.Continue(ctx)
	}
}

// wait waits until the run is at rest, from state on if it has events, and nothing that it waits for was
// answered on the terminal.
func (d *drive) wait(ctx context.Context, state run.State) (run.State, error) {
	wait := func() (s run.State, rested bool, err error) {
		if d.asks {
			return waitForRest(d.session, d.waiting)
		}
		s, err = d.session.Wait(context.Background())
		return s, true, err
	}
	var err error
	rested := true
	if state.Seq == 0 {
		state, rested, err = wait()
	}
	if !d.asks {
		return state, err
	}
	asker := console.NewAsker(d.inv, d.ws, d.session, d.out)
	defer asker.Input.End(d.inv.Stderr)
	for err == nil && (asker.Ask(ctx, state) || asker.GoesOn(ctx) || !rested) {
		state, rested, err = wait()
	}
	return state, err
}

// failed returns the error of a run that could not be driven to its rest.
func (d *drive) failed(state run.State, err error) error {
	id := d.session.ID()
	if errors.As(err, new(*runlog.QuestionError)) || errors.As(err, new(*runlog.QuestionsError)) || state.Created.Run == "" && d.session.State().Seq == 0 {
		return err
	}
	if _, _, loadErr := d.ws.Load(context.Background(), id); errors.Is(loadErr, store.ErrNotFound) {
		return fmt.Errorf("%w; nothing of the run was recorded", err)
	}
	return fmt.Errorf("run %s: %w; continue with `pawl run --resume %s`", id, err, id)
}

// waitForRest waits until the session is at rest, or until waiting says that a person has to be asked while the run goes
// on: by a call that runs, for a call of an external agent, or by a run below.
func waitForRest(s *app.Session, waiting <-chan struct{}) (_ run.State, atRest bool, _ error) {
	ctx, cancel := context.WithCancel(context.Background())
	var state run.State
	var err error
	rested := make(chan struct{})
	go func() {
		defer close(rested)
		state, err = s.Wait(ctx)
	}()
	select {
	case <-rested:
	case <-waiting:
		cancel()
		<-rested
		return s.State(), false, nil
	}
	cancel()
	return state, true, err
}

// tellKey says where the key came from that a model's provider did not accept.
func tellKey(inv *command.Invocation, ws *app.Workspace, model string) {
	ps, err := ws.Models()
	if err != nil {
		return // the run has had them
	}
	if p, _, err := ps.Find(model); err == nil && ps.Site(p).KeyFrom != "" {
		fmt.Fprintf(inv.ErrorWriter(), "the key is that of %s, sent to %s\n", ps.Site(p).KeyFrom, command.Visible(provider.WithoutSecrets(ps.Site(p).Address)))
	}
}
