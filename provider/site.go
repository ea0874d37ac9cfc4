package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"pawl/config"
	"pawl/internal/visible"
	"pawl/llm/models"
	"pawl/llm/script"
)

// A Site is a provider as it is configured here.
type Site struct {
	models.Provider
	Address     string // of the API; empty: nothing names one
	AddressFrom string
	Key         string // never shown
	KeyFrom     string // the variable that holds it, with the file if it is a stored one
}

// Site returns how a provider is configured here.
func (ps *Providers) Site(p models.Provider) Site {
	s := Site{Provider: p, Address: p.BaseURL, AddressFrom: config.FromDefault}
	if p.Source != "" {
		s.AddressFrom = config.FromUser + " " + p.Source
	}
	for _, name := range slices.Backward(p.BaseURLEnv) {
		if v := ps.env.Get(name); v != "" {
			s.Address, s.AddressFrom = v, config.FromEnv+" "+name
		}
	}
	for _, name := range slices.Backward(p.KeyEnv) {
		if v := ps.env.Get(name); v != "" {
			s.Key, s.KeyFrom = v, name
		}
	}
	if s.Key == "" {
		s.Key, s.KeyFrom = ps.storedKey(p.KeyEnv)
	}
	if p.Local {
		s.Address = localAddress(s.Address, p.BaseURL)
	}
	return s
}

// place names the key of the provider in a store, where nobody can read it.
func (s Site) place() string {
	sum := sha256.Sum256([]byte(s.Address + "\n" + s.Key))
	return hex.EncodeToString(sum[:8])
}

// localAddress completes the address of a server on this machine: OLLAMA_HOST may be
// a host alone, or the address that the server listens on, which is not always one
// that can be asked (docs.ollama.com/faq, read 2026-11-20).
func localAddress(address, usual string) string {
	full, err := url.Parse(usual)
	if address == "" || err != nil {
		return address
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return address // told by the first request
	}
	host, port := u.Hostname(), u.Port()
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = full.Hostname()
	}
	if port == "" && u.Scheme == "http" {
		port = full.Port()
	}
	if port != "" {
		u.Host = net.JoinHostPort(host, port)
	}
	return u.String()
}

// Missing says what has to be there before a request can be sent; empty: nothing.
func (s Site) Missing() string {
	switch {
	case s.Wire == script.Wire:
		return ""
	case s.Address == "":
		return s.BaseURLEnv[0] + " is not set"
	case !s.NeedsKey() || s.Key != "":
		return ""
	case len(s.KeyEnv) > 1:
		return "neither " + strings.Join(s.KeyEnv, " nor ") + " is set"
	}
	return s.KeyEnv[0] + " is not set"
}

// Usable returns an error, with what to do, when no request can be sent.
func (s Site) Usable() error {
	switch missing := s.Missing(); {
	case missing == "":
		return s.checkAddress()
	case s.Address == "":
		return fmt.Errorf("%s has no address and %s: `export %s=…`, the address of its API", s.Name, missing, s.BaseURLEnv[0])
	default:
		where := ""
		if s.KeysAt != "" {
			where = "get one at " + s.KeysAt + " and "
		}
		return fmt.Errorf("%s needs a key and %s: %s`export %s=…`", s.Name, missing, where, s.KeyEnv[0])
	}
}

// checkAddress returns what is wrong with the form of the address.
func (s Site) checkAddress() error {
	if s.Wire == script.Wire {
		return nil
	}
	if u, err := url.Parse(s.Address); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	example := s.BaseURL
	if example == "" {
		example = "https://host/v1"
	}
	return fmt.Errorf("the address of %s is not a URL: %s (%s); it must be like %s", s.Name, visible.Quote(WithoutSecrets(s.Address)), s.AddressFrom, example)
}

// WithoutSecrets returns an address without the user and password it may have.
func WithoutSecrets(address string) string {
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		if _, host, has := strings.Cut(rest, "@"); has {
			return scheme + "://" + host
		}
	}
	return address
}
