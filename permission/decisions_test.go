package permission_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pawl/internal/golden"
	"pawl/permission"
	"pawl/run"
)

// What a person reads of each command of the corpora: what becomes of it without rules, why, what
// kind of call it is, and the rules that are offered to them for always.
func TestWhatAPersonReadsOfEachCommand(t *testing.T) {
	t.Parallel()
	_, commands := attacks(t)
	for _, line := range lines(t, "edges.txt") {
		commands = append(commands, strings.ReplaceAll(line, "<LF>", "\n"))
	}
	for _, line := range lines(t, "evasions.txt") {
		_, command, _ := strings.Cut(line, "\t")
		commands = append(commands, command)
	}
	var b strings.Builder
	for _, command := range slices.Concat(everyday(t), commands) {
		c := permission.Classify(command)
		d := ask(nil, command, "/work")
		fmt.Fprintf(&b, "%s\n\t%s, %s: %s\n", strings.ReplaceAll(command, "\n", "\n\t| "), d.Verdict, c.Class, d.Reason)
		if d.Verdict == permission.Allow {
			continue
		}
		p := permission.Rules(nil).Propose(permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: c.Class}, permission.Default, nil)
		switch {
		case len(p.Rules) == 0:
			fmt.Fprintf(&b, "\tnever: %s\n", p.Reason)
		case p.Exact:
			fmt.Fprintf(&b, "\tonly: %s\n", strings.Join(texts(p.Rules), ", "))
		default:
			fmt.Fprintf(&b, "\talways: %s\n", strings.Join(texts(p.Rules), ", "))
		}
	}
	golden.Compare(t, "decisions.golden", []byte(b.String()))
}

// What becomes of a call in each mode, by the sandbox that there is and the one that it asks for.
func TestWhatTheSandboxMeansInEachMode(t *testing.T) {
	t.Parallel()
	allowed := rules(t, permission.Allow, "make *")
	wide := rules(t, permission.Allow, "make *")
	wide[0].Sandbox = run.Unconfined
	var b strings.Builder
	for _, mode := range []permission.Mode{permission.Plan, permission.Default, permission.AcceptEdits, permission.Bypass} {
		for _, sandbox := range []string{"none", "one", "one that enforces reading"} {
			for _, wanted := range []run.Confinement{run.Confined, run.ReadOnly, run.WithNetwork, run.Unconfined, "deep"} {
				for _, command := range []string{"ls", "git status", "make", "make && ls", "mkdir a", "rm a", "frob", "echo $x", "cat /etc/hosts", "ls > a"} {
					r := permission.Request{Tool: "shell", Command: command, Workspace: "/work", Class: permission.Classify(command).Class, Sandbox: wanted,
						Sandboxed: sandbox != "none", EnforcesReadOnly: strings.Contains(sandbox, "enforces"), Root: command == "frob"}
					fmt.Fprintf(&b, "%s, sandbox %s, asks for %q: %s:", mode, sandbox, wanted, command)
					var last string
					for i, rs := range []permission.Rules{nil, allowed, wide} {
						if i > 0 && !strings.HasPrefix(command, "make") {
							break
						}
						d := rs.Decide(r, mode)
						text := fmt.Sprintf(" %s in %q, %s: %s", d.Verdict, d.Sandbox, d.Source, d.Reason)
						if text != last {
							fmt.Fprintf(&b, "%s;", text)
						}
						last = text
					}
					b.WriteByte('\n')
				}
			}
		}
	}
	golden.Compare(t, "sandboxes.golden", []byte(b.String()))
}

func TestWhatIsAtAnAddressIsSaid(t *testing.T) {
	t.Parallel()
	for what, addresses := range map[string]string{
		"this machine":                      "127.0.0.1 127.255.255.255 0.0.0.0 :: ::1",
		"a private network":                 "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 fc00:: fdff::1 fec0::1 feff::1",
		"a provider's own network":          "100.64.0.0 100.127.255.255",
		"the local link":                    "169.254.0.0 169.254.255.255 fe80::1 febf::1 fe80::1%eth0 2600::1%eth0",
		"reserved":                          "192.0.0.0 192.0.0.255 240.0.0.0 255.255.255.255",
		"for documentation":                 "192.0.2.1 198.51.100.1 203.0.113.255 2001:db8::1 3fff::1 3fff:fff::1",
		"a relay to IPv6":                   "192.88.99.1",
		"for measuring networks":            "198.18.0.0 198.19.255.255",
		"a group of machines":               "224.0.0.1 239.255.255.255 ff02::1",
		"nowhere":                           "100::1",
		"for protocols, tunnels among them": "2001::1 2001:1ff::1",
		"for routing":                       "5f00::1",
		"a private relay to IPv4":           "64:ff9b:1::1",
		"": "8.8.8.8 9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 100.63.255.255 100.128.0.0 223.255.255.255 " +
			"198.17.255.255 198.20.0.0 2600::1 2001:200::1 2001:db9::1 4000::1 64:ff9b::808:808 2002:808:808::1 ::ffff:8.8.8.8",
	} {
		for _, address := range strings.Fields(addresses) {
			v, why := permission.AddressVerdict(netip.MustParseAddr(address))
			if why != what || (v == permission.Allow) != (what == "") {
				t.Errorf("%s is %s: %q, want %q", address, v, why, what)
			}
		}
	}
}
