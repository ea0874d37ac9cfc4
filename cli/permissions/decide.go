package permissions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/approval"
	"pawl/board"
	"pawl/cli/command"
	"pawl/cli/commandline"
	"pawl/forms"
	"pawl/internal/text"
	"pawl/permission"
	"pawl/policy"
	"pawl/render"
	"pawl/report"
	"pawl/request"
	"pawl/run"
	"pawl/view"
)

// answers are the possible answers to a call that needs approval.
var answers = []string{string(run.Allow), string(run.Always), string(run.Wait), string(run.Never), plainNo}

// plainNo refuses a call once: no rule is stored.
const plainNo = "no"

func DecideCommand(inv *command.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decide RUN [CALL] [allow|always|wait|never|no]",
		Short: "Approve or deny a call, or list those that need approval",
		Long: `Answers a call that needs approval, whichever process drives the run. The first answer
counts.

  allow   the call runs
  always  the call runs, and a rule is stored that allows calls like it
  wait    the turn is interrupted; say with -m what to do instead
  never   the call is denied, and a rule is stored that denies calls like it
  no      the call is denied; the turn continues

CALL may be omitted if only one call needs approval.`,
		Example: `  pawl runs decide last
  pawl runs decide last c_3 allow
  pawl runs decide last c_3 always --rule 'shell(go test *)' --scope user
  pawl runs decide last wait -m "use the test database"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 3 {
				return fmt.Errorf("%s takes a run, a call and an answer, such as: last c_3 allow", cmd.CommandPath())
			}
			if slices.Contains(answers, args[0]) {
				return fmt.Errorf("the run comes first, such as: %s last c_3 %s", cmd.CommandPath(), args[0])
			}
			return nil
		},
	}
	var q answerRequest
	cmd.ValidArgsFunction = completeDecision(inv)
	cmd.Flags().StringVar(&q.rule, "rule", "", "the `rule` to store with always or never, instead of the one proposed")
	cmd.Flags().StringVar(&q.scope, "scope", string(permission.ForWorkspace), "the `scope` of the rule: user, workspace, repository, run")
	cmd.Flags().StringVarP(&q.words, "message", "m", "", "`text` for the model, with wait, never and no")
	cmd.Flags().StringVar(&q.shown, "shown", "", "the `digest` that was shown with the call: the answer is refused if the call has changed since")
	asJSON := command.JSONFlag(cmd)
	return ruledIn(inv.OpenRuns, cmd, func(ctx context.Context, h here, args []string) error {
		sum, err := h.Find(ctx, args[0])
		if err != nil {
			return err
		}
		calls, err := h.Approvals(ctx, sum.ID)
		if err != nil {
			return err
		}
		d := decider{inv: inv, here: h, id: sum.ID, calls: calls}
		if len(args) == 1 {
			return d.show(ctx, *asJSON)
		}
		if err := inv.AsPerson("decide on its own calls"); err != nil {
			return err
		}
		if err := command.OneOf(strings.Join(permission.StoredScopes(), ", "))(q.scope); err != nil {
			return command.Usage("--scope: %w", err)
		}
		switch q.answer = args[len(args)-1]; {
		case q.answer == plainNo:
			q.answer = string(run.Deny)
		case q.answer != string(run.Deny) && !slices.Contains(answers, q.answer):
			if slices.Contains(answers, args[len(args)-2]) && len(args) > 2 {
				return command.Usage("the answer comes last. Use:\n  pawl runs decide %s %s %s", args[0], q.answer, args[len(args)-2])
			}
			if commandline.CallID().MatchString(q.answer) {
				return command.Usage("the answer is missing, one of %s: pawl runs decide %s %s allow", strings.Join(answers, ", "), args[0], q.answer)
			}
			near := text.DidYouMean(q.answer, answers)
			for _, flag := range []string{"--" + q.answer, "-" + q.answer} {
				if e, _, _ := commandline.ForeignFlag(cmd, []string{flag}, 0); e != nil && slices.Contains(answers, e.Ours) {
					near = fmt.Sprintf("; did you mean %s?", command.Quoted(e.Ours))
				}
			}
			return command.Usage("invalid answer %s: must be one of %s%s", command.Quoted(q.answer), strings.Join(answers, ", "), near)
		}
		q.asJSON = *asJSON
		call, err := d.pick(ctx, args[1:len(args)-1])
		if err != nil {
			return err
		}
		return d.decide(ctx, call, q)
	})
}

// An answerRequest is the answer to a call as given on the command line.
type answerRequest struct {
	answer, rule, scope, words, shown string
	asJSON                            bool
}

// A decider answers a call of a run.
type decider struct {
	inv *command.Invocation
	here
	id    run.ID
	calls []approval.Approval // that wait for a person
}

func (d decider) show(ctx context.Context, asJSON bool) error {
	if asJSON {
		return d.inv.Encode(forms.WaitingFormOf(d.id, d.calls))
	}
	if len(d.calls) == 0 {
		fmt.Fprintf(d.inv.Stderr, "no call of run %s needs approval\n", d.id)
		return d.sayNext(ctx, d.inv.Stderr)
	}
	for _, a := range d.calls {
		title, lines := wholeCall(a)
		fmt.Fprintf(d.inv.Stdout, "%s  %s\n", a.Call.ID, policy.Visible(title))
		for _, l := range lines {
			fmt.Fprintf(d.inv.Stdout, "      %s\n", policy.Visible(l))
		}
		if dir := a.Dir(); dir != "" {
			fmt.Fprintf(d.inv.Stdout, "    in %s\n", policy.Visible(dir))
		}
		for _, p := range a.Explanation.Parts {
			if p.Verdict != permission.Allow {
				fmt.Fprintf(d.inv.Stdout, "    %s: %s\n", p.Verdict, policy.Visible(p.Reason))
			}
		}
		if lifts := render.Lifts(a); lifts != "" {
			fmt.Fprintf(d.inv.Stdout, "    %s\n", lifts)
		}
		if was := a.Answered; was != nil {
			fmt.Fprintf(d.inv.Stdout, "    answered by %s: %s, which is taken when the run is resumed\n", policy.Visible(was.By), was.Answer)
			continue
		}
		fmt.Fprintf(d.inv.Stdout, "    always would store: %s\n", policy.Visible(proposedWords(a.Proposal)))
		fmt.Fprintf(d.inv.Stdout, "    never would store: %s\n", policy.Visible(render.RuleTexts(a.Proposal.Deny)))
		fmt.Fprintf(d.inv.Stdout, "    answer with `pawl runs decide %s %s allow|always|wait|never|no --shown %.12s`\n", a.Run, a.Call.ID, a.Digest)
	}
	return nil
}

// wholeCall returns a call uncut, as a line and those below it: the change of a file, or a
// command as it is written.
func wholeCall(a approval.Approval) (title string, below []string) {
	if a.Change != "" {
		tool, arguments := view.Use(a.Call.Tool, a.Call.Arguments)
		return tool + " " + view.Subject(tool, arguments), strings.Split(strings.TrimSpace(a.Change), "\n")
	}
	title, rest, many := strings.Cut(render.WholeCall(a.Call), "\n")
	if many {
		below = strings.Split(rest, "\n")
	}
	return title, below
}

// sayNext says how the run continues, if it does.
func (d decider) sayNext(ctx context.Context, w io.Writer) error {
	y, err := report.WhyOf(ctx, d.Workspace, d.id)
	if err != nil {
		return err
	}
	if y := report.WhyFormOf(y); y.Next != "" {
		fmt.Fprintf(w, "the run is %s; %s\n", command.Visible(y.Text), y.Next)
	}
	return nil
}

func proposedWords(p permission.Proposal) string {
	if len(p.Rules) == 0 {
		return "no rule; it can be allowed once: " + p.Reason
	}
	words := render.RuleTexts(p.Rules)
	if !p.Exact {
		for _, r := range p.Rules {
			if covers := render.Covers(r); covers != "" {
				words += " (" + covers + ")"
			}
		}
		return words
	}
	which := "this exact command"
	if exact := slices.DeleteFunc(slices.Clone(p.Rules), func(r permission.Rule) bool { return !r.Exact() }); len(exact) > 0 && len(exact) < len(p.Rules) {
		which = render.RuleTexts(exact) + " for that very command"
	}
	return words + " (" + which + ": a wider rule would allow more than it appears to)"
}

// pick returns the call that is named, or else the only one that needs approval.
func (d decider) pick(ctx context.Context, named []string) (approval.Approval, error) {
	var ids []string
	for _, a := range d.calls {
		if ids = append(ids, string(a.Call.ID)); len(named) == 1 && string(a.Call.ID) == named[0] {
			return a, nil
		}
	}
	switch {
	case len(named) == 0 && len(d.calls) == 1:
		return d.calls[0], nil
	case len(named) == 0 && len(d.calls) > 1:
		return approval.Approval{}, command.Usage("%s need approval; name one of %s", command.Plural(len(d.calls), "call"), strings.Join(ids, ", "))
	case len(named) == 1:
		events, _, err := d.Load(ctx, d.id)
		if err != nil {
			return approval.Approval{}, err
		}
		if was, ok := view.DecisionOn(events, run.CallID(named[0])); ok {
			return approval.Approval{}, fmt.Errorf("too late: call %s was %s", named[0], view.DecisionWords(was))
		}
	}
	if len(d.calls) == 0 {
		return approval.Approval{}, command.Usage("no call of run %s needs approval", d.id)
	}
	return approval.Approval{}, command.Usage("no call %s of run %s needs approval%s; pending: %s", command.Quoted(named[0]), d.id, text.DidYouMean(named[0], ids), strings.Join(ids, ", "))
}

// rules returns the rules that an answer stores: the one given, or those proposed.
func (d decider) rules(ctx context.Context, a approval.Approval, q answerRequest) (permission.Rules, error) {
	if q.answer != string(run.Always) && q.answer != string(run.Never) {
		if q.rule != "" {
			return nil, command.Usage("--rule can only be used with always and never")
		}
		return nil, nil
	}
	var given permission.Rules
	if q.rule != "" {
		effect := permission.Allow
		if q.answer == string(run.Never) {
			effect = permission.Deny
		}
		r, _, err := d.ruleFrom(ctx, q.rule, ruleRequest{effect: string(effect), scope: q.scope, run: q.ofRun(a.Run)})
		if err != nil {
			return nil, err
		}
		given = permission.Rules{r}
	}
	return a.Rules(run.Answer(q.answer), permission.Scope(q.scope), given)
}

func (q answerRequest) ofRun(id run.ID) string {
	if q.scope == string(permission.ForRun) {
		return string(id)
	}
	return ""
}

// decide hands in the answer and reports what came of it.
func (d decider) decide(ctx context.Context, a approval.Approval, q answerRequest) error {
	if !a.Is(q.shown) {
		return command.Usage("call %s has changed since it was shown: run `pawl runs decide %s` again", a.Call.ID, a.Run)
	}
	rules, err := d.rules(ctx, a, q)
	if err != nil {
		return err
	}
	taken, err := d.Decide(ctx, a.Run, request.Decide{Call: a.Call.ID, Answer: run.Answer(q.answer), Text: q.words, Rules: rules, Digest: a.Digest})
	if decided, ok := errors.AsType[*request.DecidedError](err); ok {
		return fmt.Errorf("too late: call %s was %s", a.Call.ID, view.DecisionWords(decided.Was))
	}
	if err != nil {
		return err
	}
	if q.asJSON {
		return d.inv.Encode(forms.DecidedForm{Run: a.Run, Call: a.Call.ID, Answer: q.answer, Rules: forms.RuleLines(rules), Taken: taken})
	}
	for _, r := range rules {
		fmt.Fprintf(d.inv.Stdout, "rule: %s %s, for %s\n", r.Effect, policy.Visible(render.RuleText(r)), r.Scope)
	}
	if !taken {
		y, err := report.WhyOf(ctx, d.Workspace, d.id)
		if err != nil {
			return err
		}
		if q.answer == string(run.Wait) && q.words == "" && y.Task == nil {
			_, err = fmt.Fprintf(d.inv.Stdout, "%s: wait, when the run is resumed; no process drives it now: say what to do instead with `%s -p \"…\"`\n", a.Call.ID, y.Continue())
			return err
		}
		if y.Task != nil {
			if served, err := board.Of(d.Workspace).Served(ctx, y.Task.Created.Task); err == nil && served {
				_, err = fmt.Fprintf(d.inv.Stdout, "%s: %s; its task continues\n", a.Call.ID, q.answer)
				return err
			}
		}
		_, err = fmt.Fprintf(d.inv.Stdout, "%s: %s, when the run is resumed; no process drives it now: `%s`\n", a.Call.ID, q.answer, y.Continue())
		return err
	}
	if _, err := fmt.Fprintf(d.inv.Stdout, "%s: %s\n", a.Call.ID, q.answer); err != nil || q.answer != string(run.Wait) {
		return err
	}
	return d.sayNext(ctx, d.inv.Stdout)
}

// completeDecision completes a run, a call of it that needs approval, and an answer.
func completeDecision(inv *command.Invocation) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return command.CompleteRuns(inv)(cmd, args, typed)
		}
		return inv.FromWorkspace(func(ws *app.Workspace) ([]cobra.Completion, error) {
			var all []cobra.Completion
			if len(args) == 1 {
				sum, err := ws.Find(command.Context(cmd), args[0])
				if err != nil {
					return nil, err
				}
				_, state, err := ws.Load(command.Context(cmd), sum.ID)
				if err != nil {
					return nil, err
				}
				for _, c := range state.Turn.Calls {
					if c.Status == run.CallIsInspected && !c.Question {
						all = append(all, cobra.CompletionWithDesc(string(c.ID), view.Title(c.Tool, c.Arguments)))
					}
				}
			}
			if len(args) == 1 || len(args) == 2 && !slices.Contains(answers, args[1]) {
				all = append(all, answers...)
			}
			return command.StartingWith(all, typed), nil
		})
	}
}
