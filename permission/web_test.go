package permission_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pawl/permission"
	"pawl/run"
)

func fetching(url string) permission.Request {
	return permission.Request{Tool: "fetch", Class: run.Reads, URL: url, Workspace: "/work"}
}

func TestRulesOfTheWebNameHosts(t *testing.T) {
	t.Parallel()
	const a, k, d = permission.Allow, permission.Ask, permission.Deny
	for _, c := range []struct {
		allow, ask, deny string
		url              string
		want             permission.Verdict
	}{
		{url: "https://example.com/", want: k},
		{allow: "fetch(example.com)", url: "https://example.com/x?y", want: a},
		{allow: "fetch(example.com)", url: "HTTPS://EXAMPLE.com./x", want: a},
		{allow: "fetch(example.com)", url: "http://example.com:80/", want: a},
		{allow: "fetch(example.com)", url: "https://example.com:8443/", want: k},
		{allow: "fetch(example.com:8443)", url: "https://example.com:8443/", want: a},
		{allow: "fetch(example.com)", url: "https://www.example.com/", want: k},
		{allow: "fetch(example.com)", url: "https://example.com.evil.test/", want: k},
		{allow: "fetch(example.com)", url: "https://evilexample.com/", want: k},
		{allow: "fetch(*.example.com)", url: "https://a.b.example.com/", want: a},
		{allow: "fetch(*.example.com)", url: "https://example.com/", want: k},
		{allow: "fetch(*.example.com)", url: "https://badexample.com/", want: k},
		{allow: "fetch(*)", url: "https://example.com/", want: a},
		{allow: "fetch", url: "https://example.com/", want: a},
		{allow: "fetch(*)", url: "https://example.com:22/", want: k},
		// What could deceive is covered by no rule.
		{allow: "fetch(*)", url: "https://example.com@evil.test/", want: k},
		{allow: "fetch(*)", url: "https://evil.test#@example.com/", want: k},
		{allow: "fetch(*)", url: "https://evil.test?@example.com/", want: k},
		{allow: "fetch(*)", url: "https://example.com\\@evil.test/", want: d},
		{allow: "fetch(*)", url: "https://ехample.com/", want: k},
		{allow: "fetch(*)", url: "https://user:pass@example.com/", want: k},
		{allow: "fetch(*)", url: "https://１２７.0.0.1/", want: d},
		{allow: "fetch(*)", url: "https://127。0。0。1/", want: k},
		// Addresses that are not public need a rule that names them.
		{allow: "fetch(*)", url: "http://127.0.0.1:8080/", want: k},
		{allow: "fetch(*)", url: "http://localhost/", want: k},
		{allow: "fetch(*)", url: "http://LOCALHOST./", want: k},
		{allow: "fetch(*)", url: "http://x.localhost/", want: k},
		{allow: "fetch(*)", url: "http://[::1]/", want: k},
		{allow: "fetch(*)", url: "http://[::ffff:127.0.0.1]/", want: k},
		{allow: "fetch(*)", url: "http://[::127.0.0.1]/", want: k},
		{allow: "fetch(*)", url: "http://[64:ff9b::a00:1]/", want: k},
		{allow: "fetch(*)", url: "http://[2002:7f00:1::]/", want: k},
		{allow: "fetch(*)", url: "http://[fe80::1%25eth0]/", want: k},
		{allow: "fetch(*)", url: "http://[fd00:ec2::254]/", want: k},
		{allow: "fetch(*)", url: "http://0/", want: k},
		{allow: "fetch(*)", url: "http://0.0.0.0/", want: k},
		{allow: "fetch(*)", url: "http://2130706433/", want: k},
		{allow: "fetch(*)", url: "http://0x7f.1/", want: k},
		{allow: "fetch(*)", url: "http://0x7f000001/", want: k},
		{allow: "fetch(*)", url: "http://017700000001/", want: k},
		{allow: "fetch(*)", url: "http://127.1/", want: k},
		{allow: "fetch(*)", url: "http://127.1.1/", want: k},
		{allow: "fetch(*)", url: "http://0x/", want: k},
		{allow: "fetch(*)", url: "http://0000000000000000000000000000017700000001/", want: k},
		{allow: "fetch(*)", url: "http://4294967296/", want: d},
		{allow: "fetch(*)", url: "http://127.16777216/", want: d},
		{allow: "fetch(*)", url: "http://256.1/", want: d},
		{allow: "fetch(*)", url: "http://1.2.3.4.5/", want: d},
		{allow: "fetch(*)", url: "http://08.1/", want: d},
		{allow: "fetch(*)", url: "http://0177.0.0.1/", want: k},
		{allow: "fetch(*)", url: "http://134744072/", want: k}, // 8.8.8.8, spelled to be overlooked
		{allow: "fetch(*)", url: "http://169.254.169.254/latest/meta-data/", want: k},
		{allow: "fetch(*)", url: "http://metadata.google.internal/", want: k},
		{allow: "fetch(*)", url: "http://127.0.0.1.nip.io/", want: k},
		{allow: "fetch(*)", url: "http://app-10-0-0-1.sslip.io/", want: k},
		{allow: "fetch(*)", url: "http://user@127.0.0.1/", want: k},
		{allow: "fetch(*)", url: "http://10.1.2.3/", want: k},
		{allow: "fetch(*)", url: "http://printer/", want: k},
		{allow: "fetch(*)", url: "http://8.8.8.8/", want: a},
		{allow: "fetch(localhost:3000)", url: "http://localhost:3000/x", want: a},
		{allow: "fetch(localhost:3000)", url: "http://localhost:3001/x", want: k},
		{allow: "fetch(127.0.0.1)", url: "http://127.0.0.1/", want: a},
		{allow: "fetch([::1]:3000)", url: "http://[::1]:3000/", want: a},
		{allow: "fetch(127.0.0.1)", url: "http://127.1/", want: k},
		// Nothing else is fetched.
		{allow: "fetch(*)", url: "file:///etc/passwd", want: d},
		{allow: "fetch(*)", url: "gopher://127.0.0.1/", want: d},
		{allow: "fetch(*)", url: "data:text/html,x", want: d},
		{allow: "fetch(*)", url: "javascript:alert(1)", want: d},
		{allow: "fetch(*)", url: "//example.com/", want: d},
		{allow: "fetch(*)", url: "example.com", want: d},
		{allow: "fetch(*)", url: "http://", want: d},
		{allow: "fetch(*)", url: "http:example.com", want: d},
		{allow: "fetch(*)", url: "http://a b/", want: d},
		{allow: "fetch(*)", url: "http://256.256.256.256/", want: d},
		{allow: "fetch(*)", url: "http://1.2.3.4.5/", want: d},
		{allow: "fetch(*)", url: "https://example.com../", want: d},
		{allow: "fetch(*)", url: "https://example.com/\r\nHost: x", want: d},
		// Deny and ask rules speak of every port.
		{allow: "fetch(*)", deny: "fetch(example.com)", url: "https://EXAMPLE.com.:8443/", want: d},
		{allow: "fetch(*)", deny: "fetch(*.example.com)", url: "https://a.example.com/", want: d},
		{allow: "fetch(example.com)", ask: "fetch(*)", url: "https://example.com/", want: k},
	} {
		var rs permission.Rules
		for effect, text := range map[permission.Verdict]string{a: c.allow, k: c.ask, d: c.deny} {
			if text == "" {
				continue
			}
			r, err := permission.ParseRule(text)
			if err != nil {
				t.Fatal(err)
			}
			r.Effect, r.Source = effect, "test"
			rs = append(rs, r)
		}
		if got := rs.Decide(fetching(c.url), permission.Default); got.Verdict != c.want {
			t.Errorf("allow %q ask %q deny %q: %s is %s (%s), want %s", c.allow, c.ask, c.deny, c.url, got.Verdict, got.Reason, c.want)
		}
	}
	if got := permission.Rules(nil).Decide(fetching("file:///x"), permission.Bypass); got.Verdict != d {
		t.Errorf("bypass fetches a file: %+v", got)
	}
}

func TestHostPatternsThatMeanMoreThanTheySayAreRefused(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"https://example.com", "example.com/x", "*.com", "ex*mple.com", "bücher.example", "a..b", "a b", "x:y", "*.", "user@host"} {
		if r, err := permission.ParseRule("fetch(" + pattern + ")"); err == nil {
			t.Errorf("fetch(%s) is read as %+v", pattern, r)
		}
	}
}

func TestAPublicNameThatLeadsToAPrivateAddressAsks(t *testing.T) {
	t.Parallel()
	private, public := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("8.8.8.8")
	broad, named := rules(t, permission.Allow, "fetch(*)"), rules(t, permission.Allow, "fetch(intra.example.com)")
	r := fetching("https://intra.example.com/")
	for _, c := range []struct {
		rules   permission.Rules
		dialled netip.Addr
		want    permission.Verdict
	}{
		{broad, public, permission.Allow}, {broad, private, permission.Ask}, {named, private, permission.Allow}, {nil, public, permission.Ask}, {broad, netip.Addr{}, permission.Deny},
		{slices.Concat(broad, rules(t, permission.Deny, "fetch(*.example.com)")), public, permission.Deny},
	} {
		if got := c.rules.DecideAddress(r, c.dialled, permission.Default); got.Verdict != c.want {
			t.Errorf("%v dialling %s: %s (%s), want %s", c.rules, c.dialled, got.Verdict, got.Reason, c.want)
		}
	}
}

// Names that lead into the machine or its own network need a rule that names them, as a domain and
// as a host in it; names that only end alike do not.
func TestNamesOfTheOwnNetworkNeedARuleThatNamesThem(t *testing.T) {
	t.Parallel()
	wide := hosts(t, permission.Allow, "fetch(*)")
	for domain := range strings.FieldsSeq(`localhost localdomain local internal intranet private corp home lan home.arpa
		in-addr.arpa ip6.arpa onion svc localtest.me lvh.me vcap.me lacolhost.com`) {
		for _, host := range []string{domain, "a." + domain, "a.b." + strings.ToUpper(domain)} {
			if d := wide.Decide(fetching("http://"+host+"/"), permission.Default); d.Verdict != permission.Ask {
				t.Errorf("%s: %s (%s)", host, d.Verdict, d.Reason)
			}
		}
		if d := wide.Decide(fetching("http://example.x"+domain+"/"), permission.Default); d.Verdict != permission.Allow {
			t.Errorf("example.x%s: %s (%s)", domain, d.Verdict, d.Reason)
		}
		named := hosts(t, permission.Allow, "fetch(a."+domain+")")
		if d := named.Decide(fetching("http://a."+domain+"/"), permission.Default); d.Verdict != permission.Allow {
			t.Errorf("a rule names a.%s: %s (%s)", domain, d.Verdict, d.Reason)
		}
	}
	for host, want := range map[string]permission.Verdict{"az09-_.example.com": permission.Allow, "cluster.local": permission.Ask,
		"a+b.example.com": permission.Ask, "10-0-0-1.example.com": permission.Ask, "8-8-8-8.example.com": permission.Allow, "x.10.0.0.1.example.com": permission.Ask, "10-0-0.example.com": permission.Allow} {
		if d := wide.Decide(fetching("http://"+host+"/"), permission.Default); d.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", host, d.Verdict, d.Reason, want)
		}
	}
}

func hosts(t *testing.T, effect permission.Verdict, texts ...string) permission.Rules {
	t.Helper()
	var rs permission.Rules
	for _, text := range texts {
		r, err := permission.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Effect = effect
		rs = append(rs, r)
	}
	return rs
}

// A rule that denies what is done to files holds for every tool that does it, and no rule that allows
// reaches further than its tool.
func TestARuleForATool(t *testing.T) {
	t.Parallel()
	also := map[string]string{"read": "read", "search": "search read", "glob": "glob read", "list": "list read", "write": "write edit", "edit": "edit write"}
	for tool, of := range also {
		for other := range also {
			r := permission.Request{Tool: tool, Class: run.Writes, Paths: []string{"src/a"}, Workspace: "/work"}
			holds := slices.Contains(strings.Fields(of), other)
			if d := hosts(t, permission.Deny, other+"(src/*)").Decide(r, permission.Bypass); (d.Verdict == permission.Deny) != holds {
				t.Errorf("deny %s(src/*), %s: %s (%s)", other, tool, d.Verdict, d.Reason)
			}
			if d := hosts(t, permission.Ask, other+"(src/*)").Decide(r, permission.AcceptEdits); (d.Source == "flag" || d.Rule != "") != holds {
				t.Errorf("ask %s(src/*), %s: %s by %q (%s)", other, tool, d.Verdict, d.Rule, d.Reason)
			}
			if d := hosts(t, permission.Allow, other+"(src/*)").Decide(r, permission.Default); (d.Rule != "") != (tool == other) {
				t.Errorf("allow %s(src/*), %s: %s by %q (%s)", other, tool, d.Verdict, d.Rule, d.Reason)
			}
		}
	}
}
