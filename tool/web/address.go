package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"

	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/permission/network"
)

// Parse reads the URL of a call or of a redirect and returns it as it
// will be used: the host in ASCII and lower case, no fragment. What people and
// rules see is this one, so that nobody allows one host and reaches another.
func Parse(s string) (*url.URL, error) {
	if len(s) > 8192 {
		return nil, text.Tell("The URL has %s bytes, and the limit is 8,192.", text.Commas(int64(len(s))))
	}
	if strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || visible.Useless(r) || r == '\\'
	}) {
		return nil, text.Tell("The URL %q has blanks, backslashes or invisible characters in it: write them as %%20 and so on.", text.OneLine(s, 200))
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, text.Tell("%q is not a URL: give one such as https://example.org/page.", text.OneLine(s, 200))
	}
	switch {
	case u.Scheme == "":
		return nil, text.Tell("%q has no scheme: give the whole URL, such as https://example.org/page.", text.OneLine(s, 200))
	case u.Scheme == "file":
		return nil, text.Tell("file: is not fetched: only http and https are. For files use read.")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, text.Tell("%s: is not fetched: only http and https are.", text.OneLine(u.Scheme, 20))
	case u.User != nil:
		return nil, text.Tell("The URL has a user name in it (%s@): fetch sends no credentials. Leave it out.", text.OneLine(u.User.Username(), 40))
	case u.Hostname() == "":
		return nil, text.Tell("%q names no host.", text.OneLine(s, 200))
	}
	host, err := dialable(u.Hostname())
	if err != nil {
		return nil, err
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 65535 {
			return nil, text.Tell("The URL's port %s is not valid.", text.OneLine(p, 20))
		}
		if p = strconv.Itoa(n); p != defaultPort(u) {
			host += ":" + p
		}
	}
	u.Host, u.Fragment, u.RawFragment = host, "", ""
	return u, nil
}

// dialable returns a host as it is dialled.
func dialable(host string) (string, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return "", text.Tell("The address %s names a network card: fetch does not.", text.OneLine(host, 80))
		}
		return ip.String(), nil
	}
	given := host
	if !isASCII(host) {
		host = dialledHost(host)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || len(host) > 253 || strings.ContainsFunc(host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	}) || strings.Contains(host, "..") || host[0] == '.' {
		return "", text.Tell("%q is not a host name.", text.OneLine(given, 100))
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.String(), nil // written in wide digits
	}
	// Browsers and some resolvers take these for addresses, others for names.
	if last := host[strings.LastIndexByte(host, '.')+1:]; strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "", text.Tell("%s is an address in an unusual form: write it as four decimal numbers, such as 192.0.2.1.", text.OneLine(given, 100))
	}
	return host, nil
}

// dialledHost returns the name that net/http dials for a host, which is in ASCII, or the host
// if there is none. Asking it, without a connection, links no second copy of the tables of
// golang.org/x/net/idna: 0.2 MB.
func dialledHost(host string) string {
	t := http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		name, _, err := net.SplitHostPort(address)
		return nil, errors.Join(dialled(name), err)
	}}
	_, err := t.RoundTrip(&http.Request{Header: http.Header{}, URL: &url.URL{Scheme: "http", Host: host}})
	if name, ok := errors.AsType[dialled](err); ok {
		return string(name)
	}
	return host
}

// dialled is the name of a host, as the error of a connection that is not made.
type dialled string

func (d dialled) Error() string { return string(d) }

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

func defaultPort(u *url.URL) string {
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// port returns the port that u is fetched from.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return defaultPort(u)
}

// SameSite is the rule for redirects unless the options have another: within a
// host, or between hosts of one owner (example.org, www.example.org), at the usual
// ports, and never from https to http. Anywhere else is a new call, for which
// somebody is asked anew.
func SameSite(from, to *url.URL) error {
	a, b := from.Hostname(), to.Hostname()
	switch {
	case from.Scheme == "https" && to.Scheme == "http":
		return text.Tell("that is not encrypted, unlike the address given")
	case from.Port() != to.Port():
		return text.Tell("that is another port")
	case a == b:
		return nil
	}
	siteA, errA := publicsuffix.EffectiveTLDPlusOne(a)
	siteB, errB := publicsuffix.EffectiveTLDPlusOne(b)
	_, errIP := netip.ParseAddr(a)
	if errA != nil || errB != nil || siteA != siteB || errIP == nil {
		return text.Tell("that is another site")
	}
	return nil
}

// PublicAddress is the rule for the addresses that may be connected to, unless the options
// have another: an error for every address that is not one of the public internet. With
// granted, which says that somebody allowed the host to be elsewhere, others are fine too.
func PublicAddress(host string, addr netip.AddrPort, granted bool) error {
	what := network.Special(addr.Addr())
	if what == "" || granted && addr.IsValid() {
		return nil
	}
	return text.Tell("%s is at %s (%s): fetch connects to addresses of the public internet only.", host, addr.Addr(), what)
}
