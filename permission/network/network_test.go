package network_test

import (
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"pawl/permission/network"
)

func TestAHostIsReachedByWhatNamesIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hosts, host, port string
		ok, named         bool
	}{
		{"example.com", "example.com", "443", true, false},
		{"example.com", "EXAMPLE.com.", "80", true, false},
		{"example.com", "example.com", "8443", false, false},
		{"example.com", "sub.example.com", "443", false, false},
		{"example.com", "notexample.com", "443", false, false},
		{"*.example.com", "a.b.example.com", "443", true, false},
		{"*.example.com", "example.com", "443", false, false},
		{"*.example.com:8443", "a.example.com", "8443", true, false},
		{"*.example.com:8443", "a.example.com", "443", false, false},
		{"example.com:8443", "example.com", "8443", true, true},
		{"127.0.0.1", "127.0.0.1", "80", true, true},
		{"127.0.0.1", "127.0.0.1", "5432", false, false},
		{"[::1]:80", "::1", "80", true, true},
		{"*", "example.com", "443", true, false},
		{"*", "example.com", "22", false, false},
		{"a.org b.org:1", "b.org", "1", true, true},
	} {
		if ok, named := network.Reaches(strings.Fields(c.hosts), c.host, c.port); ok != c.ok || named != c.named {
			t.Errorf("%s at %s with %s: %v %v", c.host, c.port, c.hosts, ok, named)
		}
	}
	for _, c := range []struct {
		host, address string
		named, ok     bool
	}{
		{"a.org", "93.184.216.34", false, true}, {"a.org", "127.0.0.1", false, false}, {"a.org", "127.0.0.1", true, true}, {"a.org", "10.0.0.1", true, true},
		{"a.org", "169.254.169.254", true, false}, {"169.254.169.254", "169.254.169.254", true, true}, {"a.org", "fd00:ec2::254", true, false}, {"a.org", "fe80::1", true, false},
		{"a.org", "100.101.1.1", true, true}, {"a.org", "100.101.1.1", false, false}, {"a.org", "64:ff9b::a9fe:a9fe", true, false}, {"a.org", "64:ff9b::a9fe:1", true, false}, {"a.org", "::ffff:0.0.0.0", true, false},
		{"a.org", "0.0.0.0", true, false}, {"a.org", "224.0.0.1", true, false}, {"127.0.0.1", "::ffff:127.0.0.1", true, true},
	} {
		if err := network.MayDial(c.host, netip.MustParseAddr(c.address), c.named); (err == nil) != c.ok {
			t.Errorf("%s at %s, named %v: %v", c.host, c.address, c.named, err)
		}
	}
}

// No question offers to open what hands out the keys of a machine in a cloud, by name or by address.
func TestWhatHandsOutKeysIsNotProposed(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"metadata.google.internal", "http://Metadata.Azure.internal./x", "instance-data.ec2.internal", "metadata.tencentyun.com", "metadata.packet.net", "169.254.169.254", "[fd00:ec2::254]:80", "a@metadata.google.internal"} {
		if network.Proposable(host) {
			t.Errorf("%s is proposed", host)
		}
	}
	for _, host := range []string{"example.com", "https://google.internal.example.com/?metadata.google.internal", "packet.net"} {
		if !network.Proposable(host) {
			t.Errorf("%s is not proposed", host)
		}
	}
}

// A name with a port may lead to this machine or near it, which a person has to know who is asked about it.
func TestWhatMayBeNearIsSaid(t *testing.T) {
	t.Parallel()
	got := network.Limit([]string{"example.com", "evil.example:6379", "*.example.com:8443", "127.0.0.1:80", "[::1]:5432", "localhost:3000", "*", "a\x1b.org"})
	if want := `example.com, evil.example:6379 (which may be in your own network), *.example.com:8443, 127.0.0.1:80, [::1]:5432, localhost:3000, *, a\u001b.org`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestWhatIsNoHostIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "https://example.com", "example.com/x", "a b.org", "a,b.org", "*.com", "*x.org", "a..org", "ex\u0430mple.com", "a.org:x", "a.org:0", "a.org:123456", "nowhere", "a\n.org", "user@a.org", strings.Repeat("a.", 200) + "org",
		"2130706433:80", "0x7f.1", "127.1:80", "0177.0.0.1:5432", "127.0.0.1.:80", "2852039166", "1.2.3.4.5:80", "*.0x7f"} {
		if hosts, err := network.Hosts([]string{bad}); err == nil {
			t.Errorf("%q was taken as %q", bad, hosts)
		} else if bad == "nowhere" && !strings.HasSuffix(err.Error(), "one of the sets npm, yarn, pypi, go, crates, gems, composer, github") {
			t.Error(err)
		}
	}
	hosts, err := network.Hosts([]string{"npm", "Example.COM:8443", "*.golang.org:443", "localhost:3000", "*"})
	if want := []string{"registry.npmjs.org", "example.com:8443", "*.golang.org:443", "localhost:3000", "*"}; err != nil || !slices.Equal(hosts, want) {
		t.Errorf("got %q, %v", hosts, err)
	}
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
			if got := network.Special(netip.MustParseAddr(address)); got != what {
				t.Errorf("%s is %q, want %q", address, got, what)
			}
		}
	}
}

func TestOnlyPublicAddressesAreNotSpecial(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true, "64:ff9b::808:808": true,
		"127.0.0.1": false, "10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "172.32.0.1": true,
		"192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false, "255.255.255.255": false,
		"224.0.0.1": false, "198.18.0.1": false, "::1": false, "::": false, "fe80::1": false, "fe80::1%eth0": false,
		"fc00::1": false, "ff02::1": false, "::ffff:10.0.0.1": false, "::10.0.0.1": false, "2002:a00:1::1": false,
		"64:ff9b::7f00:1": false, "2001:db8::1": false, "fec0::1": false,
	} {
		if what := network.Special(netip.MustParseAddr(address)); (what == "") != want {
			t.Errorf("%s is %q, public: %t", address, what, want)
		}
	}
	if network.Special(netip.Addr{}) == "" {
		t.Error("no address is a public one")
	}
}

// Everyone can read what a set has.
func TestTheManualListsTheSetsOfHosts(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(network.Sets()) < 5 {
		t.Errorf("there are %d sets", len(network.Sets()))
	}
	for _, n := range network.Sets() {
		if row := "| `" + n.Name + "` | " + strings.Join(n.Hosts, ", ") + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/permissions.md lacks the row %s", row)
		}
		if _, err := network.Hosts(n.Hosts); err != nil || n.Name != strings.ToLower(n.Name) {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
}
