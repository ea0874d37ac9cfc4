package web_test

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"pawl/tool/web"
)

func TestOnlyPublicAddressesAreConnectedTo(t *testing.T) {
	t.Parallel()
	for address, refused := range map[string]string{ // with what is said of it
		"93.184.215.14":                       "",
		"172.15.255.255":                      "",
		"100.63.0.1":                          "",
		"2606:2800:21f:cb07:6820:80da:af6b:1": "",
		"::ffff:93.184.215.14":                "", // mapped
		"64:ff9b::5db8:d70e":                  "", // NAT64, which a network without IPv4 gives every old host
		"127.0.0.1":                           "this machine",
		"::1":                                 "this machine",
		"::ffff:127.0.0.1":                    "this machine",
		"64:ff9b::7f00:1":                     "this machine",
		"2002:7f00:1::1":                      "this machine", // 6to4
		"::127.0.0.1":                         "this machine",
		"0.0.0.0":                             "this machine",
		"::":                                  "this machine",
		"10.0.0.1":                            "private network",
		"172.16.0.1":                          "private network",
		"192.168.1.1":                         "private network",
		"fd12:3456::1":                        "private network",
		"100.64.0.1":                          "provider's own network",
		"169.254.0.1":                         "local link",
		"fe80::1":                             "local link",
		"fe80::1%eth0":                        "local link",
		"169.254.169.254":                     "metadata",
		"64:ff9b::a9fe:a9fe":                  "metadata",
		"fd00:ec2::254":                       "metadata",
		"100.100.100.200":                     "metadata",
		"168.63.129.16":                       "metadata",
		"224.0.0.1":                           "group",
		"ff02::1":                             "group",
		"255.255.255.255":                     "reserved",
		"2001:0:53aa:64c::1":                  "protocols", // Teredo
	} {
		addr := netip.AddrPortFrom(netip.MustParseAddr(address), 80)
		err := web.PublicAddress("host.test", addr, false)
		switch {
		case refused == "" && err != nil:
			t.Errorf("%s is refused: %v", address, err)
		case refused != "" && (err == nil || !strings.Contains(err.Error(), refused)):
			t.Errorf("%s: got %v, want %q", address, err, refused)
		}
		if err := web.PublicAddress("host.test", addr, true); err != nil {
			t.Errorf("%s was granted and is refused: %v", address, err)
		}
	}
	if err := web.PublicAddress("host.test", netip.AddrPort{}, true); err == nil {
		t.Error("what is no address is connected to")
	}
}

func TestASiteIsWhatOneOwnerHas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		follow   bool
	}{
		{"http://example.org/", "https://www.example.org/a", true},
		{"https://a.example.co.uk/", "https://b.example.co.uk/", true},
		{"https://example.org/", "http://example.org/", false}, // no longer encrypted
		{"https://a.co.uk/", "https://b.co.uk/", false},
		{"https://a.github.io/", "https://b.github.io/", false},
		{"https://93.184.215.14/", "https://1.184.215.14/", false},
		{"https://example.org/", "https://example.org:8443/", false},
	} {
		from, _ := url.Parse(c.from)
		to, _ := url.Parse(c.to)
		if err := web.SameSite(from, to); (err == nil) != c.follow {
			t.Errorf("from %s to %s: %v", c.from, c.to, err)
		}
	}
}
