package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/api"
	"pawl/app"
	"pawl/cli/command"
	"pawl/config"
	"pawl/store"
)

func usersCommand(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "users",
		Short: "Say who may use the servers of a shared database",
		Long: `Says who may use the servers of a shared database. Each user has a token and a role:

  see         reads everything
  answer      answers questions and calls that need approval, says something, interrupts
  start       adds, changes, starts and ends tasks and runs, merges
  administer  changes rules, trust, agents, modes and access, removes tasks and runs

Each role may do what those above it may. What a user does is in the log with the user's name. The
token of a server (pawl-fleet serve token) is that of an administrator.`,
		Args: cobra.NoArgs,
	})
	cmd.AddCommand(usersAddCommand(inv), usersListCommand(inv), usersRemoveCommand(inv))
	return cmd
}

// A userForm is a user as JSON.
type userForm struct {
	Name  string    `json:"name"`
	Role  string    `json:"role"`
	Since time.Time `json:"since"`
	Token string    `json:"token,omitempty"` // of a new one alone
}

// withUsers gives cmd the form of a command about the users of the database: it calls do with them.
func withUsers(inv *command.Invocation, cmd *cobra.Command, do func(ctx context.Context, users store.Users, args []string) error) *cobra.Command {
	open := func(f *pflag.FlagSet) (*app.Workspace, error) {
		if err := inv.AsPerson("say who may use the servers"); err != nil {
			return nil, err
		}
		return openShared(inv)(f)
	}
	return command.InWorkspace(cmd, open, func(ctx context.Context, ws *app.Workspace, args []string) error {
		tasks, err := ws.Tasks()
		if err != nil {
			return err
		}
		users, ok := tasks.Store.(store.Users)
		if !ok {
			return config.Errorf("this store has no users")
		}
		return do(ctx, users, args)
	})
}

func usersAddCommand(inv *command.Invocation) *cobra.Command {
	var roles []string
	for _, r := range api.Roles {
		roles = append(roles, string(r))
	}
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a user, or give one another role and a new token",
		Long: `Adds a user and prints the user's token, which is stored as a hash and not shown again. Of one who is
there it replaces role and token. A browser logs in at the server's address with #code=TOKEN after it.`,
		Example: "  pawl-fleet users add anna --role start",
		Args:    cobra.ExactArgs(1),
	}
	role := cmd.Flags().String("role", string(api.Answer), "what the user may do: "+strings.Join(roles, ", "))
	asJSON := command.JSONFlag(cmd)
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		switch {
		case !api.ValidUser(args[0]):
			return command.Usage("%s is no name of a user: it has letters, digits, - and _, at most 40", command.Visible(args[0]))
		case !slices.Contains(roles, *role):
			return command.Usage("--role %s: it is one of %s", command.Visible(*role), strings.Join(roles, ", "))
		}
		return nil
	}
	return withUsers(inv, cmd, func(ctx context.Context, users store.Users, args []string) error {
		u, token := api.NewUser(args[0], api.Role(*role), time.Now())
		if err := users.PutUser(ctx, u); err != nil {
			return err
		}
		return inv.Print(*asJSON, userForm{u.Name, u.Role, u.Since, token}, "%s\n", token)
	})
}

func usersListCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the users", Example: "  pawl-fleet users list", Args: cobra.NoArgs}
	asJSON := command.JSONFlag(cmd)
	return withUsers(inv, cmd, func(ctx context.Context, users store.Users, _ []string) error {
		all, err := users.Users(ctx)
		if err != nil {
			return err
		}
		list := []userForm{}
		var text strings.Builder
		w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		for _, u := range all {
			list = append(list, userForm{Name: u.Name, Role: u.Role, Since: u.Since})
			fmt.Fprintf(w, "%s\t%s\tsince %s\n", u.Name, u.Role, u.Since.Local().Format(time.DateOnly))
		}
		w.Flush() // a builder takes everything
		if len(all) == 0 {
			text.WriteString("there are no users: add one with `pawl-fleet users add NAME --role start`\n")
		}
		return inv.Print(*asJSON, struct {
			Items []userForm `json:"items"`
		}{list}, "%s", text.String())
	})
}

func usersRemoveCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rm NAME",
		Short:   "Remove a user, whose token and sessions end",
		Example: "  pawl-fleet users rm anna",
		Args:    cobra.ExactArgs(1),
	}
	asJSON := command.JSONFlag(cmd)
	return withUsers(inv, cmd, func(ctx context.Context, users store.Users, args []string) error {
		was, err := users.RemoveUser(ctx, args[0])
		if err == nil && !was {
			err = config.Errorf("there is no user %s: `pawl-fleet users list`", command.Visible(args[0]))
		}
		if err != nil {
			return err
		}
		return inv.Print(*asJSON, struct {
			Removed string `json:"removed"`
		}{args[0]}, "removed %s: the servers let the user in for at most %s more\n", command.Visible(args[0]), api.UsersAge)
	})
}
