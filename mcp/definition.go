package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"pawl/internal/lazy"
	"pawl/internal/visible"
)

// A Definition says how a server is reached. It is what a person or a repository has written;
// variables in it are not replaced yet, see [Definition.Expand].
type Definition struct {
	Name   string `json:"-"`
	Source string `json:"-"` // where it is written, for people
	Plugin string `json:"-"` // that brings it; empty: none

	Command string            `json:"command,omitempty"` // of a server on this machine
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"` // relative to the workspace; empty: the workspace

	URL     string            `json:"url,omitempty"` // of a server elsewhere
	Headers map[string]string `json:"headers,omitempty"`
	// SSE says that the server speaks the HTTP transport of 2024-11-05.
	SSE bool `json:"sse,omitempty"`

	// ClientID and ClientSecret are those that the authorization server of URL knows pawl by; an id that is an
	// https address is a client id metadata document. Empty: pawl registers itself.
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`

	// Tools are patterns of the tools that are offered, and Hidden of those that are not, in the
	// form of path.Match. No Tools: all.
	Tools  []string `json:"tools,omitempty"`
	Hidden []string `json:"hidden,omitempty"`
	// Closed says that a server on this machine has no network, and Unconfined that it runs outside of
	// the sandbox, with the person's own authority.
	Closed     bool `json:"closed,omitempty"`
	Unconfined bool `json:"unconfined,omitempty"`
	// Required says that no run begins without the server.
	Required bool `json:"required,omitempty"`
	// StartTimeout bounds how long a server may take until it has said which tools it has, and
	// CallTimeout a call. 0: [DefaultStartTimeout], [DefaultCallTimeout].
	StartTimeout time.Duration `json:"start_timeout,omitempty"`
	CallTimeout  time.Duration `json:"call_timeout,omitempty"`
}

// The time limits of a definition that has none. A server that a package manager fetches first
// takes its time; Gemini CLI gives a call as long (facts of 2026-11-23).
const (
	DefaultStartTimeout = 30 * time.Second
	DefaultCallTimeout  = 10 * time.Minute
)

var serverName = lazy.Regexp(`^[A-Za-z0-9]([A-Za-z0-9_-]{0,30}[A-Za-z0-9-])?$`)

// checkName returns why a server cannot have a name; nil if it can. Where its name ends in the name of a tool,
// mcp__SERVER__TOOL, has to be certain: rules are for servers.
func checkName(name string) error {
	if !serverName().MatchString(name) || strings.Contains(name, "__") {
		return fmt.Errorf("%s cannot be the name of a server: it has to be 1 to 32 of a-z, A-Z, 0-9, - and _, without __ and without _ at its end", visible.Quote(name))
	}
	return nil
}

// Check returns what is wrong with a definition; nil if nothing is.
func (d Definition) Check() error {
	if err := checkName(d.Name); err != nil {
		return err
	}
	switch {
	case d.Command == "" && d.URL == "":
		return fmt.Errorf("server %s has neither command nor url", d.Name)
	case d.Command != "" && d.URL != "":
		return fmt.Errorf("server %s has both command and url: it is one of them", d.Name)
	case d.URL != "":
		u, err := url.Parse(d.URL)
		if err != nil && !strings.Contains(d.URL, "${") {
			return fmt.Errorf("server %s: its url cannot be read: %w", d.Name, errors.Unwrap(err))
		}
		if err == nil && u.Scheme != "https" && u.Scheme != "http" && !strings.HasPrefix(d.URL, "${") {
			return fmt.Errorf("server %s: its url is %s: it has to begin with https:// or http://", d.Name, visible.Quote(d.URL))
		}
		if len(d.Args)+len(d.Env) > 0 || d.Dir != "" || d.Closed || d.Unconfined {
			return fmt.Errorf("server %s: args, env, cwd, network and sandbox are for servers with a command, and it has a url", d.Name)
		}
	case d.Closed && d.Unconfined:
		return fmt.Errorf("server %s: without the sandbox nothing closes its network", d.Name)
	case len(d.Headers) > 0 || d.SSE || d.ClientID != "" || d.ClientSecret != "":
		return fmt.Errorf("server %s: headers, client_id, client_secret and sse are for servers with a url, and it has a command", d.Name)
	}
	for _, p := range slices.Concat(d.Tools, d.Hidden) {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("server %s: %s is not a pattern of names", d.Name, visible.Quote(p))
		}
	}
	for _, limit := range []time.Duration{d.StartTimeout, d.CallTimeout} {
		if limit < 0 {
			return fmt.Errorf("server %s: a time limit is negative", d.Name)
		}
	}
	return nil
}

// Fingerprint identifies what a definition says, without where it says it: what was trusted
// is trusted until it changes.
func (d Definition) Fingerprint() string {
	d.StartTimeout, d.CallTimeout, d.Required = 0, 0, false // they say nothing of what is started
	b, _ := json.Marshal(d)                                 // texts, lists and maps of texts
	sum := sha256.Sum256(append([]byte(d.Name+"\x00"), b...))
	return hex.EncodeToString(sum[:])
}

// String is what is started or reached, in a line for people.
func (d Definition) String() string {
	if d.URL != "" {
		return visible.Escape(d.URL)
	}
	return visible.Escape(strings.Join(append([]string{d.Command}, d.Args...), " "))
}

// Relative returns what of the command of a server without a folder of its own is a relative path; empty if nothing is.
func (d Definition) Relative() string {
	if d.Dir != "" || d.Command == "" {
		return ""
	}
	for i, s := range append([]string{d.Command}, d.Args...) {
		own := i == 0 && strings.Contains(s, "/") && s[0] != '/' && s[0] != '$'
		if first, _, _ := strings.Cut(s, "/"); first == "." || first == ".." || own {
			return s
		}
	}
	return ""
}

// offers reports whether a tool of the server is offered.
func (d Definition) offers(name string) bool {
	matches := func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }
	return (len(d.Tools) == 0 || slices.ContainsFunc(d.Tools, matches)) && !slices.ContainsFunc(d.Hidden, matches)
}

func (d Definition) startTimeout() time.Duration {
	if d.StartTimeout > 0 {
		return d.StartTimeout
	}
	return DefaultStartTimeout
}

func (d Definition) callTimeout() time.Duration {
	if d.CallTimeout > 0 {
		return d.CallTimeout
	}
	return DefaultCallTimeout
}

// variable is ${NAME} or ${NAME:-default}, the form of Claude Code's files.
var variable = lazy.Regexp(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// WorkspaceVariable stands for the folder of the run in definitions.
const WorkspaceVariable = "PAWL_WORKSPACE"

// Expand returns the definition with its variables replaced. A variable that is not set and has
// no default is an error.
func (d Definition) Expand(getenv func(string) (string, bool)) (Definition, error) {
	var missing []string
	expand := func(s string) string {
		return variable().ReplaceAllStringFunc(s, func(match string) string {
			parts := variable().FindStringSubmatch(match)
			value, set := getenv(parts[1])
			switch {
			case parts[2] != "" && value == "":
				return strings.TrimPrefix(parts[2], ":-")
			case !set && !slices.Contains(missing, parts[1]):
				missing = append(missing, parts[1])
			}
			return value
		})
	}
	all := func(m map[string]string) map[string]string {
		m = maps.Clone(m)
		for _, name := range slices.Sorted(maps.Keys(m)) {
			m[name] = expand(m[name])
		}
		return m
	}
	d.Command, d.URL, d.Dir = expand(d.Command), expand(d.URL), expand(d.Dir)
	d.ClientID, d.ClientSecret = expand(d.ClientID), expand(d.ClientSecret)
	d.Args = slices.Clone(d.Args)
	for i := range d.Args {
		d.Args[i] = expand(d.Args[i])
	}
	d.Env, d.Headers = all(d.Env), all(d.Headers)
	if len(missing) > 0 {
		return d, fmt.Errorf("it needs the variable %s, which is not set", strings.Join(missing, ", "))
	}
	return d, nil
}

// ParseFile reads the servers of a file in the form of Claude Code's .mcp.json: an object with
// "mcpServers". Source: code.claude.com/docs/en/mcp, read 2026-11-26.
func ParseFile(content []byte, source string) ([]Definition, error) {
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")), &file); err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", source, err)
	}
	var all []Definition
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		d, err := ParseDefinition(name, file.Servers[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		d.Source = source
		all = append(all, d)
	}
	return all, nil
}

// ParseDefinition returns the definition of a server in the form that those of a .mcp.json have.
func ParseDefinition(name string, raw json.RawMessage) (Definition, error) {
	d, err := parseForeign(raw)
	if err != nil {
		return d, fmt.Errorf("server %s: %w", visible.Quote(name), err)
	}
	d.Name = name
	return d, d.Check()
}

// ofTables are the keys of a person's own tables that Claude Code's form does not have. One that was passed over would leave
// a server with a network, or in a sandbox, that its author does not expect.
var ofTables = []string{"sandbox", "network", "hidden_tools", "required", "enabled", "sse", "start_timeout", "call_timeout", "client_id", "client_secret"}

func parseForeign(raw json.RawMessage) (Definition, error) {
	var f struct {
		Type    string            `json:"type"`
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
		Dir     string            `json:"cwd"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
		Timeout int64             `json:"timeout"` // of a call, in milliseconds
		Tools   []string          `json:"tools"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return Definition{}, err
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return Definition{}, err
	}
	for _, key := range ofTables {
		if given[key] != nil {
			return Definition{}, fmt.Errorf("%q is no key of servers in JSON; it counts in a table [mcp.NAME] of your own config.toml alone", key)
		}
	}
	d := Definition{Command: f.Command, Args: f.Args, Env: f.Env, Dir: f.Dir, URL: f.URL, Headers: f.Headers, Tools: f.Tools,
		CallTimeout: time.Duration(f.Timeout) * time.Millisecond}
	switch f.Type {
	case "", "stdio", "http", "streamable-http":
	case "sse":
		d.SSE = true
	default:
		return d, fmt.Errorf("its type is %s: it can be stdio, http or sse", visible.Quote(f.Type))
	}
	return d, nil
}
