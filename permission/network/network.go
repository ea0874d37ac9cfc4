// Package network knows hosts and addresses: what an address of the web leads to, what is not the public Internet, and
// which lists of hosts cover a host.
package network

import (
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/run"
)

//go:embed networks.txt
var networksText string

// A Set is a named set of hosts.
type Set struct {
	Name  string
	Hosts []string
	Asks  map[string]bool // programs whose commands ask these hosts alone, as in networks.txt
}

// Sets returns the named sets of hosts, as networks.txt has them.
var Sets = lazy.Value(func() []Set {
	var all []Set
	for line := range strings.Lines(networksText) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "[")
		if !ok {
			continue
		}
		n := Set{Name: strings.TrimSuffix(name, "]"), Asks: map[string]bool{}}
		for _, word := range text.Section(networksText, n.Name) {
			if strings.Contains(word, ".") {
				n.Hosts = append(n.Hosts, word)
			} else {
				n.Asks[word] = true
			}
		}
		all = append(all, n)
	}
	return all
})

// Has reports whether hosts are no more than those of the set, also where their names lead into the person's own
// network.
func (s Set) Has(hosts []string) bool {
	return len(hosts) > 0 && !slices.ContainsFunc(hosts, func(h string) bool {
		return !slices.Contains(s.Hosts, strings.TrimSuffix(h, ":443"))
	})
}

// OfOneSet reports whether hosts are no more than those of one of the sets.
func OfOneSet(hosts []string) bool {
	return slices.ContainsFunc(Sets(), func(s Set) bool { return s.Has(hosts) })
}

// Registries returns the hosts of package managers of which a text has one: the whole set that each is of.
func Registries(text string) (hosts []string) {
	for _, set := range Sets() {
		named := func(host string) bool { // and no other that has it in its name
			before, after, ok := strings.Cut(text, host)
			return ok && !isOfHost(before, len(before)-1) && !isOfHost(after, 0)
		}
		if len(set.Asks) > 0 && slices.ContainsFunc(set.Hosts, named) && !slices.ContainsFunc(set.Hosts, func(h string) bool { return slices.Contains(hosts, h) }) {
			hosts = append(hosts, set.Hosts...)
		}
	}
	return hosts
}

// isOfHost reports whether there is a character of a host's name at a place of a text.
func isOfHost(text string, at int) bool {
	return at >= 0 && at < len(text) && text[at] != ':' && strings.IndexByte(hostChars, text[at]) >= 0
}

// Hosts returns hosts as they are used: the names of sets are replaced by what is in them, capitals by small letters. An
// error says which is no host of a network that commands may reach.
func Hosts(given []string) (hosts []string, err error) {
	for _, h := range given {
		h = strings.ToLower(strings.TrimSpace(h))
		if i := slices.IndexFunc(Sets(), func(n Set) bool { return n.Name == h }); i >= 0 {
			hosts = append(hosts, Sets()[i].Hosts...)
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
	if err := CheckPattern(h); err != nil {
		return err
	}
	if h != "*" && !strings.ContainsAny(h, ".:") && h != "localhost" {
		var names []string
		for _, n := range Sets() {
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
	s := Site{Host: strings.TrimSuffix(strings.ToLower(host), "."), Port: port, WebPort: port == "80" || port == "443"}
	_, notAddress := netip.ParseAddr(s.Host)
	for _, h := range hosts {
		_, h = run.CutSecret(h)
		if !s.Matches(h, false) {
			continue
		}
		_, itsPort := CutPort(h)
		ok, named = true, named || s.IsNamed(h) && (itsPort != "" || notAddress == nil)
	}
	return ok, named
}

// Limit says in one line which hosts a network is limited to, and of a name with a port that it may be one of the person's own
// network (see [Reaches]), and of one with a secret which that is.
func Limit(hosts []string) string {
	all := make([]string, len(hosts))
	for i, h := range hosts {
		secret, h := run.CutSecret(h)
		all[i] = visible.Escape(h)
		name, port := CutPort(h)
		if _, numeric := LooseAddr(strings.Trim(name, "[]")); port != "" && !numeric && name != "localhost" && !strings.Contains(name, "*") {
			all[i] += " (which may be in your own network)"
		}
		if secret != "" {
			all[i] += " with the secret " + secret
		}
	}
	return strings.Join(all, ", ")
}

// MayDial returns an error that says why a command may not be connected to an address, for the host that it named.
// named is as of [Reaches], address the one that is dialled.
func MayDial(host string, address netip.Addr, named bool) error {
	what := Special(address)
	switch literal, err := netip.ParseAddr(host); {
	case what == "", named && err == nil && literal.Unmap() == address.Unmap():
		return nil
	case named && address.IsValid() && what != metadata && what != localLink && !address.IsMulticast() && !address.Unmap().IsUnspecified():
		return nil
	}
	return fmt.Errorf("%s leads to %s: %s", host, address, what)
}

// CheckSecret says what is wrong with a host that a command is given a secret for: the name of the secret, and one host.
func CheckSecret(name, host string) error {
	const most = 40
	if name == "" || len(name) > most || !consistsOf(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") {
		return fmt.Errorf("%s is no name of a secret: it has at most %d of the characters a-z, 0-9, - and _", visible.Quote(name), most)
	}
	if strings.Contains(host, "*") || slices.ContainsFunc(Sets(), func(n Set) bool { return n.Name == host }) {
		return fmt.Errorf("the secret %s is for one host, and %s stands for several", name, host)
	}
	_, err := Hosts([]string{host})
	return err
}

// IsWithin reports whether an address that a host leads to is one of a network such as a company's, with its own
// registries, which a command reaches if the host is spelled out with its port; see [Reaches].
func IsWithin(host string, address netip.Addr) bool {
	return !slices.Contains([]string{"", thisMachine}, Special(address)) && MayDial(host, address, true) == nil
}

// Covers reports whether hosts cover all that one stands for: one with a port and an address stand for a private
// address, too, which * and a name alone do not. One with a secret only itself covers.
func Covers(hosts []string, h string) bool {
	if slices.Contains(hosts, h) {
		return true
	}
	if strings.ContainsAny(h, "*@") {
		return false
	}
	host, port := CutPort(h)
	host = strings.Trim(host, "[]")
	if port != "" {
		_, named := Reaches(hosts, host, port)
		return named
	}
	with80, named := Reaches(hosts, host, "80")
	with443, also := Reaches(hosts, host, "443")
	if _, err := netip.ParseAddr(host); err == nil {
		return named && also
	}
	return with80 && with443
}
