package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"pawl/internal/jsonc"
	"pawl/internal/visible"
	"pawl/mcp"
)

// A ForeignServer is an MCP server in the configuration of another agent.
type ForeignServer struct {
	mcp.Definition
	Agent string
	Why   string // why it cannot be taken; empty: it can
}

// a foreignFile is where another agent keeps the servers of its user. Source: their documentation and programs, as
// of 2026-11-23: Claude Code 2.1.197, Codex 0.169.0, OpenCode 1.18.33, Gemini CLI 0.61.0.
type foreignFile struct {
	agent string
	paths []string // relative to the home folder, or absolute; the first that is there counts
	key   string   // of the table of servers
	// variable is how the agent writes a variable in a text; nil: ${NAME}, as pawl does.
	variable *regexp.Regexp
}

func (e Env) foreignFiles() []foreignFile {
	xdg := e.xdg("XDG_CONFIG_HOME", ".config")
	return []foreignFile{
		{"claude", []string{".claude.json"}, "mcpServers", nil},
		{"codex", []string{filepath.Join(e.CodexDir(), "config.toml")}, "mcp_servers", nil},
		{"opencode", []string{filepath.Join(xdg, "opencode", "opencode.json"), filepath.Join(xdg, "opencode", "opencode.jsonc")}, "mcp", regexp.MustCompile(`\{env:(\w+)\}`)},
		{"gemini", []string{filepath.Join(".gemini", "settings.json")}, "mcpServers", regexp.MustCompile(`\$([A-Za-z_]\w*)`)},
	}
}

// ForeignAgents are the agents whose servers can be imported.
var ForeignAgents = []string{"claude", "codex", "opencode", "gemini"}

// ForeignServers returns the servers that the user has in the configuration of other agents, those of a folder alone
// among them; without names of all that pawl knows. What one cannot be read from is in notes.
func (e Env) ForeignServers(folder string, agents ...string) (all []ForeignServer, notes []string) {
	for _, f := range e.foreignFiles() {
		if len(agents) > 0 && !slices.Contains(agents, f.agent) {
			continue
		}
		for _, path := range f.paths {
			if !filepath.IsAbs(path) {
				path = filepath.Join(e.Get("HOME"), path)
			}
			content, err := readForeign(path)
			if content == nil && err == nil {
				continue
			}
			var found []ForeignServer
			if err == nil {
				found, err = f.read(content, path, folder)
			}
			if err != nil {
				notes = append(notes, path+" cannot be read: "+err.Error())
			}
			all = append(all, found...)
			break
		}
	}
	return all, notes
}

func (f foreignFile) read(content []byte, path, folder string) ([]ForeignServer, error) {
	var file map[string]any
	var err error
	if strings.HasSuffix(path, ".toml") {
		err = toml.Unmarshal(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")), &file)
	} else {
		err = json.Unmarshal(jsonc.Strict(content), &file)
	}
	if err != nil {
		return nil, err
	}
	all := f.servers(file[f.key], path)
	if folders, is := file["projects"].(map[string]any); is && f.agent == "claude" { // where `claude mcp add` writes without --scope
		if local, is := folders[folder].(map[string]any); is {
			all = append(f.servers(local[f.key], path+" (there for this folder alone)"), all...)
		}
	}
	return all, nil
}

func (f foreignFile) servers(table any, source string) (all []ForeignServer) {
	servers, _ := table.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		raw, err := json.Marshal(servers[name])
		var s ForeignServer
		if err == nil {
			s, err = f.server(raw)
		}
		s.Name, s.Source, s.Agent = name, source, f.agent
		if err == nil && s.Why == "" {
			err = s.Check()
		}
		if err != nil {
			s.Why = visible.Escape(err.Error())
		}
		all = append(all, s)
	}
	return all
}

// server reads a server in the form of any of the agents: what they call the same means the same, but for a
// timeout, and for the url of Gemini CLI.
func (f foreignFile) server(raw json.RawMessage) (ForeignServer, error) {
	if f.variable != nil {
		raw = f.variable.ReplaceAll(raw, []byte("$${$1}"))
	}
	var t struct {
		Type        string
		Command     any // a text, or with its arguments a list
		Args        []string
		Env         map[string]string
		Environment map[string]string
		Variables   []string `json:"env_vars"`
		Dir         string   `json:"cwd"`
		URL         string
		HTTPURL     string `json:"httpUrl"`
		Headers     map[string]string
		HTTPHeaders map[string]string `json:"http_headers"`
		EnvHeaders  map[string]string `json:"env_http_headers"`
		Bearer      string            `json:"bearer_token_env_var"`
		Include     []string          `json:"includeTools"`
		Exclude     []string          `json:"excludeTools"`
		Enabled     []string          `json:"enabled_tools"`
		Hidden      []string          `json:"disabled_tools"`
		On          *bool             `json:"enabled"`
		Off         bool              `json:"disabled"`
		Timeout     float64           // milliseconds
		Start       float64           `json:"startup_timeout_sec"`
		Call        float64           `json:"tool_timeout_sec"`
		OAuth       any
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return ForeignServer{}, err
	}
	merged := func(a, b map[string]string) map[string]string {
		all := map[string]string{}
		maps.Copy(all, a)
		maps.Copy(all, b)
		return all
	}
	d := mcp.Definition{Args: t.Args, Env: merged(t.Env, t.Environment), Dir: t.Dir, URL: cmp.Or(t.HTTPURL, t.URL), Headers: merged(t.Headers, t.HTTPHeaders),
		Tools: slices.Concat(t.Include, t.Enabled), Hidden: slices.Concat(t.Exclude, t.Hidden),
		StartTimeout: time.Duration(t.Start * float64(time.Second)), CallTimeout: time.Duration(t.Call * float64(time.Second)),
		SSE: t.Type == "sse" || f.agent == "gemini" && t.HTTPURL == "" && t.URL != "" && t.Type != "http"}
	switch limit := time.Duration(t.Timeout * float64(time.Millisecond)); {
	case f.agent == "opencode": // until the tools are listed
		d.StartTimeout = limit
	case d.CallTimeout == 0:
		d.CallTimeout = limit
	}
	switch c := t.Command.(type) {
	case string:
		d.Command = c
	case []any:
		var words []string
		for _, w := range c {
			if text, is := w.(string); is {
				words = append(words, text)
			}
		}
		if len(words) > 0 {
			d.Command, d.Args = words[0], append(words[1:], d.Args...)
		}
	}
	for i, arg := range d.Args { // other agents start servers in the folder of the session
		if arg == "." {
			d.Args[i] = "${PAWL_WORKSPACE}"
		}
	}
	for _, name := range t.Variables {
		d.Env[name] = "${" + name + "}"
	}
	for header, name := range t.EnvHeaders {
		d.Headers[header] = "${" + name + "}"
	}
	if t.Bearer != "" {
		d.Headers["Authorization"] = "Bearer ${" + t.Bearer + "}"
	}
	if o, is := t.OAuth.(map[string]any); is {
		d.ClientID, _ = o["clientId"].(string)
		d.ClientSecret, _ = o["clientSecret"].(string)
	}
	s := ForeignServer{Definition: d}
	if t.Off || t.On != nil && !*t.On {
		s.Why = "it is switched off there"
	}
	return s, nil
}
