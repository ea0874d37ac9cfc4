package permission

import (
	"slices"
	"strings"

	"pawl/permission/network"
	"pawl/run"
)

// sandbox judges what the call asks of the sandbox: beyond all of it, an allow
// rule with that level must cover every part. Without a sandbox the same holds: a
// command that says it needs the network is a question either way.
func (t *evaluation) sandbox() {
	wanted := t.r.Sandbox
	if wanted == run.Confined || wanted == run.ReadOnly {
		return
	}
	text := "all but the network closed"
	switch wanted {
	case run.WithNetwork:
		text = "the network"
	case run.Unconfined:
		text = "no sandbox"
	}
	rule := "with sandbox \"" + string(wanted) + "\" covers every part of it"
	if hosts := wanted.Hosts(); hosts != nil {
		text = "the network, limited to " + network.Limit(hosts)
		rule = "opens that for all of it"
	}
	switch {
	case t.m == Bypass && t.r.Root && wanted == run.Unconfined:
		t.add(kindSandbox, text, atMode, byMode(Ask, t.m, "as root it lets no command out of the sandbox, because it would have access to the whole machine"))
	case t.m == Bypass:
	case t.m == Plan:
		t.add(kindSandbox, text, atMode, byMode(Deny, t.m, "only reading is allowed, in the sandbox"))
	case level(wanted) > level(run.Unconfined):
		t.add(kindSandbox, string(wanted), atDeny, builtIn("there is no such sandbox: "+string(wanted)))
	case wanted.Hosts() != nil && !t.r.ByHost:
		t.add(kindSandbox, text, atDefault, byDefault(Ask, "it asks for "+text+", and no sandbox here bounds the network by host"))
	case !lifts(t.withNetwork(t.granted()), wanted):
		t.add(kindSandbox, text, atDefault, byDefault(Ask, "it asks for "+text+", and no rule "+rule))
	}
}

// confineReading decides how a command runs that is allowed, or some of it, because
// it is classified as reading. The classification only saves a question: the
// read-only sandbox keeps the promise. So it runs there, or asks where there is no
// such sandbox. In one command with something that a rule or the mode allows, which
// needs a writable workspace, only programs that obey no file of the workspace may
// read.
func (t *evaluation) confineReading() {
	if t.m == Bypass {
		return
	}
	allowed := false // by a rule or by mode accept-edits
	for _, p := range t.parts {
		if p.Verdict != Allow {
			return
		}
		allowed = allowed || p.at == atAllow || p.at == atEdits
	}
	t.readOnly = t.m == Plan || !allowed
	switch {
	case t.m == Plan && !t.r.EnforcesReadOnly:
		t.add(kindSandbox, "", atMode, byMode(Deny, t.m, "only reading is allowed, and no sandbox here keeps a command to it"))
	case !t.r.EnforcesReadOnly:
		t.readOnly = false
		if len(t.classified) > 0 && !t.r.ReadsUnconfined {
			t.add(kindSandbox, "", atDefault, byDefault(Ask, quote(t.classified[0].text)+" is classified as reading, and no sandbox here keeps it to that"))
		}
	case !t.readOnly:
		for _, p := range t.classified {
			if is(p.program(), obeysFiles) {
				t.add(kindSandbox, "", atDefault, byDefault(Ask, quote(p.text)+" is classified as reading and would run with the workspace writable; "+
					"it runs without a question in a call of its own"))
				t.isBounded(true)
			}
		}
	}
}

// level orders how much of the sandbox is lifted. What is no level is more than
// any.
func level(c run.Confinement) int {
	switch c {
	case run.ReadOnly, run.Trial, run.Inside:
		return -1
	case run.Confined:
		return 0
	case run.WithNetwork:
		return 2
	case run.Unconfined:
		return 3
	}
	if c.Hosts() != nil {
		return 1
	}
	return 4
}

// lesser returns the one of two that lifts less; of two that name hosts, what they have in common.
func lesser(a, b run.Confinement) run.Confinement {
	if a.Hosts() != nil && b.Hosts() != nil {
		return common(a, b)
	}
	if level(a) <= level(b) {
		return a
	}
	return b
}

// idles reports whether p opens nothing: then it is granted what the others are.
func idles(p *simpleCommand, l *commandInfo) bool {
	name := p.program()
	if p.transparent {
		return true
	}
	if !is(name, isIdler) || !l.reads || len(l.paths) > 0 && name != "cd" {
		return false
	}
	// grep -r reads the folder it is in.
	return !strings.HasSuffix(name, "grep") || !slices.ContainsFunc(p.words[1:], func(w word) bool { return strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "rRd") })
}
