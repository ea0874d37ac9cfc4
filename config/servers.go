package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"pawl/internal/atomicfile"
	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/mcp"
)

// serversKey is the table of MCP servers in the user's file.
const serversKey = "mcp"

// ServersFile is a workspace's own file of MCP servers, in the form of Claude Code. It counts when a
// person has trusted it as it is.
const ServersFile = ".mcp.json"

// A serverTable is a table [mcp.NAME].
type serverTable struct {
	Command      string            `toml:"command"`
	Args         []string          `toml:"args"`
	Env          map[string]string `toml:"env"`
	Dir          string            `toml:"cwd"`
	URL          string            `toml:"url"`
	Headers      map[string]string `toml:"headers"`
	SSE          bool              `toml:"sse"`
	ClientID     string            `toml:"client_id"`
	ClientSecret string            `toml:"client_secret"`
	Tools        []string          `toml:"tools"`
	Hidden       []string          `toml:"hidden_tools"`
	Network      *bool             `toml:"network"`
	Sandbox      *bool             `toml:"sandbox"`
	Required     bool              `toml:"required"`
	Enabled      *bool             `toml:"enabled"`
	StartTimeout string            `toml:"start_timeout"`
	CallTimeout  string            `toml:"call_timeout"`
}

// serverFields are the keys of such a table.
var serverFields = []string{"command", "args", "env", "cwd", "url", "headers", "sse", "client_id", "client_secret", "tools", "hidden_tools", "network", "sandbox", "required",
	"enabled", "start_timeout", "call_timeout"}

// foreignFields are what other agents call them.
var foreignFields = map[string]string{"environment": "env", "httpUrl": "url", "http_headers": "headers", "enabled_tools": "tools",
	"includeTools": "tools", "disabled_tools": "hidden_tools", "excludeTools": "hidden_tools", "timeout": "call_timeout",
	"startup_timeout_sec": "start_timeout", "tool_timeout_sec": "call_timeout", "disabled": "enabled", "type": "url for HTTP, and sse = true for the old HTTP transport"}

// readServers reads the MCP servers of all sources, among them the content of the user's file. Of two with one name the first counts: what a
// repository calls "github" does not replace what the person calls so.
func (c *Config) readServers(s Sources, file string, content []byte) error {
	add := func(found []mcp.Definition) {
		for _, d := range found {
			if i := slices.IndexFunc(c.Servers, func(have mcp.Definition) bool { return have.Name == d.Name }); i >= 0 {
				if c.Servers[i].Fingerprint() != d.Fingerprint() {
					c.Notes = append(c.Notes, "the MCP server "+d.Name+" of "+d.Source+" does not count: "+c.Servers[i].Source+" has one of that name")
				}
				continue
			}
			c.Servers = append(c.Servers, d)
		}
	}
	for _, v := range c.Values("mcp_config") {
		content, source := []byte(v.Text), "--mcp-config"
		if !strings.HasPrefix(strings.TrimSpace(v.Text), "{") { // a file, and not what would stand in it
			var err error
			if content, err = os.ReadFile(v.Text); err != nil {
				return Errorf("mcp_config: the MCP servers cannot be read: %w", err)
			}
			source = v.Text
		}
		found, err := mcp.ParseFile(content, source)
		if err != nil {
			return &Error{err}
		}
		if !bytes.Contains(content, []byte(`"mcpServers"`)) {
			return Errorf("mcp_config: %s has no \"mcpServers\"", source)
		}
		add(found)
	}
	found, err := parseServers(file, content)
	if err != nil {
		return err
	}
	add(found)
	if s.Policy != nil {
		content, ok, why := s.Policy.TrustedFile(ServersFile)
		if ok {
			if found, err = mcp.ParseFile(content, ServersFile); err != nil {
				why = err.Error() // a mistake of the repository keeps no one from working in it
			}
			add(found)
		}
		if why != "" {
			c.Notes = append(c.Notes, why)
		}
	}
	add(s.Servers)
	stable.Sort(c.Servers, func(a, b mcp.Definition) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// tables are those of a configuration file that have tables by name.
type tables struct {
	Servers map[string]serverTable `toml:"mcp"`
	Secrets map[string]secretTable `toml:"secrets"`
}

// parseTables reads the tables [KEY.NAME] of a configuration file, which have some fields; needs says which at least.
func parseTables(file string, content []byte, key, needs string, fields []string, foreign map[string]string) (t tables, err error) {
	var raw map[string]any
	if !bytes.Contains(content, []byte(key)) || toml.Unmarshal(content, &raw) != nil || raw[key] == nil {
		return t, nil // parseFile has said what is wrong with it
	}
	all, is := raw[key].(map[string]any)
	if !is {
		return t, Errorf("%s: %s must be a table for each: [%[2]s.NAME]", file, key)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		table, is := all[name].(map[string]any)
		if !is {
			return t, Errorf("%s: %s.%s must be a table: [%[2]s.%[3]s] and below it %s", file, key, name, needs)
		}
		for _, field := range slices.Sorted(maps.Keys(table)) {
			switch {
			case slices.Contains(fields, field):
			case foreign[field] != "":
				return t, Errorf("%s: %s.%s: unknown key %s: use %s", file, key, name, visible.Quote(field), foreign[field])
			default:
				return t, Errorf("%s: %s.%s: unknown key %s%s", file, key, name, visible.Quote(field), text.DidYouMean(field, fields))
			}
		}
	}
	if err := toml.Unmarshal(content, &t); err != nil {
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := at.Position()
			return t, Errorf("%s, line %d: %s", file, line, strings.TrimPrefix(err.Error(), "toml: "))
		}
		return t, Errorf("%s: %w", file, err)
	}
	return t, nil
}

// parseServers reads the tables [mcp.NAME] of a configuration file.
func parseServers(file string, content []byte) ([]mcp.Definition, error) {
	typed, err := parseTables(file, content, serversKey, "command or url", serverFields, foreignFields)
	if err != nil {
		return nil, err
	}
	var all []mcp.Definition
	for _, name := range slices.Sorted(maps.Keys(typed.Servers)) {
		t := typed.Servers[name]
		if t.Enabled != nil && !*t.Enabled {
			continue
		}
		d := mcp.Definition{Name: name, Source: file, Command: t.Command, Args: t.Args, Env: t.Env, Dir: t.Dir, URL: t.URL, Headers: t.Headers, SSE: t.SSE, ClientID: t.ClientID, ClientSecret: t.ClientSecret,
			Tools: t.Tools, Hidden: t.Hidden, Closed: t.Network != nil && !*t.Network, Unconfined: t.Sandbox != nil && !*t.Sandbox, Required: t.Required}
		for _, limit := range []struct {
			key, text string
			to        *time.Duration
		}{{"start_timeout", t.StartTimeout, &d.StartTimeout}, {"call_timeout", t.CallTimeout, &d.CallTimeout}} {
			if limit.text == "" {
				continue
			}
			if err := positiveDuration(limit.text); err != nil {
				return nil, Errorf("%s: mcp.%s.%s: %w", file, name, limit.key, err)
			}
			*limit.to, _ = parseDuration(limit.text) // just checked
		}
		if err := d.Check(); err != nil {
			return nil, Errorf("%s: %w", file, err)
		}
		all = append(all, d)
	}
	return all, nil
}

// AddServer adds an MCP server to the user's configuration file, which is made if there is none,
// and returns its path. The rest of the file stays as it is.
func (e Env) AddServer(d mcp.Definition) (path string, err error) {
	if err := d.Check(); err != nil {
		return "", &Error{err}
	}
	return e.editUserFile(func(path string, content []byte) ([]byte, error) {
		found, err := parseServers(path, content)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(found, func(have mcp.Definition) bool { return have.Name == d.Name }) {
			return nil, Errorf("%s has a server %s already: remove it first with `pawl mcp rm %[2]s`", path, d.Name)
		}
		if len(content) > 0 {
			content = append(bytes.TrimRight(content, "\n"), "\n\n"...)
		}
		return append(content, serverText(d)...), nil
	})
}

// UserServers returns the names of the MCP servers in the user's configuration file.
func (e Env) UserServers() (names []string, err error) {
	path := e.UserFile()
	content, err := atomicfile.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	found, err := parseServers(path, content)
	for _, d := range found {
		names = append(names, d.Name)
	}
	return names, err
}

// serverText returns the table of a definition.
func serverText(d mcp.Definition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s.%s]\n", serversKey, d.Name)
	line := func(key string, value any, given bool) {
		if !given {
			return
		}
		text, err := toml.Marshal(map[string]any{key: value})
		if err == nil { // texts, lists and maps of texts
			b.Write(text)
		}
	}
	inline := func(key string, values map[string]string) {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(values)) {
			pair, err := toml.Marshal(map[string]string{name: values[name]})
			if err == nil {
				pairs = append(pairs, strings.TrimSpace(string(pair)))
			}
		}
		if len(pairs) > 0 {
			fmt.Fprintf(&b, "%s = { %s }\n", key, strings.Join(pairs, ", "))
		}
	}
	line("command", d.Command, d.Command != "")
	line("args", d.Args, len(d.Args) > 0)
	inline("env", d.Env)
	line("cwd", d.Dir, d.Dir != "")
	line("url", d.URL, d.URL != "")
	inline("headers", d.Headers)
	line("sse", true, d.SSE)
	line("client_id", d.ClientID, d.ClientID != "")
	line("client_secret", d.ClientSecret, d.ClientSecret != "")
	line("tools", d.Tools, len(d.Tools) > 0)
	line("hidden_tools", d.Hidden, len(d.Hidden) > 0)
	line("network", false, d.Closed)
	line("sandbox", false, d.Unconfined)
	line("required", true, d.Required)
	line("start_timeout", d.StartTimeout.String(), d.StartTimeout > 0)
	line("call_timeout", d.CallTimeout.String(), d.CallTimeout > 0)
	return b.String()
}

// RemoveServer removes an MCP server from the user's configuration file. It reports whether there
// was one.
func (e Env) RemoveServer(name string) (path string, was bool, err error) {
	path, err = e.editUserFile(func(path string, content []byte) ([]byte, error) {
		var kept []byte
		within := false
		for line := range bytes.Lines(content) {
			if header, is := tableHeader(line); is {
				within = header == serversKey+"."+name || strings.HasPrefix(header, serversKey+"."+name+".")
				was = was || within
			}
			if !within {
				kept = append(kept, line...)
			}
		}
		found, err := parseServers(path, kept)
		if err == nil && slices.ContainsFunc(found, func(d mcp.Definition) bool { return d.Name == name }) {
			err = Errorf("%s has the server %s in a form that cannot be removed: edit the file", path, name)
		}
		return kept, err
	})
	return path, was, err
}

// tableHeader returns the name in a line that begins a table.
func tableHeader(line []byte) (name string, is bool) {
	rest, is := bytes.CutPrefix(bytes.TrimSpace(line), []byte("["))
	if !is {
		return "", false
	}
	inside, _, _ := bytes.Cut(rest, []byte("]"))
	return strings.NewReplacer(" ", "", `"`, "", "'", "").Replace(string(inside)), true
}
