package permission

import (
	"strings"

	"pawl/run"
)

// sandbox judges what the call asks of the sandbox: beyond all of it, an allow
// rule with that level must cover every part. Without a sandbox the same holds: a
// command that says it needs the network is a question either way.
func (t *trial) sandbox() {
	wanted := t.r.Sandbox
	if wanted == run.Confined {
		return
	}
	text := "all but the network closed"
	switch wanted {
	case run.WithNetwork:
		text = "the network"
	case run.Unconfined:
		text = "no sandbox"
	}
	switch {
	case t.m == Bypass && t.r.Root && wanted == run.Unconfined:
		t.add(KindSandbox, text, atMode, byMode(Ask, t.m, "as root it lets no command out of the sandbox, for that would have the whole machine"))
	case t.m == Bypass:
	case t.m == Plan:
		t.add(KindSandbox, text, atMode, byMode(Deny, t.m, "plan mode: only reading is allowed, in the sandbox"))
	case level(wanted) > level(run.Unconfined):
		t.add(KindSandbox, string(wanted), atDeny, builtIn("there is no such sandbox: "+string(wanted)))
	case level(wanted) > level(t.granted()):
		t.add(KindSandbox, text, atDefault, byDefault(Ask, "it asks for "+text+", and no rule with sandbox \""+string(wanted)+"\" covers every part of it"))
	}
}

// level orders how much of the sandbox is lifted. What is no level is more than
// any.
func level(c run.Confinement) int {
	switch c {
	case run.Confined:
		return 0
	case run.WithNetwork:
		return 1
	case run.Unconfined:
		return 2
	}
	return 3
}

// lesser returns the one of two that lifts less.
func lesser(a, b run.Confinement) run.Confinement {
	if level(a) <= level(b) {
		return a
	}
	return b
}

// idlers are programs that, without the name of a file, do no more than pass text
// on or answer. One more of them in a pipeline is no reason to close the network
// for the rest: "npm install | tail".
var idlers = set("cd pwd true false : echo head tail wc tr cut cat nl tac rev fold column uniq sort grep egrep fgrep jq")

// idles reports whether p opens nothing: then it is granted what the others are.
func idles(p *part, l *look) bool {
	name := p.program()
	if p.through {
		return true
	}
	if !idlers[name] || !l.reads || len(l.paths) > 0 && name != "cd" {
		return false
	}
	for _, w := range p.words[1:] { // grep -r reads the folder it is in
		if strings.HasSuffix(name, "grep") && strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "rRd") {
			return false
		}
	}
	return true
}
