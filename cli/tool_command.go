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
	"pawl/cli/command"
	"pawl/cli/console"
	"pawl/forms"
	"pawl/run"
	"pawl/tool"
	"pawl/worker"
)

func toolCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:     "tool",
		Short:   "Explain tools, and call one",
		Long:    "Explains the tools that agents have, from the text that models are given, and calls one.",
		Example: "  pawl tool help\n  pawl tool help edit\n  pawl tool call search '{\"pattern\": \"TODO\"}'",
	})
	cmd.AddCommand(toolHelpCommand(inv), toolCallCommand(inv))
	return cmd
}

func toolHelpCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "help [NAME]",
		Short: "Explain a tool, or list all",
		Long: `Explains a tool and each of its arguments, from the text that models are given. Without a
name it lists the tools.`,
		Example:           "  pawl tool help\n  pawl tool help completion-report",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeTools(inv),
	}
	asJSON := command.JSONFlag(cmd)
	return command.InWorkspace(cmd, inv.OpenPlain, func(_ context.Context, ws *app.Workspace, args []string) error {
		specs := ws.Specs()
		if len(args) == 0 {
			return inv.Print(*asJSON, forms.ToolForms(specs), "%s", tool.HelpList(specs))
		}
		text, err := tool.HelpOf(specs, args[0])
		if err != nil {
			return command.Usage("%w", err)
		}
		specs = slices.DeleteFunc(specs, func(s tool.Spec) bool { return s.Name != args[0] })
		return inv.Print(*asJSON, forms.ToolForms(specs), "%s", text)
	})
}

// completeTools completes the name of a tool.
func completeTools(inv *command.Invocation) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return inv.FromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
			var all []cobra.Completion
			for _, s := range ws.Specs() {
				all = append(all, s.Name)
			}
			if len(args) > 0 {
				return nil, nil
			}
			return command.StartingWith(all, typed), nil
		})
	}
}

func toolCallCommand(inv *command.Invocation) *cobra.Command {
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
				return command.Usage("pawl tool call takes a tool and its arguments as one JSON object in quotes, such as pawl tool call read '{\"path\": \"go.mod\"}'")
			}
			return nil
		},
		ValidArgsFunction: completeTools(inv),
	}
	command.AddSettings(cmd.Flags())
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		arguments := "{}"
		if len(args) == 2 {
			arguments = args[1]
		}
		if json.Unmarshal([]byte(arguments), new(map[string]json.RawMessage)) != nil {
			if args[0] == "shell" {
				quoted, _ := json.Marshal(arguments) // a text always has a form
				return command.Usage("the arguments are not a JSON object. Use:\n  pawl tool call shell %s", command.ShellWord(fmt.Sprintf(`{"command": %s}`, quoted)))
			}
			return command.Usage("the arguments are not a JSON object, such as '{\"path\": \"go.mod\"}': %s", arguments)
		}
		return callTool(inv, cmd, args[0], json.RawMessage(arguments), *asJSON)
	}
	return cmd
}

// callTool calls a tool in a run whose model is a script of that one call.
func callTool(inv *command.Invocation, cmd *cobra.Command, name string, arguments json.RawMessage, asJSON bool) (err error) {
	inv.Driving.Store(true)
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
	opt := inv.Options(cmd.Flags())
	opt.Drives, opt.Asks = true, console.CanAsk(inv)
	opt.Given["model"] = []string{"script/" + script.Name()}
	ws, err := app.Open(opt)
	if err != nil {
		return err
	}
	defer ws.Close() // what counts is durable when it was shown
	ctx := cmd.Context()
	s, err := ws.Start(ctx, app.Task{Needed: name})
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
		asker := console.NewAsker(inv, ws, s, console.NewPrinter(inv, "text", s.State(), false))
		defer asker.Input.End(inv.Stderr)
		for err == nil && (asker.Ask(ctx, state) || asker.GoesOn(ctx)) {
			state, err = s.Wait(context.Background())
		}
	}
	if err != nil {
		return err
	}
	inv.TurnEnded()
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
				return command.Exit{Code: command.ExitFailed, Err: errors.New(said)}
			}
			if asJSON {
				err := inv.Encode(forms.ToolResult{Run: s.ID(), Tool: name, Text: text, IsError: part.Result.IsError})
				if err == nil && part.Result.IsError {
					err = command.Exit{Code: command.ExitFailed}
				}
				return err
			}
			if part.Result.IsError {
				return command.Exit{Code: command.ExitFailed, Err: errors.New(text)}
			}
			_, err = fmt.Fprintln(inv.Stdout, command.Visible(text))
			return err
		}
	}
	return command.Exit{Code: command.ExitCode(state)}
}
