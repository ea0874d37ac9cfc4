package permission

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"pawl/permission/bash"
	"pawl/permission/filenames"
	"pawl/run"
)

// shell judges a shell command: what it is made of, each redirection, each simple
// command, and how much of the sandbox it asks for.
func (t *evaluation) shell() {
	s := read(t.r.Command)
	if len(s.faults) > 0 {
		t.add(kindForm, t.r.Command, atDeny, builtIn("not a command: "+s.faults[0]))
		return
	}
	if rule, ok := bareRule(t.deny); ok {
		t.add(kindForm, "", atDeny, by(rule, "every command"))
	}
	for _, rule := range t.deny {
		if words := rule.split(); len(words) == 1 && words[0] == strings.TrimSpace(t.r.Command) {
			t.add(kindForm, "", atDeny, by(rule, "denied: exactly this command"))
		}
	}
	t.forms(s)
	for _, rd := range s.redirects {
		t.redirect(rd, s)
	}
	t.mayMakeRepository = t.m == Bypass && mayMakeRepository(s)
	for _, p := range s.parts {
		t.command(p)
	}
	t.resolved(s)
	if t.r.URL != "" {
		t.web()
	}
	t.sandbox()
	t.confineReading()
	t.exactly(s)
	t.contain(s)
	if !t.readOnly || t.r.ReadsUnconfined {
		t.below(s.class() != run.Reads)
	}
}

// below judges the files that the command reads with the folders they are in.
func (t *evaluation) below(writes bool) {
	for _, p := range t.r.Below {
		if stage, d := t.led(t.r.locate(t.r.Workspace, p), writes, false); d.Verdict != Allow || stage == atAllow {
			t.add(kindPath, p, stage, d)
		}
	}
}

// forms judges what no rule can cover: what cannot be known before it runs.
func (t *evaluation) forms(s *script) {
	if t.m == Bypass {
		if len(s.parts)+len(s.redirects) == 0 {
			t.add(kindForm, "", atMode, byMode(Allow, t.m, "it contains no command"))
		}
		// With rules that deny, what cannot be known might be what they deny.
		if rule, ok := t.anyDeny(); ok && len(s.unknown) > 0 {
			t.add(kindForm, "", atDefault, byDefault(Ask, "the rule "+rule.String()+" might deny it: "+s.unknown[0]))
		}
		return
	}
	if rule, ok := bareRule(t.ask); ok {
		t.add(kindForm, "", atAsk, by(rule, "every command"))
	}
	if t.m == Plan && len(s.unknown) > 0 {
		t.add(kindForm, "", atMode, byMode(Deny, t.m, "only reading is allowed, and this may do more: "+s.unknown[0]))
		return
	}
	for _, what := range s.unknown {
		t.add(kindForm, "", atDefault, byDefault(Ask, "cannot check this command: "+what))
		t.isBounded(true)
	}
	for _, what := range s.unsure {
		t.add(kindForm, "", atDefault, byDefault(Ask, "it has "+what+", which no rule covers"))
		t.isBounded(what != invisible)
	}
	if !t.r.Sandboxed {
		for _, what := range s.grouped {
			t.add(kindForm, "", atDefault, byDefault(Ask, "it has "+what+", which asks where there is no sandbox"))
		}
	}
	if len(s.parts) == 0 && len(s.redirects) == 0 {
		t.add(kindForm, "", atDefault, byDefault(Ask, "it contains no command"))
	}
}

// anyDeny returns a rule that denies something a command may do, if there is one.
func (t *evaluation) anyDeny() (Rule, bool) {
	for _, rules := range [][]Rule{t.deny, t.fileRules(Deny, false), t.fileRules(Deny, true)} {
		if len(rules) > 0 {
			return rules[0], true
		}
	}
	return Rule{}, false
}

// mightDeny returns a deny rule that may speak of what a command's words stand for when
// it runs: of a word that is not known, or of files below a directory that it reads
// with everything in it.
func (t *evaluation) mightDeny(p *simpleCommand, l *commandInfo) (rule Rule, what string, ok bool) {
	ofProgram := func() (Rule, bool) {
		return firstRule(t.deny, func(r Rule) bool { return speaksOf([]Rule{r}, p) })
	}
	if p.isFed() && !l.textOnly {
		if rule, ok := ofProgram(); ok {
			return rule, "its input", true
		}
		if rules := t.rulesForFiles(Deny, true); len(rules) > 0 {
			return rules[0], "its input", true
		}
	}
	if p.readsNames() {
		if rule, ok := firstRule(t.rulesForFiles(Deny, true), func(r Rule) bool { return r.Pattern != "" }); ok {
			return rule, "the list of its files", true
		}
	}
	for _, w := range p.words[1:] {
		if w.kind == static || l.textOnly {
			continue
		}
		if rule, ok := ofProgram(); ok {
			return rule, quote(w.source), true
		}
		rules := t.rulesForFiles(Deny, !l.reads || w.mayBeOption()) // of a reader's files, rules for writing say nothing
		if len(rules) > 0 && !t.harmlessPattern(p, w, rules) {
			return rules[0], quote(w.source), true
		}
	}
	if rule, what, ok := t.goesBelow(p, l, Deny); ok {
		return rule, what, true
	}
	return t.embedded(p, l, t.rulesForFiles(Deny, true))
}

// goesBelow returns a rule of an effect that speaks of a file below a directory which p reads,
// changes or copies with everything in it.
func (t *evaluation) goesBelow(p *simpleCommand, l *commandInfo, effect Verdict) (rule Rule, what string, ok bool) {
	if files := t.rulesForFiles(effect, true); len(files) > 0 && !l.reads {
		words := p.words[1:]
		if p.actsHere() {
			words = append(slices.Clone(words), here)
		}
		for _, w := range words {
			name, value, isOption := strings.Cut(w.text, "=") // --target-directory=src
			if isOption = isOption && strings.HasPrefix(name, "-"); !isOption {
				value = w.text
			}
			if value == "" || !isOption && !p.goesThrough() {
				continue
			}
			for _, where := range p.places(value) {
				at := t.r.locate("", where)
				if rule, ok := firstRule(files, func(r Rule) bool {
					return r.Pattern != "" && (at.matches(r) || at.mayHold(r.Pattern))
				}); ok {
					return rule, quote(w.source), true
				}
			}
		}
	}
	if !p.recurses() && !p.greps() {
		return Rule{}, "", false
	}
	var paths []string
	for _, w := range l.paths {
		paths = append(paths, w.text)
	}
	if len(paths) == 0 || p.readsHere() {
		paths = append(paths, ".")
	}
	rules := t.fileRules(effect, false)
	if only := p.only(); only != nil {
		rules = slices.DeleteFunc(rules, func(r Rule) bool { // of a file that has none of these names
			name := filenames.Fold(path.Base(r.Pattern))
			return !strings.ContainsAny(name, "*?[") && !slices.ContainsFunc(only, func(o string) bool { ok, err := path.Match(filenames.Fold(o), name); return ok || err != nil })
		})
	}
	for _, name := range paths {
		for _, where := range p.places(name) {
			if rule, ok := ruledBelow(rules, t.r.locate("", where)); ok {
				return rule, "files below " + quote(name), true
			}
		}
	}
	return Rule{}, "", false
}

// goesThrough reports whether p, which has operands, changes or copies what is below the
// directories among them.
func (p *simpleCommand) goesThrough() bool {
	name := path.Base(p.program())
	if name == "git" {
		return len(p.words) > 1 && commandOf("git", p.words[1].text).is(goesThrough)
	}
	return is(name, goesThrough) || p.packs() || p.actsHere()
}

// packs reports whether p is a Python that puts folders into an archive or hands them out.
func (p *simpleCommand) packs() bool {
	if _, ok := interpreter(path.Base(p.program())); !ok {
		return false
	}
	return slices.ContainsFunc(p.words[1:], func(w word) bool { return has("zipfile tarfile zipapp http.server", strings.TrimPrefix(w.text, "-m")) })
}

// actsHere reports whether p, which changes or copies what is below directories, does so below
// the one it is in though that is not among its words.
func (p *simpleCommand) actsHere() bool {
	words := p.words[1:]
	first := ""
	if i := slices.IndexFunc(words, func(w word) bool { return !strings.HasPrefix(w.text, "-") }); i >= 0 {
		first = words[i].text
	}
	switch name := path.Base(p.program()); name {
	case "find":
		return startsHere(words)
	case "fd", "fdfind": // which of its words are folders is its own to know
		return true
	case "zip":
		return slices.ContainsFunc(words, func(w word) bool { letters, ok := shortOptions(w.text); return ok && strings.Contains(letters, "R") })
	case "7z", "7za":
		return len(words) < 3
	case "git":
		return has("clean stash", first)
	case "npm", "pnpm", "yarn", "cargo":
		return has("pack publish package", first)
	}
	return p.packs() && slices.ContainsFunc(words, func(w word) bool { return strings.HasSuffix(w.text, "http.server") })
}

// readsNames reports whether the names of files that p works on come from its input or from a file.
func (p *simpleCommand) readsNames() bool {
	name, words := path.Base(p.program()), p.words[1:]
	with, ok := wordsOf(name, listed)
	begins := func(mark string) bool {
		return slices.ContainsFunc(words, func(w word) bool { return strings.HasPrefix(w.text, mark) })
	}
	switch {
	case ok && (with == "" || hasOption(words, optionsOf(with))):
		return true
	case has("tar bsdtar", name): // "tar cTf names x": the first word needs no hyphen
		return len(words) > 0 && strings.Contains(words[0].text, "T") && bash.ConsistsOf(words[0].text, tarLetters)
	case has("7z 7za rar", name):
		return begins("@")
	}
	return name == "find" && begins("-files0")
}

// tarLetters are letters of options of tar that may stand in its first word without a hyphen.
const tarLetters = "cxtruvzjJpfkmhoTWOSwlUaIFP"

// harmlessPattern reports whether a word is a pattern of file names in a directory that
// none of rules speaks of.
func (t *evaluation) harmlessPattern(p *simpleCommand, w word, rules []Rule) bool {
	return w.kind == pattern && !slices.ContainsFunc(p.places(path.Dir(w.text)), func(dir string) bool {
		at := t.r.locate("", dir)
		return slices.ContainsFunc(rules, func(r Rule) bool { return r.Pattern == "" || at.mayHold(r.Pattern) })
	})
}

// redirect judges a redirection to or from a file as a write or a read of it.
func (t *evaluation) redirect(rd redirect, s *script) {
	at, d := t.redirected(rd, s)
	t.add(kindRedirect, rd.text, at, d)
	t.isBounded(d.Verdict == Ask && t.boundsRedirect(rd, at))
	t.level = run.Confined // it touches a file, and no rule for files lifts the sandbox
}

func (t *evaluation) redirected(rd redirect, s *script) (stage, Decision) {
	r := t.r
	var places []location
	for _, p := range rd.places {
		places = append(places, r.locate("", p))
	}
	for _, p := range places {
		if folder := r.own(p); folder != "" && rd.writes {
			return atDeny, builtIn(quote(rd.text) + " writes into what belongs to pawl itself (" + folder + ")")
		}
		if rule, ok := finds(t.redirectRules(rd), p); ok {
			return atDeny, by(rule, "denied: "+quote(rd.text))
		}
	}
	rules := t.redirectRules(rd)
	switch {
	case t.m == Plan && rd.writes:
		return atMode, byMode(Deny, t.m, "only reading is allowed, and "+quote(rd.text)+" writes")
	case len(rules) > 0 && len(places) == 0:
		return atDefault, byDefault(Ask, "the rule "+rules[0].String()+" might deny "+quote(rd.text)+", whose file is only known when it runs")
	case t.m == Bypass:
		return atMode, byMode(Allow, t.m, "everything that is not denied runs")
	}
	for _, p := range places {
		if rule, ok := finds(t.fileRules(Ask, rd.writes), p); ok {
			return atAsk, by(rule, "a rule asks: "+quote(rd.text))
		}
	}
	if len(places) == 0 {
		return atDefault, byDefault(Ask, "the file of "+quote(rd.text)+" is only known when it runs")
	}
	class, does, tool := run.Reads, "reads", "read"
	if rd.writes {
		class, does, tool = run.Writes, "writes", "write"
	}
	var maker *simpleCommand // it may put a link where the redirection writes
	if rd.writes && t.m == AcceptEdits {
		maker = t.makerOfLinks(rd.when, s)
	}
	last, at := byDefault(Allow, "it reads, in the workspace"), atDefault
	for _, p := range places {
		delicate := delicateName(p.text, class)
		ordinary := delicate == "" && !p.outside && r.own(p) == ""
		if rd.writes && ordinary && t.m == AcceptEdits && maker == nil {
			last, at = byMode(Allow, t.m, "it writes a file in the workspace"), atEdits
			continue
		}
		if rule, ok := covers(t.rules.of(Allow, tool), p, delicate); ok {
			last, at = by(rule, "it covers "+quote(rd.text)), atAllow
			t.byFileRule = t.byFileRule || rd.writes
			continue
		}
		switch {
		case filenames.HarmlessDevice(p.text) && !rd.writes:
		case r.own(p) != "":
			return atDefault, byDefault(Ask, "it "+does+" "+p.text+", which belongs to pawl itself")
		case p.outside:
			return atDefault, byDefault(Ask, "it "+does+" "+p.text+", outside the workspace")
		case delicate != "":
			return atDefault, byDefault(Ask, "it "+does+" "+p.text+", which may hold secrets or decide what runs later")
		case maker != nil:
			return atDefault, byDefault(Ask, quote(maker.text)+" may put a link where "+quote(rd.text)+" then writes; in a call of its own it is seen where that leads")
		case rd.writes:
			return atDefault, byDefault(Ask, "it writes "+quote(rd.text))
		}
	}
	return at, last
}

// makerOfLinks returns a part that may make links, or put other folders where one was, before a file is
// opened; nil if there is none.
func (t *evaluation) makerOfLinks(o opening, s *script) *simpleCommand {
	for i, p := range s.parts {
		if i >= o.prior && (i < o.own[0] || i >= o.own[1]) || p.speculative || !t.mayMakeLinks(p) {
			continue
		}
		around := o.within
		for around != nil && around != p {
			around = around.within
		}
		if around == nil {
			return p
		}
	}
	return nil
}

// mayMakeLinks reports whether p is not known to make no links.
func (t *evaluation) mayMakeLinks(p *simpleCommand) bool {
	l, name := p.info(), path.Base(p.program())
	switch {
	case t.mayRunOthers(p, l):
		return true
	case l.reads, setsSafely(p), wrapsAnother(p), has("go sed find", name): // what a wrapper runs is a part of its own
		return false
	case name == "git":
		command, _ := p.git()
		return !commandOf("git", command).is(makesNoLinks)
	case name == "cp": // a link that it is given is followed
		return slices.ContainsFunc(p.words[1:], func(w word) bool {
			letters, ok := shortOptions(w.text)
			return w.kind == dynamic || ok && !bash.ConsistsOf(letters, "finpuv") || strings.HasPrefix(w.text, "--")
		})
	}
	return !is(name, makesNoLinks)
}

// redirectRules returns the deny rules that may speak of a redirection.
func (t *evaluation) redirectRules(rd redirect) []Rule {
	rules := t.fileRules(Deny, rd.writes)
	if rd.reads && rd.writes {
		rules = append(rules, t.fileRules(Deny, false)...)
	}
	return rules
}

// command judges one simple command.
func (t *evaluation) command(p *simpleCommand) {
	l := &commandInfo{}
	if !p.speculative { // what a guess touches, its wrapper touches too
		l = p.info()
	}
	at, d, decided := t.ruled(p, l)
	if !decided {
		if p.speculative {
			return // the wrapper it is in is a part of its own
		}
		at, d = t.allowed(p, l)
	}
	if d.Verdict == Allow && at == atDefault && !idles(p, l) {
		t.classified = append(t.classified, p)
	}
	by, without := at, d // the ask rules
	if at == atAsk && d.Verdict == Ask && !p.speculative {
		by, without = t.allowed(p, l)
	}
	switch {
	case without.Verdict == Allow && t.m != Bypass:
		// By its own sandbox: what idles is granted more below, and lifts nothing.
		t.lifted = t.lifted || by == atAllow && without.Sandbox != run.Confined
		if without.Sandbox == run.Confined && idles(p, l) {
			without.Sandbox = run.Unconfined // it opens nothing and has nothing to gain
		}
		t.level = lesser(t.level, without.Sandbox)
		if at == by {
			d = without
		}
	case at == atAsk:
		t.level = run.Confined
	}
	t.add(kindCommand, p.text, at, d)
	t.isBounded(d.Verdict == Ask && !decided && !t.reachesOut(p, l))
}

// ruled applies what comes before allow rules.
func (t *evaluation) ruled(p *simpleCommand, l *commandInfo) (stage, Decision, bool) {
	r := t.r
	for _, w := range l.paths {
		for _, where := range p.places(w.text) {
			at := r.locate("", where)
			if len(r.Own) > 0 && !l.reads {
				if r.own(at) != "" {
					return atDeny, builtIn(quote(p.text) + " touches what belongs to pawl itself: " + where), true
				}
				if is(path.Base(p.program()), deletes) && r.holds(at) {
					return atDeny, builtIn(quote(p.text) + " deletes or moves everything below " + where + ", pawl's own files too"), true
				}
			}
			if rule, ok := finds(t.fileRules(Deny, false), at); ok {
				return atDeny, by(rule, "denied: "+where), true
			}
			if !l.reads {
				if rule, ok := findsPattern(t.fileRules(Deny, true), at); ok {
					return atDeny, by(rule, "denied: "+where), true
				}
			}
		}
	}
	if rule, ok := speaking(t.deny, p); ok {
		return atDeny, by(rule, "it names "+quote(p.text)), true
	}
	if t.m == Plan && !l.reads && !p.speculative && !p.transparent {
		return atMode, byMode(Deny, t.m, "only reading is allowed, and "+quote(p.text)+" may do more"), true
	}
	if rule, what, ok := t.mightDeny(p, l); ok && !p.speculative && !p.transparent {
		return atDefault, byDefault(Ask, "the rule "+rule.String()+" might deny "+quote(p.text)+": what "+what+" stands for is only known when it runs"), true
	}
	if rule, file, ok := t.showsRuled(p, t.fileRules(Deny, false)); ok && !p.speculative {
		return atDefault, byDefault(Ask, "the rule "+rule.String()+" might deny "+quote(p.text)+": it may show "+file+", which git keeps; -- PATH limits it to other files"), true
	}
	if rule, what, ok := t.mayRun(p, l, t.deny); ok {
		return atDefault, byDefault(Ask, "the rule "+rule.String()+" might deny "+quote(p.text)+": it may run "+what), true
	}
	if rule, ok := firstRule(t.deny, Rule.namesProgram); ok && p.runsItsInput() {
		return atDefault, byDefault(Ask, "the rule "+rule.String()+" might deny what "+quote(p.text)+" runs: it takes commands from its input"), true
	}
	if rule, ok := firstRule(t.deny, Rule.namesProgram); ok && t.m == Bypass && !p.speculative && !p.transparent && t.mayRunOthers(p, l) {
		if at, d := t.allowed(p, l); at == atAllow && d.Verdict == Allow {
			return at, d, true
		}
		return atDefault, byDefault(Ask, "the rule "+rule.String()+" might deny what "+quote(p.text)+" runs, which cannot be known; an allow rule that covers it lets it run"), true
	}
	if t.m == Bypass {
		return atMode, byMode(Allow, t.m, "everything that is not denied runs"), !p.speculative
	}
	if rule, ok := speaking(t.ask, p); ok {
		return atAsk, by(rule, "a rule asks: "+quote(p.text)), true
	}
	if rule, what, ok := t.mayRun(p, l, t.ask); ok {
		return atAsk, by(rule, "a rule asks: "+quote(p.text)+" may run "+what), true
	}
	if rule, ok := firstRule(t.ask, Rule.namesProgram); ok && p.runsItsInput() {
		return atAsk, by(rule, "a rule asks: "+quote(p.text)+" takes commands from its input"), true
	}
	for _, w := range l.paths {
		for _, where := range p.places(w.text) {
			if rule, ok := findsPattern(t.rulesForFiles(Ask, !l.reads), r.locate("", where)); ok {
				return atAsk, by(rule, "a rule asks: "+where), true
			}
		}
	}
	if p.speculative || p.transparent {
		return 0, Decision{}, false
	}
	if rule, what, ok := t.goesBelow(p, l, Ask); ok {
		return atAsk, by(rule, "a rule asks: "+quote(p.text)+" may take "+what), true
	}
	if rule, w, ok := t.inRevisions(p, t.rulesForFiles(Ask, !l.reads)); ok {
		return atAsk, by(rule, "a rule asks: "+quote(w.source)), true
	}
	if rule, file, ok := t.showsRuled(p, t.fileRules(Ask, false)); ok {
		return atAsk, by(rule, "a rule asks: "+quote(p.text)+" may show "+file), true
	}
	if p.isFed() && !l.textOnly || p.readsNames() {
		if rule, ok := firstRule(t.rulesForFiles(Ask, !l.reads), func(r Rule) bool { return r.Pattern != "" }); ok {
			return atAsk, by(rule, "a rule asks: the files of "+quote(p.text)+" come from its input"), true
		}
	}
	return 0, Decision{}, false
}

// findsPattern is finds for rules that name files: that every call of write is
// denied says nothing of a command which may be no writer.
func findsPattern(rules []Rule, p location) (Rule, bool) {
	return firstRule(rules, func(r Rule) bool { return r.Pattern != "" && p.matches(r) })
}

// speaking returns the first deny or ask rule that speaks of a simple command.
func speaking(rules []Rule, p *simpleCommand) (Rule, bool) {
	return firstRule(rules, func(r Rule) bool { return r.finds(p) })
}

// allowed judges what neither a deny or ask rule nor the mode decided: a part is
// allowed by a rule, by only reading, or asks.
func (t *evaluation) allowed(p *simpleCommand, l *commandInfo) (stage, Decision) {
	local := slices.Contains(t.r.LocalPrograms, p.program()) || p.within != nil && is(path.Base(p.within.program()), runsPackages)
	if p.transparent && !local {
		return atDefault, byDefault(Allow, "what it runs decides")
	}
	if rule, ok := t.spelled(p); ok && (rule.Sandbox == run.Confined || !is(path.Base(p.program()), asksGit) || !t.elsewhere(p)) {
		return t.ruledBy(rule, "it spells out "+quote(p.within.text))
	}
	for _, w := range p.words {
		if w.kind == dynamic && (t.r.Sandboxed || w.digits) && l.textOnly {
			continue // in the sandbox the value of a variable may be shown
		}
		if w.kind == dynamic || w.kind == pattern && (speaksOf(t.deny, p) || speaksOf(t.ask, p) || !l.reads && strings.ContainsAny(w.text[:1], "*?-")) {
			return atDefault, byDefault(Ask, "what "+quote(w.source)+" in "+quote(p.text)+" stands for is only known when it runs")
		}
	}
	if p.isFed() && !l.takesAny(p) {
		return atDefault, byDefault(Ask, "what the input adds to "+quote(p.text)+" is only known when it runs, and may be options")
	}
	needs, readRule := t.needs(p, l)
	asks := is(path.Base(p.program()), asksGit)
	elsewhere, runsGit := asks && t.elsewhere(p), asks && t.r.Runs != ""
	var best *Rule
	for i, rule := range t.allow {
		if !rule.matches(p) || rule.anything() && (needsName(p.program()) || local) {
			continue
		}
		if slices.ContainsFunc(needs, func(n need) bool { return !rule.spells(n.word) }) {
			continue
		}
		if elsewhere && (rule.Sandbox != run.Confined || runsGit) {
			continue
		}
		if best == nil || lesser(best.Sandbox, rule.Sandbox) == best.Sandbox {
			best = &t.allow[i]
		}
	}
	if best != nil {
		return t.ruledBy(*best, "it covers "+quote(p.text))
	}
	for _, n := range needs {
		return atDefault, byDefault(Ask, n.why)
	}
	switch {
	case l.reads && runsGit:
		return atDefault, byDefault(Ask, quote(p.text)+" looks, and the repository makes git run a program while it does: "+quote(t.r.Runs))
	case (l.reads || p.transparent) && local:
		return atDefault, byDefault(Ask, quote(p.program())+" may be a program of the workspace, and no rule names it")
	case l.reads && readRule != nil:
		return atAllow, by(*readRule, "it covers what "+quote(p.text)+" reads")
	case l.reads:
		return atDefault, byDefault(Allow, "it reads, in the workspace")
	}
	return atDefault, byDefault(Ask, "no rule covers "+quote(p.text))
}

// elsewhere reports whether a command may run in another folder than that of the workspace: git obeys
// what a folder brings there, and a rule that lifts the sandbox was made for the workspace.
func (t *evaluation) elsewhere(p *simpleCommand) bool {
	return len(p.dirs) == 0 || slices.ContainsFunc(p.dirs, func(dir string) bool { return t.r.locate("", dir).text != "." })
}

func (t *evaluation) ruledBy(rule Rule, reason string) (stage, Decision) {
	d := by(rule, reason)
	d.Sandbox = rule.Sandbox
	return atAllow, d
}

// spelled returns an allow rule that spells out a wrapper around p word by word,
// and with it what the wrapper runs.
func (t *evaluation) spelled(p *simpleCommand) (Rule, bool) {
	for outer := p.within; outer != nil; outer = outer.within {
		if is(path.Base(outer.program()), fed) {
			return Rule{}, false
		}
		if slices.ContainsFunc(outer.words, func(w word) bool { return w.kind != static }) {
			return Rule{}, false
		}
		for _, rule := range t.allow {
			if rule.Exact() && rule.matches(outer) {
				return rule, true
			}
		}
	}
	return Rule{}, false
}

// A need is a word that a rule has to spell out to cover a command, and why.
type need struct{ word, why string }

// needs returns the words of a command that no wildcard covers, and a rule for the
// tool read that covers one of its files which otherwise would be among them.
func (t *evaluation) needs(p *simpleCommand, l *commandInfo) (needs []need, readRule *Rule) {
	if !asksVersion(p) {
		for _, w := range p.unknown {
			needs = append(needs, need{w, fmt.Sprintf("%s may decide what %s runs; no rule names it", quote(w), quote(p.text))})
		}
	}
	for _, h := range l.hazards {
		needs = append(needs, need{h, fmt.Sprintf("%s in %s may run or write something; no rule names it", quote(h), quote(p.text))})
	}
	if dir := t.protectedDir(p); dir != "" && !l.reads {
		for _, w := range p.words[1:] {
			needs = append(needs, need{w.text, quote(p.text) + " runs in " + dir + ", which decides what runs later"})
		}
	}
	for _, w := range l.paths {
		for _, where := range p.places(w.text) {
			if filenames.HarmlessDevice(where) && l.reads {
				continue
			}
			at := t.r.locate("", where)
			delicate := filenames.SecretIn(at.text)
			if !at.outside && delicate == "" && t.r.own(at) == "" && (l.reads || !protected(w.text)) {
				continue
			}
			if l.reads {
				if rule, ok := covers(t.rules.of(Allow, "read"), at, delicate); ok {
					readRule = &rule
					continue
				}
			}
			word := p.wordWith(w)
			switch {
			case at.outside:
				needs = append(needs, need{word, quote(p.text) + " touches " + at.text + ", outside the workspace"})
			case delicate != "":
				needs = append(needs, need{word, quote(p.text) + " touches " + w.text + ", which may hold secrets"})
			case t.r.own(at) != "":
				needs = append(needs, need{word, quote(p.text) + " touches " + w.text + ", which belongs to pawl itself"})
			default:
				needs = append(needs, need{word, quote(p.text) + " touches " + w.text + ", which decides what runs later"})
			}
		}
	}
	return needs, readRule
}

// wordWith returns the word of p that a name of a file stands in, as a rule spells it: of an option the whole of it.
func (p *simpleCommand) wordWith(name word) string {
	if i := slices.IndexFunc(p.words, func(w word) bool { return w.source == name.source }); i >= 0 {
		return p.words[i].text
	}
	return name.text
}

// protectedDir returns a folder that a command runs in, and whose files decide what runs later.
func (t *evaluation) protectedDir(p *simpleCommand) string {
	for _, dir := range p.dirs {
		if at := t.r.locate("", dir); !at.outside && filenames.Protected(cmp.Or(at.further, at.text)) != "" {
			return at.text
		}
	}
	return ""
}

// protected reports whether a word is the name of a file that decides what runs
// later. What has blanks in it is more likely a text.
func protected(w string) bool {
	return !strings.ContainsAny(w, " \n") && filenames.Protected(w) != ""
}

// resolved judges where the files that a command names lead, beyond what their
// spelling says; what its patterns of names stand for, too.
func (t *evaluation) resolved(s *script) {
	r := t.r
	spelled := map[string]bool{}
	for _, p := range s.parts {
		if p.speculative {
			continue
		}
		for _, w := range p.info().paths {
			for _, where := range p.places(w.text) {
				spelled[r.locate("", where).text] = true
			}
		}
	}
	for _, rd := range s.redirects {
		for _, where := range rd.places {
			spelled[r.locate("", where).text] = true
		}
	}
	writes := s.class() != run.Reads
	judge := func(base, given string, links bool) {
		at := r.locate(base, given)
		if spelled[at.text] || filenames.HarmlessDevice(at.text) {
			return
		}
		spelled[at.text] = true
		if stage, d := t.led(at, writes, links); d.Verdict != Allow || stage == atAllow {
			t.add(kindPath, given, stage, d)
			t.isBounded(stage == atDefault && (filenames.Temporary(at.text) || !writes && filenames.OfTheSystem(at.text)))
		}
	}
	for _, p := range r.Paths {
		judge(r.Dir, p, false)
	}
	for _, p := range r.Resolved {
		judge(r.Workspace, p, true)
	}
	t.outside()
}

// led judges a file that stands in the command in no spelling a rule could name.
func (t *evaluation) led(at location, writes, links bool) (stage, Decision) {
	r := t.r
	if folder := r.own(at); folder != "" && writes {
		return atDeny, builtIn("it leads to " + at.text + ", which belongs to pawl itself (" + folder + ")")
	}
	if rule, ok := findsPattern(t.rulesForFiles(Deny, writes), at); ok {
		return atDeny, by(rule, "denied: it leads to "+at.text)
	}
	if t.m == Bypass {
		return atMode, byMode(Allow, t.m, "everything that is not denied runs")
	}
	if rule, ok := findsPattern(t.rulesForFiles(Ask, writes), at); ok {
		return atAsk, by(rule, "a rule asks: it leads to "+at.text)
	}
	delicate, obeyed := filenames.SecretIn(at.text), ""
	if writes && links {
		obeyed = obeyedName(cmp.Or(at.further, at.text))
	}
	unruled := writes && links && t.byFileRule // by one that covers where the link stands
	if delicate == "" && obeyed == "" && !unruled && !at.outside && r.own(at) == "" {
		return atDefault, byDefault(Allow, "it is in the workspace")
	}
	tool := "read"
	if writes {
		tool = "write"
	}
	if rule, ok := covers(t.rules.of(Allow, tool), at, cmp.Or(delicate, obeyed)); ok && (!writes || !at.outside && r.own(at) == "") {
		return atAllow, by(rule, "it covers "+at.text)
	}
	switch {
	case delicate != "":
		return atDefault, byDefault(Ask, "it touches "+at.text+", which may hold secrets")
	case obeyed != "":
		return atDefault, byDefault(Ask, "a link leads to "+at.text+", which decides what runs later")
	case unruled && !at.outside && r.own(at) == "":
		return atDefault, byDefault(Ask, "a link leads to "+at.text+", which no rule covers")
	case links:
		return atDefault, byDefault(Ask, "a link leads to "+at.text+", outside the workspace")
	}
	return atDefault, byDefault(Ask, "it touches "+at.text+", outside the workspace")
}

// speaksOf reports whether one of rules may speak of p's program: then a pattern
// of names might hide what the rule says.
func speaksOf(rules []Rule, p *simpleCommand) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool {
		return r.anything() || strings.EqualFold(path.Base(r.split()[0]), path.Base(p.program()))
	})
}

// places returns where a file may be, relative to where the command starts.
func (p *simpleCommand) places(name string) []string {
	if address, ok := strings.CutPrefix(name, "file://"); ok {
		host, rest, _ := strings.Cut(address, "/")
		takes := has("git curl", path.Base(p.program())) // they ignore the host, and decode the path
		if takes || host == "" {
			name = "/" + rest
		}
		if decoded, err := url.PathUnescape(name); err == nil && takes {
			name = decoded
		}
	}
	if len(p.dirs) == 0 && !strings.HasPrefix(name, "/") {
		return []string{"/unknown/" + name} // outside
	}
	if p.folder == "" || path.IsAbs(name) {
		return joinAll(p.dirs, name)
	}
	var places []string
	for _, dir := range joinAll(p.dirs, p.folder) {
		places = append(places, dir+"/"+name)
	}
	if name == p.folder { // the word of -C itself
		places = append(places, joinAll(p.dirs, name)...)
	}
	return places
}
