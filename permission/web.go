package permission

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"pawl/run"
)

// A site is where an address leads, as far as it says so itself.
type site struct {
	host    string // lower case, without a trailing dot or brackets
	port    string // as a number; the scheme's own if none was given
	webPort bool   // the port is the scheme's own, or the other one's of the web
	// suspicious says what about the address could deceive; no rule covers such a one.
	suspicious string
	// local says why the host is not one of the public Internet.
	local string
}

// siteOf reads an address. The error says why nothing can be fetched there.
func siteOf(address string) (site, error) {
	if strings.ContainsFunc(address, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return site{}, errors.New("it has blanks or control characters in it")
	}
	u, err := url.Parse(address)
	if err != nil {
		return site{}, errors.New("it is not a URL: " + errors.Unwrap(err).Error())
	}
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme == "":
		return site{}, errors.New("it has no scheme: write https://…")
	case scheme != "http" && scheme != "https":
		return site{}, fmt.Errorf("%s: is not fetched, only http: and https: are", scheme)
	case u.Opaque != "" || u.Hostname() == "":
		return site{}, errors.New("it names no host")
	}
	s := site{host: strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), port: u.Port()}
	if s.host == "" || strings.HasSuffix(s.host, ".") || strings.Contains(s.host, "..") || strings.HasPrefix(s.host, ".") {
		return site{}, errors.New("its host name has an empty part")
	}
	s.webPort = s.port == "" || s.port == "80" || s.port == "443"
	if s.port == "" {
		s.port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	_, rest, _ := strings.Cut(address, "//")
	authority, _, _ := strings.Cut(rest, "/")
	switch {
	case u.User != nil:
		s.suspicious = "it has a user's name before its host"
	case strings.ContainsAny(address, "\\"):
		s.suspicious = "it has a backslash, which some parsers take for a slash"
	case strings.Contains(authority, "@"):
		s.suspicious = "it has an @ before its first slash, and parsers disagree about the host"
	case strings.ContainsFunc(s.host, func(c rune) bool { return c >= 0x80 }):
		s.suspicious = "its host has letters beyond ASCII, which may only look like others"
	case !consistsOf(s.host, hostChars):
		s.suspicious = "its host has characters that no host name has"
	}
	addr, numeric := looseAddr(s.host)
	switch {
	case numeric && !addr.IsValid():
		return site{}, errors.New("its host looks like a number but is not an IP address")
	case numeric:
		if v, what := AddressVerdict(addr); v != Allow {
			s.local = what
		}
		if addr.String() != s.host && s.suspicious == "" && addr.Is4() {
			s.suspicious = s.host + " is another spelling of " + addr.String()
		}
	default:
		s.local = localName(s.host)
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
			if v, what := AddressVerdict(a); v != Allow {
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
	host, _ = cutPort(host[strings.LastIndexByte(host, '@')+1:])
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	what := localName(host)
	if a, numeric := looseAddr(host); numeric {
		_, what = AddressVerdict(a)
	}
	return !slices.Contains(keyNames, host) && !strings.HasPrefix(what, metadata) && !strings.HasPrefix(what, localLink)
}

// checkHostPattern says what is wrong with the pattern of a rule for the web.
func checkHostPattern(pattern string) error {
	if pattern == "*" {
		return nil
	}
	host, port := cutPort(pattern)
	name := strings.TrimPrefix(host, "*.")
	switch {
	case strings.Contains(pattern, "/"):
		return errors.New("rules for the web name a host, without a scheme or a path: write fetch(example.com)")
	case strings.ContainsFunc(pattern, func(c rune) bool { return c >= 0x80 }):
		return errors.New("the host has letters beyond ASCII; write it as browsers send it (xn--…)")
	case strings.Contains(name, "*"):
		return errors.New("* stands for whole names before a domain only: write *.example.com")
	case name == "" || strings.Contains(name, "..") || !strings.HasPrefix(host, "[") && !consistsOf(strings.ToLower(name), hostChars):
		return errors.New("not a host: write example.com, *.example.com or localhost:3000")
	case host != name && !strings.Contains(name, ".") && name != "localhost":
		return fmt.Errorf("*.%s would be every host of a whole domain; name one below it", name)
	case port != "" && !allDigits(port):
		return errors.New("the port is not a number")
	}
	return nil
}

// cutPort cuts a port off a host; the brackets of an IPv6 address stay.
func cutPort(s string) (host, port string) {
	if i := strings.LastIndexByte(s, ':'); i >= 0 && (strings.Count(s, ":") == 1 || strings.HasSuffix(s[:i], "]")) {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// matchesHost reports whether a rule's pattern speaks of a site. A deny or ask rule
// (strict) without a port speaks of every port, an allow rule of the web's own.
func (r Rule) matchesHost(s site, strict bool) bool {
	if r.Pattern == "" || r.Pattern == "*" {
		return strict || s.webPort
	}
	host, port := cutPort(strings.ToLower(r.Pattern))
	if port != "" && port != s.port || port == "" && !strict && !s.webPort {
		return false
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if domain, ok := strings.CutPrefix(host, "*."); ok {
		return strings.HasSuffix(s.host, "."+domain)
	}
	return host == s.host
}

// namesHost reports whether the rule names the host itself: then it covers one
// that is not of the public Internet, too.
func (r Rule) namesHost(s site) bool {
	return r.Pattern != "" && !strings.Contains(r.Pattern, "*") && r.matchesHost(s, false)
}

// web judges the address of a call.
func (t *evaluation) web() {
	at, d := t.address()
	t.add(kindHost, t.r.URL, at, d)
}

func (t *evaluation) address() (stage, Decision) {
	r := t.r
	s, err := siteOf(r.URL)
	if err != nil {
		return atDeny, builtIn("nothing is fetched from " + quote(r.URL) + ": " + err.Error())
	}
	speaks := func(r Rule) bool { return r.matchesHost(s, true) }
	if rule, ok := firstRule(t.deny, speaks); ok {
		return atDeny, by(rule, "denied: "+s.host)
	}
	switch {
	case t.m == Plan && r.Class == run.Writes:
		return atMode, byMode(Deny, t.m, "only reading is allowed")
	case t.m == Bypass:
		return atMode, byMode(Allow, t.m, "everything that is not denied runs")
	}
	if rule, ok := firstRule(t.ask, speaks); ok {
		return atAsk, by(rule, "a rule asks: "+s.host)
	}
	for _, rule := range t.allow {
		if s.suspicious == "" && rule.matchesHost(s, false) && (s.local == "" || rule.namesHost(s)) {
			return atAllow, by(rule, "it covers "+s.host)
		}
	}
	switch {
	case s.suspicious != "":
		return atDefault, byDefault(Ask, "the address is misleading: "+s.suspicious)
	case s.local != "":
		return atDefault, byDefault(Ask, s.host+" is "+s.local+"; a rule has to name it")
	}
	return atDefault, byDefault(Ask, "no rule covers "+s.host)
}

// CheckRedirect returns an error that says why a fetch of r.URL, which was allowed, may
// not follow a redirect to another address: a deny or ask rule speaks of its host, or
// it leads to a host that is not of the public Internet and that no rule names. That a
// redirect leaves the site is for the caller to refuse.
func (rs Rules) CheckRedirect(r Request, to string) error {
	s, err := siteOf(to)
	if err != nil {
		return err
	}
	for _, effect := range []Verdict{Deny, Ask} {
		if rule, ok := firstRule(rs.of(effect, r.Tool), func(r Rule) bool { return r.matchesHost(s, true) }); ok {
			return fmt.Errorf("the rule %q, which says %s, holds for %s", rule, effect, s.host)
		}
	}
	named := slices.ContainsFunc(rs.of(Allow, r.Tool), func(rule Rule) bool { return rule.namesHost(s) })
	switch {
	case s.suspicious != "":
		return errors.New(s.suspicious)
	case s.local != "" && !named:
		return fmt.Errorf("%s is %s, and no rule names it", s.host, s.local)
	}
	return nil
}

// DecideAddress decides about an address that a call of [Rules.Decide]'s is about
// to dial for r.URL: what was a public host's name may lead to a private address,
// and a redirect anywhere. It is at least as strict as Decide for r.
func (rs Rules) DecideAddress(r Request, dialled netip.Addr, m Mode) Decision {
	d := rs.Decide(r, m)
	v, what := AddressVerdict(dialled)
	if d.Verdict != Allow || v == Allow || m == Bypass {
		return d
	}
	s, err := siteOf(r.URL)
	if err == nil {
		for _, rule := range rs.of(Allow, r.Tool) {
			if rule.namesHost(s) {
				return d
			}
		}
	}
	return byDefault(v, r.URL+" leads to "+dialled.String()+": "+what+"; a rule has to name the host")
}
