package main

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

// answers are what a person can say to a call that waits.
var answers = []string{string(run.Allow), string(run.Always), string(run.Wait), string(run.Never), plainNo}

// plainNo refuses a call this time: no rule is stored.
const plainNo = "no"

// decidePatience is how long runs decide waits to see its answer taken by the process
// that drives the run: that one is woken, so more than that has another reason.
const decidePatience = 5 * time.Second

func runsDecideCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decide RUN [CALL] [allow|always|wait|never|no]",
		Short: "Answer a call that waits for a person; without an answer, show what waits",
		Long: `Answers a call that waits for a person, whoever drives the run. The first answer counts.

  allow   it runs this time
  always  it runs, and a rule is stored, so that the like runs from now on
  wait    nothing of this turn runs any more; say with -m what to do differently
  never   it does not run, and a rule against it is stored; the turn continues
  no      it does not run this time; the turn continues

CALL may be left out while only one waits.`,
		Example: `  pawl runs decide last
  pawl runs decide last c3 allow
  pawl runs decide last c3 always --rule 'shell(go test *)' --scope user
  pawl runs decide last wait -m "use the test database"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 3 {
				return fmt.Errorf("%s wants a run, a call and an answer: as last c3 allow", cmd.CommandPath())
			}
			return nil
		},
	}
	var q answerRequest
	cmd.Flags().StringVar(&q.rule, "rule", "", "the `rule` to store with always or never, instead of the one proposed")
	cmd.Flags().StringVar(&q.scope, "scope", string(permission.ForWorkspace), "for `whom` the rule is: user, workspace, repository, run")
	cmd.Flags().StringVarP(&q.words, "message", "m", "", "`words` for the model, with wait and never")
	cmd.Flags().StringVar(&q.shown, "shown", "", "the `digest` of what was shown: the answer counts for that alone")
	asJSON := cmd.Flags().Bool("json", false, "without an answer: what waits, one JSON object a line")
	return ruled(a, cmd, func(ctx context.Context, h here, args []string) error {
		sum, err := find(ctx, h.store, args[0])
		if err != nil {
			return err
		}
		events, s, err := load(ctx, h.store, sum.ID)
		if err != nil {
			return err
		}
		w, err := a.worker(h.place, h.settings)
		if err != nil {
			return err
		}
		d := decider{app: a, here: h, id: sum.ID, state: s, events: events, worker: w}
		if len(args) == 1 {
			return d.show(*asJSON)
		}
		if err := a.asPerson("decide on its own calls"); err != nil {
			return err
		}
		if err := oneOf(strings.Join(storedScopes, ", "))(q.scope); err != nil {
			return usage("--scope: %w", err)
		}
		if q.answer = args[len(args)-1]; !slices.Contains(answers, q.answer) {
			return usage("%q is not an answer%s; there are %s", q.answer, didYouMean(q.answer, answers), strings.Join(answers, ", "))
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

// An answerRequest is what a person says to a call.
type answerRequest struct{ answer, rule, scope, words, shown string }

// A decider answers a call of a run.
type decider struct {
	app *app
	here
	id     run.ID
	state  run.State
	events []run.Event
	worker *worker.Worker
}

// waiting returns the calls that wait for a person.
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

// A waitingForm is a call that waits as JSON.
type waitingForm struct {
	Call      run.CallID        `json:"call"`
	Tool      string            `json:"tool"`
	Arguments string            `json:"arguments"`
	Reason    string            `json:"reason"` // why it is asked
	Parts     []permission.Part `json:"parts"`
	Proposed  permission.Rules  `json:"proposed"` // what always would store
	Exact     bool              `json:"exact"`
	Sandbox   run.Confinement   `json:"sandbox,omitempty"`
	Digest    string            `json:"digest"` // of what is shown here: for --shown
}

func (d decider) show(asJSON bool) error {
	calls := d.waiting()
	if len(calls) == 0 && !asJSON {
		fmt.Fprintf(d.app.stderr, "no call of run %s waits for a person\n", d.id)
		if n := next(d.state); n != "" {
			fmt.Fprintf(d.app.stderr, "%s\n", n)
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
			out := json.NewEncoder(d.app.stdout)
			out.SetEscapeHTML(false)
			if err := out.Encode(waitingForm{Call: c.ID, Tool: c.Tool, Arguments: c.Arguments, Reason: e.Decision.Reason, Parts: e.Parts,
				Proposed: append(permission.Rules{}, proposal.Rules...), Exact: proposal.Exact, Sandbox: r.Sandbox, Digest: p.Digest}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(d.app.stdout, "%s  %s\n", c.ID, policy.Visible(callWhole(c.Call)))
		for _, p := range e.Parts {
			if p.Verdict != permission.Allow {
				fmt.Fprintf(d.app.stdout, "    %s: %s\n", p.Verdict, policy.Visible(p.Reason))
			}
		}
		fmt.Fprintf(d.app.stdout, "    always would store: %s\n", policy.Visible(proposedWords(proposal)))
		fmt.Fprintf(d.app.stdout, "    answer with `pawl runs decide %s %s allow|always|wait|never|no --shown %.12s`\n", d.id, c.ID, p.Digest)
	}
	return nil
}

// callWhole is a call with all of what it would do: a person decides on it, so nothing
// is cut.
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
		return "nothing, it can be allowed this time: " + p.Reason
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
		words += " (this very command: a wider rule would let more happen than it says)"
	}
	return words
}

// pick finds the call that a person means: the one named, or the only one that waits.
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
		return run.CallState{}, usage("%s wait: say which, %s", plural(len(calls), "call"), strings.Join(ids, ", "))
	case len(named) == 1:
		if was, ok := d.decided(run.CallID(named[0])); ok {
			return run.CallState{}, fmt.Errorf("too late: call %s was %s", named[0], decisionWords(was))
		}
	}
	if len(calls) == 0 {
		return run.CallState{}, usage("no call of run %s waits for a person", d.id)
	}
	return run.CallState{}, usage("no call %q of run %s waits%s; waiting are %s", named[0], d.id, didYouMean(named[0], ids), strings.Join(ids, ", "))
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

// asked returns the number of the event by which the call came to wait: a call that is
// asked about again can be answered again.
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

// rules returns the rules that an answer stores: the one given, or what is proposed.
func (d decider) rules(ctx context.Context, p worker.Preview, q answerRequest) (permission.Rules, error) {
	if q.answer != string(run.Always) && q.answer != string(run.Never) {
		if q.rule != "" {
			return nil, usage("--rule goes with always and never")
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
			return nil, usage("always can store no rule: %s; allow it this time, or give a rule with --rule", proposal.Reason)
		}
	}
	for i := range rules {
		rules[i].Effect, rules[i].Scope = effect, permission.Scope(q.scope)
		if effect == permission.Deny {
			rules[i].Sandbox = run.Confined // which only an allow rule can lift
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

// A signedDecision is a decision that its sender knows again.
type signedDecision struct {
	worker.Decision
	Sign string `json:"sign"`
}

// decide puts the answer into the run's inbox and tells what becomes of it.
func (d decider) decide(ctx context.Context, c run.CallState, q answerRequest) error {
	p, err := d.worker.Preview(d.state, c)
	if err != nil {
		return err
	}
	if q.shown != "" && !strings.HasPrefix(p.Digest, q.shown) {
		return usage("call %s would do something else by now than what was shown: look again with `pawl runs decide %s`", c.ID, d.id)
	}
	rules, err := d.rules(ctx, p, q)
	if err != nil {
		return err
	}
	mine := signedDecision{Sign: rand.Text(), Decision: worker.Decision{
		Call: c.ID, Answer: run.Answer(q.answer), Text: q.words, By: d.app.person(), Rules: rules, Digest: p.Digest}}
	payload, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	// The key is the same for everybody who answers: of two rows with it the store keeps
	// the first, and the second is told.
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
			_, err := fmt.Fprintf(d.app.stdout, "%s: %s, once the run goes on; nobody drives it now: `pawl run --resume %s`\n", c.ID, q.answer, d.id)
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("the answer is kept, and process %d has not taken it for %s: see `pawl runs why %s`", owner.PID, decidePatience, d.id)
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

// inInbox looks for the row with a key: whether it waits, and whose it is if it is not
// that of who signed.
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
			return false, nil, fmt.Errorf("an answer in the inbox cannot be read: %w", err)
		}
		if there.Sign != sign {
			return true, &there.Decision, nil
		}
		return true, nil, nil
	}
	return false, nil, nil
}

// told says what became of an answer that was taken.
func (d decider) told(ctx context.Context, c run.CallState, mine worker.Decision) error {
	var err error
	if d.events, d.state, err = load(ctx, d.store, d.id); err != nil {
		return err
	}
	was, ok := d.decided(c.ID)
	switch {
	case !ok:
		return fmt.Errorf("the answer was taken and did not count: see `pawl runs decide %s`", d.id)
	case was.Source != "person" || was.By != mine.By || was.Answer != mine.Answer:
		return fmt.Errorf("too late: call %s was %s", c.ID, decisionWords(was))
	}
	d.stored(mine.Rules)
	if _, err := fmt.Fprintf(d.app.stdout, "%s: %s\n", c.ID, mine.Answer); err != nil {
		return err
	}
	if n := next(d.state); n != "" && mine.Answer == run.Wait {
		fmt.Fprintln(d.app.stdout, n)
	}
	return nil
}

// stored says which rules go with the answer.
func (d decider) stored(rules permission.Rules) {
	for _, r := range rules {
		fmt.Fprintf(d.app.stdout, "rule: %s %s, for %s\n", r.Effect, policy.Visible(r.String()), r.Scope)
	}
}
