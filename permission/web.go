package permission

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"pawl/permission/network"
	"pawl/run"
)

// web judges the address of a call.
func (t *evaluation) web() {
	at, d := t.address()
	t.add(kindHost, t.r.URL, at, d)
}

func (t *evaluation) address() (stage, Decision) {
	r := t.r
	s, err := network.SiteOf(r.URL)
	if err != nil {
		return atDeny, builtIn("nothing is fetched from " + quote(r.URL) + ": " + err.Error())
	}
	speaks := func(r Rule) bool { return s.Matches(r.Pattern, true) }
	if rule, ok := firstRule(t.deny, speaks); ok {
		return atDeny, by(rule, "denied: "+s.Host)
	}
	switch {
	case t.m == Plan && r.Class == run.Writes:
		return atMode, byMode(Deny, t.m, "only reading is allowed")
	case t.m == Bypass:
		return atMode, byMode(Allow, t.m, "everything that is not denied runs")
	}
	if rule, ok := firstRule(t.ask, speaks); ok {
		return atAsk, by(rule, "a rule asks: "+s.Host)
	}
	for _, rule := range t.allow {
		if s.Suspicious == "" && s.Matches(rule.Pattern, false) && (s.Local == "" || s.IsNamed(rule.Pattern)) {
			return atAllow, by(rule, "it covers "+s.Host)
		}
	}
	switch {
	case s.Suspicious != "":
		return atDefault, byDefault(Ask, "the address is misleading: "+s.Suspicious)
	case s.Local != "":
		return atDefault, byDefault(Ask, s.Host+" is "+s.Local+"; a rule has to name it")
	}
	return atDefault, byDefault(Ask, "no rule covers "+s.Host)
}

// CheckRedirect returns an error that says why a fetch of r.URL, which was allowed, may
// not follow a redirect to another address: a deny or ask rule speaks of its host, or
// it leads to a host that is not of the public Internet and that no rule names. That a
// redirect leaves the site is for the caller to refuse.
func (rs Rules) CheckRedirect(r Request, to string) error {
	s, err := network.SiteOf(to)
	if err != nil {
		return err
	}
	for _, effect := range []Verdict{Deny, Ask} {
		if rule, ok := firstRule(rs.of(effect, r.Tool), func(r Rule) bool { return s.Matches(r.Pattern, true) }); ok {
			return fmt.Errorf("the rule %q, which says %s, holds for %s", rule, effect, s.Host)
		}
	}
	named := slices.ContainsFunc(rs.of(Allow, r.Tool), func(rule Rule) bool { return s.IsNamed(rule.Pattern) })
	switch {
	case s.Suspicious != "":
		return errors.New(s.Suspicious)
	case s.Local != "" && !named:
		return fmt.Errorf("%s is %s, and no rule names it", s.Host, s.Local)
	}
	return nil
}

// DecideAddress decides about an address that a call of [Rules.Decide]'s is about
// to dial for r.URL: what was a public host's name may lead to a private address,
// and a redirect anywhere. It is at least as strict as Decide for r.
func (rs Rules) DecideAddress(r Request, dialled netip.Addr, m Mode) Decision {
	d := rs.Decide(r, m)
	what := network.Special(dialled)
	if d.Verdict != Allow || what == "" || m == Bypass {
		return d
	}
	if s, err := network.SiteOf(r.URL); err == nil && slices.ContainsFunc(rs.of(Allow, r.Tool), func(rule Rule) bool { return s.IsNamed(rule.Pattern) }) {
		return d
	}
	if !dialled.IsValid() {
		return byDefault(Deny, r.URL+" leads to no address")
	}
	return byDefault(Ask, r.URL+" leads to "+dialled.String()+": "+what+"; a rule has to name the host")
}
