package app

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"pawl/agent"
	"pawl/config"
	"pawl/permission"
	"pawl/permission/network"
	"pawl/run"
	"pawl/sandbox"
	"pawl/tool"
	"pawl/tool/outputs"
)

// registry holds the tools of every run. rules are those that hold for a run, for the
// hosts and addresses that fetch comes to; nil: it reaches public ones alone. shell says
// what variables commands get, and agents how other agents are started.
func registry(rules func(run.ID) permission.Rules, shell tool.ShellOptions, agents agent.Delegation) *tool.Registry {
	options := tool.FetchOptions{Granted: func(c tool.Call) bool { return c.Granted }}
	if rules != nil {
		shell.Fence = func(id run.ID, folders []string) sandbox.Fence { return fence(rules(id), folders...) }
		options.Web.AllowAddress = reach(func() permission.Rules { return rules("") })
		options.CheckRedirect = func(c tool.Call, to *url.URL) error {
			return rules(c.Run).CheckRedirect(permission.Request{Tool: "fetch", Class: run.Reads}, to.String())
		}
	}
	fetch := tool.Fetch(options)
	tools := append(tool.Builtin(), fetch, tool.Shell(shell), tool.ShellOutput(), tool.ShellStop(), tool.Help())
	tools = append(tools, agent.Tools(agents)...)
	return tool.NewRegistry(append(tools, outputs.All()...)...)
}

// fence is what rules keep from programs in some folders.
func fence(rules permission.Rules, folders ...string) (f sandbox.Fence) {
	f.Hidden, f.Fixed = rules.Fenced(folders...)
	return f
}

// reach returns what decides about an address that fetch is about to dial: a public
// one was decided on with the call; any other needs a rule that names its host, or
// a person who has seen that it is one.
func reach(rules func() permission.Rules) func(string, netip.AddrPort, bool) error {
	return func(host string, addr netip.AddrPort, granted bool) error {
		if network.Special(addr.Addr()) == "" || granted && saysLocal(host) {
			return nil
		}
		u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(int(addr.Port()))), Path: "/"}
		d := rules().DecideAddress(permission.Request{Tool: "fetch", Class: run.Reads, URL: u.String()}, addr.Addr(), permission.Default)
		if d.Verdict != permission.Allow {
			return errors.New(d.Reason)
		}
		return nil
	}
}

// saysLocal reports whether a host's name shows that it is no public one.
func saysLocal(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
}

// ToolNames returns the names of pawl's tools: those of every run, the one of runs that have skills, and the one
// of the memory.
func ToolNames() []string {
	return registry(nil, tool.ShellOptions{}, agent.Delegation{}).With(tool.Skill(nil, nil), tool.Memory()).Names()
}

// rules returns the rules of the settings. Those of all sources count together, so a deny
// rule of one is not undone by another.
func (s *settings) rules(tools []string) (permission.Rules, error) {
	var rules permission.Rules
	add := func(effect permission.Verdict, texts []config.Value) error {
		for _, t := range texts {
			r, err := permission.ParseTyped(t.Text, tools) // a deny rule with a slip would deny nothing
			if err != nil {
				where := "--" + string(effect)
				if t.Source != config.FromFlag {
					where = t.Source + ", " + string(effect)
				}
				return config.Errorf("%s: %w", where, err)
			}
			r.Effect, r.Source = effect, t.Source
			rules = append(rules, r)
		}
		return nil
	}
	for _, effect := range []permission.Verdict{permission.Allow, permission.Ask, permission.Deny} {
		if err := add(effect, s.Values(string(effect))); err != nil {
			return nil, err
		}
	}
	for _, v := range s.Values("network") {
		open, err := permission.NetworkRules([]string{v.Text}, v.Source)
		if err != nil {
			return nil, config.Errorf("%s, network: %w", v.Source, err)
		}
		rules = append(rules, open...)
	}
	return rules, nil
}
