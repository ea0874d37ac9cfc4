package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/board"
	"pawl/cli/command"
	"pawl/cli/console"
	"pawl/config"
	"pawl/forms"
	"pawl/run"
	tasks "pawl/task"
	"pawl/worker"
)

// working are the flags of a command that lets an agent work.
type working struct {
	detach *bool
	json   *bool
}

func workFlags(cmd *cobra.Command) working {
	w := working{
		detach: cmd.Flags().Bool("detach", false, "return at once: a process that watches all tasks lets the agent work"),
		json:   historyFlag(cmd),
	}
	command.AddWaitingSettings(cmd.Flags())
	return w
}

func historyFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print the history as it grows, one JSON object a line (docs/stream-json.md)")
}

// works lets the agent of a task work after do has changed the task, unless it is detached.
func (w working) works(inv *command.Invocation, do func(ctx context.Context, ws *app.Workspace, id tasks.ID, args []string) (tasks.State, error)) func(context.Context, *app.Workspace, tasks.ID, []string) error {
	return func(ctx context.Context, ws *app.Workspace, id tasks.ID, args []string) error {
		before, err := atRest(ctx, ws, id)
		if err != nil {
			return err
		}
		s, err := do(ctx, ws, id, args)
		if err != nil {
			return err
		}
		if *w.detach {
			if served, err := board.Of(ws).Served(ctx, id); !*w.json && s.Owes() && err == nil && !served {
				inv.Hint("its agent works when a process watches all tasks: `pawl task watch`, or `pawl serve`")
			}
			return printTask(inv, s, *w.json)
		}
		return attend(ctx, inv, ws, id, before.Seq, *w.json)
	}
}

func taskPlanCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan TASK",
		Short: "Let the planner make a plan, or ask",
		Long: `Lets the planner make a plan for a pending task. It looks at the folder and submits a plan, its
questions (see pawl task answer), or why there can be no plan.`,
		Example: "  pawl task plan last\n  pawl task plan t-k3f9xy --detach",
	}
	w := workFlags(cmd)
	return oneTask(inv, cmd, w.works(inv, func(ctx context.Context, ws *app.Workspace, id tasks.ID, _ []string) (tasks.State, error) {
		return board.Of(ws).Plan(ctx, id, config.Person())
	}))
}

func taskAnswerCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "answer TASK ANSWER...",
		Short: "Answer the questions of an agent, one argument for each",
		Long: `Answers the questions of the planner, or the question that a worker asks in the middle of its
work; the agent continues in the same conversation. Where there are answers to choose from, the
number of one is enough.`,
		Example: `  pawl task answer last "The stable one" "Yes, tests too"
  pawl task answer last 2`,
		Args: atLeast(2, "a task and an answer for each question"),
	}
	w := workFlags(cmd)
	return oneTask(inv, cmd, w.works(inv, func(ctx context.Context, ws *app.Workspace, id tasks.ID, args []string) (tasks.State, error) {
		s, err := board.Of(ws).Load(ctx, id)
		if err != nil {
			return s, err
		}
		answers := slices.Clone(args)
		for i, q := range openQuestions(s) {
			if i < len(answers) {
				if answers[i], err = console.Chosen(answers[i], q.Options); err != nil {
					return s, command.Usage("answer %d: %w", i+1, err)
				}
			}
		}
		return board.Of(ws).Do(ctx, id, config.Person(), tasks.SubmitAnswers{Answers: answers, Questions: s.OpenQuestions()})
	}))
}

// openQuestions returns the questions of a task that wait for an answer.
func openQuestions(s tasks.State) []tasks.Question {
	return slices.DeleteFunc(slices.Clone(s.Questions), func(q tasks.Question) bool { return q.Answered })
}

func taskStartCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start TASK",
		Short: "Let a worker agent carry out the plan",
		Long: `Lets a worker agent carry out a planned task: the agent of the plan, or --agent. Calls that need
approval wait for pawl runs decide, unless --on-ask says what happens to them.`,
		Example: "  pawl task start last\n  pawl task start last --agent developer --mode accept-edits",
	}
	agent := cmd.Flags().String("agent", "", "the `agent` that works, instead of that of the plan")
	w := workFlags(cmd)
	return oneTask(inv, cmd, w.works(inv, func(ctx context.Context, ws *app.Workspace, id tasks.ID, _ []string) (tasks.State, error) {
		return board.Of(ws).Start(ctx, id, config.Person(), *agent)
	}))
}

func taskHandoffCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "handoff TASK AGENT",
		Short: "Let another agent carry on with a task",
		Long: `Lets another agent carry on with a task. The worker of a task that is active or waits is stopped
first; a planned task is started with the agent. The agent is told the task and its plan, that
another one has worked on it, and the words of -p.`,
		Example: `  pawl task handoff last reviewer -p "Look at what was changed"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("%s takes a task and an agent; `pawl agents list` lists them", cmd.CommandPath())
			}
			return nil
		},
	}
	words := cmd.Flags().StringP("prompt", "p", "", "the `words` that the agent is told")
	w := workFlags(cmd)
	return oneTask(inv, cmd, w.works(inv, func(ctx context.Context, ws *app.Workspace, id tasks.ID, args []string) (tasks.State, error) {
		return board.Of(ws).HandOn(ctx, id, config.Person(), args[0], *words)
	}))
}

func taskResumeCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume TASK",
		Short: "Let the agent of a waiting task continue, with words if you give some",
		Long: `Lets the agent of a waiting task continue in the same conversation. The words of -p are the
answer to its question, what it was blocked by, or what to do differently. A task whose budget
is spent needs a higher one.`,
		Example: "  pawl task resume last\n" + `  pawl task resume last -p "You have the rights now"` + "\n  pawl task resume last --budget 5",
	}
	words := cmd.Flags().StringP("prompt", "p", "", "the `words` that the agent is told")
	budget := budgetFlags(cmd.Flags())
	w := workFlags(cmd)
	return oneTask(inv, cmd, w.works(inv, func(ctx context.Context, ws *app.Workspace, id tasks.ID, _ []string) (tasks.State, error) {
		s, err := board.Of(ws).Load(ctx, id)
		if err != nil {
			return s, err
		}
		if open := openQuestions(s); len(open) > 0 {
			if *words, err = console.Chosen(*words, open[0].Options); err != nil {
				return s, command.Usage("-p: %w", err)
			}
		}
		return board.Of(ws).Do(ctx, id, config.Person(), tasks.Resume{Words: *words, Budget: budget(s)})
	}))
}

func taskWatchCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [TASK]",
		Short: "Watch a task live, or let the agents of all tasks work",
		Long: `Shows what happens to a task until it needs a person or is done. If no process lets its agent
work - the one that did was killed, also meanwhile - this one does. Without a TASK all tasks
of the folder are worked on, until pawl is interrupted; the tasks stay as they are then, and
the next pawl task watch continues them.

Flags such as --mode and --model are for runs that begin here: a run that is resumed keeps
what it has. See pawl runs set.`,
		Example: "  pawl task watch last\n  pawl task watch",
	}
	asJSON := historyFlag(cmd)
	command.AddWaitingSettings(cmd.Flags())
	runs := cmd.Flags().Int("runs", board.DefaultRuns, "without a TASK: work on at most `n` at once")
	one := oneTaskKeeping(inv, cmd, true, func(ctx context.Context, ws *app.Workspace, id tasks.ID, _ []string) error {
		return attend(ctx, inv, ws, id, 0, *asJSON)
	})
	single := one.RunE
	one.Args = cobra.MaximumNArgs(1)
	one.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return single(cmd, args)
		}
		return watchAll(inv, cmd, *runs, *asJSON)
	}
	return one
}

// watchAll lets the agents of all tasks work until it is interrupted.
func watchAll(inv *command.Invocation, cmd *cobra.Command, runs int, asJSON bool) error {
	inv.Driving.Store(true)
	opt := inv.Options(cmd.Flags())
	opt.Drives, opt.Serves, opt.Asks = true, true, true
	ws, err := app.Open(opt)
	if err != nil {
		return err
	}
	defer ws.Close() // what counts is durable
	if runs < 1 {
		return command.Usage("--runs is %d: must be 1 or more", runs)
	}
	asks, err := newTaskAsker(inv, ws, asJSON)
	if err != nil {
		return err
	}
	h := newTaskHistory(inv, ws, asJSON, asks)
	h.named = true
	all, _, err := board.Of(ws).List(cmd.Context(), board.Query{})
	if err != nil {
		return err
	}
	for _, sum := range all {
		h.seen[sum.ID] = sum.Seq
	}
	show := func(id tasks.ID) { _ = h.show(id) } // or it was removed
	changes := make(chan tasks.ID, 1000)
	ws.OnTaskChange(func(id tasks.ID) {
		select {
		case changes <- id:
		default: // shown with its next change
		}
	})
	ctx := cmd.Context()
	ended, shown := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(shown)
		for {
			select {
			case id := <-changes:
				show(id)
				continue
			default:
			}
			select {
			case id := <-changes:
				show(id)
			case <-ended:
				return
			}
		}
	}()
	drive := board.Options{Runs: runs, Driving: func() { fmt.Fprintln(inv.Stderr, "working on the tasks of this folder; end with Ctrl-C") },
		Held: func(id tasks.ID, why string) { fmt.Fprintf(inv.Stderr, "task %s waits: %s\n", id, why) }}
	if asks != nil {
		defer asks.input.End(inv.Stderr)
		drive.Session = h.session(ctx, asks)
	}
	err = board.NewDriver(ws, drive).Drive(ctx)
	inv.TurnEnded()
	h.sessions.Wait()
	close(ended)
	<-shown
	if err == nil && ctx.Err() != nil {
		return command.Exit{Code: command.InterruptCode(ctx)}
	}
	return err
}

// newTaskHistory returns what prints the history of tasks, beside what asks; nil: nothing does.
func newTaskHistory(inv *command.Invocation, ws *app.Workspace, asJSON bool, asks *taskAsker) *taskHistory {
	h := &taskHistory{inv: inv, ws: ws, asJSON: asJSON, out: inv.Stderr, seen: map[tasks.ID]int64{}, runs: map[run.ID]*console.Printer{}, driven: map[tasks.ID]bool{}}
	if asks != nil {
		h.asks, h.out = true, asks.held
	}
	return h
}

// attend shows what happens to a task after event number after until it is at rest, and
// lets its agent work when no other process does. What it waits for is asked at the
// terminal, if there is one; then it continues. An interrupt pauses the task; a termination
// leaves it to the next process.
func attend(ctx context.Context, inv *command.Invocation, ws *app.Workspace, id tasks.ID, after int64, asJSON bool) error {
	asks, err := newTaskAsker(inv, ws, asJSON)
	if err != nil {
		return err
	}
	if asks != nil {
		defer asks.input.End(inv.Stderr)
		if lease, err := board.Of(ws).Attend(ctx, id); err == nil { // else another process attends to it, or the disk is full
			defer lease.Release()
		}
	}
	for {
		s, err := attendOnce(ctx, inv, ws, id, after, asJSON, asks)
		if err != nil {
			return err
		}
		if asks == nil {
			return taskResult(inv, s, asJSON)
		}
		answer, moved, err := asks.answers(ctx, s)
		if err != nil {
			return err
		}
		if answer == nil && !moved {
			return taskResult(inv, s, asJSON)
		}
		after = s.Seq
		if moved {
			continue
		}
		if _, err := board.Of(ws).Do(ctx, id, config.Person(), answer); err != nil {
			return err
		}
	}
}

// attendOnce is attend until the task is at rest. It returns the task then; after an interrupt
// it returns an exit code.
func attendOnce(ctx context.Context, inv *command.Invocation, ws *app.Workspace, id tasks.ID, after int64, asJSON bool, asks *taskAsker) (tasks.State, error) {
	inv.Driving.Store(true)
	inv.Ended.Store(false)
	elsewhere, err := board.Of(ws).Served(ctx, id)
	if err != nil {
		return tasks.State{}, err
	}
	var served atomic.Bool // another process drives it
	served.Store(elsewhere)
	driving, stopDriving := context.WithCancel(context.Background())
	defer stopDriving()
	watching, stopWatching := context.WithCancel(context.Background())
	defer stopWatching()
	done := make(chan error, 1)
	h := newTaskHistory(inv, ws, asJSON, asks)
	h.seen[id] = after
	opt := board.Options{}
	if !asJSON {
		opt.Session = h.session(watching, asks)
	}
	d := board.NewDriver(ws, opt)
	drive := func() {
		err := d.Drive(driving, id)
		if driving.Err() != nil {
			inv.TurnEnded()
		}
		done <- err
	}
	if !elsewhere {
		go drive()
	}
	interrupted := context.AfterFunc(ctx, func() {
		if worker.StopOf(ctx).Interrupted.Cause == run.ByPerson && !served.Load() {
			_, err := board.Of(ws).Do(context.Background(), id, config.Person(), tasks.Move{On: tasks.OnPause})
			if s, _ := board.Of(ws).Load(context.Background(), id); err == nil || errors.As(err, new(*tasks.TransitionError)) && s.Status.Until.IsZero() {
				return // it comes to rest
			}
		}
		stopDriving()
		stopWatching()
	})
	defer interrupted()

	var s tasks.State
	var driven error
	ended := false
	for e, err := range board.Of(ws).Follow(watching, id, after) {
		if err != nil {
			return s, err
		}
		if e.Payload != nil {
			h.event(id, e)
			continue
		}
		if s, err = board.Of(ws).Load(context.Background(), id); err != nil {
			return s, err
		}
		select {
		case driven = <-done:
			ended = true
			done <- driven
		default:
		}
		rests, err := board.Of(ws).Rests(context.Background(), s, time.Now())
		if err != nil {
			return s, err
		}
		if (ended || served.Load()) && (rests && s.Status.Until.IsZero() || driven != nil) {
			break
		}
		if served.Load() {
			if elsewhere, err := board.Of(ws).Served(context.Background(), id); err == nil && !elsewhere {
				served.Store(false)
				inv.Notice("the process that drove the tasks has ended; this one continues the task")
				go drive()
			}
		}
	}
	stopDriving()
	if driven == nil && !served.Load() {
		driven = <-done
	}
	h.sessions.Wait()
	err = h.show(id) // what came after the last look
	inv.TurnEnded()
	if err = cmp.Or(driven, err); err != nil {
		return s, err
	}
	if s, err = board.Of(ws).Load(context.Background(), id); err != nil {
		return s, err
	}
	if ctx.Err() != nil {
		fmt.Fprintf(inv.Stderr, "task %s is %s; continue with `pawl task %s %s`\n", id, s.Status.Name.Words(), map[bool]string{true: "watch", false: "resume"}[s.Owes() || !s.Status.Until.IsZero()], id)
		return s, command.Exit{Code: command.InterruptCode(ctx)}
	}
	return s, nil
}

// A TaskResultForm is the last line of the history of a task as JSON: how the task stands.
type TaskResultForm struct {
	Type string `json:"type"` // result
	forms.TaskForm
}

// taskResult prints how a task stands, and what a person can do, and returns the exit code.
func taskResult(inv *command.Invocation, s tasks.State, asJSON bool) error {
	code := command.ExitDone
	switch st := s.Status; st.Name {
	case tasks.AwaitingInput:
		code = command.ExitPerson
	case tasks.Waiting:
		code = command.ExitPerson
		switch run.End(st.Reason) {
		case run.LimitReached:
			code = command.ExitLimit
		case run.LoopStopped:
			code = command.ExitLoop
		}
	case tasks.Failed:
		code = command.ExitFailed
	}
	if asJSON {
		if err := inv.Encode(TaskResultForm{"result", forms.TaskFormOf(s)}); err != nil {
			return err
		}
		return command.Exit{Code: code}
	}
	var lines []string
	switch s.Status.Name {
	case tasks.AwaitingInput, tasks.Waiting:
		for i, q := range openQuestions(s) {
			lines = append(lines, questionLines(i+1, q)...)
		}
	case tasks.Pending:
		lines = []string{string(s.Created.Task)} // nothing has come of it yet
	case tasks.Planned:
		lines = planLines(s.Plan)
	case tasks.Completed:
		if s.Report != nil {
			lines = append(lines, s.Report.Summary)
			if s.Report.Output != "" {
				lines = append(lines, "", s.Report.Output)
			}
		}
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(inv.Stdout, command.Visible(l)); err != nil {
			return err
		}
	}
	inv.Hint(s.NextStep(inv.Carry != nil))
	return command.Exit{Code: code}
}

// questionLines is a question of a task as people read it.
func questionLines(n int, q tasks.Question) []string {
	lines := []string{hang(fmt.Sprintf("%d. %s", n, q.Question))}
	for i, o := range q.Options {
		lines = append(lines, hang(fmt.Sprintf("   %d) %s", i+1, o)))
	}
	return lines
}

// hang returns a text of which only the first line begins where lines of pawl's do.
func hang(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n "), "\n", "\n    ")
}

// planLines is a plan as people read it.
func planLines(p *tasks.Plan) []string {
	if p == nil {
		return nil
	}
	lines := []string{hang(p.Summary)}
	part := func(title string, items []string) {
		if len(items) > 0 {
			lines = append(lines, "", title+":")
		}
		for _, item := range items {
			lines = append(lines, hang("- "+item))
		}
	}
	part("Requirements", p.Requirements)
	part("Acceptance criteria", p.AcceptanceCriteria)
	part("Steps", p.Steps)
	if p.AssignedAgent != "" {
		lines = append(lines, "", hang("Agent: "+p.AssignedAgent))
	}
	return lines
}

// change makes a command that does one thing to a task and prints how it stands then.
func change(inv *command.Invocation, cmd *cobra.Command, action func(s tasks.State, args []string) (tasks.Action, error)) *cobra.Command {
	asJSON := command.JSONFlag(cmd)
	return oneTask(inv, cmd, func(ctx context.Context, ws *app.Workspace, id tasks.ID, args []string) error {
		s, err := atRest(ctx, ws, id)
		if err != nil {
			return err
		}
		a, err := action(s, args)
		if err != nil {
			return err
		}
		if s, err = board.Of(ws).Do(ctx, id, config.Person(), a); err != nil {
			return err
		}
		if s, err = stopped(ctx, inv, ws, s); err != nil {
			return err
		}
		return printTask(inv, s, *asJSON)
	})
}

// atRest returns a task. One at which no agent is at work any more is brought to its rest before: its
// run may have a little left to do after its result, or a killed process may have left its agent.
func atRest(ctx context.Context, ws *app.Workspace, id tasks.ID) (tasks.State, error) {
	s, err := board.Of(ws).Load(ctx, id)
	if name := s.Status.Name; err != nil || !s.Owes() || name == tasks.Planning || name == tasks.Active {
		return s, err
	}
	if err := board.NewDriver(ws, board.Options{}).Drive(ctx, id); err != nil {
		return s, err
	}
	return board.Of(ws).Load(ctx, id)
}

// stopped waits until the runs that a task's status has left have stopped, and their agents have ended: the
// end of a run is in its log before a stopped external agent has ended, but its driver keeps it until then.
func stopped(ctx context.Context, inv *command.Invocation, ws *app.Workspace, s tasks.State) (tasks.State, error) {
	var stopping []run.ID
	for _, c := range s.Next() {
		if c, ok := c.(tasks.StopRun); ok {
			stopping = append(stopping, c.Run)
		}
	}
	if len(stopping) == 0 {
		return s, nil
	}
	id := s.Created.Task
	done, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- board.NewDriver(ws, board.Options{}).Drive(done, id) }() // if another process drives it, that one stops it
	for _, err := range board.Of(ws).Follow(done, id, s.Seq) {
		if err == nil {
			s, err = board.Of(ws).Load(ctx, id)
		}
		var stops bool
		if err == nil {
			stops, err = stillStops(ctx, ws, s, stopping)
		}
		if err != nil && ctx.Err() == nil {
			return s, err
		}
		if err == nil && !stops {
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		return s, err
	}
	if ctx.Err() != nil {
		return s, command.Exit{Code: command.InterruptCode(ctx)}
	}
	return s, nil
}

// stillStops reports whether one of the runs that a task has left has not stopped, or a process still has it. One
// that the task was given back since does not stop any more.
func stillStops(ctx context.Context, ws *app.Workspace, s tasks.State, runs []run.ID) (bool, error) {
	for _, id := range runs {
		if r, _ := s.Run(id); !r.Ended {
			if s.Status.Run == id && s.Status.Name != tasks.Waiting {
				continue
			}
			return true, nil
		}
		if _, owned, err := ws.Owner(ctx, id); err != nil || owned {
			return owned, err
		}
	}
	return false, nil
}

// changeTo returns a command that does one thing to a task and has no flags for it.
func changeTo(verb, short, example string, a tasks.Action) func(*command.Invocation) *cobra.Command {
	return func(inv *command.Invocation) *cobra.Command {
		return change(inv, &cobra.Command{Use: verb + " TASK", Short: short, Example: "  " + example},
			func(tasks.State, []string) (tasks.Action, error) { return a, nil })
	}
}

func taskSayCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "say TASK TEXT",
		Short: "Say something to the agent: while it works, before it does, or after it has",
		Long: `Says something to the agent of a task. While it works it is told with its next results, an
external agent when its turn has ended; before that with the next words that it is given. A task that is completed or failed continues with it: the
agent that worked last does what is said, in the same conversation, and reports again.`,
		Example: `  pawl task say last "Leave the public API as it is"
  pawl task say last "Good. Now rename it"`,
		Args: atLeast(2, "a task and what to say"),
	}
	w := workFlags(cmd)
	return oneTask(inv, cmd, func(ctx context.Context, ws *app.Workspace, id tasks.ID, args []string) error {
		before, err := atRest(ctx, ws, id)
		if err != nil {
			return err
		}
		words, typed, err := ws.TypedText(ctx, strings.Join(args, " "), console.Approve(inv, console.CanAsk(inv)))
		if err != nil {
			return err
		}
		s, err := board.Of(ws).Say(ctx, id, config.Person(), tasks.Say{ID: board.NewMessageID(), Text: words, Typed: typed})
		if err != nil {
			return err
		}
		if *w.detach || !tasks.Final(before.Status.Name) {
			return printTask(inv, s, *w.json)
		}
		return attend(ctx, inv, ws, id, before.Seq, *w.json)
	})
}

func taskFailCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "fail TASK",
		Short:   "Give the task up; its agent is stopped",
		Long:    "Gives a task up: one that is worked on has failed, any other is cancelled. Its agent is stopped.",
		Example: `  pawl task fail last --why "not needed any more"`,
	}
	why := cmd.Flags().String("why", "", "the `reason`, for the history")
	return change(inv, cmd, func(s tasks.State, _ []string) (tasks.Action, error) {
		if slices.Contains(s.May(), tasks.OnFail) {
			return tasks.Move{On: tasks.OnFail, Why: *why}, nil
		}
		return tasks.Move{On: tasks.OnCancel, Why: *why}, nil
	})
}
