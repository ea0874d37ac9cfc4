package network

import (
	"net/netip"
	"strconv"
	"strings"
)

// metadata is what is at addresses that no name of a host leads to, whoever names it.
const metadata = "a cloud's metadata service, which hands out keys"

const (
	localLink   = "the local link"
	thisMachine = "this machine"
)

// special are networks that are not the public Internet, with what is there. From
// the IANA registries of special-purpose addresses for IPv4 and IPv6
// (iana.org/assignments/iana-ipv4-special-registry, …-ipv6-special-registry) and
// the metadata addresses of the large clouds, read 2026-11-20. The first that
// holds an address names it.
var special = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("169.254.169.254/32"), metadata},
	{netip.MustParsePrefix("169.254.170.2/32"), metadata},
	{netip.MustParsePrefix("168.63.129.16/32"), metadata},
	{netip.MustParsePrefix("100.100.100.200/32"), metadata},
	{netip.MustParsePrefix("192.0.0.192/32"), metadata},
	{netip.MustParsePrefix("fd00:ec2::/32"), metadata},
	{netip.MustParsePrefix("fd20:ce::254/128"), metadata},
	{netip.MustParsePrefix("fd00:a9fe:a9fe::1/128"), metadata},
	{netip.MustParsePrefix("fd00:42::42/128"), metadata},
	{netip.MustParsePrefix("0.0.0.0/8"), thisMachine},
	{netip.MustParsePrefix("127.0.0.0/8"), thisMachine},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private network"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private network"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private network"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a provider's own network"},
	{netip.MustParsePrefix("169.254.0.0/16"), localLink},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay to IPv6"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for measuring networks"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a group of machines"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("::/127"), thisMachine},
	{netip.MustParsePrefix("100::/64"), "nowhere"},
	{netip.MustParsePrefix("2001::/23"), "for protocols, tunnels among them"},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation"},
	{netip.MustParsePrefix("5f00::/16"), "for routing"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a private relay to IPv4"},
	{netip.MustParsePrefix("fc00::/7"), "a private network"},
	{netip.MustParsePrefix("fe80::/10"), localLink},
	{netip.MustParsePrefix("fec0::/10"), "a private network"},
	{netip.MustParsePrefix("ff00::/8"), "a group of machines"},
}

// Special returns what is at an address that is not one of the public Internet; empty for one that is. Whoever
// connects asks for the address that is really dialled, after the name was resolved and after every redirect, for a name
// may lead anywhere. An address within another one (IPv4 in IPv6) counts as the inner one.
func Special(a netip.Addr) string {
	if !a.IsValid() {
		return "no address"
	}
	if a.Zone() != "" {
		return localLink
	}
	if inner, ok := embedded(a); ok {
		return Special(inner)
	}
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.what
		}
	}
	return ""
}

// embedded returns the IPv4 address that an IPv6 address stands for: mapped and
// compatible (RFC 4291), translated (RFC 6052), 6to4 (RFC 3056).
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return netip.Addr{}, false
	}
	b := a.As16()
	switch {
	case a.Is4In6():
		return a.Unmap(), true
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case netip.MustParsePrefix("::/96").Contains(a) && !netip.MustParsePrefix("::/127").Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	}
	return netip.Addr{}, false
}

// LooseAddr reads a host the way resolvers do (inet_aton(3), and the host parser
// of url.spec.whatwg.org, read 2026-11-20): one to four numbers, decimal, octal or
// hexadecimal, the last filling what is left. numeric says that it is meant as
// an address whether or not it is one.
func LooseAddr(host string) (a netip.Addr, numeric bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a, true
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	if _, ok := looseNumber(labels[len(labels)-1]); !ok && !allDigits(labels[len(labels)-1]) {
		return netip.Addr{}, false
	}
	if len(labels) > 4 {
		return netip.Addr{}, true
	}
	var value uint64
	for i, l := range labels {
		n, ok := looseNumber(l)
		if !ok {
			return netip.Addr{}, true
		}
		if i < len(labels)-1 {
			if n > 255 {
				return netip.Addr{}, true
			}
			value = value<<8 | n
			continue
		}
		left := uint(4 - i) // bytes that the last number fills
		if n >= 1<<(8*left) {
			return netip.Addr{}, true
		}
		value = value<<(8*left) | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// looseNumber reads 127, 0177 or 0x7f.
func looseNumber(s string) (uint64, bool) {
	base := 10
	lower := strings.ToLower(s)
	if hex, ok := strings.CutPrefix(lower, "0x"); ok {
		base, lower = 16, hex
		if lower == "" {
			return 0, true // the parsers take "0x" for zero
		}
	} else if len(lower) > 1 && lower[0] == '0' {
		base, lower = 8, lower[1:]
	}
	n, err := strconv.ParseUint(lower, base, 40)
	return n, err == nil
}

func allDigits(s string) bool { return s != "" && consistsOf(s, "0123456789") }

// consistsOf reports whether all characters of s are among chars.
func consistsOf(s, chars string) bool { return strings.Trim(s, chars) == "" }
