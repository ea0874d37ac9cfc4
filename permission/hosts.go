package permission

import (
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"pawl/internal/lazy"
	"pawl/run"
)

//go:embed networks.txt
var networksText string

// A Network is a named set of hosts.
type Network struct {
	Name  string
	Hosts []string
	asks  map[string]bool // programs whose commands ask these hosts alone, as in networks.txt
}

// Networks returns the named sets of hosts, as networks.txt has them.
func Networks() []Network { return slices.Clone(networks()) }

var networks = lazy.Value(func() []Network {
	var all []Network
	for line := range strings.Lines(networksText) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "[")
		if !ok {
			continue
		}
		n := Network{Name: strings.TrimSuffix(name, "]"), asks: map[string]bool{}}
		for _, word := range sectionOf(networksText, n.Name) {
			if strings.Contains(word, ".") {
				n.Hosts = append(n.Hosts, word)
			} else {
				n.asks[word] = true
			}
		}
		all = append(all, n)
	}
	return all
})

// Hosts returns hosts as they are used: the names of sets are replaced by what is in them, capitals by small letters. An
// error says which is no host of a network that commands may reach.
func Hosts(given []string) (hosts []string, err error) {
	for _, h := range given {
		h = strings.ToLower(strings.TrimSpace(h))
		if i := slices.IndexFunc(networks(), func(n Network) bool { return n.Name == h }); i >= 0 {
			hosts = append(hosts, networks()[i].Hosts...)
			continue
		}
		if err := checkHost(h); err != nil {
			return nil, fmt.Errorf("host %q: %w", h, err)
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

// maxHost is more than a name of DNS can have, with a port.
const maxHost = 280

func checkHost(h string) error {
	if len(h) > maxHost {
		return errors.New("it is longer than names of hosts are")
	}
	if strings.ContainsAny(h, "(), \t\r\n") {
		return errors.New("not a host: write example.com, *.example.com or localhost:3000, each by itself")
	}
	if err := checkHostPattern(h); err != nil {
		return err
	}
	if _, port := cutPort(h); port != "" && (len(port) > 5 || port == "0") {
		return errors.New("there is no such port")
	}
	if h != "*" && !strings.ContainsAny(h, ".:") && h != "localhost" {
		var names []string
		for _, n := range networks() {
			names = append(names, n.Name)
		}
		return fmt.Errorf("it is neither a host with a domain nor one of the sets %s", strings.Join(names, ", "))
	}
	return nil
}

// Reaches reports whether hosts cover one, by its name as it is asked for and its port; one without a port covers the
// ports of the web. named says that one of them spells out both, or is the address: only then
// may a private address stand behind it.
func Reaches(hosts []string, host, port string) (ok, named bool) {
	s := site{host: strings.TrimSuffix(strings.ToLower(host), "."), port: port, webPort: port == "80" || port == "443"}
	_, notAddress := netip.ParseAddr(s.host)
	for _, h := range hosts {
		r := Rule{Pattern: h}
		if !r.matchesHost(s, false) {
			continue
		}
		_, itsPort := cutPort(h)
		ok, named = true, named || r.namesHost(s) && (itsPort != "" || notAddress == nil)
	}
	return ok, named
}

// MayDial returns an error that says why a command may not be connected to an address, for the host that it named.
// named is as of [Reaches], address the one that is dialled.
func MayDial(host string, address netip.Addr, named bool) error {
	v, what := AddressVerdict(address)
	switch literal, err := netip.ParseAddr(host); {
	case v == Allow, named && err == nil && literal.Unmap() == address.Unmap():
		return nil
	case named && v == Ask && what != metadata && what != localLink && !address.IsMulticast() && !address.Unmap().IsUnspecified():
		return nil
	}
	return fmt.Errorf("%s leads to %s: %s", host, address, what)
}

// lifts reports whether what was granted of the sandbox is at least what is wanted.
func lifts(granted, wanted run.Confinement) bool {
	hosts := wanted.Hosts()
	if hosts == nil || level(granted) != level(wanted) {
		return level(granted) >= level(wanted)
	}
	return !slices.ContainsFunc(hosts, func(h string) bool { return !coversHost(granted.Hosts(), h) })
}

// coversHost reports whether hosts cover all that one stands for.
func coversHost(hosts []string, h string) bool {
	if slices.Contains(hosts, h) {
		return true
	}
	if strings.Contains(h, "*") {
		return false
	}
	host, port := cutPort(h)
	if port != "" {
		ok, _ := Reaches(hosts, strings.Trim(host, "[]"), port)
		return ok
	}
	with80, _ := Reaches(hosts, host, "80")
	with443, _ := Reaches(hosts, host, "443")
	return with80 && with443
}

// common returns the hosts that two lists have in common.
func common(a, b run.Confinement) run.Confinement {
	var both []string
	for _, h := range a.Hosts() {
		if coversHost(b.Hosts(), h) {
			both = append(both, h)
		}
	}
	for _, h := range b.Hosts() {
		if coversHost(a.Hosts(), h) {
			both = append(both, h)
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
func setOf(p *simpleCommand) (Network, bool) {
	for _, n := range networks() {
		if p.isListed(n.asks) {
			return n, true
		}
	}
	return Network{}, false
}

// asksItsSet reports whether hosts are no more than the package manager of p asks.
func (p *simpleCommand) asksItsSet(hosts []string) bool {
	set, ok := setOf(p)
	return ok && len(hosts) > 0 && !slices.ContainsFunc(hosts, func(h string) bool { return !slices.Contains(set.Hosts, h) })
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
		s, err := siteOf(scheme + "://" + rest)
		if err != nil || s.suspicious != "" {
			return nil, false
		}
		if s.local != "" { // only by its port may a private address stand behind it
			s.webPort = false
		}
		hosts = append(hosts, s.pattern())
	}
	return hosts, true
}

// NetworkOf returns how much of the sandbox is lifted where it is said in two parts: a level, and the hosts that the
// network is limited to; see [Hosts].
func NetworkOf(sandbox run.Confinement, hosts []string) (run.Confinement, error) {
	if len(hosts) == 0 {
		return sandbox, nil
	}
	if sandbox != run.Confined && sandbox != run.WithNetwork {
		return "", fmt.Errorf("sandbox %q and a network of hosts: leave one of them out", sandbox)
	}
	hosts, err := Hosts(hosts)
	return run.ToHosts(hosts...), err
}

// networkTool is what a rule is for that opens hosts to every command that a rule, a mode or a person lets run: its
// pattern is one of the hosts of [NetworkRules].
const networkTool = "network"

// NetworkRules returns the rules by which every command that a rule, a mode or a person lets run may reach hosts.
func NetworkRules(hosts []string, source string) (Rules, error) {
	hosts, err := Hosts(hosts)
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
