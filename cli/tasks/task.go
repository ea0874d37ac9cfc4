package tasks

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/board"
	"pawl/cli/command"
	"pawl/cli/manual"
	"pawl/forms"
	tasks "pawl/task"
)

func Command(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "task",
		Short: "Plan tasks, let agents carry them out, watch and answer them",
		Long: `Works with the tasks of this folder. A task is planned by a planner agent, which may ask
questions, and carried out by a worker agent, which submits one report. A TASK may be
shortened to a unique beginning; last is the one that changed last.

plan, answer, start and resume let the agent work in this process until the task needs
a person or is done; with --detach they only say what is to be done, for a process that
watches all tasks (pawl task watch).`,
		Example: `  pawl task add "The totals of the cart are wrong" --label bug
  pawl task plan last
  pawl task start last
  pawl task show last`,
	})
	cmd.AddGroup(manual.TaskGroups...)
	command.Grouped(cmd, inv, "look", taskListCommand, taskShowCommand, taskWatchCommand)
	command.Grouped(cmd, inv, "work", taskAddCommand, taskPlanCommand, taskAnswerCommand, taskEditCommand, taskStartCommand, taskHandoffCommand, taskSayCommand, taskAttachCommand)
	command.Grouped(cmd, inv, "change",
		changeTo("pause", "Stop the agent; the task can be resumed", "pawl task pause last", tasks.Move{On: tasks.OnPause}), taskResumeCommand,
		changeTo("complete", "Say that the task is done; its agent is stopped", "pawl task complete last", tasks.Move{On: tasks.OnComplete}), taskFailCommand,
		changeTo("retry", "Make a failed task one that can be planned or started again", "pawl task retry last && pawl task start last", tasks.Move{On: tasks.OnRetry}),
		changeTo("reopen", "Make a completed task one that can be started again", "pawl task reopen last", tasks.Move{On: tasks.OnReopen}), taskRmCommand)
	command.Grouped(cmd, inv, "copy", taskDiffCommand, taskMergeCommand, taskDiscardCommand)
	return cmd
}

// oneTask gives cmd the form of a subcommand whose first argument is a task: it opens the
// workspace, finds the task and calls do with the other arguments.
func oneTask(inv *command.Invocation, cmd *cobra.Command, do taskFunc) *cobra.Command {
	return oneTaskKeeping(inv, cmd, false, do)
}

// A taskFunc does what a subcommand does with a task, given its other arguments.
type taskFunc func(ctx context.Context, ws *app.Workspace, id tasks.ID, args []string) error

// oneTaskKeeping is oneTask; with serves the flags are for runs that begin, and one that is resumed keeps what it has.
func oneTaskKeeping(inv *command.Invocation, cmd *cobra.Command, serves bool, do taskFunc) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes one task: an id, the beginning of one, or last", cmd.CommandPath())
			}
			return nil
		}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt := inv.Options(cmd.Flags())
		opt.Serves = serves
		opt.Drives, opt.Asks = cmd.Flags().Lookup("on-ask") != nil, true // the settings are flags of commands that let an agent work
		ws, err := app.Open(opt)
		if err != nil {
			return err
		}
		id, err := board.Of(ws).Find(cmd.Context(), args[0])
		if err == nil {
			err = withNext(cmd.Context(), ws, id, do(cmd.Context(), ws, id, args[1:]))
		}
		return errors.Join(taskError(err), ws.Close())
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return completeTasks(cmd.Context(), inv)
	}
	return cmd
}

// completeTasks returns the tasks of this folder with their titles.
func completeTasks(ctx context.Context, inv *command.Invocation) ([]cobra.Completion, cobra.ShellCompDirective) {
	ws, err := inv.Open(nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer ws.Close() // nothing was written
	found, _, err := board.Of(ws).List(ctx, board.Query{Limit: 100})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all := []cobra.Completion{cobra.CompletionWithDesc("last", "the one that changed last")}
	for _, s := range found {
		all = append(all, cobra.CompletionWithDesc(string(s.ID), command.OneLine(fmt.Sprintf("%s: %s", s.Status, s.Title), command.MaxTitle)))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// withNext adds to the error of what is not possible in a task's status what is, unless that
// is said; and what raises a budget that is spent.
func withNext(ctx context.Context, ws *app.Workspace, id tasks.ID, err error) error {
	e, ok := errors.AsType[*tasks.TransitionError](err)
	if !ok {
		return err
	}
	s, lerr := board.Of(ws).Load(ctx, id)
	if lerr != nil {
		return err
	}
	if _, left := s.Left(); left && e.Why != "" {
		return err
	}
	return fmt.Errorf("%w; next: `%s`", err, s.Advice())
}

// taskError gives the errors of usage their exit code.
func taskError(err error) error {
	if errors.As(err, new(*tasks.InputError)) && !errors.As(err, new(command.Exit)) {
		return command.Exit{Code: command.ExitUsage, Err: err}
	}
	return err
}

// atLeast returns a check of the number of arguments.
func atLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return fmt.Errorf("%s takes %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// printTask prints one line about a task after it was changed, or the task as JSON.
func printTask(inv *command.Invocation, s tasks.State, asJSON bool) error {
	if asJSON {
		return inv.Encode(forms.TaskFormOf(s))
	}
	line := fmt.Sprintf("task %s is %s", s.Created.Task, s.Status.Name.Words())
	if d := s.Summary().Detail; d != "" {
		line += ": " + command.OneLine(d, 3*command.MaxTitle)
	}
	_, err := fmt.Fprintln(inv.Stdout, line)
	inv.Hint(s.NextStep(inv.Carry != nil))
	return err
}
