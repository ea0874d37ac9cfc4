package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/app"
	"pawl/board"
	"pawl/cli/command"
	"pawl/cli/console"
	"pawl/config"
	"pawl/forms"
	"pawl/internal/text"
	"pawl/report"
	"pawl/request"
	"pawl/run"
	tasks "pawl/task"
	"pawl/tasklog"
	"pawl/view"
)

func taskAddCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add TEXT",
		Short: "Add a task and print its id, or let agents plan it and carry it out",
		Long: `Adds a task. With - as TEXT, or without one, the description is read from standard input.

With --start it is planned, and its plan carried out, without another command. Questions of the
planner are still asked. A task that depends on others begins when they are completed, in a
process that watches all tasks. The flags for models, permissions and limits hold for this process.`,
		Example: `  pawl task add "The totals of the cart are wrong" --label bug --priority 2
  pawl task add "The totals of the cart are wrong" --start --mode accept-edits
  gh issue view 12 | pawl task add - --attach screenshot.png`,
		Args: cobra.MaximumNArgs(1),
	}
	labels := cmd.Flags().StringArray("label", nil, "a `label`; may be repeated")
	priority := cmd.Flags().Int("priority", 0, "`n`: a task with a higher one comes first")
	depends := cmd.Flags().StringArray("depends-on", nil, "a `task` that has to be completed before; may be repeated")
	cost := cmd.Flags().Float64("budget", 0, "what all its runs may cost together, in `dollars`")
	tokens := cmd.Flags().Int64("budget-tokens", 0, "what all its runs may use together, in `tokens`")
	isolation := cmd.Flags().String("isolation", "", "`how`: clone lets its workers work in a copy of the repository")
	revision := cmd.Flags().String("revision", "", "a `branch`, tag or commit: its workers work in a copy of that")
	agent := cmd.Flags().String("agent", "", "the `agent` that carries out its plan, whichever the planner names")
	files := cmd.Flags().StringArray("attach", nil, "attach a `file`, of at most 10 MB; may be repeated")
	start := cmd.Flags().Bool("start", false, "plan it and carry it out, when the tasks that it depends on are completed")
	w := workFlags(cmd)
	cmd.Flags().Lookup("json").Usage = "print one JSON object (docs/json.md); with --start the history as it grows, one a line (docs/stream-json.md)"
	open := func(flags *pflag.FlagSet) (*app.Workspace, error) {
		opt := inv.Options(flags)
		given := slices.Sorted(maps.Keys(opt.Given))
		if *w.detach {
			given = append(given, "detach")
		}
		if model := opt.Given["model"]; !*start && len(model) > 0 && flags.NArg() == 0 {
			return nil, command.Usage("--model (-m) is for a task that is started, and the text of the task has no flag. Use:\n  pawl task add %s", command.ShellWord(model[0]))
		}
		if !*start && len(given) > 0 {
			return nil, command.Usage("--%s is for a task that is started: add --start, or give it to `pawl task plan` and `start`", strings.ReplaceAll(given[0], "_", "-"))
		}
		opt.Drives, opt.Asks = *start, *start
		return app.Open(opt)
	}
	return command.InWorkspace(cmd, open, func(ctx context.Context, ws *app.Workspace, args []string) error {
		opened, err := openFiles(*files)
		if err != nil {
			return err
		}
		defer closeFiles(opened)
		description, typed := strings.Join(args, ""), ""
		_, terminal := command.TerminalFile(inv.Stdin)
		if description == "" && terminal {
			return command.Usage("the text of the task is missing: pawl task add \"…\"; with - the description is read from the terminal until Ctrl-D")
		}
		if description == "-" || description == "" {
			content, err := io.ReadAll(io.LimitReader(inv.Stdin, tasks.MaxText+1))
			if err != nil {
				return fmt.Errorf("read standard input: %w", err)
			}
			description = strings.ToValidUTF8(strings.TrimSpace(string(content)), "\uFFFD")
			if !terminal {
				typed = run.NotTyped
			}
		}
		if description == "" {
			return command.Usage("the text of the task is missing: pawl task add \"…\"")
		}
		if typed == "" { // else it may be anyone's
			if description, typed, err = ws.TypedText(ctx, description, console.Approve(inv, console.CanAsk(inv))); err != nil {
				return err
			}
		}
		c := tasks.Created{Description: description, Typed: typed, Source: tasks.Source{Kind: "cli", User: config.Person()}, Labels: *labels, Priority: *priority,
			Budget: tasks.Budget{Cost: *cost, Tokens: *tokens}, Isolation: tasks.Isolation(*isolation), Revision: *revision, Agent: *agent, Start: *start && len(opened) == 0}
		if c.DependsOn, err = findTasks(ctx, ws, *depends); err != nil {
			return err
		}
		s, err := board.Of(ws).Add(ctx, config.Person(), c)
		if err == nil {
			id := s.Created.Task
			if s, err = attach(ctx, ws, s, opened); err != nil {
				err = fmt.Errorf("task %s was added, but not all of its files: %w", id, err)
			}
		}
		if err == nil && *start != s.Start { // with all its files
			s, err = board.Of(ws).Do(ctx, s.Created.Task, config.Person(), tasks.Edited{Start: start})
		}
		if err != nil {
			return taskError(err)
		}
		id := s.Created.Task
		if *start && !*w.json {
			fmt.Fprintln(inv.Stderr, "task", id)
		}
		if *start && *w.detach && !*w.json {
			inv.Hint(s.NextStep(inv.Carry != nil))
		}
		if !*start || *w.detach {
			return inv.Print(*w.json, forms.TaskFormOf(s), "%s\n", id)
		}
		return attend(ctx, inv, ws, id, 0, *w.json)
	})
}

func findTasks(ctx context.Context, ws *app.Workspace, names []string) ([]tasks.ID, error) {
	var ids []tasks.ID
	for _, name := range names {
		id, err := board.Of(ws).Find(ctx, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// openFiles opens files that are to be attached, so that nothing is changed if one of them cannot
// be.
func openFiles(names []string) ([]*os.File, error) {
	var files []*os.File
	for _, name := range names {
		f, err := os.Open(name)
		if err == nil {
			files = append(files, f)
			err = attachable(f)
		}
		if err != nil {
			closeFiles(files)
			return nil, command.Usage("attach: %w", err)
		}
	}
	return files, nil
}

// attachable returns why the content of a file cannot be attached, if that is known before it is read.
func attachable(f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: attach its files", f.Name())
	case info.Size() > tasklog.MaxAttachment:
		return &board.TooLargeError{Name: f.Name()}
	}
	return nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // it was only read
	}
}

// attach adds files to a task.
func attach(ctx context.Context, ws *app.Workspace, s tasks.State, files []*os.File) (tasks.State, error) {
	for _, f := range files {
		var err error
		if s, err = board.Of(ws).Attach(ctx, s.Created.Task, config.Person(), filepath.Base(f.Name()), f); err != nil {
			return s, err
		}
	}
	return s, nil
}

func taskAttachCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "attach TASK FILE...",
		Short: "Attach files to a task, of at most 10 MB each",
		Long: `Attaches files to a task. The agent is given texts and pictures with the next words that it is
told; it knows the names of other files.`,
		Example: "  pawl task attach last screenshot.png trace.log",
		Args:    atLeast(2, "a task and at least one file"),
	}
	asJSON := command.JSONFlag(cmd)
	return oneTask(inv, cmd, func(ctx context.Context, ws *app.Workspace, id tasks.ID, files []string) error {
		opened, err := openFiles(files)
		if err != nil {
			return err
		}
		defer closeFiles(opened)
		s, err := board.Of(ws).Load(ctx, id)
		if err == nil {
			s, err = attach(ctx, ws, s, opened)
		}
		if err != nil {
			return err
		}
		return inv.Print(*asJSON, forms.TaskFormOf(s), "task %s has %s\n", id, command.Plural(len(s.Attachments), "file"))
	})
}

func taskEditCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "edit TASK",
		Short: "Change the plan, the description, labels, priority, budget, dependencies",
		Long: `Changes a task. The plan can be changed while the task is planned: --plan reads it as JSON with
summary, requirements, acceptanceCriteria, plan (the steps) and assignedAgent, as
pawl task show --json prints it; - is standard input. Without assignedAgent the plan keeps its
agent. A list of --label or --depends-on replaces the one before; an empty value removes all. A
task that loses a dependency that is not completed does not start by itself any more, unless
--start is given.`,
		Example: `  pawl task show last --json | jq .plan > plan.json
  pawl task edit last --plan plan.json
  pawl task edit last --agent developer --priority 3 --label bug --label cart`,
	}
	f := cmd.Flags()
	description := f.String("description", "", "the new `text`")
	plan := f.String("plan", "", "`file` with the new plan as JSON; - is standard input")
	agent := f.String("agent", "", "the `agent` of the plan")
	labels := f.StringArray("label", nil, "the `label`s; may be repeated")
	priority := f.Int("priority", 0, "`n`: a task with a higher one comes first")
	depends := f.StringArray("depends-on", nil, "the `task`s that have to be completed before; may be repeated")
	budget := budgetFlags(f)
	isolation := f.String("isolation", "", "`how`: clone lets its workers work in a copy of the repository, empty in this folder")
	start := f.Bool("start", false, "let a process that watches all tasks plan it and carry it out, when the tasks that it depends on are completed; --start=false: no")
	asJSON := command.JSONFlag(cmd)
	return oneTask(inv, cmd, func(ctx context.Context, ws *app.Workspace, id tasks.ID, _ []string) error {
		s, err := board.Of(ws).Load(ctx, id)
		if err != nil {
			return err
		}
		var e tasks.Edited
		if f.Changed("description") {
			e.Description = description
		}
		if f.Changed("plan") || f.Changed("agent") {
			if e.Plan, err = readPlan(inv, s, *plan); err != nil {
				return err
			}
			if f.Changed("agent") {
				e.Plan.AssignedAgent = cmp.Or(*agent, board.DefaultAgent)
			}
		}
		if f.Changed("label") {
			e.Labels = withoutEmpty(*labels)
		}
		if f.Changed("priority") {
			e.Priority = priority
		}
		if f.Changed("depends-on") {
			ids, err := findTasks(ctx, ws, *withoutEmpty(*depends))
			if err != nil {
				return err
			}
			e.DependsOn = &ids
		}
		e.Budget = budget(s)
		if f.Changed("start") {
			e.Start = start
		}
		if f.Changed("isolation") {
			i := tasks.Isolation(*isolation)
			e.Isolation = &i
		}
		before := s
		if s, err = board.Of(ws).Do(ctx, id, config.Person(), e); err != nil {
			return err
		}
		if err := printTask(inv, s, *asJSON); err != nil {
			return err
		}
		if before.Starts() && !s.Starts() && e.Start == nil && !*asJSON {
			notStarting(inv, []tasks.ID{id})
		}
		return nil
	})
}

// budgetFlags adds the flags of a budget. The function returns the budget of a task with what is given; nil: nothing is.
func budgetFlags(f *pflag.FlagSet) func(tasks.State) *tasks.Budget {
	cost := f.Float64("budget", 0, "what all its runs may cost together, in `dollars`; 0: no bound")
	tokens := f.Int64("budget-tokens", 0, "what all its runs may use together, in `tokens`; 0: no bound")
	return func(s tasks.State) *tasks.Budget {
		if !f.Changed("budget") && !f.Changed("budget-tokens") {
			return nil
		}
		b := s.Budget
		if f.Changed("budget") {
			b.Cost = *cost
		}
		if f.Changed("budget-tokens") {
			b.Tokens = *tokens
		}
		return &b
	}
}

// withoutEmpty returns the values that are not empty.
func withoutEmpty(values []string) *[]string {
	kept := []string{}
	for _, v := range values {
		if v != "" {
			kept = append(kept, v)
		}
	}
	return &kept
}

// readPlan reads a plan from a file; without one it returns a copy of the task's.
func readPlan(inv *command.Invocation, s tasks.State, file string) (*tasks.Plan, error) {
	if file == "" {
		p := tasks.Plan{}
		if s.Plan != nil {
			p = *s.Plan
		}
		return &p, nil
	}
	var content []byte
	var err error
	if file == "-" {
		content, err = io.ReadAll(io.LimitReader(inv.Stdin, tasks.MaxText+1))
	} else {
		content, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, command.Usage("--plan: %w", err)
	}
	if len(content) > tasks.MaxText {
		return nil, command.Usage("--plan: it is larger than %d bytes", tasks.MaxText)
	}
	var whole any
	if e, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(content, &whole)); ok {
		line := strings.Count(strings.TrimRight(string(content[:min(int(e.Offset), len(content))]), "\n"), "\n") + 1
		return nil, command.Usage("--plan: not valid JSON: line %d: %s", line, e)
	}
	d := json.NewDecoder(strings.NewReader(string(content)))
	d.DisallowUnknownFields()
	var p tasks.Plan
	err = d.Decode(&p)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		needed := map[reflect.Kind]string{reflect.String: "a text", reflect.Slice: "a list of texts"}[e.Type.Kind()]
		return nil, command.Usage("--plan: not a plan: %s is needed for %s, not a value of type %s", cmp.Or(needed, "an object"), cmp.Or(e.Field, "it"), e.Value)
	}
	if err != nil {
		return nil, command.Usage("--plan: not a plan: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return &p, nil
}

// notStarting says which tasks do not start by themselves any more.
func notStarting(inv *command.Invocation, held []tasks.ID) {
	for _, id := range held {
		inv.Hint(fmt.Sprintf("task %s does not start by itself any more, because what it waited for was not completed; to let it start: `pawl task edit %[1]s --start`", id))
	}
}

func taskRmCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rm TASK",
		Short:   "Remove a task with its runs and files",
		Example: "  pawl task rm t-k3f9xy",
	}
	asJSON := command.JSONFlag(cmd)
	return oneTask(inv, cmd, func(ctx context.Context, ws *app.Workspace, id tasks.ID, _ []string) error {
		if _, err := atRest(ctx, ws, id); err != nil {
			return err
		}
		held, err := board.Of(ws).Remove(ctx, id)
		if err == nil {
			err = inv.Print(*asJSON, forms.TaskRemovedForm{Task: id, Held: held}, "task %s was removed\n", id)
		}
		if !*asJSON {
			notStarting(inv, held)
		}
		return err
	})
}

func taskListCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the tasks of this folder",
		Long:    "Lists the tasks of this folder, those with a higher priority first, then the newest first.",
		Example: "  pawl task list\n  pawl task list --status active --status waiting --label bug --json",
		Args:    cobra.NoArgs,
	}
	var names []string
	for _, name := range tasks.StatusNames() {
		names = append(names, string(name))
	}
	status := cmd.Flags().StringArray("status", nil, "only this, may be repeated: "+strings.Join(names, ", "))
	label := cmd.Flags().String("label", "", "only those with this `label`")
	agent := cmd.Flags().String("agent", "", "only those that this `agent` works on")
	limit := cmd.Flags().Int("limit", 50, "list at most `n`; 0: all")
	from := cmd.Flags().String("from", "", "begin at the `page` that the list before has named")
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, _ []string) error {
		if err := command.CheckPage(*limit, 0); err != nil {
			return err
		}
		for _, s := range *status {
			if err := command.OneOf(strings.Join(names, ", "))(s); err != nil {
				return command.Usage("--status: %w", err)
			}
		}
		all, next, err := board.Of(ws).List(ctx, board.Query{Status: *status, Label: *label, Agent: *agent, Limit: *limit, From: *from})
		if err != nil {
			return err
		}
		if err := board.Of(ws).Look(ctx, all); err != nil {
			return err
		}
		if *asJSON {
			return inv.Encode(forms.TaskListOf(all, next))
		}
		if len(all) == 0 {
			such := "tasks"
			if len(*status) > 0 || *label+*agent+*from != "" {
				such = "such tasks"
			}
			fmt.Fprintf(inv.Stderr, "no %s in this folder: add one with `pawl task add \"…\"`\n", such)
			return nil
		}
		if err := inv.PrintLines(taskLines(all, time.Now(), inv.TableWidth())); err != nil {
			return err
		}
		if next != "" {
			inv.Hint("there are more: --from " + next)
		}
		return nil
	})
}

// narrowTasks are the columns that are left out on a narrow terminal.
var narrowTasks = []command.Narrowing{{Column: "COST", Last: 30}, {Column: "AGENT", Last: 30}, {Column: "AGE", Last: 14}}

// taskLines returns the list of tasks for people, with a header. Without a width (0) nothing is left
// out or cut.
func taskLines(all []tasks.Summary, now time.Time, width int) []string {
	rows := [][]string{{"TASK", "STATUS", "AGE", "AGENT", "COST"}}
	memory := slices.ContainsFunc(all, func(s tasks.Summary) bool { return s.Memory > 0 })
	if memory {
		rows[0] = append(rows[0], "MEMORY")
	}
	rows[0] = append(rows[0], "TITLE")
	narrow := narrowTasks
	if memory {
		narrow = append([]command.Narrowing{{Column: "MEMORY", Last: 30}}, narrow...)
	}
	for _, s := range all {
		status := s.Status.Words()
		if s.Undriven {
			s.WaitsFor = cmp.Or(s.WaitsFor, "no process")
		}
		if s.WaitsFor != "" && s.Status != tasks.AwaitingInput {
			status += " (" + cmp.Or(waitsForWords[s.WaitsFor], s.WaitsFor) + ")"
		}
		if s.Queued != "" {
			status += " (queued)"
		}
		if !s.Until.IsZero() {
			status += " (" + report.ContinuesAt(s.Until, now) + ")"
		}
		row := []string{string(s.ID), status, command.ShortTime(now.Sub(s.Updated)), cmp.Or(s.Agent, "-"), command.CostCell(s.Usage)}
		switch {
		case s.Memory > 0:
			row = append(row, text.Size(s.Memory))
		case memory:
			row = append(row, "-")
		}
		rows = append(rows, append(row, command.OneLine(s.Title, command.MaxTitle)))
	}
	return command.NarrowedLines(rows, width, narrow)
}

// waitsForWords says in a word why a task waits, where the reason is a name for programs.
var waitsForWords = map[string]string{"answers": "question", string(run.Asked): "question", string(run.LimitReached): "limit", string(run.LoopStopped): "loop"}

func taskShowCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show TASK",
		Short:   "Show a task: its plan, questions, runs, report and history",
		Example: "  pawl task show last\n  pawl task show last --json | jq .status",
	}
	asJSON := command.JSONFlag(cmd)
	history := cmd.Flags().Bool("history", false, "print every event; with --json one JSON object a line")
	return oneTask(inv, cmd, func(ctx context.Context, ws *app.Workspace, id tasks.ID, _ []string) error {
		if *history {
			events, err := board.Of(ws).Events(ctx, id, 0, 0)
			for _, e := range events {
				line, lerr := forms.TaskLineOf(id, e)
				if lerr != nil {
					return lerr
				}
				line.Words = report.TaskWords(e)
				if *asJSON {
					lerr = inv.Encode(line)
				} else {
					_, lerr = fmt.Fprintf(inv.Stdout, "%5d  %s  %-27s  %s\n", e.Seq, e.At.Local().Format("15:04:05.000"), line.Type, command.Visible(command.OneLine(firstLine(line.Words), command.MaxTitle)))
				}
				if lerr != nil {
					return lerr
				}
			}
			return err
		}
		s, err := board.Of(ws).Load(ctx, id)
		if err != nil {
			return err
		}
		stored := map[tasks.Permission]*request.Decide{}
		for _, p := range s.Permissions {
			if stored[p], err = ws.Stored(ctx, p.Run, p.Call); err != nil {
				return err
			}
		}
		sum := []tasks.Summary{s.Summary()}
		if err := board.Of(ws).Look(ctx, sum); err != nil {
			return err
		}
		if *asJSON {
			f := forms.TaskFormOf(s)
			f.Live = sum[0].Live
			for i := range f.Permissions {
				f.Permissions[i].Answered = forms.AnsweredFormOf(stored[f.Permissions[i].Permission])
			}
			return inv.Encode(f)
		}
		_, err = fmt.Fprint(inv.Stdout, command.Visible(taskPage(s, sum[0].Live, stored, inv.Carry != nil)))
		return err
	})
}

// messageWords say what became of a message.
var messageWords = map[tasks.MessageState]string{tasks.MessageWaits: "queued", tasks.MessageIsDelivered: "passed to the agent",
	tasks.MessageIsReturned: "not read", tasks.MessageIsWithdrawn: "withdrawn"}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// A page is text as people read it, line by line.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// taskPage is a task as people read it. stored are the answers to its calls that no process has taken yet. fleet is as in
// [tasks.State.NextStep].
func taskPage(s tasks.State, live tasks.Live, stored map[tasks.Permission]*request.Decide, fleet bool) string {
	var p page
	p.standing(s, live, fleet)
	p.card(s)
	p.said(s)
	p.done(s, live, stored)
	return p.String()
}

// standing says where the task stands, and what a person can do next.
func (p *page) standing(s tasks.State, live tasks.Live, fleet bool) {
	status := s.Status.Name.Words()
	if s.Status.Run != "" {
		status += fmt.Sprintf(" · %s · run %s", s.Status.Agent, s.Status.Run)
	}
	p.line("task %s · %s · %s", s.Created.Task, command.Stamp(s.CreatedAt), status)
	if d := s.Summary().Detail; d != "" {
		p.line("%s", hang(d))
	}
	switch {
	case live.Undriven && fleet:
		p.line("no worker has it: `pawl-fleet fleet status`")
	case live.Undriven:
		p.line("no process drives it: `pawl task watch %s`", s.Created.Task)
	}
	if live.Queued != "" {
		p.line("its agent has not begun to work: %s", live.Queued)
	}
	if live.Memory > 0 {
		p.line("its agent takes %s of memory", text.Size(live.Memory))
	}
	if at := s.Status.Until; !at.IsZero() {
		p.line("%s by itself, in a process that drives it (`pawl serve`, `pawl task watch`); `pawl task resume %s` does not wait", report.ContinuesAt(at, time.Now()), s.Created.Task)
	}
	if next := s.NextStep(fleet); next != "" && s.Status.Until.IsZero() {
		p.line("%s", next)
	}
}

// card says what is to be done, and how.
func (p *page) card(s tasks.State) {
	if len(s.Labels) > 0 {
		p.line("labels %s", strings.Join(s.Labels, ", "))
	}
	if s.Priority != 0 {
		p.line("priority %d", s.Priority)
	}
	if b := s.Budget.String(); b != "" {
		if u := s.Usage(); u != (run.Usage{}) {
			b += fmt.Sprintf(", used: %s and %d tokens", view.Money(u), u.Total())
		}
		p.line("budget %s", b)
	}
	for _, d := range s.DependsOn {
		p.line("depends on %s", d)
	}
	if s.Isolation != "" && s.Copy == nil {
		p.line("isolation %s: its workers will work in a copy of the repository", s.Isolation)
	}
	if s.Created.Revision != "" && s.Copy == nil {
		p.line("revision %s: its workers will work in a copy of that", command.Visible(s.Created.Revision))
	}
	if s.Created.Agent != "" && s.Plan == nil {
		p.line("agent %s: it will carry out the plan", s.Created.Agent)
	}
	p.line("\n%s", command.Prefixed(strings.TrimSpace(s.Description), "  "))
	if s.Plan != nil {
		p.line("\n# Plan\n%s", strings.Join(planLines(s.Plan), "\n"))
	}
}

// said is what was asked and said, and what there is beside words.
func (p *page) said(s tasks.State) {
	if len(s.Questions) > 0 {
		p.line("\n# Questions")
		for i, q := range s.Questions {
			p.line("%s", strings.Join(questionLines(i+1, q), "\n"))
			if q.Answered {
				p.line("   %s", hang(q.Answer))
			}
		}
	}
	for _, l := range copyLines(s.Copy) {
		p.line("%s", l)
	}
	if len(s.Attachments) > 0 {
		p.line("\n# Files")
		for _, a := range s.Attachments {
			p.line("- %s (%s, %s)", a.Name, a.Type, command.Plural(int(a.Size), "byte"))
		}
	}
	if len(s.Messages) > 0 {
		p.line("\n# Messages")
		for _, m := range s.Messages {
			words := messageWords[m.State]
			if m.State == tasks.MessageIsDelivered && m.AtTurnEnd {
				words = "for the agent, when its turn has ended"
			}
			p.line("- %s (%s): %s", m.By, words, hang(m.Text))
		}
	}
}

// done is who has worked, what they wait for, and the result.
func (p *page) done(s tasks.State, live tasks.Live, stored map[tasks.Permission]*request.Decide) {
	if len(s.Chain) > 0 {
		p.line("\n# Runs")
		for _, r := range s.Chain {
			end := "at work"
			if r.Ended {
				end = view.EndWords(r.End.End)
			} else if live.Queued != "" {
				end = "has not begun to work"
			}
			p.line("- %s %s%s · %s · %s", r.ID, r.Agent, report.With(r.Model), end, view.Money(r.Usage))
		}
	}
	for _, ask := range s.Permissions {
		next := fmt.Sprintf("answer with: pawl runs decide %s %s allow", ask.Run, ask.Call)
		if d := stored[ask]; d != nil {
			goesOn := "watch"
			if s.Status.Name == tasks.Waiting {
				goesOn = "resume"
			}
			next = fmt.Sprintf("answered by %s: %s; it takes effect when the task continues: pawl task %s %s", d.By, d.Answer, goesOn, s.Created.Task)
		}
		p.line("\nneeds approval: %s\n  %s", view.Title(ask.Tool, ask.Arguments), next)
	}
	if s.Report != nil {
		of := ""
		if s.Former() {
			of = ", of the work before"
		}
		p.line("\n# Report (%s%s)\n%s", s.Report.Status, of, command.Prefixed(s.Report.Summary, "  "))
		if s.Report.Output != "" {
			p.line("\n%s", command.Prefixed(s.Report.Output, "  "))
		}
	}
}
