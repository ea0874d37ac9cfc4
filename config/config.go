// Package config reads settings: each key from flags, the environment, the workspace's own
// file (once it is trusted), the user's file and defaults, as one value that says where it
// came from. It knows no flag library: a face hands in what was given.
package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/mcp"
	"pawl/output"
	"pawl/policy"
	"pawl/run"
	"pawl/tool"
)

// An Error is a mistake in what a person gave: a flag, an argument, a variable, a file.
// Its text says what is wrong with which of them, and what would be right.
type Error struct{ err error }

// Errorf returns an [*Error]; format is as for [fmt.Errorf].
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

// The sources of values, as they are shown; some have the file or variable after them.
const (
	FromFlag      = "flag"
	FromEnv       = "environment"
	FromWorkspace = "workspace"
	FromUser      = "user file"
	FromDefault   = "default"
)

// A Value is the value of a key as text, and where it came from.
type Value struct {
	Text   string `json:"value"`
	Source string `json:"source"`
}

// Sources are where values come from, the strongest first.
type Sources struct {
	// Given are the values that a face was given for this invocation, by the names of
	// keys: a flag, a field of a form.
	Given map[string][]string
	Env   Env
	// Workspace is the folder whose own file counts as far as Policy trusts it; with a nil
	// Policy it does not count.
	Workspace string
	Policy    *policy.Policy
	// Servers are the MCP servers of plugins.
	Servers []mcp.Definition
}

// A Config has the values of all keys.
type Config struct {
	// Notes are sentences about what was given and does not count.
	Notes []string
	// Servers are the MCP servers of all sources, by name.
	Servers []mcp.Definition
	// Secrets are those of the user's file that rules may give to commands, by name.
	Secrets []tool.Secret
	values  map[string][]Value
}

// workspaceFile is a workspace's own configuration, relative to its folder.
const workspaceFile = ".pawl/config.toml"

// Load reads all sources. A value that cannot be used is an [*Error].
func Load(s Sources) (*Config, error) {
	c := &Config{values: map[string][]Value{}}
	file := s.Env.UserFile()
	content, err := readFile(file)
	if err != nil {
		return nil, err
	}
	fromUser, err := parseFile(file, content, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"config.json", "config.yaml", "config.yml", "settings.json"} {
		if other := filepath.Join(s.Env.UserDir(), name); exists(other) {
			c.Notes = append(c.Notes, fmt.Sprintf("%s is not read; settings are in config.toml beside it", other))
		}
	}
	fromWorkspace, err := c.readWorkspace(s)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		var found []Value
		add := func(source, where string, texts ...string) error {
			for _, text := range texts {
				if err := k.Check(text); err != nil {
					return Errorf("%s: %w", where, err)
				}
				found = append(found, Value{text, source})
			}
			return nil
		}
		err := errors.Join(
			add(FromFlag, "--"+k.Flag(), s.Given[k.Name]...),
			add(FromEnv+" "+k.Env(), k.Env(), k.split(s.Env.Get(k.Env()))...),
			add(FromWorkspace+" "+workspaceFile, workspaceFile+": "+k.Name, fromWorkspace[k.Name]...),
			add(FromUser+" "+file, file+": "+k.Name, fromUser[k.Name]...))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 && k.Default != "" {
			found = []Value{{k.Default, FromDefault}}
		}
		if !k.List && len(found) > 1 {
			found = found[:1]
		}
		c.values[k.Name] = found
	}
	if c.Secrets, err = parseSecrets(file, content); err != nil {
		return nil, err
	}
	return c, c.readServers(s, file, content)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// split returns the values in an environment variable.
func (k Key) split(text string) []string {
	switch {
	case text == "":
		return nil
	case k.List:
		return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }) // a rule has commas and spaces
	}
	return []string{text}
}

// readWorkspace returns what the workspace's own file says, as far as it counts: nothing
// before it is trusted, and some keys never.
func (c *Config) readWorkspace(s Sources) (map[string][]string, error) {
	if s.Policy == nil {
		return nil, nil
	}
	content, ok, why := s.Policy.WorkspaceConfig()
	if !ok {
		if why != "" {
			c.Notes = append(c.Notes, why)
		}
		return nil, nil
	}
	note := func(err error) { c.Notes = append(c.Notes, workspaceFile+": "+err.Error()) }
	values, err := parseFile(filepath.Join(s.Workspace, workspaceFile), content, func(name string) bool {
		if policy.Settable(name) {
			return true
		}
		note(policy.CheckSetting(name, ""))
		return false
	})
	if err != nil {
		return nil, err
	}
	for name, given := range values {
		for _, v := range given {
			if err := policy.CheckSetting(name, v); err != nil {
				note(err)
				delete(values, name)
				break
			}
		}
	}
	return values, nil
}

// Values returns the values of a key, the strongest first; at most one unless the key is a
// list.
func (c *Config) Values(name string) []Value { return c.values[name] }

// Get returns the value of a key; "" if it has none.
func (c *Config) Get(name string) string {
	if v := c.values[name]; len(v) > 0 {
		return v[0].Text
	}
	return ""
}

// Set sets the value of a key that nothing has set, as the model that was found.
func (c *Config) Set(name string, v Value) { c.values[name] = []Value{v} }

// On reports whether a key is on.
func (c *Config) On(name string) bool { return c.Get(name) == "on" }

// Duration returns the value of a key that is a time; 0 if it has none.
func (c *Config) Duration(name string) time.Duration {
	d, _ := parseDuration(c.Get(name)) // checked by Load
	return d
}

func (c *Config) number(name string) int64 {
	n, _ := strconv.ParseInt(c.Get(name), 10, 64) // checked by Load
	return n
}

func (c *Config) float(name string) float64 {
	f, _ := strconv.ParseFloat(c.Get(name), 64) // checked by Load
	return f
}

// OutputLimits returns how much of a result is delivered inline.
func (c *Config) OutputLimits() output.Limits {
	l := output.DefaultLimits
	l.Inline, l.Asked = int(c.number("inline")), int(c.number("inline_asked"))
	return l
}

// OutputQuota returns how much may be stored of a workspace's outputs.
func (c *Config) OutputQuota() output.Quota {
	bytes, _ := ParseLimit(c.Get("outputs_max_size"), ParseSize) // checked by Load
	age, _ := ParseLimit(c.Get("outputs_max_age"), ParseAge)
	return output.Quota{Bytes: bytes, Age: age}
}

// Has reports whether a key has a value; with given, whether it was given for this
// invocation.
func (c *Config) Has(name string, given bool) bool {
	v := c.values[name]
	return len(v) > 0 && (!given || v[0].Source == FromFlag)
}

// Change returns what the settings say of a run's configuration, but for its model and how
// that is asked; with given, only what was given for this invocation, because a resumed
// run keeps the rest.
func (c *Config) Change(given bool) run.ConfigChange {
	var to run.ConfigChange
	set := func(name string) bool { return c.Has(name, given) }
	if set("window") {
		n := c.number("window")
		to.Window = &n
	}
	if set("mode") {
		mode := c.Get("mode")
		to.Mode = &mode
	}
	if set("effort") {
		effort := c.Get("effort")
		to.Effort = &effort
	}
	if set("max_steps") {
		to.Limits.Steps = int(c.number("max_steps"))
	}
	if set("max_calls") {
		to.Limits.Calls = int(c.number("max_calls"))
	}
	if set("max_tokens") {
		to.Limits.Tokens = c.number("max_tokens")
	}
	if set("max_cost") {
		to.Limits.Cost = c.float("max_cost")
	}
	if set("timeout") {
		to.Limits.Wall = c.Duration("timeout")
	}
	if set("retry") {
		d := c.Duration("retry")
		if d == 0 {
			d = -1 // not at all; 0 is the default
		}
		to.Retry = &d
	}
	if set("reminder_timeout") {
		d := c.Duration("reminder_timeout")
		to.Reminder = &d
	}
	if set("wait_for_limit") {
		on := c.On("wait_for_limit")
		to.WaitForLimit = &on
	}
	if set("parallel") {
		n := int(c.number("parallel"))
		to.Parallel = &n
	}
	if set("compact_at") {
		share := c.float("compact_at")
		to.CompactAt = &share
	}
	if set("nudge") {
		off := !c.On("nudge")
		to.NoNudge = &off
	}
	return to
}

// All calls visit with every key and its values, in the order in which they are shown.
func (c *Config) All(visit func(Key, []Value)) {
	for _, k := range keys {
		visit(k, slices.Clone(c.values[k.Name]))
	}
}
