package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/app"
	"pawl/cli/command"
	"pawl/cli/servers"
	"pawl/cli/tasks"
	"pawl/config"
	"pawl/external"
	"pawl/mcp"
	"pawl/run"
)

func mcpCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "mcp",
		Short: "Add, list, test and remove MCP servers, or be one",
		Long: `Works with MCP servers: programs and addresses with tools for agents, over the Model Context Protocol. They
stand in config.toml, as tables [mcp.NAME], and in a repository's .mcp.json, which needs trust. What their tools
may do is decided like any call; rules name them mcp__SERVER__TOOL.`,
		Example: `  pawl mcp add files -- \
      npx -y @modelcontextprotocol/server-filesystem '${PAWL_WORKSPACE}'
  pawl mcp test files
  pawl run -p "which files are here?" --allow mcp__files__list_directory`,
	})
	servers.Add(cmd, inv)
	cmd.AddCommand(mcpServeCommand(inv), mcpCallCommand(inv), mcpHookCommand(inv))
	return cmd
}

// maxHookInput bounds what the hook reads, in bytes, and hookPatience how long it takes beside a
// person's answer.
const (
	maxHookInput = 32 << 20
	hookPatience = time.Minute
)

func mcpHookCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook --run ID",
		Short: "Say whether the agent of a run may use a tool of its own",
		Long: `Reads what a hook of an external agent asks about: Claude Code's PreToolUse, Codex' PreToolUse, Gemini CLI's
BeforeTool, or the plugin that pawl gives to OpenCode. pawl starts these programs with this hook. Claude Code
gets what pawl's rules say: deny or ask, or nothing where it decides by itself. For the others a person is asked
if need be, and exit code 1 says that the tool must not be used, and standard error why.`,
		Example: "  pawl mcp hook --run 20261122-1603-efcygd <input.json",
		Args:    cobra.NoArgs,
	}
	return inRun(inv, cmd, "the id of the run whose rules hold", func(ctx context.Context, ws *app.Workspace, id run.ID) error {
		ctx, cancel := context.WithTimeout(ctx, external.DecisionPatience+hookPatience)
		defer cancel()
		input, err := io.ReadAll(io.LimitReader(inv.Stdin, maxHookInput))
		if err != nil {
			return err
		}
		answer, err := ws.AgentHook(ctx, id, input, external.DecisionPatience)
		if err == nil && len(answer) > 0 {
			_, err = fmt.Fprintf(inv.Stdout, "%s\n", answer)
		}
		return err
	})
}

func mcpServeCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the tasks of this folder to another program, over MCP",
		Long: `Serves tools over standard input and output, for a program that is a client of the Model Context Protocol: run
a task, ask its state, answer it, ask its outputs. What its agents may do is decided as always, by your rules and
the mode given here; calls that need approval wait for pawl runs decide. Tasks stay when the client leaves, and
go on when it asks for them again, or with pawl task watch.

With --run it serves the tools that are granted to a run of an external agent. External agents start it so by
themselves, with the token of their turn in PAWL_RUN_TOKEN: any other run, and one whose turn is over, is refused.`,
		Example:           "  claude mcp add pawl -- pawl -C \"$PWD\" mcp serve --mode accept-edits\n  PAWL_RUN_TOKEN=… pawl mcp serve --run 20261122-1603-efcygd",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	id := cmd.Flags().String("run", "", "`ID` of the run whose tools are served")
	command.AddWaitingSettings(cmd.Flags())
	open := func(flags *pflag.FlagSet) (*app.Workspace, error) {
		if *id != "" {
			return inv.Open(nil)
		}
		opt := inv.Options(flags)
		opt.Drives, opt.Serves, opt.Asks = true, true, true
		return app.Open(opt)
	}
	serve := command.InWorkspace(cmd, open, func(ctx context.Context, ws *app.Workspace, _ []string) error {
		if *id == "" {
			return tasks.Serve(ctx, inv, ws)
		}
		token, _ := inv.Env(external.TokenVariable)
		server, err := ws.AgentServer(run.ID(*id), token, external.DecisionPatience)
		if err != nil {
			return err
		}
		return server.Serve(ctx, inv.Stdin, inv.Stdout)
	})
	here := serve.RunE
	serve.RunE = func(cmd *cobra.Command, args []string) error {
		address, ok := inv.Env(external.AddressVariable)
		if !ok || *id == "" {
			return here(cmd, args)
		}
		return mcp.Pass(cmd.Context(), address, config.Env(inv.Env).Get(external.TokenVariable), inv.Stdin, inv.Stdout)
	}
	return serve
}

func mcpCallCommand(inv *command.Invocation) *cobra.Command {
	return &cobra.Command{
		Use:   "call TOOL [JSON]",
		Short: "Call a tool of the run, from an external agent without MCP",
		Long: `Calls a tool of pawl's, such as completion_report, planner_output or ask, from a program that a person has
described as an external agent. The arguments are one JSON object, or come on standard input. The answer is
printed; exit code 1 says that the call has failed, and standard error why. pawl tells the program its run with
the variables ` + external.AddressVariable + ` and ` + external.TokenVariable + `, and with PAWL where pawl is.`,
		Example: `  "$PAWL" mcp call completion_report '{"status": "failed", "summary": "No go."}'`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, ok := inv.Env(external.AddressVariable)
			if !ok {
				return command.Usage("%s is not set: this is for programs that pawl has started as external agents", external.AddressVariable)
			}
			var arguments []byte
			if len(args) == 2 {
				arguments = []byte(args[1])
			} else {
				var err error
				if arguments, err = io.ReadAll(inv.Stdin); err != nil {
					return err
				}
			}
			if !json.Valid(arguments) {
				return command.Usage("the arguments of %s must be one JSON object", args[0])
			}
			answer, err := mcp.CallAt(cmd.Context(), address, config.Env(inv.Env).Get(external.TokenVariable), args[0], arguments)
			if err == nil {
				_, err = fmt.Fprintln(inv.Stdout, answer)
			}
			return err
		},
	}
}

// inRun gives cmd the form of a command for one run, which has to be named with --run: what says
// what the value is.
func inRun(inv *command.Invocation, cmd *cobra.Command, what string, do func(ctx context.Context, ws *app.Workspace, id run.ID) error) *cobra.Command {
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	id := cmd.Flags().String("run", "", "`ID` of the run")
	open := func(*pflag.FlagSet) (*app.Workspace, error) {
		if *id == "" {
			return nil, command.Usage("--run is missing: %s", what)
		}
		return inv.Open(nil)
	}
	return command.InWorkspace(cmd, open, func(ctx context.Context, ws *app.Workspace, _ []string) error {
		return do(ctx, ws, run.ID(*id))
	})
}
