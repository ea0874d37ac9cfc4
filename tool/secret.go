package tool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"pawl/run"
	"pawl/tool/proxy"
)

// A Secret is a value that rules give to commands for one host. A command uses it and never sees it; see
// [proxy.Secret].
type Secret struct {
	Name   string
	Host   string // as in rules, one
	Env    string // the variable in which a command has the placeholder, and pawl the value
	File   string // where the value is instead; empty: in pawl's own variable
	Header string // of requests, that it is put into
}

// maxSecret bounds a value in bytes; most servers take no longer headers.
const maxSecret = 8 << 10

// Value returns the value, as it is now.
func (s Secret) Value() (string, error) {
	value, where := os.Getenv(s.Env), "the variable "+s.Env
	if s.File != "" {
		where = s.File
		info, err := os.Lstat(s.File)
		switch {
		case err != nil:
			return "", fmt.Errorf("%s cannot be read: %w", where, errors.Unwrap(err))
		case !info.Mode().IsRegular() || info.Size() > maxSecret:
			return "", fmt.Errorf("%s must be a regular file of at most 8 KB that holds only the secret", where)
		case info.Mode().Perm()&0o077 != 0:
			return "", fmt.Errorf("%s can be read by others: run `chmod 600 %[1]s`", where)
		}
		content, err := os.ReadFile(s.File)
		if err != nil {
			return "", fmt.Errorf("%s cannot be read: %w", where, errors.Unwrap(err))
		}
		value = strings.TrimSpace(string(content))
	}
	switch {
	case value == "":
		return "", fmt.Errorf("%s has no value", where)
	case len(value) > maxSecret || strings.ContainsFunc(value, func(c rune) bool { return c <= ' ' || c > '~' }):
		return "", fmt.Errorf("the value in %s cannot be sent in a header: a secret is one word of visible ASCII characters", where)
	case !distinctive(value):
		return "", fmt.Errorf("the value in %s could not be hidden in answers: a secret has at least %d characters, not all of them letters", where, leastSecret)
	}
	return value, nil
}

// given returns the secrets that a command is given by its confinement, each with a placeholder of its own.
func (o ShellOptions) given(c run.Confinement) (some []proxy.Secret, variables map[string]string, err error) {
	variables = map[string]string{}
	for _, h := range c.Hosts() {
		name, host := run.CutSecret(h)
		if name == "" {
			continue
		}
		i := slices.IndexFunc(o.Named, func(s Secret) bool { return s.Name == name })
		if i < 0 {
			return nil, nil, fmt.Errorf("its rule gives it the secret %s, which your settings do not have: a person adds a table [secrets.%[1]s]", name)
		}
		s := o.Named[i]
		if s.Host != host {
			return nil, nil, fmt.Errorf("its rule gives it the secret %s for %s, and your settings have that for %s: a person stores the rule anew", name, host, s.Host)
		}
		value, err := s.Value()
		if err != nil {
			return nil, nil, fmt.Errorf("its rule gives it the secret %s, and %w", name, err)
		}
		p := proxy.Secret{Name: name, Host: host, Header: s.Header, Placeholder: "pawl-secret-" + name + "-" + rand.Text(), Value: value}
		some, variables[s.Env] = append(some, p), p.Placeholder
	}
	return some, variables, nil
}

// putWords says which secrets were sent, and of those that were not, though their hosts were reached, how they are. Why a
// host was not reached is said of the network.
func (o ShellOptions) putWords(p *proxy.Proxy, given []proxy.Secret) (words []string) {
	asked, put := p.Asked(), p.Put()
	for _, s := range given {
		switch i := slices.IndexFunc(o.Named, func(of Secret) bool { return of.Name == s.Name }); {
		case slices.Contains(put, s.Name):
			words = append(words, "secret: "+s.Name+" was put into requests to "+s.Host)
		case slices.ContainsFunc(asked, func(a proxy.Asked) bool { return a.Host == s.Host && a.Problem != "" }):
		case slices.ContainsFunc(asked, func(a proxy.Asked) bool { return a.Host == s.Host }):
			words = append(words, fmt.Sprintf("secret: %s was put into no request. It is where a request to http://%s/ (not https:) has the value of $%s in its header %s; pawl makes it by https then",
				s.Name, s.Host, o.Named[i].Env, s.Header))
		}
	}
	return words
}
