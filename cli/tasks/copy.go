package tasks

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/board"
	"pawl/cli/command"
	"pawl/config"
	"pawl/gitcopy"
	"pawl/report"
	tasks "pawl/task"
)

func taskDiffCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff TASK",
		Short: "Show what was changed in the copy of a task",
		Long: `Shows what the workers of a task have changed in its copy of the repository since the copy was
made, committed or not. A task has a copy if it was added with --isolation clone, or if its
agent has isolation: clone.`,
		Example: "  pawl task diff last\n  pawl task diff last --stat",
	}
	stat := cmd.Flags().Bool("stat", false, "print only the names of the files and how many lines have changed")
	asJSON := command.JSONFlag(cmd)
	return oneTask(inv, cmd, func(ctx context.Context, ws *app.Workspace, id tasks.ID, _ []string) error {
		d, err := board.Of(ws).Diff(ctx, id, "")
		switch {
		case err != nil:
			return err
		case *asJSON:
			return inv.Encode(d)
		case len(d.Files) == 0:
			fmt.Fprintln(inv.Stderr, gitcopy.ErrNothing)
			return nil
		case !*stat:
			_, err = fmt.Fprintln(inv.Stdout, command.Visible(d.Patch))
			return err
		}
		return inv.PrintLines(changedLines(d.Files))
	})
}

// changedLines says which files were changed, a line each.
func changedLines(files []gitcopy.File) (lines []string) {
	for _, f := range files {
		how := fmt.Sprintf("+%d -%d", f.Added, f.Removed)
		if f.Added < 0 {
			how = "binary"
		}
		lines = append(lines, fmt.Sprintf("%-10s %s", how, strings.ReplaceAll(command.Visible(f.Name), "\n", `\n`)))
	}
	return lines
}

func taskMergeCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "merge TASK",
		Short: "Fetch the branch of a task's copy into this repository",
		Long: `Commits what is left uncommitted in the copy of a task and fetches its branch, pawl/TASK, into
this repository. Nothing else is changed here: no file, no other branch; a branch that has
other commits is not overwritten. What is printed says how to merge the branch, and whether
it conflicts with what is checked out.`,
		Example: "  pawl task merge last --dry-run\n  pawl task merge last && git merge pawl/t-k3f9xy",
	}
	dry := cmd.Flags().Bool("dry-run", false, "only say what a merge would meet now; fetch nothing")
	asJSON := command.JSONFlag(cmd)
	return oneTask(inv, cmd, func(ctx context.Context, ws *app.Workspace, id tasks.ID, _ []string) error {
		if *dry {
			return previewMerge(ctx, inv, ws, id, *asJSON)
		}
		if _, err := atRest(ctx, ws, id); err != nil {
			return err
		}
		m, err := board.Of(ws).Merge(ctx, id, config.Person(), "")
		switch {
		case err != nil:
			return err
		case *asJSON:
			return inv.Encode(m)
		case m.Unchanged:
			return inv.PrintLines([]string{unchanged(id)})
		}
		if _, err := fmt.Fprintln(inv.Stdout, command.Visible(strings.Join(mergeLines(m, cmp.Or(ws.Repository(), "this repository")), "\n"))); err != nil {
			return err
		}
		switch {
		case m.Contained:
		case ws.Repository() != "":
			inv.Hint("in a clone, `git fetch` brings it and `git merge " + m.Commit[:min(12, len(m.Commit))] + "` merges it")
		default:
			inv.Hint("merge it with `git merge " + m.Branch + "`")
		}
		return nil
	})
}

// previewMerge says what a merge of the copy of a task would meet.
func previewMerge(ctx context.Context, inv *command.Invocation, ws *app.Workspace, id tasks.ID, asJSON bool) error {
	m, err := board.Of(ws).MergePreview(ctx, id)
	switch {
	case err != nil:
		return err
	case asJSON:
		return inv.Encode(m)
	case m.Unchanged:
		return inv.PrintLines([]string{unchanged(id)})
	}
	lines := meetingLines(m)
	if len(m.Conflicts) == 0 && !m.Contained {
		lines = append([]string{conflictsLine(m)}, lines...)
	}
	return inv.PrintLines(lines)
}

func unchanged(id tasks.ID) string {
	return fmt.Sprintf("nothing was changed in the copy of task %s", id)
}

// conflictsLine says of a merge without a known conflict whether there is none.
func conflictsLine(m board.TaskMergePreviewForm) string {
	if m.Known {
		return "it does not conflict with " + intoOf(m)
	}
	return "whether it conflicts with " + intoOf(m) + " is not known: git 2.38 or later can say it"
}

func intoOf(m board.TaskMergePreviewForm) string {
	return cmp.Or(m.Into, "the commit that is checked out")
}

// mergeLines says what came of a merge into a repository.
func mergeLines(m board.TaskMergeForm, repository string) []string {
	return append([]string{fmt.Sprintf("the branch %s is in %s, at %.12s", m.Branch, repository, m.Commit)},
		meetingLines(board.TaskMergePreviewForm{Into: m.Into, Contained: m.Contained, Conflicts: m.Conflicts, Uncommitted: m.Uncommitted})...)
}

// meetingLines says what stands in the way of a merge.
func meetingLines(m board.TaskMergePreviewForm) (lines []string) {
	if m.Contained {
		return []string{intoOf(m) + " has all of it already"}
	}
	if len(m.Conflicts) > 0 {
		lines = append(lines, fmt.Sprintf("it conflicts with %s in %s: git merge stops there for you to resolve them", intoOf(m), report.SomeOf(m.Conflicts, len(m.Conflicts))))
	}
	if len(m.Uncommitted) > 0 {
		lines = append(lines, fmt.Sprintf("you have uncommitted changes in %s: commit or stash them first", report.SomeOf(m.Uncommitted, len(m.Uncommitted))))
	}
	return lines
}

func taskDiscardCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "discard TASK",
		Short: "Remove the copy of a task, with what was not merged",
		Long: `Removes the copy of a task, with what was changed in it and not merged. Branches that were merged
stay. The next start of the task makes another copy.`,
		Example: "  pawl task discard t-k3f9xy",
	}
	asJSON := command.JSONFlag(cmd)
	return oneTask(inv, cmd, func(ctx context.Context, ws *app.Workspace, id tasks.ID, _ []string) error {
		s, err := atRest(ctx, ws, id)
		if err == nil {
			s, err = board.Of(ws).Discard(ctx, id, config.Person())
		}
		if err != nil {
			return err
		}
		if *asJSON {
			return printTask(inv, s, true)
		}
		_, err = fmt.Fprintf(inv.Stdout, "the copy of task %s is removed\n", id)
		return err
	})
}

// copyLines is the copy of a task as people read it.
func copyLines(c *tasks.Copy) []string {
	if c == nil {
		return nil
	}
	from := c.From
	if from == "" {
		from = "a commit"
	}
	lines := []string{"", "# Copy", fmt.Sprintf("branch %s, made from %s at %.12s, in %s", c.Branch, from, c.Base, c.Dir)}
	if n := c.UncommittedCount; n > 0 {
		lines = append(lines, fmt.Sprintf("not in the copy, because not committed: %s", report.SomeOf(c.Uncommitted, n)))
	}
	lines = append(lines, c.Notes...)
	if c.Merged != "" {
		lines = append(lines, fmt.Sprintf("merged at %.12s", c.Merged))
	}
	return lines
}
