package network

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Site is where an address leads, as far as it says so itself.
type Site struct {
	Host    string // lower case, without a trailing dot or brackets
	Port    string // as a number; the scheme's own if none was given
	WebPort bool   // the port is the scheme's own, or the other one's of the web
	// Suspicious says what about the address could deceive; no rule covers such a one.
	Suspicious string
	// Local says why the host is not one of the public Internet.
	Local string
}

// SiteOf reads an address. The error says why nothing can be fetched there.
func SiteOf(address string) (Site, error) {
	if strings.ContainsFunc(address, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return Site{}, errors.New("it has blanks or control characters in it")
	}
	u, err := url.Parse(address)
	if err != nil {
		return Site{}, errors.New("it is not a URL: " + errors.Unwrap(err).Error())
	}
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme == "":
		return Site{}, errors.New("it has no scheme: write https://…")
	case scheme != "http" && scheme != "https":
		return Site{}, fmt.Errorf("%s: is not fetched, only http: and https: are", scheme)
	case u.Opaque != "" || u.Hostname() == "":
		return Site{}, errors.New("it names no host")
	}
	s := Site{Host: strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), Port: u.Port()}
	if s.Host == "" || strings.HasSuffix(s.Host, ".") || strings.Contains(s.Host, "..") || strings.HasPrefix(s.Host, ".") {
		return Site{}, errors.New("its host name has an empty part")
	}
	s.WebPort = s.Port == "" || s.Port == "80" || s.Port == "443"
	if s.Port == "" {
		s.Port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	_, rest, _ := strings.Cut(address, "//")
	authority, _, _ := strings.Cut(rest, "/")
	switch {
	case u.User != nil:
		s.Suspicious = "it has a user's name before its host"
	case strings.ContainsAny(address, "\\"):
		s.Suspicious = "it has a backslash, which some parsers take for a slash"
	case strings.Contains(authority, "@"):
		s.Suspicious = "it has an @ before its first slash, and parsers disagree about the host"
	case strings.ContainsFunc(s.Host, func(c rune) bool { return c >= 0x80 }):
		s.Suspicious = "its host has letters beyond ASCII, which may only look like others"
	case !consistsOf(s.Host, hostChars):
		s.Suspicious = "its host has characters that no host name has"
	}
	addr, numeric := LooseAddr(s.Host)
	switch {
	case numeric && !addr.IsValid():
		return Site{}, errors.New("its host looks like a number but is not an IP address")
	case numeric:
		s.Local = Special(addr)
		if addr.String() != s.Host && s.Suspicious == "" && addr.Is4() {
			s.Suspicious = s.Host + " is another spelling of " + addr.String()
		}
	default:
		s.Local = localName(s.Host)
	}
	return s, nil
}

// hostChars are the characters of names of hosts and of IPv6 addresses.
const hostChars = "0123456789abcdefghijklmnopqrstuvwxyz.-_:"

// localDomains are the ends of names that lead into the machine or its own network,
// by standard (RFC 6761, 6762, 8375, the reserved .internal) or by habit.
var localDomains = []string{
	"localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "home.arpa",
	"in-addr.arpa", "ip6.arpa", "onion", "svc", "localtest.me", "lvh.me", "vcap.me", "lacolhost.com",
}

// localName says why a name is not one of the public Internet; empty if it may be.
func localName(host string) string {
	if !strings.Contains(host, ".") {
		return "a name of the local network"
	}
	for _, d := range localDomains {
		if host == d || strings.HasSuffix(host, "."+d) {
			return "a name of this machine or its network"
		}
	}
	// Names that resolve to the address written in them: 127.0.0.1.nip.io,
	// app-10-0-0-1.sslip.io.
	parts := strings.FieldsFunc(host, func(c rune) bool { return c == '.' || c == '-' })
	for i := 0; i+4 <= len(parts); i++ {
		if a, err := netip.ParseAddr(strings.Join(parts[i:i+4], ".")); err == nil {
			if what := Special(a); what != "" {
				return what + ", by the address in its name"
			}
		}
	}
	return ""
}

// keyNames are names of metadata services that the clouds' own resolvers know.
var keyNames = []string{"metadata.google.internal", "metadata.azure.internal", "instance-data.ec2.internal", "metadata.tencentyun.com", "metadata.packet.net"}

// Proposable reports whether a question or a hint may name a host as one to open: not if it may hand out the keys of the
// machine; who means that one writes the rule. It may be an address with more around it.
func Proposable(host string) bool {
	if _, rest, ok := strings.Cut(host, "://"); ok {
		host = rest
	}
	if end := strings.IndexAny(host, "/?#"); end >= 0 {
		host = host[:end]
	}
	host, _ = CutPort(host[strings.LastIndexByte(host, '@')+1:])
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	what := localName(host)
	if a, numeric := LooseAddr(host); numeric {
		what = Special(a)
	}
	return !slices.Contains(keyNames, host) && !strings.HasPrefix(what, metadata) && !strings.HasPrefix(what, localLink)
}

// CheckPattern says what is wrong with the pattern of a rule for the web.
func CheckPattern(pattern string) error {
	if pattern == "*" {
		return nil
	}
	host, port := CutPort(pattern)
	name := strings.TrimPrefix(host, "*.")
	a, numeric := LooseAddr(name)
	switch {
	case strings.Contains(pattern, "/"):
		return errors.New("rules for the web name a host, without a scheme or a path: write fetch(example.com)")
	case strings.ContainsFunc(pattern, func(c rune) bool { return c >= 0x80 }):
		return errors.New("the host has letters beyond ASCII; write it as browsers send it (xn--…)")
	case strings.Contains(name, "*"):
		return errors.New("* stands for whole names before a domain only: write *.example.com")
	case name == "" || strings.Contains(name, "..") || !strings.HasPrefix(host, "[") && !consistsOf(strings.ToLower(name), hostChars):
		return errors.New("not a host: write example.com, *.example.com or localhost:3000")
	case numeric && !strings.Contains(name, ":") && name != a.String():
		if !a.IsValid() {
			return errors.New("neither a host nor an address")
		}
		return fmt.Errorf("it is the address %s in another spelling: write that", a)
	case host != name && !strings.Contains(name, ".") && name != "localhost":
		return fmt.Errorf("*.%s would be every host of a whole domain; name one below it", name)
	case port != "" && !allDigits(port):
		return errors.New("the port is not a number")
	case port != "" && !isPort(port):
		return errors.New("there is no such port")
	}
	return nil
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// CutPort cuts a port off a host; the brackets of an IPv6 address stay.
func CutPort(s string) (host, port string) {
	if i := strings.LastIndexByte(s, ':'); i >= 0 && (strings.Count(s, ":") == 1 || strings.HasSuffix(s[:i], "]")) {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// Matches reports whether the pattern of a rule speaks of a site. That of one that denies or asks (strict) without a
// port speaks of every port, that of one that allows of the web's own. Without a pattern every host is spoken of.
func (s Site) Matches(pattern string, strict bool) bool {
	if pattern == "" || pattern == "*" {
		return strict || s.WebPort
	}
	host, port := CutPort(strings.ToLower(pattern))
	if port != "" && port != s.Port || port == "" && !strict && !s.WebPort {
		return false
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if domain, ok := strings.CutPrefix(host, "*."); ok {
		return strings.HasSuffix(s.Host, "."+domain)
	}
	return host == s.Host
}

// IsNamed reports whether a pattern names the host itself: then it covers one that is not of the public Internet, too.
func (s Site) IsNamed(pattern string) bool {
	return pattern != "" && !strings.Contains(pattern, "*") && s.Matches(pattern, false)
}

// Pattern returns the host as rules name it, with its port if it is not one of the web's.
func (s Site) Pattern() string {
	pattern := s.Host
	if strings.Contains(pattern, ":") {
		pattern = "[" + pattern + "]"
	}
	if !s.WebPort {
		pattern += ":" + s.Port
	}
	return pattern
}
