package permissions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/config"
	"pawl/internal/text"
	"pawl/permission"
	"pawl/permission/cases"
	"pawl/permission/spelling"
	"pawl/run"
	"pawl/tool"
)

func permissionsExplainCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain CALL",
		Short: "Show how a call would be decided, part by part, and by which rule",
		Long: `Shows how a call would be decided: a command, or with --tool a path or an address. A call in
the form of a rule, such as 'edit(src/main.go)', names its tool. Prints each part with the
rule that decides it, the order of the decision, and what runs without approval.`,
		Example: `  pawl permissions explain 'git log | sh'
  pawl permissions explain 'write(src/main.go)' --mode accept-edits
  pawl permissions explain --tool fetch https://example.com/
  pawl permissions explain 'go test ./...' --allow 'shell(go test *)'`,
		Args: command.Exactly("one call, in quotes", "'git log | sh'"),
	}
	flags := cmd.Flags()
	name := flags.String("tool", "shell", "the `tool` that is called")
	mode := flags.String("mode", "", "the permission `mode`: "+strings.Join(config.Modes, ", "))
	sandbox := flags.String("sandbox", "", "the weaker `sandbox` that the command asks for: network, none")
	which := flags.String("run", "", "include the rules of this `run`")
	command.AddSettings(flags, "allow", "ask", "deny", "network")
	asJSON := command.JSONFlag(cmd)
	return ruled(inv, cmd, func(ctx context.Context, h here, args []string) error {
		call := args[0]
		if tool, what, ok := calledAsRule(call, app.ToolNames()); ok && !cmd.Flags().Changed("tool") {
			*name, call = tool, what
		} else if permission.IsServerTool(call) && !cmd.Flags().Changed("tool") {
			*name, call = call, ""
		}
		if !slices.Contains(app.ToolNames(), *name) && !permission.IsServerTool(*name) {
			if ours, _ := spelling.Translate(*name); len(ours) > 0 {
				return command.Usage("--tool %s: use --tool %s", *name, ours[0])
			}
			return command.Usage("--tool: there is no tool %s%s", command.Quoted(*name), text.DidYouMean(*name, app.ToolNames()))
		}
		if *mode == "" {
			c, err := h.Config()
			if err != nil {
				return err
			}
			*mode = c.Get("mode")
		}
		if *sandbox != "" {
			if err := command.OneOf("network, none")(*sandbox); err != nil {
				return command.Usage("--sandbox: %w", err)
			}
		}
		var id run.ID
		if *which != "" {
			sum, err := h.Find(ctx, *which)
			if err != nil {
				return err
			}
			id = sum.ID
		}
		e, err := h.Explain(cmd.Context(), id, permission.Mode(*mode), *name, call, run.Confinement(*sandbox))
		if *asJSON {
			if err := inv.Encode(e); err != nil {
				return err
			}
		} else {
			fmt.Fprint(inv.Stdout, command.Visible(e.String()))
			if changes, terr := h.policy.Pending(); terr == nil && len(changes) > 0 {
				inv.Notice(command.Plural(len(changes), "file") + " of this workspace are not trusted, so their allow rules do not apply: see `pawl trust`")
			}
		}
		return err
	})
}

// calledAsRule reads a call that is written as the rule for it, such as shell(git push) or
// Bash(git push:*). ok is false if it has not that form.
func calledAsRule(written string, tools []string) (name, call string, ok bool) {
	if ours, _ := spelling.Translate(written); len(ours) > 0 {
		written = ours[0]
	}
	r, err := permission.ParseRule(written)
	if err != nil || r.Pattern == "" || !slices.Contains(tools, r.Tool) {
		return "", "", false
	}
	if r.Tool == "shell" {
		r.Pattern = strings.TrimSuffix(r.Pattern, " *")
	}
	return r.Tool, r.Pattern, true
}

func permissionsTestCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test FILE",
		Short: "Check the decisions of a file of test cases",
		Long: `Decides each case of a file with the rules of that case, as if there were no sandbox. Prints
each case that is not decided as expected as a line of JSON, and then their number. Paths
are resolved in this workspace. The form of the file:

  {"cases": [{"id": "1", "command": "go test ./...",
              "rule": {"allow": ["go test *"], "ask": [], "deny": []},
              "expected": "allow"}]}

Exit codes: 0 all as expected, 1 some differ, 2 the file cannot be used.`,
		Example: "  pawl permissions test cases.json",
		Args:    command.Exactly("one file of cases", "cases.json"),
	}
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		workspace, err := config.Workspace(inv.Dir)
		if err != nil {
			return err
		}
		f, err := os.Open(args[0])
		if errors.Is(err, fs.ErrNotExist) && filepath.Ext(args[0]) != ".json" {
			return command.Usage("the file of cases %s does not exist. To ask about a call:\n  pawl permissions explain %s", command.Quoted(args[0]), command.ShellWord(args[0]))
		}
		if err != nil {
			return command.Usage("the cases cannot be read: %w; see pawl permissions test --help", err)
		}
		defer f.Close()
		report, err := cases.Run(f, func(path string) (string, error) {
			to, _, err := tool.Resolve(tool.Env{Workspace: workspace}, filepath.FromSlash(path))
			return to, err
		})
		if err != nil {
			return command.Usage("%s: %w", args[0], err)
		}
		if err := inv.Print(*asJSON, report, "%v", report); err != nil {
			return err
		}
		if len(report.Differences) > 0 {
			return command.Exit{Code: command.ExitFailed}
		}
		return nil
	}
	return cmd
}
