package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/forms"
	"pawl/run"
	"pawl/tool"
	"pawl/worker"
)

func toolCommand(inv *invocation) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:     "tool",
		Short:   "Explain tools, and call one",
		Long:    "Explains the tools that agents have, from the text that models are given, and calls one.",
		Example: "  pawl tool help\n  pawl tool help edit\n  pawl tool call search '{\"pattern\": \"TODO\"}'",
	})
	cmd.AddCommand(toolHelpCommand(inv), toolCallCommand(inv))
	return cmd
}

func toolHelpCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "help [NAME]",
		Short: "Explain a tool, or list all",
		Long: `Explains a tool and each of its arguments, from the text that models are given. Without a
name it lists the tools.`,
		Example:           "  pawl tool help\n  pawl tool help completion-report",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: inv.completeTools,
	}
	asJSON := jsonFlag(cmd)
	return inWorkspace(cmd, inv.openPlain, func(_ context.Context, ws *app.Workspace, args []string) error {
		specs := ws.Specs()
		if len(args) == 0 {
			return inv.print(*asJSON, forms.ToolForms(specs), "%s", tool.HelpList(specs))
		}
		text, err := tool.HelpOf(specs, args[0])
		if err != nil {
			return usage("%w", err)
		}
		specs = slices.DeleteFunc(specs, func(s tool.Spec) bool { return s.Name != args[0] })
		return inv.print(*asJSON, forms.ToolForms(specs), "%s", text)
	})
}

// completeTools completes the name of a tool.
func (inv *invocation) completeTools(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return inv.fromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
		var all []cobra.Completion
		for _, s := range ws.Specs() {
			all = append(all, s.Name)
		}
		if len(args) > 0 {
			return nil, nil
		}
		return startingWith(all, typed), nil
	})
}

func toolCallCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call NAME [JSON]",
		Short: "Call a tool as an agent would",
		Long: `Calls a tool with arguments, a JSON object, and prints its result. The call is a run of its
own without a model: permission rules hold, it is recorded, and what it edits can be undone.

Exit codes: 0 done, 1 the tool reports an error or was refused, 3 needs a person.`,
		Example: `  pawl tool call search '{"pattern": "TODO"}'
  pawl tool call shell '{"command": "go test ./..."}' --allow 'shell(go test *)'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage("pawl tool call takes a tool and its arguments as one JSON object in quotes, such as pawl tool call read '{\"path\": \"go.mod\"}'")
			}
			return nil
		},
		ValidArgsFunction: inv.completeTools,
	}
	addSettings(cmd.Flags())
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		arguments := "{}"
		if len(args) == 2 {
			arguments = args[1]
		}
		if !json.Valid([]byte(arguments)) {
			if args[0] == "shell" {
				quoted, _ := json.Marshal(arguments) // a text always has a form
				return usage("the arguments are not a JSON object. Use:\n  pawl tool call shell %s", shellWord(fmt.Sprintf(`{"command": %s}`, quoted)))
			}
			return usage("the arguments are not a JSON object, such as '{\"path\": \"go.mod\"}': %s", arguments)
		}
		return inv.callTool(cmd, args[0], json.RawMessage(arguments), *asJSON)
	}
	return cmd
}

// callTool calls a tool in a run whose model is a script of that one call.
func (inv *invocation) callTool(cmd *cobra.Command, name string, arguments json.RawMessage, asJSON bool) (err error) {
	inv.driving.Store(true)
	call, err := json.Marshal(map[string]any{"calls": []any{map[string]any{"tool": name, "args": arguments}}})
	if err != nil {
		return err
	}
	script, err := os.CreateTemp("", "pawl-call-*.jsonl")
	if err != nil {
		return err
	}
	defer os.Remove(script.Name())
	_, err = fmt.Fprintf(script, "%s\n%s\n", call, `{"text":"The tool was called."}`)
	if err = errors.Join(err, script.Close()); err != nil {
		return err
	}
	opt := inv.options(cmd.Flags())
	opt.Drives, opt.Asks = true, inv.canAsk()
	opt.Given["model"] = []string{"script/" + script.Name()}
	ws, err := app.Open(opt)
	if err != nil {
		return err
	}
	defer ws.Close() // what counts is durable when it was shown
	ctx := cmd.Context()
	s, err := ws.Start(ctx, app.Task{})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Prompt(ctx, run.Text("Call the tool "+name+".")); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { s.Interrupt(worker.StopOf(ctx).Interrupted) })
	defer stop()
	state, err := s.Wait(context.Background())
	if asks, _ := ws.Asks(); asks {
		asker := newAsker(inv, ws, s, newPrinter(inv, "text", s.State(), false))
		for err == nil && (asker.ask(ctx, state) || asker.goesOn(ctx)) {
			state, err = s.Wait(context.Background())
		}
	}
	if err != nil {
		return err
	}
	inv.turnEnded()
	for _, m := range state.Messages {
		for _, part := range m.Parts {
			if part.Result == nil {
				continue
			}
			text := strings.TrimSuffix(run.PlainText(part.Result.Content), "\n")
			denials, err := ws.Denials(context.Background(), s.State())
			if err != nil {
				return err
			}
			if len(denials) > 0 && !asJSON { // the result tells the model what to do
				said := fmt.Sprintf("%s was not run: %s", name, denials[0].Reason)
				if denials[0].Flag != "" {
					said += "; allow it with " + denials[0].Flag
				}
				return exit{exitFailed, errors.New(said)}
			}
			if asJSON {
				err := inv.encode(forms.ToolResult{Run: s.ID(), Tool: name, Text: text, IsError: part.Result.IsError})
				if err == nil && part.Result.IsError {
					err = exit{code: exitFailed}
				}
				return err
			}
			if part.Result.IsError {
				return exit{exitFailed, errors.New(text)}
			}
			_, err = fmt.Fprintln(inv.Stdout, visible(text))
			return err
		}
	}
	return exit{code: exitCode(state)}
}
