package permission

import (
	"slices"
	"strings"

	"pawl/internal/visible"
	"pawl/run"
)

// Decide says whether a call may run. It asks, in this order and for every part of
// the call: deny rules; the modes plan and bypass; ask rules; the mode
// accept-edits; allow rules; what the tool itself would have (reads in the
// workspace run). What none of them decided asks. The strictest answer over all
// parts counts.
func (rs Rules) Decide(r Request, m Mode) Decision {
	t := rs.evaluate(&r, m)
	return t.summary()
}

// A stage is where in the order a part was decided.
type stage int

const (
	atDeny stage = iota
	atMode
	atAsk
	atEdits
	atAllow
	atDefault
)

// An evaluation is the judging of one call.
type evaluation struct {
	r     *Request
	m     Mode
	rules Rules
	parts []Part
	// deny, ask and allow are the rules for the call's own tool.
	deny, ask, allow []Rule
	// level is how much of the sandbox all parts judged so far may do without, if
	// a rule lifted any: parts that open nothing lift nothing by themselves.
	level  run.Confinement
	lifted bool
	// classified are the commands that are allowed because they are classified as
	// reading; readOnly: nothing else allows the call.
	classified []*simpleCommand
	readOnly   bool
	// mayMakeRepository is what [mayMakeRepository] says of the command.
	mayMakeRepository bool
	contained         run.Confinement // what [evaluation.contain] lets the call run in; empty: it does not
	byFileRule        bool            // a rule for files covers what a redirection writes to
}

// evaluate judges every part of a call.
func (rs Rules) evaluate(r *Request, m Mode) *evaluation {
	if m == Auto {
		m = AcceptEdits
	}
	t := &evaluation{r: r, m: m, rules: rs, level: run.Unconfined,
		deny: rs.about(Deny, r.Tool), ask: rs.about(Ask, r.Tool), allow: rs.of(Allow, r.Tool)}
	switch {
	case r.Command != "" || r.Tool == "shell":
		t.shell()
	case r.URL != "" || r.Tool == "fetch": // one without an address is denied
		t.web()
		if len(r.Paths) > 0 {
			t.files()
		}
	default:
		t.files()
	}
	return t
}

// add takes the verdict on one part in.
func (t *evaluation) add(kind Kind, text string, at stage, d Decision) {
	t.parts = append(t.parts, Part{Kind: kind, Text: text, Decision: d, at: at})
}

// summary returns the strictest verdict; of several the one that came first in the
// order, and of those the first of the call. An allowance names a rule if one had
// to do with it.
func (t *evaluation) summary() Decision {
	var worst *Part
	for i := range t.parts {
		p := &t.parts[i]
		switch {
		case worst == nil, p.Verdict.strictness() > worst.Verdict.strictness():
			worst = p
		case p.Verdict.strictness() < worst.Verdict.strictness():
		case p.Verdict == Allow && worst.Rule == "" && p.Rule != "", p.Verdict != Allow && p.at < worst.at:
			worst = p
		}
	}
	if worst == nil { // unreachable: every kind of call adds a part
		return byDefault(Ask, "no part of it could be checked")
	}
	d := worst.Decision
	d.Sandbox = t.r.Sandbox
	switch {
	case d.Verdict != Allow || t.r.Sandbox != run.Confined:
		d.Sandbox, d.Opens = t.withNetwork(d.Sandbox), t.opens()
	case t.contained != run.Confined:
		d.Sandbox = t.contained
	case t.readOnly:
		d.Sandbox = run.ReadOnly
	default:
		d.Sandbox = t.withNetwork(t.granted())
	}
	return d
}

// withNetwork returns what a call runs in that was granted so much of the sandbox, or that a person may grant it: to
// the hosts of its own come those that every command may reach. Where no sandbox bounds the network by host there are none.
func (t *evaluation) withNetwork(c run.Confinement) run.Confinement {
	switch {
	case t.r.Command == "" || c != run.Confined && c.Hosts() == nil:
		return c
	case !t.r.ByHost:
		return run.Confined
	}
	return run.ToHosts(append(c.Hosts(), t.rules.network()...)...)
}

// granted returns how much of the sandbox the rules lift for the whole call.
func (t *evaluation) granted() run.Confinement {
	if !t.lifted {
		return run.Confined
	}
	return t.level
}

// opens returns what [Decision] has as Opens. It opens nothing to a call that names itself what it needs.
func (t *evaluation) opens() run.Confinement {
	g := t.granted()
	if t.r.Sandbox != run.Confined || g.Hosts() != nil && !t.r.ByHost ||
		slices.ContainsFunc(t.parts, func(p Part) bool { return p.Verdict == Deny || p.Verdict == Ask && p.at != atAsk }) {
		return run.Confined
	}
	return g
}

// by returns a decision that a rule made.
func by(rule Rule, reason string) Decision {
	source := rule.Source
	if source == "" {
		source = string(rule.Scope)
	}
	if rule.Why != "" {
		reason += " (" + oneLine(rule.Why) + ")"
	}
	if rule.Effect == Deny && !rule.When.IsZero() { // one that somebody stored, and may have forgotten
		reason = "denied by the rule " + quote(rule.String()) + " of " + rule.When.Format("2 Jan 2006") + ": " + strings.TrimPrefix(reason, "denied: ")
	}
	return Decision{Verdict: rule.Effect, Rule: rule.String(), Source: source, Reason: reason}
}

func byMode(v Verdict, m Mode, reason string) Decision {
	return Decision{Verdict: v, Source: "mode", Reason: string(m) + " mode: " + reason}
}

func byDefault(v Verdict, reason string) Decision {
	return Decision{Verdict: v, Source: "default", Reason: reason}
}

// builtIn returns a refusal that no rule and no mode lifts.
func builtIn(reason string) Decision {
	return Decision{Verdict: Deny, Source: "built-in", Reason: reason}
}

// quote shows a part of a command in a sentence.
func quote(s string) string {
	const limit = 120
	if len(s) > 8*limit {
		s = s[:8*limit] // enough for what is left of it to be longer
	}
	s = oneLine(s)
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return "`" + s + "`"
}

// oneLine returns s in one line, with what people do not see as escapes.
func oneLine(s string) string {
	if strings.ContainsAny(s, "\n\t\r") || strings.Contains(s, "  ") {
		s = strings.Join(strings.Fields(s), " ")
	}
	if !strings.ContainsFunc(s, isTrick) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if isTrick(c) {
			b.WriteString(visible.Code(c))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}
