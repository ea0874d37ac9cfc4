package permission

import (
	"path"
	"slices"
	"strings"

	"pawl/permission/filenames"
	"pawl/permission/network"
	"pawl/run"
)

// An Allowed is a call that was allowed before in this workspace, by a person or a
// rule.
type Allowed struct {
	Tool    string
	Command string
	URL     string
	Paths   []string // relative to the workspace
}

// A Proposal is what *Always* and *Never* would store.
type Proposal struct {
	// Rules make exactly this call allowed, together with those in force: one for
	// each part that is not covered yet. Empty: no rule can, and Reason says why.
	Rules  Rules
	Reason string
	// Exact: at least one of Rules is for this very command, because a wider one
	// would let more happen than its text tells: it is over a wrapper, an
	// interpreter or a deleting command, it lifts the sandbox, or the program is not known.
	Exact bool
	// Deny are the rules that *Never* stores: for exactly this command, or these files. For
	// the web it is the host, and for other tools the tool: a rule cannot say less of
	// them.
	Deny Rules
}

// Propose returns the narrowest rules a person would mean by allowing this call
// for always: "go test *" and not "go *"; for an edit the file, and the folder from
// the third file in it on; for the web the host. history is what was allowed
// before, in any order.
//
// The rules have Effect and nothing of who, when and how far; that is the caller's.
// What Propose returns was tried: added to rs, Rules make r allowed. Deny make it denied.
func (rs Rules) Propose(r Request, m Mode, history []Allowed) Proposal {
	if host, ok := r.asksForKeys(); ok {
		return Proposal{Reason: "no rule is proposed for " + quote(host) + ", which may hand out the keys of this machine", Deny: denial(r, m)}
	}
	p := rs.proposeAllow(r, m, history)
	if len(p.Rules) == 0 && r.Command != "" && (r.Contains || read(r.Command).given > 0) { // the whole text, if it can be relied on; see exactly
		exact := Proposal{Rules: Rules{{Tool: r.Tool, Pattern: QuotePattern(strings.TrimSpace(r.Command)), Sandbox: r.Sandbox}}, Exact: true}
		if exact = rs.tried(exact, r, m); len(exact.Rules) > 0 {
			p = exact
		}
	}
	if len(p.Rules) == 0 && p.Reason == "" {
		p.Reason = "no rule can cover all of it"
	}
	p.Deny = denial(r, m)
	return p
}

// asksForKeys returns the host of a call that is not [Proposable], if it has one.
func (r Request) asksForKeys() (host string, ok bool) {
	hosts := append(r.Sandbox.Hosts(), r.URL)
	if r.Command != "" && r.Sandbox != run.Confined {
		for _, p := range read(r.Command).parts {
			for _, w := range p.words {
				hosts = append(hosts, w.text)
			}
		}
	}
	at := slices.IndexFunc(hosts, func(h string) bool { return !network.Proposable(h) })
	if at < 0 {
		return "", false
	}
	return hosts[at], true
}

// denial returns rules that deny a call, and of other calls as few as rules can say.
func denial(r Request, m Mode) Rules {
	var rules Rules
	switch {
	case r.Command != "":
		text := strings.TrimSpace(r.Command)
		rules = Rules{{Effect: Deny, Tool: r.Tool, Pattern: QuotePattern(text)}} // the whole text
		if words, ok := onlyCommand(text); ok {                                  // reads better
			plain := Rules{{Effect: Deny, Tool: r.Tool, Pattern: words}}
			if _, err := ParseRule(plain[0].String()); err == nil && plain.Decide(r, m).Verdict == Deny {
				rules = plain
			}
		}
	case r.URL != "":
		if s, err := network.SiteOf(r.URL); err == nil {
			rules = Rules{{Tool: r.Tool, Pattern: s.Pattern()}}
		}
	default:
		for _, given := range r.Paths {
			rules = append(rules, Rule{Tool: r.Tool, Pattern: filenames.Escape(r.locate("", given).text)})
		}
	}
	if len(rules) == 0 {
		rules = Rules{{Tool: r.Tool}}
	}
	return withEffect(rules, Deny)
}

// onlyCommand returns the words of a command as a pattern, if it is one simple command of
// which all words are known: no redirection, no assignment, no other command.
func onlyCommand(command string) (pattern string, ok bool) {
	s := read(command)
	if s.unknown != nil || s.unsure != nil {
		return "", false
	}
	var only *simpleCommand
	for _, p := range s.parts {
		switch {
		case p.within != nil || p.speculative:
		case only != nil:
			return "", false
		default:
			only = p
		}
	}
	if only == nil || only.text != command {
		return "", false
	}
	var words []string
	for _, w := range only.words {
		if w.kind != static {
			return "", false
		}
		words = append(words, QuotePattern(w.text))
	}
	return strings.Join(words, " "), true
}

func (rs Rules) proposeAllow(r Request, m Mode, history []Allowed) (p Proposal) {
	t := rs.evaluate(&r, m)
	none := func(reason string) Proposal { return Proposal{Reason: reason} }
	for _, part := range t.parts {
		if part.Verdict == Allow {
			continue
		}
		if part.Verdict == Deny {
			return none("it is denied, which no allow rule changes: " + part.Reason)
		}
		switch part.Kind {
		case kindHost:
			s, err := network.SiteOf(r.URL)
			if err != nil || s.Suspicious != "" {
				return none("no rule covers a misleading address: " + part.Reason)
			}
			p.Rules = append(p.Rules, Rule{Tool: r.Tool, Pattern: s.Pattern()})
		case kindPath:
			if r.Command != "" {
				continue // the command it stands in may spell it out
			}
			rule, ok := pathRule(r, part.Text, history)
			if !ok {
				return none("no rule covers " + part.Text + ": " + part.Reason)
			}
			p.Rules = append(p.Rules, rule)
		case kindCall:
			p.Rules = append(p.Rules, Rule{Tool: r.Tool})
		case kindForm:
			return none("no rule covers it: " + part.Reason)
		}
	}
	if r.Command == "" {
		return rs.tried(p, r, m)
	}
	// What is allowed because it is classified as reading needs a rule only if the
	// command cannot run read-only.
	for _, needsRule := range []func(*simpleCommand) bool{
		func(*simpleCommand) bool { return false },
		func(p *simpleCommand) bool { return is(p.program(), obeysFiles) },
		func(p *simpleCommand) bool { return !idles(p, p.info()) },
	} {
		q := Proposal{Rules: slices.Clone(p.Rules)}
		if what := rs.proposeShell(&q, r, m, history, needsRule); what != "" {
			return none("no rule covers " + quote(what) + " as it is written")
		}
		if q = rs.tried(q, r, m); len(q.Rules) > 0 {
			return q
		}
	}
	return Proposal{}
}

// tried returns p with its rules as allow rules if they make the call allowed, and
// an empty proposal if they do not.
func (rs Rules) tried(p Proposal, r Request, m Mode) Proposal {
	p.Rules = Merge(withEffect(p.Rules, Allow))
	if d := Merge(rs, p.Rules).Decide(r, m); len(p.Rules) == 0 || d.Verdict != Allow {
		return Proposal{Reason: "no rule is enough: " + d.Reason}
	}
	return p
}

// proposeShell adds a rule for every simple command and redirection that is not
// covered, and for those that only read and needsRule. It returns the first one that
// no rule can cover.
func (rs Rules) proposeShell(p *Proposal, r Request, m Mode, history []Allowed, needsRule func(*simpleCommand) bool) (uncovered string) {
	s := read(r.Command)
	for _, rd := range s.redirects {
		t := &evaluation{r: &r, m: m, rules: rs, deny: rs.of(Deny, r.Tool), ask: rs.of(Ask, r.Tool)}
		if _, d := t.redirected(rd, s); d.Verdict == Allow {
			continue
		}
		if len(rd.places) != 1 {
			return rd.text
		}
		rule := Rule{Tool: "read", Pattern: filenames.Escape(r.locate("", rd.places[0]).text)}
		if rd.writes {
			rule.Tool = "write"
		}
		p.Rules = append(p.Rules, rule)
	}
	for _, part := range s.parts {
		if part.speculative {
			continue
		}
		with := Merge(rs, withEffect(p.Rules, Allow))
		t := &evaluation{r: &r, m: m, rules: with, allow: with.of(Allow, r.Tool), ask: rs.of(Ask, r.Tool), deny: rs.of(Deny, r.Tool)}
		_, d := t.allowed(part, part.info())
		if d.Verdict == Allow && lifts(d.Sandbox, r.Sandbox) && (d.Rule != "" || part.transparent || !needsRule(part)) {
			continue
		}
		if d.Verdict == Allow && idles(part, part.info()) {
			continue
		}
		rule, exact, ok := t.commandRule(part, history)
		if !ok {
			return part.text
		}
		p.Exact = p.Exact || exact
		p.Rules = append(p.Rules, rule)
	}
	return ""
}

func withEffect(rules Rules, effect Verdict) Rules {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Effect = effect
	}
	return rules
}

// commandRule returns the narrowest rule for one simple command.
func (t *evaluation) commandRule(p *simpleCommand, history []Allowed) (rule Rule, exact, ok bool) {
	if is(path.Base(p.program()), fed) {
		return Rule{}, false, false
	}
	candidate := func(words []string, more ...string) Rule {
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, QuotePattern(w))
		}
		quoted = append(quoted, more...)
		return Rule{Effect: Allow, Tool: t.r.Tool, Pattern: strings.Join(quoted, " "), Sandbox: t.r.Sandbox}
	}
	fits := func(rule Rule) bool {
		if _, err := ParseRule(rule.String()); err != nil {
			return false
		}
		only := *t
		only.allow = []Rule{rule}
		_, d := only.allowed(p, p.info())
		return d.Verdict == Allow && d.Rule != ""
	}
	texts := make([]string, len(p.words))
	for i, w := range p.words {
		if w.kind == dynamic {
			return Rule{}, false, false
		}
		texts[i] = w.text
	}
	// What lifts the sandbox is for this very command: with any other words it could run anything
	// that the workspace holds, with the person's authority. What a package manager asks anyway lifts nothing else.
	if set, known := setOf(p); t.r.Sandbox == run.Confined || known && set.Has(t.r.Sandbox.Hosts()) {
		for _, n := range []int{family(p, history, t.r.Tool), meant(p, history, t.r.Tool)} {
			if n == 0 || n > len(texts) {
				continue
			}
			if wide := candidate(texts[:n], "*"); fits(wide) {
				return wide, false, true
			}
		}
	}
	if at, origin := p.loopbackOrigin(); at > 0 && t.r.Sandbox == run.Confined {
		var rest []string
		for _, w := range texts[at+1:] {
			rest = append(rest, QuotePattern(w))
		}
		if wide := candidate(texts[:at], append([]string{QuotePattern(origin) + "/*"}, rest...)...); fits(wide) {
			return wide, false, true
		}
	}
	if slices.ContainsFunc(p.words, func(w word) bool { return w.kind == pattern }) {
		return Rule{}, false, false // names that are not known yet: no rule is for this very command
	}
	narrow := candidate(texts)
	return narrow, true, fits(narrow)
}

// loopbackOrigin returns the place among the words of p of the one address that it asks for, and its beginning up to the
// path, if that is a server of the workspace's own and p runs nothing: then all of the server's paths are meant. 0 if not.
func (p *simpleCommand) loopbackOrigin() (at int, origin string) {
	if !p.isIn("network") || !p.staysOnLoopback() || !is(p.program(), runsNothing) {
		return 0, ""
	}
	for i, w := range p.words {
		_, rest, address := strings.Cut(w.text, "://")
		if !address {
			rest = w.text
		}
		host, _, hasPath := strings.Cut(rest, "/")
		asked := simpleCommand{words: []word{p.words[0], {text: host}}}
		if i == 0 || !hasPath || !asked.staysOnLoopback() || strings.ContainsAny(host, "@?#{[") {
			continue
		}
		if at > 0 {
			return 0, ""
		}
		at, origin = i, strings.TrimSuffix(w.text, rest)+host
	}
	return at, origin
}

// meant returns how many words of a command a person means when they say always,
// with anything behind them; 0 if only the whole command.
func meant(p *simpleCommand, history []Allowed, tool string) int {
	name, words, before := installedAs(p.program()), p.words, 0
	if module := moduleOf(name, words[1:]); module != "" {
		name, words, before = module, words[2:], 2 // python -m pytest
	}
	commands, known := wordsOf(name, means)
	switch {
	case p.within != nil && !p.within.transparent:
		return 0
	case needsName(name) && !known, is(name, deletes):
		return 0
	case known && commands == "":
		return before + 1
	case known:
		if len(words) < 2 || !has(commands, words[1].text) {
			return 0
		}
		// Behind these stands the name of what is run, which belongs to what a person means.
		if !has("run run-script pr issue mod remote stash worktree", words[1].text) {
			return before + 2
		}
		if len(words) < 3 || strings.HasPrefix(words[2].text, "-") {
			return 0
		}
		return before + 3
	}
	return habit(p, history, tool)
}

// family returns how many words of a command begin what runs one of the things that the workspace names - a target of
// make, a script of a package - if so many of them were allowed that all are meant; else 0.
func family(p *simpleCommand, history []Allowed, tool string) int {
	name, n := p.program(), 1
	switch {
	case p.within != nil && !p.within.transparent:
		return 0
	case has("npm pnpm", name): // yarn run and bun run also run programs and files
		if n = 2; len(p.words) < n || !has("run run-script", p.words[1].text) {
			return 0
		}
	case !has("make gmake", name):
		return 0
	}
	named := func(q *simpleCommand) bool { // no option, and no variable that is set
		return len(q.words) > n && q.words[n].kind == static && q.words[n].text != "" && !strings.HasPrefix(q.words[n].text, "-") && !strings.Contains(q.words[n].text, "=")
	}
	if !named(p) {
		return 0
	}
	seen := map[string]bool{p.words[n].text: true}
	for _, h := range history {
		if h.Tool != tool || !strings.Contains(h.Command, name) {
			continue
		}
		for _, q := range read(h.Command).parts {
			same := func(a, b word) bool { return a.kind == static && b.kind == static && a.text == b.text }
			if !q.speculative && named(q) && slices.EqualFunc(q.words[:n], p.words[:n], same) {
				seen[q.words[n].text] = true
			}
		}
	}
	if len(seen) < habitIs {
		return 0
	}
	return n
}

// habitIs is how many different commands with the same beginning were allowed, this
// one among them, until the beginning is what is meant.
const habitIs = 3

// habit returns how many words this command has in common with earlier ones of its
// program, if there were enough and the words name what it does.
func habit(p *simpleCommand, history []Allowed, tool string) int {
	seen := map[string]bool{p.text: true}
	common := len(p.words)
	for _, h := range history {
		if h.Tool != tool || h.Command == "" {
			continue
		}
		for _, q := range read(h.Command).parts {
			if q.speculative || q.program() != p.program() || seen[q.text] {
				continue
			}
			n := 0
			for n < len(q.words) && n < len(p.words) && q.words[n].text == p.words[n].text && q.words[n].kind == static {
				n++
			}
			// Its name alone says too little of a program that nobody knows.
			if n >= 2 || len(q.words) == 1 {
				seen[q.text] = true
				common = min(common, n)
			}
		}
	}
	if len(seen) < habitIs || common < 2 || common == len(p.words) {
		return 0
	}
	return common
}

// folderAt is which file of a folder makes its folder what is meant.
const folderAt = 3

// pathRule returns the rule for a file, or for its folder.
func pathRule(r Request, given string, history []Allowed) (Rule, bool) {
	at := r.locate("", given)
	file := Rule{Tool: r.Tool, Pattern: filenames.Escape(at.text)}
	if at.text == "." || at.outside && filenames.KernelFolder(at.text) != "" || r.own(at) != "" {
		return Rule{}, false
	}
	if at.outside || path.IsAbs(at.text) || delicateName(at.text, r.Class) != "" {
		return file, true
	}
	folder := path.Dir(at.text)
	files := map[string]bool{at.text: true}
	for _, h := range history {
		if h.Tool != r.Tool {
			continue
		}
		for _, p := range h.Paths {
			if before := r.locate(r.Workspace, p); !before.outside && path.Dir(before.text) == folder {
				files[before.text] = true
			}
		}
	}
	if len(files) < folderAt {
		return file, true
	}
	return Rule{Tool: r.Tool, Pattern: path.Join(filenames.Escape(folder), "*")}, true
}
