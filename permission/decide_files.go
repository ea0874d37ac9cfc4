package permission

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"pawl/permission/filenames"
	"pawl/run"
)

// writeTools are the tools whose rules speak of changing files, readTools of looking at
// them, wherever a call does so.
var (
	writeTools = []string{"write", "edit"}
	readTools  = []string{"read"}
)

// files judges a call that is no shell command: each of its paths, as given and
// where it leads.
func (t *evaluation) files() {
	r := t.r
	if len(r.Paths)+len(r.Resolved) == 0 {
		if r.URL == "" {
			t.bare()
		}
		return
	}
	seen := map[string]bool{}
	judge := func(base, given string) {
		p := r.locate(base, given)
		if seen[p.text] {
			return
		}
		seen[p.text] = true
		at, d := t.file(given, p)
		t.add(kindPath, given, at, d)
	}
	for _, p := range r.Paths {
		judge(r.Dir, p)
	}
	for _, p := range r.Resolved {
		judge(r.Workspace, p)
	}
	t.outside()
}

// outside asks about a path that leads nobody knows where.
func (t *evaluation) outside() {
	if t.r.Outside && t.m != Bypass {
		t.add(kindPath, "", atDefault, byDefault(Ask, "a path leads outside the workspace"))
	}
}

// MemoryTool is the tool that notes facts for later runs. What it notes is before every one of them, and may
// be what a repository wants: it runs in no mode without a rule of the person's own or their answer, and a run
// that another run has started, of which the person sees little, needs the rule.
const MemoryTool = "memory"

// bare judges a call that touches no file: by its tool's name alone.
func (t *evaluation) bare() {
	r := t.r
	decide := func() (stage, Decision) {
		covered := func(rules []Rule) (Rule, bool) {
			return firstRule(rules, func(rule Rule) bool { return rule.covers(r.Arguments) })
		}
		if rule, ok := covered(t.deny); ok {
			return atDeny, by(rule, "denied: "+rule.calls())
		}
		switch {
		case t.m == Plan && r.Class == run.Writes:
			return atMode, byMode(Deny, t.m, "only reading is allowed")
		case t.m == Bypass && r.Tool != MemoryTool:
			return atMode, byMode(Allow, t.m, "everything that is not denied runs")
		}
		if rule, ok := covered(t.ask); ok {
			return atAsk, by(rule, "a rule asks: "+rule.calls())
		}
		if rule, ok := covered(t.allow); ok {
			return atAllow, by(rule, rule.calls()+" is allowed")
		}
		switch {
		case r.Tool == MemoryTool && r.Child:
			return atDefault, byDefault(Deny, "a sub-agent notes nothing for later runs unless a rule allows it ("+MemoryTool+"): say it in the result instead")
		case r.Tool == MemoryTool:
			return atDefault, byDefault(Ask, "it is told to every later run in this workspace")
		}
		return atDefault, t.toolDefault(r.Tool)
	}
	at, d := decide()
	t.add(kindCall, r.Tool, at, d)
	t.outside()
}

func bareRule(rules []Rule) (Rule, bool) {
	return firstRule(rules, func(r Rule) bool { return r.Pattern == "" })
}

// firstRule returns the first of rules that matches.
func firstRule(rules []Rule, matches func(Rule) bool) (Rule, bool) {
	if i := slices.IndexFunc(rules, matches); i >= 0 {
		return rules[i], true
	}
	return Rule{}, false
}

// toolDefault is what a tool would have for what no rule speaks of.
func (t *evaluation) toolDefault(what string) Decision {
	switch t.r.Class {
	case run.Reads:
		return byDefault(Allow, "it reads, in the workspace")
	case run.Resumable:
		return byDefault(Allow, "it changes nothing by itself")
	}
	return byDefault(Ask, "no rule covers "+what)
}

// file judges one path of a call.
func (t *evaluation) file(given string, p location) (stage, Decision) {
	r := t.r
	if why := filenames.Unusable(given); why != "" {
		return atDeny, builtIn(why)
	}
	if folder := r.own(p); folder != "" && r.Class == run.Writes {
		return atDeny, builtIn(given + " belongs to pawl itself (" + folder + "): nothing writes there")
	}
	if rule, ok := finds(t.deny, p); ok {
		return atDeny, by(rule, "denied: "+given)
	}
	if r.Tool == "search" {
		if rule, ok := ruledBelow(t.deny, p); ok {
			return atDefault, byDefault(Ask, "it may read files below "+given+" that a rule denies: "+rule.String())
		}
	}
	switch {
	case t.m == Plan && r.Class == run.Writes:
		return atMode, byMode(Deny, t.m, "only reading is allowed")
	case t.m == Bypass:
		return atMode, byMode(Allow, t.m, "everything that is not denied runs")
	}
	if rule, ok := finds(t.ask, p); ok {
		return atAsk, by(rule, "a rule asks: "+given)
	}
	if rule, ok := ruledBelow(t.ask, p); ok && r.Tool == "search" {
		return atAsk, by(rule, "a rule asks: it may read files below "+given)
	}
	delicate := delicateName(p.text, r.Class)
	if delicate == "" && r.Class == run.Writes && r.obeyed(p) {
		delicate = path.Base(p.text)
	}
	if t.m == AcceptEdits && r.Edits && delicate == "" && !p.outside && r.own(p) == "" {
		return atEdits, byMode(Allow, t.m, "an edit in the workspace")
	}
	if rule, ok := covers(t.allow, p, delicate); ok {
		return atAllow, by(rule, "it covers "+given)
	}
	switch {
	case r.own(p) != "":
		return atDefault, byDefault(Ask, given+" belongs to pawl itself")
	case p.outside && filenames.KernelFolder(p.text) != "":
		return atDefault, byDefault(Deny, given+" is in "+filenames.KernelFolder(p.text)+", which holds devices and the kernel's own files")
	case p.outside:
		return atDefault, byDefault(Ask, given+" is outside the workspace")
	case delicate != "":
		return atDefault, byDefault(Ask, delicate+" may hold secrets or decide what runs later; no rule names it")
	}
	return atDefault, t.toolDefault(strings.TrimSpace(r.Tool + " " + given))
}

// obeyed reports whether a program outside obeys what is at a location.
func (r *Request) obeyed(p location) bool {
	return slices.ContainsFunc(r.Obeyed, func(o string) bool { return r.locate(r.Workspace, o).text == p.text })
}

// finds returns the first deny or ask rule that speaks of a path.
func finds(rules []Rule, p location) (Rule, bool) {
	return firstRule(rules, func(r Rule) bool { return p.matches(r) })
}

// ruledBelow returns the first deny or ask rule that may speak of a file below p, unless
// it names only what a search passes over.
func ruledBelow(rules []Rule, p location) (Rule, bool) {
	return firstRule(rules, func(r Rule) bool {
		pattern := filenames.Fold(strings.TrimPrefix(r.Pattern, "./"))
		return r.Pattern != "" && filenames.Secret(path.Base(pattern)) == "" && p.mayHold(r.Pattern)
	})
}

// covers returns the first allow rule that covers a path. What is delicate a rule
// has to name, and what is outside it has to name from the root.
func covers(rules []Rule, p location, delicate string) (Rule, bool) {
	return firstRule(rules, func(r Rule) bool { // a rule without a pattern is not absolute
		return (!p.outside || path.IsAbs(r.Pattern)) && r.matchesPath(p.text, false) && (delicate == "" || r.spellsName(delicate))
	})
}

// delicateName returns the name in a path that no wildcard covers: that of a
// secret, or, for what may change it, of what decides what runs later.
func delicateName(p string, class run.Class) string {
	if name := filenames.Secret(p); name != "" || class == run.Reads {
		return name
	}
	return obeyedName(p)
}

// obeyedName returns the name in the path of a file that is written which decides what runs
// later, or is that of a folder of programs.
func obeyedName(p string) string {
	return cmp.Or(filenames.Protected(p), filenames.ProgramFolder(p))
}

// fileRules returns the rules of an effect that speak of files: of all that
// change them if writes is set, else of those that look at them.
func (t *evaluation) fileRules(effect Verdict, writes bool) []Rule {
	tools := readTools
	if writes {
		tools = writeTools
	}
	var some []Rule
	for _, tool := range tools {
		some = append(some, t.rules.of(effect, tool)...)
	}
	return some
}

// rulesForFiles returns the rules of an effect for what looks at files and, if changes is set, for what
// changes them.
func (t *evaluation) rulesForFiles(effect Verdict, changes bool) []Rule {
	rules := t.fileRules(effect, false)
	if changes {
		rules = append(rules, t.fileRules(effect, true)...)
	}
	return rules
}
