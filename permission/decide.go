package permission

import (
	"fmt"
	"path"
	"strings"

	"pawl/run"
)

// Decide says whether a call may run. It asks, in this order: deny rules; the
// modes plan and bypass; ask rules; the mode accept-edits; allow rules; what the
// tool itself would have (reads in the workspace run). What none of them
// decided asks.
func (rs Rules) Decide(r Request, m Mode) Decision {
	if r.Command != "" || r.Tool == "shell" {
		return rs.decideShell(r, m)
	}
	return rs.decideFiles(r, m)
}

// by returns a decision that a rule made.
func by(rule Rule, reason string) Decision {
	return Decision{Verdict: rule.Effect, Rule: rule.String(), Source: rule.Source, Reason: reason}
}

func byMode(v Verdict, m Mode, reason string) Decision {
	return Decision{Verdict: v, Source: "mode", Reason: "mode " + string(m) + ": " + reason}
}

func byDefault(v Verdict, reason string) Decision {
	return Decision{Verdict: v, Source: "default", Reason: reason}
}

// of returns the rules with an effect for a tool.
func (rs Rules) of(effect Verdict, tool string) []Rule {
	var some []Rule
	for _, r := range rs {
		if r.Effect == effect && r.Tool == tool {
			some = append(some, r)
		}
	}
	return some
}

// decideFiles decides about a call that is no shell command.
func (rs Rules) decideFiles(r Request, m Mode) Decision {
	var paths []string // relative to the workspace, for those that are in it
	outside := ""
	if r.Outside {
		outside = "a path leads outside the workspace"
	}
	for _, p := range r.Paths {
		rel, ok := inside(r.Workspace, r.Dir, p)
		if !ok {
			outside = p + " is outside the workspace"
		}
		paths = append(paths, rel)
	}
	if d, ok := rs.anyPath(Deny, r.Tool, paths, "denied"); ok {
		return d
	}
	switch {
	case m == Plan && r.Class == run.Writes:
		return byMode(Deny, m, "plan mode: only reading is allowed")
	case m == Bypass:
		return byMode(Allow, m, "everything that is not denied runs")
	}
	if d, ok := rs.anyPath(Ask, r.Tool, paths, "a rule asks"); ok {
		return d
	}
	if outside != "" {
		return byDefault(Ask, outside)
	}
	delicate := ""
	for _, p := range paths {
		if name := delicateName(p, r.Class); name != "" {
			delicate = name
		}
	}
	if m == AcceptEdits && r.Edits && delicate == "" && len(paths) > 0 {
		return byMode(Allow, m, "an edit in the workspace")
	}
	if d, ok := rs.everyPath(r, paths); ok {
		return d
	}
	switch {
	case delicate != "":
		return byDefault(Ask, delicate+" may hold secrets or decide what runs later; no rule names it")
	case r.Class == run.Reads:
		return byDefault(Allow, "it reads, in the workspace")
	case r.Class == run.Reattaches:
		return byDefault(Allow, "it changes nothing by itself")
	}
	return byDefault(Ask, "no rule covers "+strings.TrimSpace(r.Tool+" "+strings.Join(r.Paths, " ")))
}

// anyPath returns the decision of a deny or ask rule that speaks of the tool or
// of one of the paths.
func (rs Rules) anyPath(effect Verdict, tool string, paths []string, reason string) (Decision, bool) {
	for _, rule := range rs.of(effect, tool) {
		if rule.Pattern == "" {
			return by(rule, reason+": every call of "+tool), true
		}
		for _, p := range paths {
			if rule.matchesPath(p, true) {
				return by(rule, reason+": "+p), true
			}
		}
	}
	return Decision{}, false
}

// everyPath returns the decision of the allow rules, if they cover the call:
// each path has one.
func (rs Rules) everyPath(r Request, paths []string) (Decision, bool) {
	rules := rs.of(Allow, r.Tool)
	covering := func(p string) (Rule, bool) {
		delicate := delicateName(p, r.Class)
		for _, rule := range rules {
			if rule.matchesPath(p, false) && (delicate == "" || rule.spellsName(delicate)) {
				return rule, true
			}
		}
		return Rule{}, false
	}
	if len(paths) == 0 {
		for _, rule := range rules {
			if rule.Pattern == "" {
				return by(rule, "every call of "+r.Tool+" is allowed"), true
			}
		}
		return Decision{}, false
	}
	var last Rule
	for _, p := range paths {
		rule, ok := covering(p)
		if !ok {
			return Decision{}, false
		}
		last = rule
	}
	return by(last, "covered by a rule"), true
}

// delicateName returns the name in a path that no wildcard covers: that of a
// secret, or, for what may change it, of what decides what runs later.
func delicateName(p string, class run.Class) string {
	if name := nameIn(secretNames, p); name != "" || class == run.Reads {
		return name
	}
	return nameIn(protectedNames, p)
}

// decideShell decides about a shell command: each of its parts must be allowed
// on its own, and the strictest answer counts.
func (rs Rules) decideShell(r Request, m Mode) Decision {
	s := read(r.Command)
	if len(s.faults) > 0 {
		return byDefault(Deny, "this is no command: "+s.faults[0])
	}
	denials := rs.of(Deny, r.Tool)
	if d, ok := found(denials, s); ok {
		return d
	}
	switch m {
	case Plan:
		if s.class() != run.Reads {
			return byMode(Deny, m, "plan mode: only reading is allowed, and this may do more")
		}
	case Bypass:
		// With rules that deny, what cannot be read might be what they deny.
		if len(denials) > 0 && len(s.unknown) > 0 {
			return byDefault(Ask, "a deny rule might speak of it, but "+s.unknown[0])
		}
		return byMode(Allow, m, "everything that is not denied runs")
	}
	asks := rs.of(Ask, r.Tool)
	if d, ok := found(asks, s); ok {
		return d
	}
	if d, ok := s.asks(); ok {
		return d
	}
	if r.Outside {
		return byDefault(Ask, "a path leads outside the workspace")
	}
	for _, p := range s.inputs {
		if why := outOfBounds(r, p); why != "" {
			return byDefault(Ask, "it reads "+why)
		}
		if secret(p) {
			return byDefault(Ask, "it reads "+p+", which may hold secrets")
		}
	}
	for _, p := range r.Paths { // what its patterns of names stand for, too
		if name := nameIn(secretNames, p); name != "" && !s.mentions(name) {
			return byDefault(Ask, "it touches "+p+", which may hold secrets")
		}
	}
	allows := rs.of(Allow, r.Tool)
	strict := append(denials, asks...)
	decided := byDefault(Allow, "it reads, in the workspace")
	for _, p := range s.parts {
		d, ok := allowed(r, p, allows, strict)
		if !ok {
			return d
		}
		if d.Rule != "" {
			decided = d
		}
	}
	return decided
}

// found returns the decision of a deny or ask rule that speaks of one of the
// parts, those only guessed at too.
func found(rules []Rule, s *script) (Decision, bool) {
	for _, rule := range rules {
		if rule.Pattern == "" {
			return by(rule, "every command"), true
		}
		for _, p := range s.parts {
			if rule.finds(p) {
				return by(rule, "it speaks of "+quote(p.text)), true
			}
		}
	}
	return Decision{}, false
}

// mentions reports whether a file's name stands in the command; then the part
// it stands in is judged by it.
func (s *script) mentions(name string) bool {
	for _, p := range s.parts {
		for _, w := range p.words {
			if strings.Contains(w.text, name) {
				return true
			}
		}
	}
	return false
}

// asks returns the question that no rule can answer, if there is one.
func (s *script) asks() (Decision, bool) {
	switch {
	case len(s.unknown) > 0:
		return byDefault(Ask, "it cannot be known what runs: "+s.unknown[0]), true
	case len(s.unsure) > 0:
		return byDefault(Ask, "it has "+s.unsure[0]+", which no rule covers"), true
	case len(s.writes) > 0:
		return byDefault(Ask, "it writes "+quote(s.writes[0])), true
	case len(s.parts) == 0:
		return byDefault(Ask, "there is no command in it"), true
	}
	return Decision{}, false
}

// allowed decides about one part: allowed by a rule, by only reading, or not.
func allowed(r Request, p *part, allows, strict []Rule) (Decision, bool) {
	if p.guess { // the wrapper it is in is a part of its own
		return Decision{}, true
	}
	l := lookAt(p)
	for _, w := range p.words {
		if w.kind == dynamic || w.kind == pattern && (!l.reads || speaksOf(strict, p)) {
			return byDefault(Ask, "what "+quote(w.source)+" in "+quote(p.text)+" stands for is only known when it runs"), false
		}
	}
	delicate := ""
	for _, w := range l.paths {
		if why := outOfBounds(r, p.places(w.text)...); why != "" {
			return byDefault(Ask, quote(p.text)+" touches "+why), false
		}
		if secret(strings.TrimPrefix(w.text, "file://")) {
			delicate = w.text
		}
	}
	for _, rule := range allows {
		if !rule.matches(p) || rule.anything() && needsName(p.program()) {
			continue
		}
		uncovered := ""
		for _, h := range l.hazards {
			if !rule.spells(h) {
				uncovered = h
			}
		}
		if delicate != "" && !rule.spells(delicate) {
			uncovered = delicate
		}
		if uncovered == "" {
			return by(rule, "it covers "+quote(p.text)), true
		}
	}
	switch {
	case delicate != "":
		return byDefault(Ask, quote(p.text)+" reads "+delicate+", which may hold secrets"), false
	case l.reads:
		return byDefault(Allow, "it reads"), true
	case len(l.hazards) > 0:
		return byDefault(Ask, fmt.Sprintf("%s in %s may run or write something; no rule spells it out", quote(l.hazards[0]), quote(p.text))), false
	}
	return byDefault(Ask, "no rule covers "+quote(p.text)), false
}

// needsName reports whether a rule must name a program to cover it.
func needsName(program string) bool {
	base := program[strings.LastIndexByte(program, '/')+1:]
	base = strings.TrimRight(strings.ToLower(base), "0123456789.")
	_, wraps := wrappers[base]
	return wraps || shells[base] || joiners[base] || named[base] || named[strings.ToLower(program)]
}

// speaksOf reports whether one of rules may speak of p's program: then a pattern
// of names might hide what the rule says.
func speaksOf(rules []Rule, p *part) bool {
	for _, r := range rules {
		if r.anything() || strings.EqualFold(path.Base(r.split()[0]), path.Base(p.program())) {
			return true
		}
	}
	return false
}

// places returns where a file may be, relative to where the command starts.
func (p *part) places(name string) []string {
	name, isURL := strings.CutPrefix(name, "file:///")
	if isURL {
		name = "/" + name
	}
	if len(p.dirs) == 0 && !strings.HasPrefix(name, "/") {
		return []string{"/unknown/" + name} // outside
	}
	return joinAll(p.dirs, name)
}

// outOfBounds returns what lies outside the workspace, in words; empty if
// nothing does.
func outOfBounds(r Request, places ...string) string {
	for _, p := range places {
		if harmlessDevice(p) {
			continue
		}
		if _, ok := inside(r.Workspace, r.Dir, p); !ok {
			return p + ", outside the workspace"
		}
	}
	return ""
}

// quote shows a part of a command in a sentence.
func quote(s string) string {
	const limit = 120
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return "`" + s + "`"
}
