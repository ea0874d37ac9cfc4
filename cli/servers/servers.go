// Package servers has the commands about MCP servers: pawl mcp list, show, test, add, rm, import, login
// and logout.
package servers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/config"
	"pawl/forms"
	"pawl/mcp"
)

// Add adds the commands about MCP servers to pawl mcp.
func Add(cmd *cobra.Command, inv *command.Invocation) {
	for _, c := range []func(*command.Invocation) *cobra.Command{listCommand, showCommand, testCommand, addCommand, rmCommand, importCommand, loginCommand, logoutCommand} {
		cmd.AddCommand(c(inv))
	}
}

func listCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the MCP servers",
		Long: `Lists the MCP servers that runs in this folder have: those of your config.toml, of files given with
--mcp-config, of plugins, and of the folder's .mcp.json once it is trusted. None is started; ` + "`pawl mcp test`" + ` does that.`,
		Example:           "  pawl mcp list\n  pawl mcp list --json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	asJSON := command.JSONFlag(cmd)
	command.AddSettings(cmd.Flags(), "mcp_config")
	return command.InWorkspace(cmd, inv.Open, func(_ context.Context, ws *app.Workspace, _ []string) error {
		servers, err := ws.Servers()
		if err != nil {
			return err
		}
		notes(inv, ws)
		list := forms.List[forms.ServerForm]{Items: []forms.ServerForm{}}
		rows := [][]string{{"NAME", "TOOLS", "FROM", "IS"}}
		for _, r := range servers.All() {
			status := r.Status()
			list.Items = append(list.Items, forms.ServerFormOf(r, status, 0))
			rows = append(rows, []string{r.Name, toolsCell(status), command.Visible(r.Source), command.OneLine(r.String(), 100)})
		}
		switch {
		case *asJSON:
			return inv.Encode(list)
		case len(list.Items) == 0:
			inv.Hint("no MCP servers; pawl mcp add NAME -- COMMAND adds one")
			return nil
		}
		return inv.PrintLines(command.TableLines(rows, inv.TableWidth()))
	})
}

// notes prints what is said of the servers' settings.
func notes(inv *command.Invocation, ws *app.Workspace) {
	if c, err := ws.Config(); err == nil {
		for _, note := range c.Notes {
			inv.Notice(note)
		}
	}
}

func toolsCell(s mcp.Status) string {
	if !s.Known {
		return "-"
	}
	n := 0
	for _, t := range s.Tools {
		if t.As != "" {
			n++
		}
	}
	return fmt.Sprint(n)
}

// withServer gives cmd the form of a subcommand for one server.
func withServer(inv *command.Invocation, cmd *cobra.Command, do func(ctx context.Context, r *mcp.Remote) error) *cobra.Command {
	cmd.Args = oneServer
	cmd.ValidArgsFunction = complete(inv)
	command.AddSettings(cmd.Flags(), "mcp_config")
	return command.InWorkspace(cmd, inv.Open, func(ctx context.Context, ws *app.Workspace, args []string) error {
		servers, err := ws.Servers()
		if err != nil {
			return err
		}
		r := servers.Get(args[0])
		if r == nil {
			notes(inv, ws)
			return unknown(args[0], servers)
		}
		return do(ctx, r)
	})
}

func oneServer(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one server", cmd.CommandPath())
	}
	return nil
}

func unknown(name string, servers *mcp.Servers) error {
	var names []string
	for _, r := range servers.All() {
		names = append(names, r.Name)
	}
	if len(names) == 0 {
		return command.Usage("there is no MCP server %s: there are none. pawl mcp add NAME -- COMMAND adds one", command.Quoted(name))
	}
	return command.Usage("there is no MCP server %s; there are %s", command.Quoted(name), strings.Join(names, ", "))
}

func complete(inv *command.Invocation) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return inv.FromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
			servers, err := ws.Servers()
			if err != nil {
				return nil, err
			}
			var names []cobra.Completion
			for _, r := range servers.All() {
				names = append(names, cobra.CompletionWithDesc(r.Name, command.OneLine(r.String(), 60)))
			}
			return names, nil
		})
	}
}

func showCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show an MCP server and its tools",
		Long:    "Shows an MCP server: how it is started or reached, where that is written, and the tools it has last listed. It is not started.",
		Example: "  pawl mcp show github\n  pawl mcp show github --json",
	}
	asJSON := command.JSONFlag(cmd)
	return withServer(inv, cmd, func(_ context.Context, r *mcp.Remote) error {
		return print(inv, *asJSON, r, r.Status(), 0)
	})
}

// testPatience is how long pawl mcp test waits for a server at least, and waitsQuietly how long without saying so.
const (
	testPatience = 5 * time.Minute
	waitsQuietly = time.Second
)

func testCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Start an MCP server and list its tools",
		Long: `Starts an MCP server as a run would, in the sandbox, asks which tools it has, and ends it. What it prints to
standard error is shown where it fails. The exit code is 1 if it cannot be used.`,
		Example: "  pawl mcp test github\n  pawl mcp test github --json",
	}
	asJSON := command.JSONFlag(cmd)
	return withServer(inv, cmd, func(ctx context.Context, r *mcp.Remote) error {
		r.StartTimeout = max(r.StartTimeout, testPatience) // a package manager may have to fetch it first
		begin := time.Now()
		if _, terminal := command.TerminalFile(inv.Stderr); terminal {
			defer time.AfterFunc(waitsQuietly, func() {
				inv.Notice(fmt.Sprintf("waiting up to %v for %s to list its tools: %s", r.StartTimeout, r.Name, command.OneLine(r.String(), 100)))
			}).Stop()
		}
		status, err := r.List(ctx)
		took := time.Since(begin)
		if err != nil && !*asJSON {
			if status.Errors != "" {
				inv.Notice("it printed:\n" + command.Prefixed(status.Errors, "  "))
			}
			return err
		}
		if printed := print(inv, *asJSON, r, status, took); printed != nil || err == nil {
			return printed
		}
		return command.Exit{Code: command.ExitFailed}
	})
}

func print(inv *command.Invocation, asJSON bool, r *mcp.Remote, s mcp.Status, took time.Duration) error {
	f := forms.ServerFormOf(r, s, took)
	if asJSON {
		return inv.Encode(f)
	}
	rows := [][]string{{"from:", command.Visible(r.Source)}, {"is:", r.String()}}
	add := func(label, text string) {
		if text != "" {
			rows = append(rows, []string{label, command.Visible(command.OneLine(text, 300))})
		}
	}
	add("env:", strings.Join(f.Env, ", "))
	add("headers:", strings.Join(f.Headers, ", "))
	switch {
	case r.Closed:
		add("network:", "none")
	case r.Unconfined:
		add("sandbox:", "none: it has your own rights")
	}
	add("server:", f.Implements)
	add("protocol:", f.Protocol)
	if took > 0 {
		add("started:", fmt.Sprintf("in %v", took.Round(time.Millisecond)))
	}
	lines := command.TableLines(rows, 0)
	if !s.Known {
		lines = append(lines, "", "Its tools are not known yet: pawl mcp test "+r.Name+" asks for them.")
	}
	for _, t := range f.Tools {
		what := t.As
		if t.As == "" {
			what = command.Visible(command.OneLine(t.Name, 60)) + " (left out: " + t.Why + ")"
		}
		lines = append(lines, "", what)
		if t.Description != "" {
			lines = append(lines, "    "+command.Visible(command.OneLine(t.Description, 200)))
		}
	}
	return inv.PrintLines(lines)
}

// definitionFlags are what add says of a server.
type definitionFlags struct {
	env, headers  []string
	tools, hidden []string
	url, dir      string
	sse, required bool

	closed, unconfined bool
}

func addCommand(inv *command.Invocation) *cobra.Command {
	var f definitionFlags
	cmd := &cobra.Command{
		Use:   "add NAME (URL | JSON | -- COMMAND [ARGUMENT...])",
		Short: "Add an MCP server to your configuration",
		Long: `Adds an MCP server to your config.toml, for all folders. A server of a repository stands in its .mcp.json;
JSON is a definition in the form that it has there. A server works in / unless it has --cwd, so give files and
folders as absolute paths: ${PAWL_WORKSPACE} is the folder of the run. Values of --env and --header may be ${VARIABLE}: it is looked up when the server is started, and the file
has no secret in it.`,
		Example: `  pawl mcp add memory -- npx -y @modelcontextprotocol/server-memory
  pawl mcp add github -e 'TOKEN=${GITHUB_TOKEN}' -- github-mcp-server stdio
  pawl mcp add docs https://example.com/mcp -H 'Authorization: Bearer ${TOKEN}'`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags, asJSON := cmd.Flags(), command.JSONFlag(cmd)
	flags.StringArrayVarP(&f.env, "env", "e", nil, "`NAME=VALUE`: a variable for the server; repeatable")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "`'NAME: VALUE'`: a header for a server with a URL; repeatable")
	flags.StringSliceVar(&f.tools, "tools", nil, "`patterns` of the tools that are offered (default: all)")
	flags.StringSliceVar(&f.hidden, "hide-tools", nil, "`patterns` of tools that are not offered")
	flags.StringVar(&f.url, "url", "", "the `address` of a server elsewhere")
	flags.StringVar(&f.dir, "cwd", "", "`folder` that the server works in, from that of the run (default: /)")
	flags.BoolVar(&f.sse, "sse", false, "the server speaks the HTTP transport of 2024-11-05")
	flags.BoolVar(&f.closed, "no-network", false, "the server gets no network")
	flags.BoolVar(&f.unconfined, "no-sandbox", false, "the server runs outside of the sandbox, with your own rights")
	flags.BoolVar(&f.required, "required", false, "no run begins without the server")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := inv.AsPerson("adds MCP servers"); err != nil {
			return err
		}
		d, err := f.definition(args)
		if err != nil {
			return err
		}
		path, err := config.Env(inv.Env).AddServer(d)
		if err != nil {
			return err
		}
		if *asJSON {
			return inv.Encode(forms.ServerFileForm{Name: d.Name, File: path})
		}
		noteRelative(inv.Notice, d)
		inv.Hint(fmt.Sprintf("added to %s; pawl mcp test %s tries it", path, d.Name))
		return nil
	}
	return cmd
}

// noteRelative tells a person of a path that is another than they may mean.
func noteRelative(notice func(string), d mcp.Definition) {
	if path := d.Relative(); path != "" {
		notice(fmt.Sprintf("the server %s works in /, and %s is a path there: make it absolute (${PAWL_WORKSPACE} is the folder of the run), or give the server a cwd", d.Name, command.Quoted(path)))
	}
}

// definition returns the server that the command line describes.
func (f *definitionFlags) definition(args []string) (mcp.Definition, error) {
	if len(args) == 0 {
		return mcp.Definition{}, command.Usage("pawl mcp add takes a name and then a URL, or -- and a command: pawl mcp add memory -- npx -y @modelcontextprotocol/server-memory")
	}
	d := mcp.Definition{Name: args[0], URL: f.url, Dir: f.dir, SSE: f.sse, Closed: f.closed, Unconfined: f.unconfined, Required: f.required, Tools: f.tools, Hidden: f.hidden}
	switch rest := args[1:]; {
	case len(rest) == 1 && strings.HasPrefix(rest[0], "{"):
		return f.fromJSON(d, rest[0])
	case len(rest) == 1 && d.URL == "" && (strings.HasPrefix(rest[0], "https://") || strings.HasPrefix(rest[0], "http://")):
		d.URL = rest[0]
	case len(rest) > 0 && d.URL != "":
		return d, command.Usage("a server has a URL or a command, and both are given")
	case len(rest) > 0:
		d.Command, d.Args = rest[0], rest[1:]
	case d.URL == "":
		return d, command.Usage("what is the server %s? Give its URL, or -- and its command", command.Quoted(d.Name))
	}
	var err error
	if d.Env, err = pairs(f.env, "=", "--env takes NAME=VALUE"); err != nil {
		return d, err
	}
	if d.Headers, err = pairs(f.headers, ":", "--header takes 'NAME: VALUE'"); err != nil {
		return d, err
	}
	return d, nil
}

// fromJSON returns the server that a definition in the form of .mcp.json describes.
func (f *definitionFlags) fromJSON(flags mcp.Definition, text string) (mcp.Definition, error) {
	if len(f.env)+len(f.headers) > 0 || flags.URL != "" || flags.Dir != "" || flags.SSE {
		return flags, command.Usage("the JSON of a server has its url, env, headers, cwd and type: leave the flags for them out")
	}
	d, err := mcp.ParseDefinition(flags.Name, []byte(text))
	if err != nil {
		return d, command.Usage("%v", err)
	}
	d.Closed, d.Unconfined, d.Required, d.Hidden = flags.Closed, flags.Unconfined, flags.Required, flags.Hidden
	if len(flags.Tools) > 0 {
		d.Tools = flags.Tools
	}
	return d, nil
}

func pairs(texts []string, separator, wrong string) (map[string]string, error) {
	var all map[string]string
	for _, text := range texts {
		name, value, ok := strings.Cut(text, separator)
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, command.Usage("%s, got %s", wrong, command.Quoted(text))
		}
		if all == nil {
			all = map[string]string{}
		}
		all[name] = strings.TrimSpace(value)
	}
	return all, nil
}

func rmCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "rm NAME",
		Aliases:           []string{"remove"},
		Short:             "Remove an MCP server from your configuration",
		Long:              "Removes an MCP server from your config.toml.",
		Example:           "  pawl mcp rm github",
		Args:              oneServer,
		ValidArgsFunction: complete(inv),
	}
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := inv.AsPerson("removes MCP servers"); err != nil {
			return err
		}
		path, was, err := config.Env(inv.Env).RemoveServer(args[0])
		if err == nil && !was {
			err = command.Usage("%s has no MCP server %s", path, command.Quoted(args[0]))
		}
		switch {
		case err != nil:
			return err
		case *asJSON:
			return inv.Encode(forms.ServerFileForm{Name: args[0], File: path})
		}
		inv.Hint("removed from " + path)
		return nil
	}
	return cmd
}
