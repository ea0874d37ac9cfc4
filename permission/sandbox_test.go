package permission_test

import (
	"slices"
	"testing"

	"pawl/permission"
	"pawl/run"
)

func TestNoMoreOfTheSandboxIsLiftedThanEveryPartIsGranted(t *testing.T) {
	t.Parallel()
	network, none := rules(t, permission.Allow, "npm install *", "curl *"), rules(t, permission.Allow, "make *", "npm ci *")
	for i := range network {
		network[i].Sandbox = run.WithNetwork
	}
	for i := range none {
		none[i].Sandbox = run.Unconfined
	}
	rs := slices.Concat(network, none, rules(t, permission.Allow, "go test *"))
	const a, k, d = permission.Allow, permission.Ask, permission.Deny
	for _, c := range []struct {
		command string
		asks    run.Confinement
		mode    permission.Mode
		want    permission.Verdict
		level   run.Confinement
	}{
		{"npm install x", "", permission.Default, a, "network"},
		{"npm install x", "network", permission.Default, a, "network"},
		{"npm install x", "none", permission.Default, k, "none"},
		{"make all", "", permission.Default, a, "none"},
		{"make all", "network", permission.Default, a, "network"},
		{"make all", "much", permission.Default, d, "much"},
		{"go test ./...", "", permission.Default, a, ""},
		{"go test ./...", "network", permission.Default, k, "network"},
		{"ls", "network", permission.Default, k, "network"},
		{"echo x", "none", permission.Default, k, "none"},
		{"npm install x && make all", "", permission.Default, a, "network"},
		{"npm install x && go test ./...", "", permission.Default, a, ""},
		{"npm install x && go test ./...", "network", permission.Default, k, "network"},
		{"npm install x && cat go.mod", "", permission.Default, a, ""},
		// A filter that opens nothing has nothing to gain.
		{"cd sub && npm install x 2>&1 | tail -20", "network", permission.Default, a, "network"},
		{"npm install x | grep -r y", "network", permission.Default, k, "network"},
		{"npm install x < f", "network", permission.Default, k, "network"},
		{"npm install x", "network", permission.Plan, d, "network"},
		{"ls", "network", permission.Plan, d, "network"},
		{"rm x", "none", permission.Bypass, a, "none"},
		// What idles is granted more, and by that lifts nothing.
		{"go test ./... | tail -3", "", permission.Default, a, ""},
		{"rm x", "", permission.Bypass, a, ""},
	} {
		r := permission.Request{Tool: "shell", Command: c.command, Workspace: "/work", Sandbox: c.asks, Sandboxed: true, EnforcesReadOnly: true}
		got := rs.Decide(r, c.mode)
		if got.Verdict != c.want || got.Sandbox != c.level {
			t.Errorf("%s asking %q in %s: %s in %q (%s), want %s in %q", c.command, c.asks, c.mode, got.Verdict, got.Sandbox, got.Reason, c.want, c.level)
		}
		if answer := got.Answer(); answer.Sandbox != got.Sandbox {
			t.Errorf("%s: the log keeps %q", c.command, answer.Sandbox)
		}
	}
}

func TestAlwaysProposesTheSandboxThatIsAskedFor(t *testing.T) {
	t.Parallel()
	r := permission.Request{Tool: "shell", Command: "go test ./... | tail", Workspace: "/work", Sandbox: run.WithNetwork, Sandboxed: true, EnforcesReadOnly: true}
	rs := rules(t, permission.Allow, "go test *")
	p := rs.Propose(r, permission.Default, nil)
	if len(p.Rules) != 1 || p.Rules[0].String() != "shell(go test ./...)" || !p.Exact || p.Rules[0].Sandbox != run.WithNetwork {
		t.Errorf("it proposes %+v", p)
	}
}

// Without a sandbox what depends on the values of variables asks.
func TestWithoutASandboxDefaultsAreStricter(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"echo $HOME", "(cd src && ls)", "{ ls; pwd; }", "echo \"on $(git branch --show-current)\"", "cat <<EOF\n$HOME\nEOF", "echo *"} {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work"}
		if d := permission.Rules(nil).Decide(r, permission.Default); d.Verdict != permission.Ask {
			t.Errorf("%q without a sandbox: %s (%s)", command, d.Verdict, d.Reason)
		}
		r.Sandboxed, r.EnforcesReadOnly = true, true
		if d := permission.Rules(nil).Decide(r, permission.Default); d.Verdict != permission.Allow {
			t.Errorf("%q in a sandbox: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
	for _, command := range []string{"echo $(make)", "cat $X", "$X", "(rm x)", "cat <(make)", "echo $(cat /etc/passwd)", "x=$(pwd)", "echo ${x@P}", "git show $(git rev-parse HEAD)"} {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true}
		if d := permission.Rules(nil).Decide(r, permission.Default); d.Verdict != permission.Ask {
			t.Errorf("%q in a sandbox: %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}

func TestARuleForWhatOpensNothingLiftsNothing(t *testing.T) {
	t.Parallel()
	rs := rules(t, permission.Allow, "echo *", "cd *", "cat", "shell")
	for _, command := range []string{"echo x", "echo ~/.ssh/*", "cd sub && echo *", "echo x | cat"} {
		r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true}
		if d := rs.Decide(r, permission.Default); d.Verdict != permission.Allow || d.Sandbox != run.Confined {
			t.Errorf("%s: %s in %q (%s)", command, d.Verdict, d.Sandbox, d.Reason)
		}
	}
}

func TestBypassLetsNoCommandOfRootsOutOfTheSandbox(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		root bool
		asks run.Confinement
		want permission.Verdict
	}{
		{false, run.Unconfined, permission.Allow}, {true, run.Unconfined, permission.Ask},
		{true, run.WithNetwork, permission.Allow}, {true, run.Confined, permission.Allow},
	} {
		r := permission.Request{Tool: "shell", Command: "make", Workspace: "/work", Sandboxed: true, EnforcesReadOnly: true, Sandbox: c.asks, Root: c.root}
		if d := permission.Rules(nil).Decide(r, permission.Bypass); d.Verdict != c.want {
			t.Errorf("root: %t, asking for %q: %s (%s)", c.root, c.asks, d.Verdict, d.Reason)
		}
	}
}
