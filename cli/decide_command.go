package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl/permission"
	"pawl/policy"
	"pawl/run"
	"pawl/store"
	"pawl/worker"
)

// answers are the possible answers to a call that needs approval.
var answers = []string{string(run.Allow), string(run.Always), string(run.Wait), string(run.Never), plainNo}

// plainNo refuses a call once: no rule is stored.
const plainNo = "no"

// decidePatience is how long runs decide waits for the owner of the run to take the
// answer. The owner is woken, so a longer wait has another cause.
const decidePatience = 5 * time.Second

func runsDecideCommand(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decide RUN [CALL] [allow|always|wait|never|no]",
		Short: "Approve or deny a call that needs approval; without an answer, list them",
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
			return nil
		},
	}
	var q answerRequest
	cmd.Flags().StringVar(&q.rule, "rule", "", "the `rule` to store with always or never, instead of the one proposed")
	cmd.Flags().StringVar(&q.scope, "scope", string(permission.ForWorkspace), "the `scope` of the rule: user, workspace, repository, run")
	cmd.Flags().StringVarP(&q.words, "message", "m", "", "`text` for the model, with wait, never and no")
	cmd.Flags().StringVar(&q.shown, "shown", "", "the `digest` that was shown with the call: the answer is refused if the call has changed since")
	asJSON := cmd.Flags().Bool("json", false, "without an answer: the calls that need approval, one JSON object a line")
	return ruled(inv, cmd, func(ctx context.Context, h here, args []string) error {
		sum, err := find(ctx, h.store, args[0])
		if err != nil {
			return err
		}
		events, s, err := load(ctx, h.store, sum.ID)
		if err != nil {
			return err
		}
		w, err := inv.worker(h.place, h.settings)
		if err != nil {
			return err
		}
		d := decider{inv: inv, here: h, id: sum.ID, state: s, events: events, worker: w}
		if len(args) == 1 {
			return d.show(*asJSON)
		}
		if err := inv.asPerson("decide on its own calls"); err != nil {
			return err
		}
		if err := oneOf(strings.Join(storedScopes, ", "))(q.scope); err != nil {
			return usage("--scope: %w", err)
		}
		if q.answer = args[len(args)-1]; !slices.Contains(answers, q.answer) {
			return usage("invalid answer %q%s: must be one of %s", q.answer, didYouMean(q.answer, answers), strings.Join(answers, ", "))
		}
		if q.answer == plainNo {
			q.answer = string(run.Deny)
		}
		call, err := d.pick(args[1 : len(args)-1])
		if err != nil {
			return err
		}
		return d.decide(ctx, call, q)
	})
}

// An answerRequest is the answer to a call as given on the command line.
type answerRequest struct{ answer, rule, scope, words, shown string }

// A decider answers a call of a run.
type decider struct {
	inv *invocation
	here
	id     run.ID
	state  run.State
	events []run.Event
	worker *worker.Worker
}

// waiting returns the calls that need approval.
func (d decider) waiting() []run.CallState {
	var calls []run.CallState
	for _, c := range d.state.Next() {
		if c, ok := c.(run.Decide); ok {
			calls = append(calls, c.Call)
		}
	}
	return calls
}

func (d decider) mode() permission.Mode { return modeOf(d.state.Config) }

// A waitingForm is a call that needs approval, as JSON.
type waitingForm struct {
	Call      run.CallID        `json:"call"`
	Tool      string            `json:"tool"`
	Arguments string            `json:"arguments"`
	Reason    string            `json:"reason"` // why it needs approval
	Parts     []permission.Part `json:"parts"`
	Proposed  permission.Rules  `json:"proposed"` // the rules that always would store
	Exact     bool              `json:"exact"`
	Sandbox   run.Confinement   `json:"sandbox,omitempty"`
	Digest    string            `json:"digest"` // for --shown
}

func (d decider) show(asJSON bool) error {
	calls := d.waiting()
	if len(calls) == 0 && !asJSON {
		fmt.Fprintf(d.inv.Stderr, "no call of run %s needs approval\n", d.id)
		if n := next(d.state); n != "" {
			fmt.Fprintf(d.inv.Stderr, "%s\n", n)
		}
	}
	for _, c := range calls {
		p, err := d.worker.Preview(d.state, c)
		if err != nil {
			return err
		}
		r := p.Request
		e, err := d.policy.Explain(d.id, d.mode(), r)
		if err != nil {
			return err
		}
		proposal := d.policy.Propose(d.id, d.mode(), r)
		if asJSON {
			out := json.NewEncoder(d.inv.Stdout)
			out.SetEscapeHTML(false)
			if err := out.Encode(waitingForm{Call: c.ID, Tool: c.Tool, Arguments: c.Arguments, Reason: e.Decision.Reason, Parts: e.Parts,
				Proposed: append(permission.Rules{}, proposal.Rules...), Exact: proposal.Exact, Sandbox: r.Sandbox, Digest: p.Digest}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(d.inv.Stdout, "%s  %s\n", c.ID, policy.Visible(callWhole(c.Call)))
		for _, p := range e.Parts {
			if p.Verdict != permission.Allow {
				fmt.Fprintf(d.inv.Stdout, "    %s: %s\n", p.Verdict, policy.Visible(p.Reason))
			}
		}
		fmt.Fprintf(d.inv.Stdout, "    always would store: %s\n", policy.Visible(proposedWords(proposal)))
		fmt.Fprintf(d.inv.Stdout, "    answer with `pawl runs decide %s %s allow|always|wait|never|no --shown %.12s`\n", d.id, c.ID, p.Digest)
	}
	return nil
}

// callWhole returns a call uncut: an approval must not depend on what was not shown.
func callWhole(c run.Call) string {
	args := readArgs(c.Arguments)
	for _, text := range []string{args.Command, args.URL} {
		if text != "" {
			return c.Tool + " " + text
		}
	}
	return c.Tool + " " + c.Arguments
}

func proposedWords(p permission.Proposal) string {
	if len(p.Rules) == 0 {
		return "no rule; it can be allowed once: " + p.Reason
	}
	var texts []string
	for _, r := range p.Rules {
		text := r.String()
		if r.Sandbox != run.Confined {
			text += " (sandbox: " + string(r.Sandbox) + ")"
		}
		texts = append(texts, text)
	}
	words := strings.Join(texts, ", ")
	if p.Exact {
		words += " (this exact command: a wider rule would allow more than it appears to)"
	}
	return words
}

// pick returns the call that is named, or else the only one that needs approval.
func (d decider) pick(named []string) (run.CallState, error) {
	calls := d.waiting()
	var ids []string
	for _, c := range calls {
		if ids = append(ids, string(c.ID)); len(named) == 1 && string(c.ID) == named[0] {
			return c, nil
		}
	}
	switch {
	case len(named) == 0 && len(calls) == 1:
		return calls[0], nil
	case len(named) == 0 && len(calls) > 1:
		return run.CallState{}, usage("%s need approval; name one of %s", plural(len(calls), "call"), strings.Join(ids, ", "))
	case len(named) == 1:
		if was, ok := d.decided(run.CallID(named[0])); ok {
			return run.CallState{}, fmt.Errorf("too late: call %s was %s", named[0], decisionWords(was))
		}
	}
	if len(calls) == 0 {
		return run.CallState{}, usage("no call of run %s needs approval", d.id)
	}
	return run.CallState{}, usage("call %q of run %s does not need approval%s; these do: %s", named[0], d.id, didYouMean(named[0], ids), strings.Join(ids, ", "))
}

// decided returns the last decision on a call.
func (d decider) decided(id run.CallID) (was run.Decision, ok bool) {
	for _, e := range d.events {
		switch f := e.Payload.(type) {
		case run.CallDecided:
			if f.Call == id {
				was, ok = f.Decision, true
			}
		case run.Interrupted:
			if f.Call == id {
				was, ok = run.Decision{Answer: run.Wait, Source: "person", By: f.By}, true
			}
		}
	}
	return was, ok
}

// asked returns the number of the event since which the call needs approval: one whose
// approval was invalidated can be answered again.
func (d decider) asked(id run.CallID) int64 {
	var seq int64
	for _, e := range d.events {
		switch f := e.Payload.(type) {
		case run.CallInspected:
			if f.Call == id {
				seq = e.Seq
			}
		case run.ApprovalInvalidated:
			if f.Call == id {
				seq = e.Seq
			}
		}
	}
	return seq
}

// rules returns the rules that an answer stores: the one given, or those proposed.
func (d decider) rules(ctx context.Context, p worker.Preview, q answerRequest) (permission.Rules, error) {
	if q.answer != string(run.Always) && q.answer != string(run.Never) {
		if q.rule != "" {
			return nil, usage("--rule can only be used with always and never")
		}
		return nil, nil
	}
	effect := permission.Allow
	if q.answer == string(run.Never) {
		effect = permission.Deny
	}
	var rules permission.Rules
	if q.rule != "" {
		r, _, err := d.ruleFrom(ctx, q.rule, ruleRequest{effect: string(effect), scope: q.scope, run: q.ofRun(d.id)})
		if err != nil {
			return nil, err
		}
		rules = permission.Rules{r}
	} else {
		proposal := d.policy.Propose(d.id, d.mode(), p.Request)
		if rules = proposal.Rules; effect == permission.Deny {
			rules = proposal.Deny
		}
		if len(rules) == 0 {
			return nil, usage("no rule can be proposed: %s; allow the call once, or give a rule with --rule", proposal.Reason)
		}
	}
	for i := range rules {
		rules[i].Effect, rules[i].Scope = effect, permission.Scope(q.scope)
		if effect == permission.Deny {
			rules[i].Sandbox = run.Confined // only an allow rule can lift it
		}
	}
	return rules, nil
}

func (q answerRequest) ofRun(id run.ID) string {
	if q.scope == string(permission.ForRun) {
		return string(id)
	}
	return ""
}

// A signedDecision is a decision with a random string by which its sender recognizes it.
type signedDecision struct {
	worker.Decision
	Sign string `json:"sign"`
}

// decide puts the answer into the run's inbox, waits for it to be taken, and reports.
func (d decider) decide(ctx context.Context, c run.CallState, q answerRequest) error {
	p, err := d.worker.Preview(d.state, c)
	if err != nil {
		return err
	}
	if q.shown != "" && !strings.HasPrefix(p.Digest, q.shown) {
		return usage("call %s has changed since it was shown: run `pawl runs decide %s` again", c.ID, d.id)
	}
	rules, err := d.rules(ctx, p, q)
	if err != nil {
		return err
	}
	mine := signedDecision{Sign: rand.Text(), Decision: worker.Decision{
		Call: c.ID, Answer: run.Answer(q.answer), Text: q.words, By: d.inv.person(), Rules: rules, Digest: p.Digest}}
	payload, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	// All answers to the call have the same key: the store keeps the first row with it,
	// and the sender of a second one finds the other's.
	row := store.Row{Key: fmt.Sprintf("decide-%s-%d", c.ID, d.asked(c.ID)), Kind: store.Decide, Payload: string(payload)}
	if err := d.store.Put(ctx, d.id, row); err != nil {
		return err
	}
	owner, owned, err := d.store.Owner(ctx, d.id)
	if err != nil {
		return err
	}
	worker.Wake(ctx, d.store, d.id)
	for deadline := time.Now().Add(decidePatience); ; {
		waits, other, err := d.inInbox(ctx, row.Key, mine.Sign)
		switch {
		case err != nil:
			return err
		case other != nil:
			return fmt.Errorf("too late: call %s was answered %s by %s a moment ago", c.ID, other.Answer, other.By)
		case !waits:
			return d.told(ctx, c, mine.Decision)
		case !owned:
			d.stored(rules)
			_, err := fmt.Fprintf(d.inv.Stdout, "%s: %s, when the run is resumed; no process drives it now: `pawl run --resume %s`\n", c.ID, q.answer, d.id)
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("process %d has not taken the answer for %s; it stays in the inbox: see `pawl runs why %s`", owner.PID, decidePatience, d.id)
		}
		select {
		case <-time.After(stopPoll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if owner, owned, err = d.store.Owner(ctx, d.id); err != nil {
			return err
		}
	}
}

// inInbox reports whether the row with a key is in the inbox, and returns its decision if
// it was signed by another sender.
func (d decider) inInbox(ctx context.Context, key, sign string) (waits bool, other *worker.Decision, err error) {
	rows, err := d.store.Inbox(ctx, d.id)
	if err != nil {
		return false, nil, err
	}
	for _, row := range rows {
		if row.Key != key {
			continue
		}
		var there signedDecision
		if err := json.Unmarshal([]byte(row.Payload), &there); err != nil {
			return false, nil, fmt.Errorf("decode the answer in the inbox: %w", err)
		}
		if there.Sign != sign {
			return true, &there.Decision, nil
		}
		return true, nil, nil
	}
	return false, nil, nil
}

// told reports the outcome of an answer that was taken.
func (d decider) told(ctx context.Context, c run.CallState, mine worker.Decision) error {
	var err error
	if d.events, d.state, err = load(ctx, d.store, d.id); err != nil {
		return err
	}
	was, ok := d.decided(c.ID)
	switch {
	case !ok:
		return fmt.Errorf("the answer was taken but had no effect: see `pawl runs decide %s`", d.id)
	case was.Source != "person" || was.By != mine.By || was.Answer != mine.Answer:
		return fmt.Errorf("too late: call %s was %s", c.ID, decisionWords(was))
	}
	d.stored(mine.Rules)
	if _, err := fmt.Fprintf(d.inv.Stdout, "%s: %s\n", c.ID, mine.Answer); err != nil {
		return err
	}
	if n := next(d.state); n != "" && mine.Answer == run.Wait {
		fmt.Fprintln(d.inv.Stdout, n)
	}
	return nil
}

// stored prints the rules that the answer stores.
func (d decider) stored(rules permission.Rules) {
	for _, r := range rules {
		fmt.Fprintf(d.inv.Stdout, "rule: %s %s, for %s\n", r.Effect, policy.Visible(r.String()), r.Scope)
	}
}
