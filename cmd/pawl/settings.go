package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"

	"pawl/llm/models"
	"pawl/llm/wire"
	"pawl/output"
	"pawl/permission"
	"pawl/policy"
	"pawl/run"
	"pawl/tool"
	"pawl/worker"
)

// A key is one thing that can be set: by a flag, by the environment, in the
// configuration file. All values are text until they are used, so that one check
// serves all places.
type key struct {
	name  string // in the file; the flag has - for _, the variable is PAWL_ and capitals
	value string // what the value is, for the help
	help  string
	list  bool // several values, from all places together: a rule of one place does not undo another's
	check func(string) error
	def   string
}

func (k key) flag() string { return strings.ReplaceAll(k.name, "_", "-") }
func (k key) env() string  { return "PAWL_" + strings.ToUpper(k.name) }

var keys = []key{
	{name: "model", value: "provider/name", help: "the model that works"},
	{name: "mode", value: "mode", help: "what runs without a question: " + modes, check: oneOf(modes), def: string(permission.Default)},
	{name: "allow", value: "rule", help: `a permission rule, as 'shell(go test *)'; repeatable`, list: true},
	{name: "ask", value: "rule", help: "a rule for what always asks, whatever is allowed; repeatable", list: true},
	{name: "deny", value: "rule", help: "a rule for what must not run; it always wins; repeatable", list: true},
	{name: "on_ask", value: "what", help: "what becomes of a call that a person would have to decide on: " + asks, check: oneOf(asks), def: string(worker.AskDeny)},
	{name: "control", value: "how", help: "how the model says what to do: native (its tool calling), controller (one JSON object a step), auto (native where that is dependable)", check: oneOf(controls), def: run.Auto},
	{name: "window", value: "tokens", help: "tokens that fit the model's context, where pawl does not know it or less is wanted", check: positive},
	{name: "max_steps", value: "n", help: "model requests in a turn; -1: no limit", check: whole, def: strconv.Itoa(run.DefaultSteps)},
	{name: "max_calls", value: "n", help: "tool calls in a turn; -1: no limit", check: whole, def: strconv.Itoa(run.DefaultCalls)},
	{name: "max_tokens", value: "n", help: "tokens in a turn, read and written, each request's counted; -1: no limit", check: whole, def: strconv.Itoa(run.DefaultTokens)},
	{name: "max_cost", value: "dollars", help: "US dollars in a turn, where prices are known; -1: no limit", check: amount, def: "50"},
	{name: "timeout", value: "duration", help: "wall clock of a turn, as 90s or 2h; -1s: no limit", check: duration, def: "6h"},
	{name: "idle_timeout", value: "duration", help: "how long a model's answer may be silent before it is asked for again", check: positiveDuration, def: wire.DefaultIdleTimeout.String()},
	{name: "retry", value: "duration", help: "how long a request is retried while the provider is overloaded, limits the rate or cannot be reached; -1s: not at all", check: duration, def: run.DefaultRetry.String()},
	{name: "cache", value: "on|off", help: "answer a request that was answered before from a local file", check: oneOf("on, off"), def: "off"},
	{name: "inline", value: "characters", help: "results up to this long reach the model whole; longer ones are stored and asked", check: positive, def: strconv.Itoa(output.DefaultLimits.Inline)},
	{name: "inline_asked", value: "characters", help: "the same where a call asks for it", check: positive, def: strconv.Itoa(output.DefaultLimits.Asked)},
	{name: "compact_at", value: "share", help: "share of the window past which older messages are compacted", check: share, def: strconv.FormatFloat(run.DefaultCompactAt, 'g', -1, 64)},
	{name: "nudge", value: "on|off", help: "tell the model to act when its answer promises work and does none", check: oneOf("on, off"), def: "on"},
	{name: "pass_env", value: "name", help: "a variable that commands get though it looks like a secret; never a provider's key; repeatable", list: true},
	{name: "parallel", value: "n", help: "calls that may run at once", check: positive, def: strconv.Itoa(run.DefaultParallel)},
	{name: "outputs_max_size", value: "size", help: "how much the stored outputs of a folder may take on disk, as 10GB; the oldest go first; -1: no limit", check: storedSize, def: "10GB"},
	{name: "outputs_max_age", value: "age", help: "how long outputs are stored, as 90d or 12h; -1: no limit", check: storedAge, def: "90d"},
}

const (
	modes = "default, accept-edits, plan, bypass"
	asks  = "deny, wait, fail"

	controls = run.Native + ", " + run.Controller + ", " + run.Auto
)

func oneOf(names string) func(string) error {
	return func(s string) error {
		all := strings.Split(names, ", ")
		if slices.Contains(all, s) {
			return nil
		}
		return fmt.Errorf("%q is none of %s%s", s, names, didYouMean(s, all))
	}
}

func whole(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n == 0 {
		return fmt.Errorf("%q is no number: give a whole number, or -1 for no limit", s)
	}
	return nil
}

func positive(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n < 1 {
		return fmt.Errorf("%q is not a whole number above 0", s)
	}
	return nil
}

func share(s string) error {
	if f, err := strconv.ParseFloat(s, 64); err != nil || !(f > 0 && f <= 1) {
		return fmt.Errorf("%q is not a share: give a number above 0 and up to 1, such as 0.8", s)
	}
	return nil
}

func amount(s string) error {
	if f, err := strconv.ParseFloat(s, 64); err != nil || f == 0 || f != f {
		return fmt.Errorf("%q is no amount: give dollars as 2.50, or -1 for no limit", s)
	}
	return nil
}

func duration(s string) error {
	if d, err := time.ParseDuration(s); err != nil || d == 0 {
		return fmt.Errorf("%q is no time: give it with its unit, as 90s or 2h", s)
	}
	return nil
}

func positiveDuration(s string) error {
	if d, err := time.ParseDuration(s); err != nil || d <= 0 {
		return fmt.Errorf("%q is no time above 0: give it with its unit, as 90s or 2h", s)
	}
	return nil
}

// addSettings gives a command the flags of all keys.
func addSettings(flags *pflag.FlagSet) {
	for _, k := range keys {
		help := k.help
		if k.def != "" {
			help += " (default " + k.def + ")"
		}
		help = "`" + k.value + "`: " + help
		if k.list {
			flags.StringArray(k.flag(), nil, help)
		} else {
			flags.String(k.flag(), "", help)
		}
	}
}

// A sourced value says where it came from.
type sourced struct{ value, source string }

// settings are the values of all keys, and what could not count.
type settings struct {
	values map[string][]sourced
	notes  []string
	policy *policy.Policy // of the workspace, without the rules of these settings
	table  *models.Table
}

// The sources, the strongest first.
const (
	fromFlag    = "flag"
	fromEnv     = "environment"
	fromProject = "workspace"
	fromUser    = "user file"
	fromDefault = "default"
)

// readSettings collects the values: flags → environment → the workspace's file,
// which does not count before the workspace is trusted → user file → defaults.
func (a *app) readSettings(flags *pflag.FlagSet, workspace string) (settings, error) {
	s := settings{values: map[string][]sourced{}}
	file := a.userFile()
	fromFile, err := readFile(file)
	if err != nil {
		return s, err
	}
	trust := flags.Lookup("trust") // the commands that have it run the model
	if trust != nil {
		if err := a.recoverWorkspace(workspace); err != nil {
			return s, err
		}
	}
	if s.policy, err = a.policy(workspace); err != nil {
		return s, err
	}
	if trust != nil && trust.Changed {
		trusted, err := s.policy.TrustForThisRun()
		if err != nil {
			return s, err
		}
		for _, c := range trusted {
			s.notes = append(s.notes, "--trust: "+c.File+" counts for this run")
		}
	}
	fromWorkspace, err := s.workspaceFile(workspace)
	if err != nil {
		return s, err
	}
	for _, k := range keys {
		var found []sourced
		add := func(source, where string, values ...string) error {
			for _, v := range values {
				if k.check != nil {
					if err := k.check(v); err != nil {
						return usage("%s: %w", where, err)
					}
				}
				found = append(found, sourced{v, source})
			}
			return nil
		}
		if f := flags.Lookup(k.flag()); f != nil && f.Changed {
			values := []string{f.Value.String()}
			if list, ok := f.Value.(pflag.SliceValue); ok {
				values = list.GetSlice()
			}
			if err := add(fromFlag, "--"+k.flag(), values...); err != nil {
				return s, err
			}
		}
		if v, set := a.env(k.env()); set && v != "" {
			values := []string{v}
			if k.list {
				values = strings.FieldsFunc(v, func(r rune) bool { return r == '\n' }) // a rule has commas and spaces
			}
			if err := add(fromEnv+" "+k.env(), k.env(), values...); err != nil {
				return s, err
			}
		}
		if err := add(fromProject+" "+own, own+": "+k.name, fromWorkspace[k.name]...); err != nil {
			return s, err
		}
		if err := add(fromUser+" "+file, file+": "+k.name, fromFile[k.name]...); err != nil {
			return s, err
		}
		if len(found) == 0 && k.def != "" {
			found = []sourced{{k.def, fromDefault}}
		}
		if !k.list && len(found) > 1 {
			found = found[:1]
		}
		s.values[k.name] = found
	}
	if s.table, err = a.models(); err != nil {
		return s, err
	}
	if len(s.values["model"]) == 0 {
		if model, variable := a.preferred(s.table); model != "" {
			s.values["model"] = []sourced{{model, fromDefault + ", because " + variable + " is set"}}
		}
	}
	return s, nil
}

// userFile returns the path of the user's configuration file.
func (a *app) userFile() string {
	return filepath.Join(a.xdg("XDG_CONFIG_HOME", ".config"), "pawl", "config.toml")
}

// xdg returns a folder of the XDG base directory specification (version 0.8, read
// 2026-11-20): the variable if it is an absolute path, else rest in the home folder.
func (a *app) xdg(variable, rest string) string {
	if dir, _ := a.env(variable); filepath.IsAbs(dir) {
		return dir
	}
	home, _ := a.env("HOME")
	if !filepath.IsAbs(home) {
		// A relative home would be looked for in the workspace, which must not be able
		// to grant itself anything. Without one, as under cron, the system knows.
		home = "/nonexistent"
		if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && filepath.IsAbs(u.HomeDir) {
			home = u.HomeDir
		}
	}
	return filepath.Join(home, rest)
}

// readFile reads a configuration file: the values of each key as text. A file that
// is not there has none.
func readFile(path string) (map[string][]string, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, usage("the configuration cannot be read: %w", err)
	}
	return parseFile(path, content, nil)
}

// workspaceFile returns what the workspace's own configuration says, as far as it
// counts: nothing before it is trusted, and some things never.
func (s *settings) workspaceFile(workspace string) (map[string][]string, error) {
	content, ok, why := s.policy.WorkspaceConfig()
	if !ok {
		if why != "" {
			s.notes = append(s.notes, why)
		}
		return nil, nil
	}
	values, err := parseFile(filepath.Join(workspace, own), content, func(name string) bool {
		if policy.Settable(name) {
			return true
		}
		s.notes = append(s.notes, own+": "+policy.CheckSetting(name, "").Error())
		return false
	})
	if err != nil {
		return nil, err
	}
	for name, given := range values {
		for _, v := range given {
			if err := policy.CheckSetting(name, v); err != nil {
				s.notes = append(s.notes, own+": "+err.Error())
				delete(values, name)
				break
			}
		}
	}
	return values, nil
}

// own is a workspace's configuration.
const own = ".pawl/config.toml"

// parseFile reads the content of a configuration file.
// pass, if not nil, says which keys count; the others are passed over.
func parseFile(path string, content []byte, pass func(name string) bool) (map[string][]string, error) {
	var raw map[string]any
	if err := toml.Unmarshal(content, &raw); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ := at.Position()
			return nil, usage("%s, line %d: %w", path, line, err)
		}
		return nil, usage("%s: %w", path, err)
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	values := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if pass != nil && !pass(name) {
			continue
		}
		i := slices.Index(names, name)
		if i < 0 {
			return nil, usage("%s: there is no key %q%s", path, name, didYouMean(name, names))
		}
		list, isList := raw[name].([]any)
		if !isList {
			list = []any{raw[name]}
		}
		if isList != keys[i].list {
			return nil, usage("%s: %s must be %s", path, name, map[bool]string{true: "a list, as [\"shell(go test *)\"]", false: "one value"}[keys[i].list])
		}
		for _, v := range list {
			switch v.(type) {
			case string, int64, float64:
				values[name] = append(values[name], fmt.Sprint(v))
			default:
				return nil, usage("%s: %s has a value that is neither text nor a number", path, name)
			}
		}
	}
	return values, nil
}

// get returns the value of a key; "" if it has none.
func (s settings) get(name string) string {
	if v := s.values[name]; len(v) > 0 {
		return v[0].value
	}
	return ""
}

// duration returns the value of a key that is a time; 0 if it has none.
func (s settings) duration(name string) time.Duration {
	d, _ := time.ParseDuration(s.get(name)) // checked when it was read
	return d
}

// outputLimits are the thresholds of delivery.
func (s settings) outputLimits() output.Limits {
	l := output.DefaultLimits
	// The checks have seen that the values can be read.
	l.Inline, _ = strconv.Atoi(s.get("inline"))
	l.Asked, _ = strconv.Atoi(s.get("inline_asked"))
	return l
}

// shellOptions say which variables commands get.
func (s settings) shellOptions() tool.ShellOptions {
	var o tool.ShellOptions
	for _, v := range s.values["pass_env"] {
		o.PassEnv = append(o.PassEnv, v.value)
	}
	if s.table != nil {
		for _, p := range s.table.Providers() {
			o.KeyEnv = append(o.KeyEnv, p.KeyEnv...)
		}
	}
	return o
}

// change returns what the settings say of the configuration of a run with a model;
// with kept only what a flag says, because the run was given the rest when it began.
func (s settings) change(kept bool, current string) run.ConfigChange {
	var c run.ConfigChange
	set := func(name string) (string, bool) {
		v := s.values[name]
		return s.get(name), len(v) > 0 && (!kept || v[0].source == fromFlag)
	}
	model, newModel := set("model")
	if newModel {
		c = modelChange(model, s.get("control"), s.table)
	} else if v, ok := set("control"); ok {
		v = controlOf(v, current, s.table)
		c.Control = &v
	}
	// The checks have seen that the values can be read.
	if v, ok := set("window"); ok {
		n, _ := strconv.ParseInt(v, 10, 64)
		c.Window = &n
	}
	if v, ok := set("mode"); ok {
		c.Mode = &v
	}
	if v, ok := set("max_steps"); ok {
		c.Limits.Steps, _ = strconv.Atoi(v)
	}
	if v, ok := set("max_calls"); ok {
		c.Limits.Calls, _ = strconv.Atoi(v)
	}
	if v, ok := set("max_tokens"); ok {
		c.Limits.Tokens, _ = strconv.ParseInt(v, 10, 64)
	}
	if v, ok := set("max_cost"); ok {
		c.Limits.Cost, _ = strconv.ParseFloat(v, 64)
	}
	if v, ok := set("timeout"); ok {
		c.Limits.Wall, _ = time.ParseDuration(v)
	}
	if v, ok := set("retry"); ok {
		d, _ := time.ParseDuration(v)
		c.Retry = &d
	}
	if v, ok := set("parallel"); ok {
		n, _ := strconv.Atoi(v)
		c.Parallel = &n
	}
	if v, ok := set("compact_at"); ok {
		share, _ := strconv.ParseFloat(v, 64)
		c.CompactAt = &share
	}
	if v, ok := set("nudge"); ok {
		off := v == "off"
		c.NoNudge = &off
	}
	return c
}

// modelChange returns the change to another model: with it come the size of its
// window, and how it is asked for what to do.
func modelChange(model, control string, table *models.Table) run.ConfigChange {
	window := table.Window(model)
	control = controlOf(control, model, table)
	return run.ConfigChange{Model: &model, Window: &window, Control: &control}
}

// controlOf resolves auto for the models of the table; any other model is first asked
// by tool calling.
func controlOf(how, model string, table *models.Table) string {
	if m, ok := table.Lookup(model); how == run.Auto && ok && m.Control != "" {
		return m.Control
	}
	return how
}
