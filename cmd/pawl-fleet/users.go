package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"pawl/api"
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

// withUsers calls do with the users of the database.
func withUsers(inv *command.Invocation, do func(store.Users) error) error {
	if err := inv.AsPerson("say who may use the servers"); err != nil {
		return err
	}
	if err := shared(inv.Env); err != nil {
		return err
	}
	ws, err := inv.Open(nil)
	if err != nil {
		return err
	}
	defer ws.Close() // what counts is durable
	tasks, err := ws.Tasks()
	if err != nil {
		return err
	}
	users, ok := tasks.Store.(store.Users)
	if !ok {
		return config.Errorf("this store has no users")
	}
	return do(users)
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
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := args[0]
		switch {
		case !api.ValidUser(name):
			return command.Usage("%s is no name of a user: it has letters, digits, - and _, at most 40", command.Visible(name))
		case !slices.Contains(roles, *role):
			return command.Usage("--role %s: it is one of %s", command.Visible(*role), strings.Join(roles, ", "))
		}
		return withUsers(inv, func(users store.Users) error {
			u, token := api.NewUser(name, api.Role(*role), time.Now())
			if err := users.PutUser(cmd.Context(), u); err != nil {
				return err
			}
			return inv.Print(*asJSON, userForm{name, u.Role, u.Since, token}, "%s\n", token)
		})
	}
	return cmd
}

func usersListCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the users", Example: "  pawl-fleet users list", Args: cobra.NoArgs}
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withUsers(inv, func(users store.Users) error {
			all, err := users.Users(cmd.Context())
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
	return cmd
}

func usersRemoveCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rm NAME",
		Short:   "Remove a user, whose token and sessions end",
		Example: "  pawl-fleet users rm anna",
		Args:    cobra.ExactArgs(1),
	}
	asJSON := command.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withUsers(inv, func(users store.Users) error {
			was, err := users.RemoveUser(cmd.Context(), args[0])
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
	return cmd
}
