package tool

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"pawl/internal/proc"
	"pawl/permission"
	"pawl/permission/network"
	"pawl/run"
	"pawl/sandbox"
	"pawl/tool/proxy"
)

// proxyVariables name the proxy for the programs of a command.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY"}

// ownHosts are the names of a command's own loopback, which it reaches without the proxy.
var ownHosts = []string{"localhost", "127.0.0.1", "::1"}

// openHosts opens the network of a command that has one by host alone, until the session ends: then it is said which
// hosts it has asked for. The error says which secret it cannot be given.
func (o ShellOptions) openHosts(c *proc.Command, session *sandbox.Session, confined run.Confinement) error {
	l := session.Network()
	if l == nil {
		return nil
	}
	hosts := confined.Hosts()
	secrets, variables, err := o.given(confined)
	if err != nil {
		return err
	}
	p := proxy.Serve(l, proxy.Options{Hosts: hosts, Secrets: secrets, Lookup: o.Lookup, Roots: o.Roots})
	session.AtEnd(func() []string {
		p.Close()
		return append(askedWords(p.Asked(), hosts), o.putWords(p, secrets)...)
	})
	own := slices.DeleteFunc(slices.Clone(ownHosts), func(name string) bool {
		// One that a rule names is the machine's.
		return slices.ContainsFunc(hosts, func(h string) bool {
			_, h = run.CutSecret(h)
			return h == name || strings.HasPrefix(strings.Trim(h, "["), name)
		})
	})
	maps.Copy(variables, map[string]string{"NO_PROXY": strings.Join(own, ","), "no_proxy": strings.Join(own, ","), "NODE_USE_ENV_PROXY": "1"})
	for _, name := range proxyVariables {
		variables[name] = "http://" + l.Addr().String()
	}
	c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		_, ours := variables[name]
		return ours
	})
	for name, value := range variables {
		c.Env = append(c.Env, name+"="+value)
	}
	return nil
}

// maxAsked is how many hosts are listed of each kind.
const maxAsked = 10

// askedWords says which hosts a command has asked for, and how it comes to those that it did not reach.
func askedWords(asked []proxy.Asked, hosts []string) []string {
	var reached, refused, failed, missing []string
	for _, a := range asked {
		if _, err := network.Hosts([]string{a.Missing}); err == nil && network.Proposable(a.Missing) {
			missing = append(missing, a.Missing)
		}
		switch {
		case a.Problem == "":
			reached = append(reached, a.Host)
		case a.Missing == a.Host: // the command's hosts do not have it
			refused = append(refused, a.Host)
		case a.Refused:
			refused = append(refused, a.Host+" ("+a.Problem+")")
		default:
			failed = append(failed, a.Host+" ("+a.Problem+")")
		}
	}
	list := func(hosts []string, what string) string {
		if len(hosts) == 0 {
			return ""
		}
		more := ""
		if len(hosts) > maxAsked {
			hosts, more = hosts[:maxAsked], " and others"
		}
		return strings.Join(hosts, ", ") + more + " " + what
	}
	words := slices.DeleteFunc([]string{list(reached, "allowed"), list(refused, "refused"), list(failed, "failed")}, func(s string) bool { return s == "" })
	if len(words) == 0 {
		return nil
	}
	said := "network: " + strings.Join(words, "; ")
	switch {
	case len(missing) == 0 || len(missing) > maxAsked:
	case permission.GivesSecret(run.ToHosts(hosts...)): // a call that names hosts itself is given none
		said += ". A person can add what was refused to the network of the rule."
	default:
		all, _ := json.Marshal(append(slices.Clone(hosts), missing...))
		said += ". If it needs what was refused, repeat the call with \"hosts\": " + string(all) + "; a person decides that anew."
	}
	return []string{said}
}
