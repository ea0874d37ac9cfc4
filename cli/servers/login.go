package servers

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pawl/cli/command"
	"pawl/cli/console"
	"pawl/mcp"
)

// loginPatience is how long pawl mcp login waits for the person.
const loginPatience = 10 * time.Minute

func loginCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Log in to an MCP server with a URL",
		Long: `Logs in to an MCP server that wants OAuth. It prints a link: open it in a browser, on any machine. If the browser
is on another one, the page that it is sent to cannot be opened there; paste its address here. The login is kept
in the state folder, readable by you alone, and refreshed by itself.`,
		Example: "  pawl mcp login docs\n  pawl mcp login docs --scope write",
	}
	scopes := cmd.Flags().StringArray("scope", nil, "a `scope` to ask for beside what the server wants; repeatable")
	return withServer(inv, cmd, func(ctx context.Context, r *mcp.Remote) error {
		if err := inv.AsPerson("logs in to MCP servers"); err != nil {
			return err
		}
		r.StartTimeout = loginPatience
		l := mcp.Login{Scopes: *scopes, Show: func(link string) {
			fmt.Fprintf(inv.Stderr, "Open this link to log in to %s:\n\n  %s\n\n", r.Name, command.Visible(link))
		}}
		show := l.Show
		if _, terminal := command.TerminalFile(inv.Stdin); !terminal {
			l.Show = func(link string) {
				show(link)
				inv.Hint("waiting for a browser on this machine; to use one on another, log in at a terminal")
			}
		} else {
			input, pasted := console.NewLineReader(inv.Stdin), make(chan string, 1)
			var asked sync.WaitGroup
			end := func() {}
			defer func() { end(); asked.Wait(); input.End(inv.Stderr) }()
			l.Pasted = pasted
			l.Show = func(link string) {
				end()
				asked.Wait()
				asking, cancel := context.WithCancel(ctx)
				end = cancel
				show(link)
				asked.Go(func() { // what is typed for something else is sent to no server
					for {
						line, ok := input.Ask(inv.Stderr, "If the browser is on another machine, paste the address that it is sent to: ", asking.Done())
						switch {
						case !ok:
							return
						case line != "" && !strings.ContainsAny(line, " \t\n"):
							pasted <- line
							return
						}
						fmt.Fprintln(inv.Stderr, "  that is no address: nothing was sent")
					}
				})
			}
		}
		status, err := r.Login(ctx, l)
		if err != nil {
			return err
		}
		inv.Hint(fmt.Sprintf("logged in to %s; it has %s", r.Name, command.Plural(len(status.Tools), "tool")))
		return nil
	})
}

func logoutCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logout NAME",
		Short: "Forget the login to an MCP server",
		Long: `Forgets the login to an MCP server. The server is not told: where you have logged in there is a page that lists
the programs with access.`,
		Example: "  pawl mcp logout docs",
	}
	return withServer(inv, cmd, func(_ context.Context, r *mcp.Remote) error {
		if err := inv.AsPerson("logs out of MCP servers"); err != nil {
			return err
		}
		was, err := r.Logout()
		switch {
		case err != nil:
			return err
		case !was:
			return command.Usage("there is no login to %s", r.Name)
		}
		inv.Hint("logged out of " + r.Name)
		return nil
	})
}
