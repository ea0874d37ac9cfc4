package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl/permission/network"
	"pawl/run"
)

// lifts reports whether what was granted of the sandbox is at least what is wanted.
func lifts(granted, wanted run.Confinement) bool {
	hosts := wanted.Hosts()
	if hosts == nil || level(granted) != level(wanted) {
		return level(granted) >= level(wanted)
	}
	return !slices.ContainsFunc(hosts, func(h string) bool { return !network.Covers(granted.Hosts(), h) })
}

// common returns the hosts that two lists have in common.
func common(a, b run.Confinement) run.Confinement {
	var both []string
	for _, lists := range [][2][]string{{a.Hosts(), b.Hosts()}, {b.Hosts(), a.Hosts()}} {
		for _, h := range lists[0] {
			if network.Covers(lists[1], h) {
				both = append(both, h)
			}
		}
	}
	return run.ToHosts(both...)
}

// HostsOf returns the hosts that a command is known to ask when it needs the network or may fetch packages: those of the
// set of its program, and those in addresses among its words. nil: they are not known, or it needs others too.
func HostsOf(command string) []string {
	var hosts []string
	for _, p := range read(command).parts {
		if p.speculative {
			continue
		}
		needs := p.isIn("network")
		if needs && p.staysOnLoopback() {
			continue
		}
		set, known := setOf(p)
		if !needs && !known {
			continue
		}
		named, ok := p.hostsNamed()
		if !ok || needs && !known && len(named) == 0 {
			return nil
		}
		hosts = append(append(hosts, set.Hosts...), named...)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// setOf returns the set of hosts that a program asks.
func setOf(p *simpleCommand) (network.Set, bool) {
	for _, n := range network.Sets() {
		if p.isListed(n.Asks) {
			return n, true
		}
	}
	return network.Set{}, false
}

// hostsNamed returns the hosts of addresses of the web among the words of p. ok is false if a word is not
// known, or has an address that is not of the web.
func (p *simpleCommand) hostsNamed() (hosts []string, ok bool) {
	for _, w := range p.words[1:] {
		scheme, rest, address := strings.Cut(w.text, "://")
		switch {
		case w.kind == dynamic:
			return nil, false
		case !address:
			if path.Base(p.program()) == "git" && strings.Contains(w.text, "@") && strings.Contains(w.text, ":") {
				return nil, false // by ssh
			}
			continue
		case !strings.HasSuffix(scheme, "http") && !strings.HasSuffix(scheme, "https"):
			return nil, false
		}
		if i := strings.LastIndex(scheme, "http"); i > 0 {
			scheme = scheme[i:] // --registry=https://…, git+https://…
		}
		rest, _, _ = strings.Cut(rest, "#")
		s, err := network.SiteOf(scheme + "://" + rest)
		if err != nil || s.Suspicious != "" {
			return nil, false
		}
		if s.Local != "" { // only by its port may a private address stand behind it
			s.WebPort = false
		}
		hosts = append(hosts, s.Pattern())
	}
	return hosts, true
}

// NetworkOf returns how much of the sandbox is lifted where it is said in two parts: a level, and the hosts that the
// network is limited to (see [network.Hosts]), or NAME@HOST for one that a secret is given for.
func NetworkOf(sandbox run.Confinement, hosts []string) (run.Confinement, error) {
	if len(hosts) == 0 {
		return sandbox, nil
	}
	if sandbox != run.Confined && sandbox != run.WithNetwork {
		return "", fmt.Errorf("sandbox %q and a network of hosts: leave one of them out", sandbox)
	}
	var secrets, others []string
	for _, h := range hosts {
		secret, host := run.CutSecret(strings.ToLower(strings.TrimSpace(h)))
		if !strings.Contains(h, "@") {
			others = append(others, h)
		} else if err := network.CheckSecret(secret, host); err != nil {
			return "", err
		} else {
			secrets = append(secrets, secret+"@"+host)
		}
	}
	others, err := network.Hosts(others)
	return run.ToHosts(append(others, secrets...)...), err
}

// GivesSecret reports whether commands that may do so much are given a secret.
func GivesSecret(c run.Confinement) bool {
	return slices.ContainsFunc(c.Hosts(), func(h string) bool { return strings.Contains(h, "@") })
}

// networkTool is what a rule is for that opens hosts to every command that a rule, a mode or a person lets run: its
// pattern is one of the hosts of [NetworkRules].
const networkTool = "network"

// NetworkRules returns the rules by which every command that a rule, a mode or a person lets run may reach hosts.
func NetworkRules(hosts []string, source string) (Rules, error) {
	hosts, err := network.Hosts(hosts)
	var rules Rules
	for _, h := range hosts {
		rules = append(rules, Rule{Effect: Allow, Tool: networkTool, Pattern: h, Source: source})
	}
	return rules, err
}

// network returns the hosts of [NetworkRules].
func (rs Rules) network() (hosts []string) {
	for _, r := range rs {
		if r.Tool == networkTool && r.Effect == Allow {
			hosts = append(hosts, r.Pattern)
		}
	}
	return hosts
}
