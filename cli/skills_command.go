package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/instructions"
	"pawl/internal/text"
)

func skillsCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "skills",
		Short: "List, show and check skills",
		Long: `Works with skills: folders with a file SKILL.md, which the model opens when it needs them.
They are in the folder skills beside config.toml, in ~/.agents/skills, ~/.claude/skills and the like of
Codex, OpenCode and Gemini CLI, in .pawl/skills, .agents/skills, .claude/skills, .gemini/skills and
.opencode/skills of the repository, which need trust, and in plugins.`,
		Example: "  pawl skills list\n  pawl skills show pdf",
	})
	cmd.AddCommand(skillsListCommand(inv), skillsShowCommand(inv), skillsCheckCommand(inv))
	return cmd
}

// skillsOf returns the skills of a workspace as JSON.
func skillsOf(ws *app.Workspace) (forms.SkillsForm, error) {
	all, untrusted, problems, err := ws.Skills()
	return forms.SkillsForm{Items: forms.Forms(all, forms.SkillFormOf), Untrusted: append([]string{}, untrusted...), Problems: append([]string{}, problems...)}, err
}

func skillsListCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the skills that runs can open",
		Long:    "Lists the skills by name, and says what does not count before you have reviewed it.",
		Example: "  pawl skills list\n  pawl skills list --json",
		Args:    cobra.NoArgs,
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, _ []string) error {
		found, err := skillsOf(ws)
		if err != nil {
			return err
		}
		if *asJSON {
			return inv.Encode(found)
		}
		for _, line := range found.Problems {
			inv.Notice(command.Visible(line))
		}
		if n := len(found.Untrusted); n > 0 {
			inv.Notice(text.Count(int64(n), "skill file is", "skill files are") + " not used until you review them with `pawl trust`")
		}
		if len(found.Items) == 0 {
			return inv.PrintLines([]string{"no skills"})
		}
		rows := [][]string{{"NAME", "FROM", "FOR"}}
		for _, s := range found.Items {
			rows = append(rows, []string{command.Visible(s.Name), s.Source, command.Visible(command.OneLine(s.Description, 100))})
		}
		return inv.PrintLines(command.TableLines(rows, inv.TableWidth()))
	})
}

func skillsShowCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a skill as the model is given it",
		Long:    "Prints where a skill is, what is odd about it, and its instructions.",
		Example: "  pawl skills show pdf\n  pawl skills show pdf --json",
		Args:    oneName("skill"),
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, args []string) error {
		all, _, _, err := ws.Skills()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(s instructions.Skill) bool { return s.Name == args[0] })
		if i < 0 {
			var names []string
			for _, s := range all {
				names = append(names, s.Name)
			}
			return command.Usage("there is no skill %q%s; see `pawl skills list`", command.Visible(args[0]), text.DidYouMean(args[0], names))
		}
		f := forms.SkillFormOf(all[i])
		f.Instructions = all[i].Instructions("", map[string]string{"CLAUDE_SKILL_DIR": all[i].Dir})
		if *asJSON {
			return inv.Encode(f)
		}
		lines := []string{f.Name + ": " + f.Description, "file: " + f.File + " (" + f.Source + ")"}
		for _, w := range f.Warnings {
			lines = append(lines, "warning: "+w)
		}
		for _, l := range append(lines, "", f.Instructions) {
			for part := range strings.SplitSeq(l, "\n") {
				if _, err := fmt.Fprintln(inv.Stdout, command.Visible(part)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func skillsCheckCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Say what is wrong with skills",
		Long:    "Says which skills do not count and why, and which are not as the format wants them. Exit code 1 if one does not count.",
		Example: "  pawl skills check\n  pawl skills check --json",
		Args:    cobra.NoArgs,
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, _ []string) error {
		found, err := skillsOf(ws)
		if err != nil {
			return err
		}
		if *asJSON {
			err = inv.Encode(found)
		} else {
			var lines []string
			for _, s := range found.Items {
				for _, w := range s.Warnings {
					lines = append(lines, "warning: "+s.File+": "+w)
				}
			}
			for _, p := range found.Problems {
				lines = append(lines, "does not count: "+p)
			}
			for _, u := range found.Untrusted {
				lines = append(lines, "not trusted: "+u)
			}
			if lines == nil {
				lines = []string{text.Plural(int64(len(found.Items)), "skill") + ", nothing wrong"}
			}
			for i := range lines {
				lines[i] = command.Visible(lines[i])
			}
			err = inv.PrintLines(lines)
		}
		if err == nil && len(found.Problems)+len(found.Untrusted) > 0 {
			err = command.Exit{Code: command.ExitFailed}
		}
		return err
	})
}
