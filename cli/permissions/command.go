package permissions

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/app"
	"pawl/cli/command"
	"pawl/forms"
	"pawl/internal/text"
	"pawl/permission"
	"pawl/policy"
	"pawl/run"
	"pawl/tool"
)

func Command(inv *command.Invocation) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "permissions",
		Short: "List, change and test permission rules",
		Long: `Lists and changes the rules that decide which calls run, and tests them on a command, on a
file of test cases or on recorded calls.`,
		Example: `  pawl permissions list
  pawl permissions add 'shell(go test *)' --why "the tests only read"
  pawl permissions explain 'git log | sh'`,
	})
	for _, c := range []func(*command.Invocation) *cobra.Command{
		permissionsListCommand, permissionsAddCommand, permissionsRmCommand,
		permissionsExplainCommand, permissionsTestCommand, permissionsReplayCommand,
	} {
		cmd.AddCommand(c(inv))
	}
	return cmd
}

// here is a workspace with the rules that hold in it.
type here struct {
	*app.Workspace
	policy *policy.Policy
}

// tellNotes says on standard error which rules do not count as they are written.
func tellNotes(inv *command.Invocation, p *policy.Policy) {
	for _, note := range p.Notes() {
		inv.Notice(note)
	}
}

// ruled is the shape of a subcommand that works on what holds in this workspace.
func ruled(inv *command.Invocation, cmd *cobra.Command, do func(ctx context.Context, h here, args []string) error) *cobra.Command {
	return ruledIn(inv.Open, cmd, do)
}

// ruledIn is ruled with what opens the workspace.
func ruledIn(open func(*pflag.FlagSet) (*app.Workspace, error), cmd *cobra.Command, do func(ctx context.Context, h here, args []string) error) *cobra.Command {
	return command.InWorkspace(cmd, open, func(ctx context.Context, ws *app.Workspace, args []string) error {
		p, err := ws.Policy()
		if err != nil {
			return err
		}
		return do(ctx, here{ws, p}, args)
	})
}

func permissionsListCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the rules of all scopes",
		Long: `Lists the rules of all scopes, the strongest first. The numbers are for pawl permissions rm.
Deny rules win over all others, whatever their scope.`,
		Example: "  pawl permissions list\n  pawl permissions list --json",
		Args:    cobra.NoArgs,
	}
	asJSON := command.JSONFlag(cmd)
	return ruled(inv, cmd, func(_ context.Context, h here, _ []string) error {
		rules := h.policy.List()
		if *asJSON {
			if err := inv.Encode(forms.List[forms.RuleForm]{Items: forms.RuleForms(rules)}); err != nil {
				return err
			}
		} else {
			listRules(inv, rules)
		}
		tellNotes(inv, h.policy)
		return h.policy.Check()
	})
}

// listRules prints rules under the files they stand in.
func listRules(inv *command.Invocation, rules []policy.Listed) {
	if len(rules) == 0 {
		fmt.Fprintln(inv.Stderr, "no rules: reading in the workspace is allowed, the rest needs approval; add a rule with `pawl permissions add 'shell(go test *)'`")
		return
	}
	under := ""
	for i, l := range rules {
		heading := strings.TrimSpace(string(l.Scope) + " · " + l.Place())
		if l.Scope == "" {
			heading = "given · " + l.Place()
		}
		if heading != under {
			fmt.Fprintln(inv.Stdout, command.Visible(heading))
			under = heading
		}
		fmt.Fprintf(inv.Stdout, "%3d  %s\n", i+1, policy.Visible(RuleWords(l)))
	}
}

// RuleWords is a rule in a line: what it says, and who made it when and why.
func RuleWords(l policy.Listed) string {
	text := fmt.Sprintf("%-5s  %s", l.Effect, l.Rule)
	if hosts := l.Sandbox.Hosts(); hosts != nil {
		text += "  network: " + strings.Join(hosts, " ")
	} else if l.Sandbox != run.Confined {
		text += "  sandbox: " + string(l.Sandbox)
	}
	if l.Idle != "" {
		text += "  (ignored: " + l.Idle + ")"
	}
	var made []string
	for _, s := range []string{l.By, day(l), command.OneLine(l.Why, command.MaxTitle)} {
		if s != "" {
			made = append(made, s)
		}
	}
	if len(made) > 0 {
		text += "  - " + strings.Join(made, ", ")
	}
	return text
}

func day(l policy.Listed) string {
	if l.When.IsZero() {
		return ""
	}
	return command.Stamp(l.When)
}

// A ruleRequest is what flags say of a rule.
type ruleRequest struct {
	effect, scope, why, sandbox, run string
	matches, not, network, secrets   []string
}

func permissionsAddCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add RULE",
		Short: "Store a rule, as TOOL or TOOL(PATTERN)",
		Long: `Stores a rule. In a pattern for shell, the word * matches any words. In a pattern for files,
* matches within a folder and ** across folders. A pattern for fetch is a host.

Scopes:
  workspace   you, in this folder (the default)
  user        you, in every folder
  repository  everyone who trusts the repository (.pawl/permissions.json)
  run         one run, given with --run`,
		Example: `  pawl permissions add 'shell(go test *)'
  pawl permissions add 'edit(src/**)' --scope repository --why "own code"
  pawl permissions add 'shell(git push *)' --effect deny --scope user
  pawl permissions add 'shell(npm ci *)' --network npm --not 'npm ci | sh'`,
		Args: command.Exactly("one rule, in quotes", "'shell(go test *)'"),
	}
	var q ruleRequest
	flags := cmd.Flags()
	flags.StringVar(&q.effect, "effect", string(permission.Allow), "the `effect`: allow, ask, deny")
	flags.StringVar(&q.scope, "scope", string(permission.ForWorkspace), "the `scope`: user, workspace, repository, run")
	flags.StringVar(&q.why, "why", "", "the `reason`, shown when the rule decides")
	flags.StringVar(&q.sandbox, "sandbox", "", "the weaker `sandbox` that an allow rule for shell grants: network, none")
	flags.StringArrayVar(&q.network, "network", nil, "a `host` that the commands of an allow rule for shell may reach, or a set of hosts such as npm; repeatable")
	flags.StringArrayVar(&q.secrets, "secret", nil, "a `name` of a secret in your settings, which the commands of an allow rule for shell use at its host and do not see; repeatable")
	flags.StringVar(&q.run, "run", "", "the `run`, with --scope run")
	flags.StringArrayVar(&q.matches, "matches", nil, "a `call` that the rule must match, tested whenever it is loaded; repeatable")
	flags.StringArrayVar(&q.not, "not", nil, "a `call` that the rule must not match; repeatable")
	asJSON := command.JSONFlag(cmd)
	return ruled(inv, cmd, func(ctx context.Context, h here, args []string) error {
		if err := inv.AsPerson("make rules"); err != nil {
			return err
		}
		rule, id, err := h.ruleFrom(ctx, args[0], q)
		if err != nil {
			return err
		}
		before := h.policy.List()
		if err := h.policy.Add(rule, id); err != nil {
			return err
		}
		at := slices.IndexFunc(h.policy.List(), func(l policy.Listed) bool { return sameRule(l.Rule, rule) && l.Run == id })
		if at < 0 {
			return fmt.Errorf("the rule was stored but cannot be found: %w", h.policy.Check())
		}
		l := h.policy.List()[at]
		verb := "stored"
		known := slices.ContainsFunc(before, func(l policy.Listed) bool { return sameRule(l.Rule, rule) && l.Run == id })
		if known {
			verb = "there already"
		}
		err = inv.Print(*asJSON, forms.RuleChange{Rule: forms.RuleFormOf(at+1, l), Changed: !known},
			"%s as %d, in %s: %s\n", verb, at+1, command.Visible(l.File), policy.Visible(RuleWords(l)))
		if err != nil {
			return err
		}
		for _, other := range before {
			if other.Effect == permission.Deny && rule.Effect != permission.Deny && other.Rule.String() == rule.String() {
				inv.Notice("a deny rule says the same of these calls and wins (" + other.Place() + ")")
			}
		}
		return h.policy.Check()
	})
}

func sameRule(r, q permission.Rule) bool {
	return r.Effect == q.Effect && r.Tool == q.Tool && r.Pattern == q.Pattern && r.Scope == q.Scope && r.Sandbox == q.Sandbox
}

// ruleFrom reads a rule and the flags about it.
func (h here) ruleFrom(ctx context.Context, given string, q ruleRequest) (permission.Rule, run.ID, error) {
	rule, err := permission.ParseTyped(given, app.ToolNames())
	if err != nil {
		return rule, "", command.Usage("%w", err)
	}
	for _, c := range []struct{ flag, value, names string }{
		{"effect", q.effect, "allow, ask, deny"}, {"scope", q.scope, strings.Join(permission.StoredScopes(), ", ")},
	} {
		if err := command.OneOf(c.names)(c.value); err != nil {
			return rule, "", command.Usage("--%s: %w", c.flag, err)
		}
	}
	if q.sandbox != "" {
		if err := command.OneOf("network, none")(q.sandbox); err != nil {
			return rule, "", command.Usage("--sandbox: %w", err)
		}
	}
	rule.Effect, rule.Scope, rule.Why = permission.Verdict(q.effect), permission.Scope(q.scope), q.why
	rule.Matches, rule.Not = q.matches, q.not
	for _, name := range q.secrets {
		set, err := h.Config()
		if err != nil {
			return rule, "", err
		}
		i := slices.IndexFunc(set.Secrets, func(s tool.Secret) bool { return s.Name == name })
		if i < 0 {
			return rule, "", command.Usage("--secret: your settings have no table [secrets.%s]", command.Visible(name))
		}
		q.network = append(q.network, name+"@"+set.Secrets[i].Host)
	}
	if rule.Sandbox, err = permission.NetworkOf(run.Confinement(q.sandbox), q.network); err != nil {
		return rule, "", command.Usage("--network: %w", err)
	}
	if rule.Scope != permission.ForRun {
		if q.run != "" {
			return rule, "", command.Usage("--run needs --scope run")
		}
		return rule, "", nil
	}
	if q.run == "" {
		return rule, "", command.Usage("--scope run needs --run: an id, a prefix of one, or last")
	}
	sum, err := h.Find(ctx, q.run)
	return rule, sum.ID, err
}

func permissionsRmCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rm N|RULE",
		Short:   "Remove a rule by its number in the list, or by its text",
		Example: "  pawl permissions rm 3\n  pawl permissions rm 'shell(go test *)' --scope user",
		Args:    command.Exactly("one rule, by its number in pawl permissions list or by its text in quotes", "'shell(go test *)'"),
	}
	cmd.ValidArgsFunction = completeRules(inv)
	scope := cmd.Flags().String("scope", "", "the `scope`, if several have the rule: "+strings.Join(permission.StoredScopes(), ", "))
	effect := cmd.Flags().String("effect", "", "the `effect`, if several rules have the text: allow, ask, deny")
	asJSON := command.JSONFlag(cmd)
	return ruled(inv, cmd, func(_ context.Context, h here, args []string) error {
		if err := inv.AsPerson("remove rules"); err != nil {
			return err
		}
		l, n, err := pick(h.policy.List(), args[0], permission.Scope(*scope), permission.Verdict(*effect))
		if err != nil {
			return err
		}
		if l.File == "" {
			return command.Usage("the rule %s is from %s: remove it there", l.Rule, l.Source)
		}
		if err := h.policy.Remove(l.Rule, l.Run); err != nil {
			return err
		}
		return inv.Print(*asJSON, forms.RuleChange{Rule: forms.RuleFormOf(n, l), Changed: true}, "removed from %s: %s\n", command.Visible(l.File), policy.Visible(RuleWords(l)))
	})
}

// pick finds the rule that a person means, and its number.
func pick(rules []policy.Listed, which string, scope permission.Scope, effect permission.Verdict) (l policy.Listed, number int, err error) {
	if n, err := strconv.Atoi(which); err == nil {
		if n < 1 || n > len(rules) {
			return l, 0, command.Usage("there is no rule %d; `pawl permissions list` has %s", n, command.Plural(len(rules), "rule"))
		}
		return rules[n-1], n, nil
	}
	var texts, numbers []string
	for i, found := range rules {
		texts = append(texts, found.Rule.String())
		if found.Rule.String() == strings.TrimSpace(which) && (scope == "" || found.Scope == scope) && (effect == "" || found.Effect == effect) {
			l, number = found, i+1
			numbers = append(numbers, fmt.Sprintf("%d (%s, %s)", i+1, found.Effect, found.Scope))
		}
	}
	switch len(numbers) {
	case 0:
		return l, 0, command.Usage("there is no rule %s%s; `pawl permissions list` shows them", command.Quoted(which), text.DidYouMean(which, texts))
	case 1:
		return l, number, nil
	}
	return l, 0, command.Usage("%s matches %d rules: give a number, %s", command.Quoted(which), len(numbers), strings.Join(numbers, ", "))
}

// completeRules completes the number of a rule, with the rule.
func completeRules(inv *command.Invocation) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return inv.FromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
			p, err := ws.Policy()
			if err != nil || len(args) > 0 {
				return nil, err
			}
			var all []cobra.Completion
			for i, l := range p.List() {
				all = append(all, cobra.CompletionWithDesc(fmt.Sprint(i+1), command.OneLine(policy.Visible(RuleWords(l)), command.MaxTitle)))
			}
			return command.StartingWith(all, typed), nil
		})
	}
}
