package permission

import (
	_ "embed"
	"path"
	"slices"
	"strings"

	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/permission/bash"
	"pawl/permission/filenames"
	"pawl/permission/network"
	"pawl/run"
)

//go:embed needs.txt
var needsText string

// needs are the names in needs.txt, by section.
var needs = lazy.Value(func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, section := range []string{"network", "outside", "deletes", "writes", "installs", "everywhere"} {
		all[section] = map[string]bool{}
		for _, name := range text.Section(needsText, section) {
			all[section][name] = true
		}
	}
	return all
})

// contain lets a command run that asks only because it is not known what it does, where the sandbox bounds
// whatever that is: in mode default at the level [run.Trial], in accept-edits at [run.Inside]. What asks stays
// a question if a rule or a name in the command says why, if the command is known to need what is not there, and
// if a rule that denies or asks might speak of what cannot be seen in it.
func (t *evaluation) contain(s *script) {
	level, at, reason := run.Trial, atDefault, "it runs where it can change nothing and reaches no network"
	if t.m == AcceptEdits {
		level, at, reason = run.Inside, atEdits, string(AcceptEdits)+" mode: it runs where it can change files of the workspace and nothing else"
	}
	// With the network, or some of it, nothing runs unasked: it is only said what it needs.
	if t.r.Contains && t.r.Sandbox == run.Unconfined && s.installsForAll() {
		t.sayNeeds(needsBoth, func(p Part) bool { return p.Kind != kindSandbox })
	}
	hosts := t.r.Sandbox.Hosts()
	networked := t.r.Sandbox == run.WithNetwork || hosts != nil
	if !t.r.Contains || t.r.Writes || t.m != Default && t.m != AcceptEdits || t.r.Sandbox != run.Confined && !networked {
		return
	}
	asks := false
	for _, p := range t.parts {
		if networked && p.Kind == kindSandbox {
			continue
		}
		// What a rule covers is to run as the rule has it; but a registry that it opens is for what has to be fetched.
		if p.Verdict == Deny || p.Verdict == Ask && !p.bounded ||
			p.at == atAllow && (t.m == Default || p.Sandbox != run.Confined) && !network.OfOneSet(p.Sandbox.Hosts()) {
			return
		}
		asks = asks || p.Verdict == Ask
	}
	if what := t.needsMore(s); asks && what != "" && (!networked || hosts != nil || what == needsNetwork) {
		if hosts != nil && what == needsNetwork {
			what += ", limited to " + network.Limit(hosts)
		}
		t.sayNeeds(what, func(p Part) bool { return !networked || p.Kind != kindSandbox })
		return
	}
	if !asks || networked || t.mayBeRuled(s) {
		return
	}
	t.contained, t.readOnly = level, level == run.Trial
	for i := range t.parts {
		if p := &t.parts[i]; p.Verdict == Ask {
			p.at, p.Decision = at, Decision{Verdict: Allow, Source: "sandbox", Reason: reason}
		}
	}
}

// exactly lets a command run that an allow rule spells out whole, as one quoted word: shell('for f in *; do fmt "$f"; done').
// Such a rule covers what the sandbox bounds, with the network that the rule opens, and nothing that names lead to; without such a
// sandbox, what is known to the last word: FOO=1 go test ./...
func (t *evaluation) exactly(s *script) {
	if !t.r.Contains && !t.isKnownWithAssignments(s) || t.m != Default && t.m != AcceptEdits {
		return
	}
	text := strings.TrimSpace(t.r.Command)
	rule, ok := firstRule(t.allow, func(r Rule) bool {
		words := r.split()
		return len(words) == 1 && words[0] == text && strings.ContainsAny(text, " \n") && r.Sandbox != run.Unconfined && lifts(r.Sandbox, t.r.Sandbox)
	})
	// Where a redirection writes may be somewhere else by then; only the sandbox bounds that. What network it asks for the rule opens.
	bounded := func(p Part) bool {
		return p.bounded && (t.r.Contains || p.Kind != kindRedirect) || t.r.Contains && p.Kind == kindSandbox && (t.r.ByHost || t.r.Sandbox.Hosts() == nil)
	}
	if !ok || slices.ContainsFunc(t.parts, func(p Part) bool { return p.Verdict == Deny || p.Verdict == Ask && !bounded(p) }) || t.mayBeRuled(s) {
		return
	}
	for i := range t.parts {
		if p := &t.parts[i]; p.Verdict == Ask {
			p.at, p.Decision = atAllow, by(rule, "it spells out the whole command")
			t.level, t.lifted = rule.Sandbox, rule.Sandbox != run.Confined
		}
	}
}

// isKnownWithAssignments reports whether nothing of a script is unknown but that programs are given variables, whose
// values stand in it and of which none is known to decide what runs. Rules for files that deny or ask are not enforced
// without a sandbox, so beside these it is not enough.
func (t *evaluation) isKnownWithAssignments(s *script) bool {
	return s.given > 0 && s.given == len(s.unknown) && len(s.unsure) == 0 && len(t.rulesForFiles(Deny, true))+len(t.rulesForFiles(Ask, true)) == 0 && !slices.ContainsFunc(s.parts, func(p *simpleCommand) bool {
		return p.isFed() || is(path.Base(p.program()), asksGit) && t.elsewhere(p) || slices.ContainsFunc(p.words, func(w word) bool { return w.kind != static })
	}) && !slices.ContainsFunc(s.redirects, func(rd redirect) bool { return len(rd.places) != 1 })
}

// StaysInside reports whether all that a call would be asked about, if there were no rules, is what it does to ordinary
// files of the workspace, or what the sandbox bounds: it names nothing outside, no secret, and changes nothing that
// decides what runs later.
func (r Request) StaysInside() bool {
	r.Contains = true
	t := Rules{}.evaluate(&r, AcceptEdits)
	return r.Sandbox == run.Confined && (r.Command == "" || r.Sandboxed) &&
		!slices.ContainsFunc(t.parts, func(p Part) bool { return p.Verdict != Allow && !p.bounded })
}

// RuleCouldAllow reports whether an ordinary rule could allow the call with all of the sandbox in place: one for all
// calls of its tool, which names neither a secret, nor what decides what runs later, nor anything outside; of a
// command, see [Request.StaysInside]. What is noted for later runs is never among it.
func (r Request) RuleCouldAllow() bool {
	if r.Command != "" || r.Tool == "shell" {
		return r.StaysInside()
	}
	return r.Tool != MemoryTool && Rules{{Effect: Allow, Tool: r.Tool}}.Decide(r, AcceptEdits).Verdict == Allow
}

// isBounded says of the part that was added last whether the sandbox bounds what it asks about.
func (t *evaluation) isBounded(is bool) { t.parts[len(t.parts)-1].bounded = is }

// reachesOut reports whether a word of p names what the sandbox does not give: a file outside, a secret, or, where
// the workspace can be written, what decides what runs later.
func (t *evaluation) reachesOut(p *simpleCommand, l *commandInfo) bool {
	if !l.reads && t.m == AcceptEdits && t.protectedDir(p) != "" {
		return true
	}
	// What is installed for everybody each command can read, and none that the sandbox bounds can change.
	reads := l.reads || !p.isIn("writes") && !is(path.Base(p.program()), deletes)
	return slices.ContainsFunc(l.paths, func(w word) bool {
		return slices.ContainsFunc(p.places(w.text), func(where string) bool {
			at := t.r.locate("", where)
			given := filenames.Temporary(at.text) || filenames.HarmlessDevice(at.text) || reads && filenames.OfTheSystem(at.text)
			return at.outside && !given && len(p.dirs) > 0 || filenames.SecretIn(at.text) != "" || t.r.own(at) != "" ||
				!l.reads && t.m == AcceptEdits && protected(w.text) && (p.isIn("writes") || is(path.Base(p.program()), deletes|makesNoLinks|runsNothing))
		})
	})
}

// boundsRedirect reports whether the sandbox bounds a redirection that asks at a stage.
func (t *evaluation) boundsRedirect(rd redirect, at stage) bool {
	if at != atDefault || len(t.redirectRules(rd))+len(t.fileRules(Ask, rd.writes)) > 0 {
		return false
	}
	return !slices.ContainsFunc(rd.places, func(where string) bool {
		place := t.r.locate("", where)
		switch {
		case filenames.Temporary(place.text):
			return false
		case rd.writes && t.m == Default:
			return !filenames.HarmlessDevice(place.text)
		}
		class := run.Reads
		if rd.writes {
			class = run.Writes
		}
		return place.outside && !filenames.HarmlessDevice(place.text) || delicateName(place.text, class) != "" || t.r.own(place) != ""
	}) && (len(rd.places) > 0 || t.m == AcceptEdits || !rd.writes)
}

// sayNeeds puts what a command needs before why parts of it ask.
func (t *evaluation) sayNeeds(what string, of func(Part) bool) {
	for i := range t.parts {
		if p := &t.parts[i]; p.Verdict == Ask && of(*p) {
			p.Reason = "it needs " + what + ": " + p.Reason
		}
	}
}

// mayBeRuled reports whether a rule that denies or asks might speak of what a command does and its words do not
// tell. Deny rules for files that the sandbox enforces are none of these.
func (t *evaluation) mayBeRuled(s *script) bool {
	files := t.rulesForFiles(Ask, true)
	for _, r := range t.rulesForFiles(Deny, true) {
		if t.m == AcceptEdits || r.Pattern == "" || strings.HasPrefix(r.Pattern, "..") || strings.Contains(strings.TrimSuffix(r.Pattern, "/**"), "**") {
			files = append(files, r)
		}
	}
	if len(t.deny)+len(t.ask)+len(files) == 0 {
		return false
	}
	return len(s.unknown)+len(s.unsure) > 0 || slices.ContainsFunc(s.parts, func(p *simpleCommand) bool {
		return !p.speculative && !p.transparent && (p.isFed() || t.mayRunOthers(p, p.info()) ||
			slices.ContainsFunc(p.words, func(w word) bool { return w.kind != static }))
	}) || slices.ContainsFunc(s.redirects, func(rd redirect) bool { return len(rd.places) == 0 })
}

// What a command is known to need, in the words of a question.
const (
	needsNetwork  = "the network"
	needsLoopback = "127.0.0.1 of the sandbox, where only commands of this workspace listen"
	needsOutside  = "what is outside of the sandbox"
	needsWriting  = "to write"
	needsBoth     = "the network, and to write where programs for all folders are, outside of the sandbox"
	needsDeleting = "to delete"
)

// NeedsNetwork reports whether a command is known to need the network, and not that of the sandbox itself.
func NeedsNetwork(command string) bool {
	return (&evaluation{r: &Request{}}).needsMore(read(command)) == needsNetwork
}

// InstallsForAll reports whether a command does nothing but fetch programs and install them for all folders, outside of
// what the sandbox lets it change. A variable in its own words may say another folder.
func InstallsForAll(command string) bool { return read(command).installsForAll() }

func (s *script) installsForAll() (installs bool) {
	for _, p := range s.parts {
		if p.speculative || idles(p, p.info()) {
			continue
		}
		if !p.installsForAll() {
			return false
		}
		installs = true
	}
	return installs && len(s.unknown)+len(s.unsure) == 0
}

func (p *simpleCommand) installsForAll() bool {
	saysWhere := has("npm pnpm", path.Base(p.program()))
	return p.isIn("installs") && p.isIn("everywhere") && !slices.ContainsFunc(p.words, func(w word) bool {
		return w.kind != static || saysWhere && (strings.HasPrefix(w.text, "--prefix") || w.text == "-C")
	})
}

// needsMore says what a command is known to need that it would not have; empty if nothing is known.
func (t *evaluation) needsMore(s *script) string {
	needed := map[string]bool{}
	for _, p := range s.parts {
		if p.speculative {
			continue
		}
		switch changes := p.changesRepository(); {
		case p.isIn("network") && p.staysOnLoopback():
			needed[needsLoopback] = !s.starts // else what it asks is likely its own
		case p.isIn("network"):
			needed[needsNetwork] = true
		case p.isIn("outside") && !p.signalsItsOwn():
			needed[needsOutside] = true
		case p.isIn("deletes"):
			needed[needsDeleting] = needed[needsDeleting] || !t.staysTemporary(p)
		case t.m == Default && (p.isIn("writes") && !t.staysTemporary(p) || changes), changes && !t.keepsWork(p, s):
			needed[needsWriting] = true
		}
	}
	for _, what := range []string{needsOutside, needsNetwork, needsDeleting, needsWriting, needsLoopback} {
		if needed[what] {
			return what
		}
	}
	return ""
}

// staysTemporary reports whether what p writes or deletes is in the temporary folder of the commands: all that it
// names, of a copy the last, of a build what -o names. Where the workspace can be written it has to be in no folder
// there, which may be a link.
func (t *evaluation) staysTemporary(p *simpleCommand) bool {
	name, operands, literal := path.Base(p.program()), []word{}, false
	for i, w := range p.words[1:] {
		if literal || !strings.HasPrefix(w.text, "-") || w.kind != static {
			operands = append(operands, w)
		}
		literal = literal || w.text == "--"
		if w.text == "-o" && i+2 < len(p.words) && !is(name, deletes) {
			operands = p.words[i+2 : i+3]
			break
		}
	}
	switch {
	case name == "cp" && len(operands) > 1:
		operands = operands[len(operands)-1:]
	case !has("rm mkdir touch chmod mv go cc gcc clang", name):
		return false
	}
	return len(operands) > 0 && len(p.dirs) > 0 && !slices.ContainsFunc(operands, func(w word) bool {
		return w.kind != static || slices.ContainsFunc(p.places(w.text), func(where string) bool {
			at := t.r.locate("", where)
			return !at.outside || at.above || !filenames.Temporary(at.text) || t.m != Default && (path.Dir(at.text) != "/tmp" || strings.HasSuffix(where, "/"))
		})
	})
}

// signalsItsOwn reports whether p is kill with jobs of the same command, or with what a variable holds, such as $!: what runs
// outside has another number there.
func (p *simpleCommand) signalsItsOwn() bool {
	return path.Base(p.program()) == "kill" && len(p.words) > 1 && !slices.ContainsFunc(p.words[1:], func(w word) bool {
		return w.kind == static && strings.Trim(w.text, "0123456789") == ""
	})
}

// staysOnLoopback reports whether the hosts that p names are this machine's loopback, and it names one.
func (p *simpleCommand) staysOnLoopback() bool {
	named := false
	for _, w := range p.words[1:] {
		text := w.text
		if w.kind == dynamic {
			text = strings.Trim(w.source, `"`)
		}
		_, rest, address := strings.Cut(text, "://")
		if !address {
			rest = text
		}
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			rest = rest[:i]
		}
		host, _ := network.CutPort(rest[strings.LastIndexByte(rest, '@')+1:])
		addr, _ := network.LooseAddr(strings.Trim(host, "[]"))
		switch {
		case has("http https", path.Base(p.program())) && bash.ConsistsOf(strings.TrimPrefix(rest, ":"), "0123456789") && strings.HasPrefix(rest, ":"):
			named = true // :3000/path
		case host == "localhost" || strings.HasSuffix(host, ".localhost") || addr.IsLoopback():
			named = true
		case address:
			return false
		}
	}
	return named
}

// isIn reports whether p is in a section of needs.txt.
func (p *simpleCommand) isIn(section string) bool {
	return !(section == "writes" && slices.ContainsFunc(p.words[1:], func(w word) bool {
		return has("--check --check-only --diff --dry-run -n --version --help --info --list", w.text)
	})) && !(section == "deletes" && p.showsWhatGitCleans()) && p.isListed(needs()[section])
}

// showsWhatGitCleans reports whether p is a git clean that only says what it would remove.
func (p *simpleCommand) showsWhatGitCleans() bool {
	command, rest := p.git()
	shows := false
	for _, w := range rest {
		letters, short := shortOptions(w.text)
		switch {
		case w.kind != static, strings.HasPrefix(w.text, "-") && w.text != "--dry-run" && !(short && bash.ConsistsOf(letters, "ndfxXq")):
			return false
		case w.text == "--dry-run", short && strings.Contains(letters, "n"):
			shows = true
		}
	}
	return shows && path.Base(p.program()) == "git" && command == "clean"
}

// isListed reports whether p is in a list such as those of needs.txt.
func (p *simpleCommand) isListed(list map[string]bool) bool {
	name, words := path.Base(p.program()), p.words[1:]
	if _, ok := interpreter(name); ok && len(words) > 1 && words[0].text == "-m" {
		name, words = words[1].text, words[2:]
	}
	if name == "git" {
		if command, rest := p.git(); command != "" {
			words = append([]word{{text: command}}, rest...)
		}
	}
	if list[name] {
		return true
	}
	operands, valued := 0, false // valued: the next word may be the value of an option
	for _, w := range words {
		isOption := strings.HasPrefix(w.text, "-") || name == "cargo" && strings.HasPrefix(w.text, "+")
		if !isOption {
			operands++
		}
		if (isOption || operands == 1) && list[name+"/"+w.text] {
			return true
		}
		if operands == 1 && (valued || has("run run-script", w.text)) {
			operands-- // npm --prefix web install, npm run build
		}
		valued = operands == 0 && strings.HasPrefix(w.text, "-") && !strings.Contains(w.text, "=")
	}
	return len(words) == 0 && list[name+"/"] // yarn
}

// changesRepository reports whether p is git, and no command of it that looks or changes files alone.
func (p *simpleCommand) changesRepository() bool {
	command, rest := p.git()
	patches := command == "apply" && !slices.ContainsFunc(rest, func(w word) bool { // a patch, and not what is staged
		return w.kind != static || hasAny(w.text, "--index", "--cached", "--3way", "--intent-to-add", "--build-fake-ancestor") || strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "3N")
	})
	return path.Base(p.program()) == "git" && !patches && !p.showsWhatGitCleans() && !p.info().reads && !commandOf("git", command).is(reads)
}

// namesWhatItMakes reports whether the files that p makes are among its words. What programs obey by themselves is taken
// away when the command ends; until then git would take it in, and the history keeps it.
func (t *evaluation) namesWhatItMakes(p *simpleCommand) bool {
	if p.info().reads {
		return true
	}
	if p.isFed() || slices.ContainsFunc(p.words, func(w word) bool { return w.kind != static }) {
		return false
	}
	switch path.Base(p.program()) {
	case "gzip", "gunzip", "bunzip2", "unxz", "xz", "bzip2", "zstd", "unzstd", "split", "csplit":
		return false
	case "mv":
		return true
	}
	return !t.mayMakeLinks(p)
}

// keepsWork reports whether a git command of a script adds to the repository and loses nothing of it or of the
// workspace, and nothing else in the script may run programs that are not known: the repository can be written then.
func (t *evaluation) keepsWork(p *simpleCommand, s *script) bool {
	command, rest := p.git()
	if slices.ContainsFunc(s.redirects, func(rd redirect) bool { return rd.writes && len(rd.places) != 1 }) || len(p.info().hazards) > 0 || p.isFed() || slices.ContainsFunc(s.unknown, func(what string) bool { return !strings.HasSuffix(what, bash.DocumentAsText) }) {
		return false
	}
	texts := false // among its words, such as those of messages
	for i, w := range p.words {
		if w.kind != static {
			if texts = true; i == 0 || !has("-m -am", p.words[i-1].text) {
				return false
			}
		}
	}
	if slices.ContainsFunc(s.parts, func(q *simpleCommand) bool {
		if q.speculative || q.transparent {
			return false
		}
		if path.Base(q.program()) == "git" {
			return t.r.Runs != "" || t.r.Hooks != "" && runsHooks(q, q.info()) || !q.info().reads && !q.changesRepository() // what these do is not known
		}
		return t.mayRunOthers(q, q.info()) || !t.namesWhatItMakes(q) || texts && (q.program() != "cat" || len(q.words) > 1)
	}) {
		return false
	}
	plain := !slices.ContainsFunc(rest, func(w word) bool { return strings.HasPrefix(w.text, "-") })
	switch command {
	case "add", "commit":
		return true
	case "branch":
		return plain
	case "tag":
		return !slices.ContainsFunc(rest, func(w word) bool { // nothing that moves or removes one that is there
			return strings.HasPrefix(w.text, "-") && !has("-a -m -am --annotate", w.text) && !strings.HasPrefix(w.text, "--message=")
		})
	case "checkout", "switch":
		return len(rest) == 2 && has("-b -c", rest[0].text) && !strings.HasPrefix(rest[1].text, "-")
	}
	return false
}
