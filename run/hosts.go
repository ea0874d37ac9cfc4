package run

import (
	"slices"
	"strings"
)

// byHost begins the text of a confinement that names hosts.
const byHost = string(WithNetwork) + ":"

// ToHosts returns the confinement of a command that has no network but, through pawl, what it names: hosts as in
// rules, each with a port or without, such as registry.npmjs.org or *.example.com:8443; NAME@HOST is one that it is
// given a secret for, see [CutSecret]. Its text has them in order, each once. Without a host it is [Confined].
func ToHosts(hosts ...string) Confinement {
	if len(hosts) == 0 {
		return Confined
	}
	hosts = slices.Clone(hosts)
	slices.Sort(hosts)
	return Confinement(byHost + strings.Join(slices.Compact(hosts), ","))
}

// Hosts returns the hosts of a confinement that names them; nil for any other.
func (c Confinement) Hosts() []string {
	if hosts, ok := strings.CutPrefix(string(c), byHost); ok && hosts != "" {
		return strings.Split(hosts, ",")
	}
	return nil
}

// CutSecret returns the name of the secret that a command is given for a host of its confinement, and the host. The name is
// empty for a host without one.
func CutSecret(h string) (secret, host string) {
	if secret, host, ok := strings.Cut(h, "@"); ok {
		return secret, host
	}
	return "", h
}
