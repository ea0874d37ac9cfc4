package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl/api"
	"pawl/app"
	"pawl/board"
	"pawl/cli/command"
	"pawl/cli/tasks"
	"pawl/forms"
)

func serveCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve this folder over HTTP and let the agents of its tasks work",
		Long: `Serves the tasks and runs of this folder over HTTP (docs/api.md) and lets the agents of its
tasks work, as pawl task watch does. Other commands work beside it. At its address is the
board, to see, steer and review the tasks in a browser (docs/board.md).

It listens on this machine alone. Another address needs --tls-cert and --tls-key, or
--insecure-address, and --host with the name that clients call it by. Every request needs
the token, which pawl serve token prints; pawl serve link logs a browser in. At /mcp it offers
tasks to other agents (docs/mcp.md), as pawl mcp serve does.

An interrupt or a termination ends it: runs stop as they are, and the next pawl serve
continues them.`,
		Example: `  pawl serve
  pawl serve --address 127.0.0.1:8080 --runs 8
  pawl serve link`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !strings.ContainsAny(args[0], "0123456789") {
				return cobra.NoArgs(cmd, args)
			}
			address := args[0]
			if host, port, ok := strings.Cut(address, ":"); !ok || host == "" {
				address = "127.0.0.1:" + cmp.Or(port, address)
			}
			return command.Usage("the address is given with a flag. Use:\n  pawl serve --address %s", command.ShellWord(address))
		},
	}
	o := serveFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := inv.AsPerson("serve the folder"); err != nil {
			return err
		}
		return serveHere(inv, cmd, o, func(ws *app.Workspace, url string) {
			if _, terminal := command.TerminalFile(inv.Stderr); terminal {
				if link, err := api.NewLink(ws.State, url, time.Now()); err == nil { // else `pawl serve link` says why
					fmt.Fprintf(inv.Stderr, "the board, for one browser and five minutes: %s\n", link.URL)
				}
			}
		})
	}
	cmd.AddCommand(serveTokenCommand(inv), serveLinkCommand(inv))
	return cmd
}

// serveFlags adds the flags of a server to a command.
func serveFlags(cmd *cobra.Command) *api.ServeOptions {
	f, o := cmd.Flags(), &api.ServeOptions{}
	f.StringVar(&o.Address, "address", api.DefaultAddress, "listen on this `host:port`; port 0: any free one")
	f.StringArrayVar(&o.Names, "host", nil, "a further `name` by which clients call this machine; may be repeated")
	f.StringVar(&o.CertFile, "tls-cert", "", "`file` with the certificate for TLS, as PEM")
	f.StringVar(&o.KeyFile, "tls-key", "", "`file` with its key, as PEM")
	f.BoolVar(&o.InsecureAddress, "insecure-address", false, "allow an address of other machines without TLS")
	f.IntVar(&o.Runs, "runs", board.DefaultRuns, "work on at most `n` tasks at once")
	command.AddWaitingSettings(f)
	return o
}

// serveHere serves the folder until the command is interrupted. ready is called when it can be reached at url.
func serveHere(inv *command.Invocation, cmd *cobra.Command, o *api.ServeOptions, ready func(ws *app.Workspace, url string)) error {
	if o.Runs < 1 {
		return command.Usage("--runs is %d: must be 1 or more", o.Runs)
	}
	inv.Driving.Store(true)
	ws, err := app.Open(inv.ServeOptions(cmd.Flags()))
	if err != nil {
		return err
	}
	defer ws.Close() // what counts is durable
	o.Log, o.MCP = ws.Log(), tasks.Handler(ws)
	if inv.Carry != nil {
		o.Carry = func(ctx context.Context) error { return inv.Carry(ctx, ws) }
		o.Workers = func(ctx context.Context) (forms.FleetForm, error) { return inv.Workers(ctx, ws) }
	}
	o.Ready = func(url string) {
		fmt.Fprintf(inv.Stderr, "serving %s at %s\nthe token: `pawl serve token`; a browser: `pawl serve link`; end with Ctrl-C\n", command.Visible(ws.Dir), url)
		ready(ws, url)
	}
	ctx := cmd.Context()
	if err := api.Serve(ctx, ws, *o); err != nil {
		return err
	}
	return command.Exit{Code: command.InterruptCode(ctx)}
}

func boardCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "board",
		Short: "Print an address of the board of this folder's tasks",
		Long: `Prints an address of the board (docs/board.md) that logs one browser in, as pawl serve link does. If
nothing serves the folder it does so itself, as pawl serve, until it is interrupted.`,
		Example: "  pawl board",
		Args:    cobra.NoArgs,
	}
	o := serveFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := inv.AsPerson("open the board"); err != nil {
			return err
		}
		ws, err := inv.Open(nil)
		if err != nil {
			return err
		}
		url, served := servedAt(cmd.Context(), inv, ws)
		if served {
			err = printLink(inv, ws, url)
		}
		ws.Close() // nothing was opened for writing
		if served || err != nil {
			return err
		}
		return serveHere(inv, cmd, o, func(ws *app.Workspace, url string) {
			if err := printLink(inv, ws, url); err != nil {
				inv.Notice(err.Error())
			}
		})
	}
	return cmd
}

// servedAt returns the address of a server of a folder, the newest of those that are running.
func servedAt(ctx context.Context, inv *command.Invocation, ws *app.Workspace) (url string, ok bool) {
	all := api.Running(ws.State)
	lives := api.RunningServer.Lives
	if inv.Carry == nil { // then the server owns the tasks
		owner, owned, err := board.Of(ws).Owner(ctx)
		lives = func(r api.RunningServer) bool { return err == nil && owned && owner.PID == r.PID }
	}
	if i := slices.IndexFunc(all, lives); i >= 0 {
		return all[i].URL, true
	}
	return "", false
}

// printLink prints an address of the board. It is not handed to a browser: other users of the machine can read the
// command lines of programs, and the code in it logs in.
func printLink(inv *command.Invocation, ws *app.Workspace, url string) error {
	link, err := api.NewLink(ws.State, url, time.Now())
	if err == nil {
		_, err = fmt.Fprintln(inv.Stdout, link.URL)
	}
	return err
}

// A serveTokenForm is the token of a server as JSON.
type serveTokenForm struct {
	Token string `json:"token"`
}

func serveTokenCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print the token that requests need",
		Long: `Prints the token of this folder's server, for Authorization: Bearer. It is made by the first
call and kept in the state folder, where only you can read it.`,
		Example: `  token=$(pawl serve token)
  curl -H "Authorization: Bearer $token" http://127.0.0.1:7295/api/v1/tasks`,
		Args: cobra.NoArgs,
	}
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := inv.AsPerson("see the token"); err != nil {
			return err
		}
		ws, err := inv.Open(nil)
		if err != nil {
			return err
		}
		defer ws.Close() // nothing was opened for writing
		token, err := api.LoadToken(ws.State)
		if err != nil {
			return err
		}
		return inv.Print(*asJSON, serveTokenForm{token}, "%s\n", token)
	}
	return cmd
}

func serveLinkCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "link",
		Short:   "Print an address that logs a browser in, once",
		Long:    "Prints an address of the running server that logs the browser in that opens it. It works once, for five minutes.",
		Example: "  xdg-open \"$(pawl serve link)\"   # opens the board",
		Args:    cobra.NoArgs,
	}
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := inv.AsPerson("log a browser in"); err != nil {
			return err
		}
		ws, err := inv.Open(nil)
		if err != nil {
			return err
		}
		defer ws.Close() // nothing was opened for writing
		url, ok := servedAt(cmd.Context(), inv, ws)
		if !ok {
			return command.Exit{Code: command.ExitFailed, Err: fmt.Errorf("no server of this folder is running: start one with `pawl serve`")}
		}
		link, err := api.NewLink(ws.State, url, time.Now())
		if err != nil {
			return err
		}
		return inv.Print(*asJSON, link, "%s\n", link.URL)
	}
	return cmd
}
