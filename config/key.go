package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/internal/proc"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/llm/models"
	"pawl/llm/wire"
	"pawl/output"
	"pawl/permission"
	"pawl/permission/network"
	"pawl/run"
)

// A Key is something that can be set. All values are text until they are used, so that
// one check serves all sources.
type Key struct {
	Name    string // in the file
	Short   string // the letter of its flag; "": none
	Arg     string // what the value is, for the help
	Help    string
	Values  []string // that it can have; nil: any that pass its check
	Single  string   // the flag of a list, which is given once for each value; "": the name
	List    bool     // several values, from all sources together: a rule of one does not undo another's
	Default string
	check   func(string) error
}

// Flag returns the name of the key's flag.
func (k Key) Flag() string { return strings.ReplaceAll(cmp.Or(k.Single, k.Name), "_", "-") }

// Env returns the key's environment variable.
func (k Key) Env() string { return "PAWL_" + strings.ToUpper(k.Name) }

// Keys returns all keys, in the order in which they are shown.
func Keys() []Key { return slices.Clone(keys) }

// The values of keys that are words.
var (
	Modes    = []string{string(permission.Default), string(permission.AcceptEdits), string(permission.Plan), string(permission.Auto), string(permission.Bypass)}
	Controls = []string{run.Native, run.Controller, run.Auto}
	Efforts  = models.Levels()
	// OnAsk are the values of on_ask; see worker.OnAsk.
	OnAsk = []string{"deny", "wait", "fail"}
	onOff = []string{"on", "off"}
)

var keys = []Key{
	{Name: "model", Short: "m", Arg: "provider/name", Help: "the model"},
	{Name: "effort", Arg: "level", Help: "how much the model thinks before it answers: " + list(Efforts) + " (default: as much as the model does by itself)", Values: Efforts},
	{Name: "fallback_model", Arg: "provider/name", Help: "the model to continue with when the provider is overloaded, limits the rate or cannot be reached and the retries are used up; none: no fallback"},
	{Name: "append_system_prompt", Arg: "text", Help: "text that the model of a new run is told beside its instructions; @FILE: the text of a file"},
	{Name: "mode", Arg: "mode", Help: "what runs without approval: " + list(Modes), Values: Modes, Default: string(permission.Default)},
	{Name: "judge_model", Arg: "provider/name", Help: "in mode auto, the model that decides what would otherwise be asked (default: the model of the run; for an external agent none)"},
	{Name: "allow", Arg: "rule", Help: `a permission rule, such as 'shell(go test *)'; repeatable`, List: true},
	{Name: "ask", Arg: "rule", Help: "a rule for what always asks, whatever is allowed; repeatable", List: true},
	{Name: "deny", Arg: "rule", Help: "a rule for what must not run; it always wins; repeatable", List: true},
	{Name: "network", Arg: "host", Help: "a host that commands which a rule, the mode or a person lets run may reach, such as registry.npmjs.org or *.example.com:8443, or a set of hosts, such as npm; repeatable", List: true, check: oneHost},
	{Name: "on_ask", Arg: "action", Help: "what happens to a call that needs approval: " + list(OnAsk), Values: OnAsk, Default: OnAsk[0]},
	{Name: "control", Arg: "how", Help: "how the model says what to do: native (its tool calling), controller (one JSON object a step), auto (native where that is dependable)", Values: Controls, Default: run.Auto},
	{Name: "window", Arg: "tokens", Help: "the model's context window, where pawl does not know it or less is wanted", check: window},
	{Name: "max_steps", Arg: "n", Help: "model requests in a turn; -1: no limit", check: whole, Default: strconv.Itoa(run.DefaultSteps)},
	{Name: "max_calls", Arg: "n", Help: "tool calls in a turn; -1: no limit", check: whole, Default: strconv.Itoa(run.DefaultCalls)},
	{Name: "max_tokens", Arg: "n", Help: "input and output tokens in a turn, summed over its requests; -1: no limit", check: whole, Default: strconv.Itoa(run.DefaultTokens)},
	{Name: "max_cost", Arg: "dollars", Help: "US dollars in a turn, where prices are known; -1: no limit", check: amount, Default: "50"},
	{Name: "timeout", Arg: "duration", Help: "wall clock of a turn, such as 90s or 2h; -1: no limit", check: durationLimit, Default: "6h"},
	{Name: "idle_timeout", Arg: "duration", Help: "how long a response may make no progress before the request is retried", check: positiveDuration, Default: wire.DefaultIdleTimeout.String()},
	{Name: "retry", Arg: "duration", Help: "how long a request is retried while the provider is overloaded, limits the rate or cannot be reached, such as 90s or 2h; 0: not at all", check: durationOrNone, Default: run.DefaultRetry.String()},
	{Name: "reminder_timeout", Arg: "duration", Help: "how long an agent has after each reminder to submit its required result, such as 90s; -1: no limit", check: durationLimit, Default: run.DefaultReminder.String()},
	{Name: "wait_for_limit", Arg: "on|off", Help: "a task whose external agent reaches a limit of its provider waits until the limit ends, where the program says when, and then continues by itself", Values: onOff, Default: "off"},
	{Name: "cache", Arg: "on|off", Help: "cache responses of models on disk", Values: onOff, Default: "off"},
	{Name: "inline", Arg: "characters", Help: "results up to this long reach the model whole; longer ones are stored and queried", check: positive, Default: strconv.Itoa(output.DefaultLimits.Inline)},
	{Name: "inline_asked", Arg: "characters", Help: "the same limit for a call that requests its full result", check: positive, Default: strconv.Itoa(output.DefaultLimits.Asked)},
	{Name: "compact_at", Arg: "share", Help: "share of the window past which older messages are compacted", check: share, Default: strconv.FormatFloat(run.DefaultCompactAt, 'g', -1, 64)},
	{Name: "memory", Arg: "on|off", Help: "the agent may note facts of the folder for later runs, each with your yes, and runs are told them; see pawl memory", Values: onOff, Default: "off"},
	{Name: "nudge", Arg: "on|off", Help: "tell the model to act when its answer promises work and does none", Values: onOff, Default: "on"},
	{Name: "add_dirs", Single: "add_dir", Arg: "folder", Help: "a further folder that the agent may read and change like the workspace, under the same rules; repeatable", List: true},
	{Name: "mcp_config", Arg: "file", Help: "a JSON file with further MCP servers, in the form of .mcp.json, or what would stand in it; repeatable", List: true},
	{Name: "pass_env", Arg: "name", Help: "a variable that commands get though it looks like a secret; never a provider's key; repeatable", List: true, check: oneVariable},
	{Name: "parallel", Arg: "n", Help: "calls that may run at once", check: positive, Default: strconv.Itoa(run.DefaultParallel)},
	{Name: "command_memory", Arg: "size", Help: "memory that a command and all it starts may have together, such as 8GB, or a share of the machine's, such as 50%; what has more is stopped; -1: no limit; Linux only", check: limit(ParseMemory), Default: "75%"},
	{Name: "min_disk", Arg: "size", Help: "a command that leaves less of the workspace's disk free than this is stopped, such as 1GB; -1: no limit; Linux only", check: limit(ParseSize), Default: "200MB"},
	{Name: "min_memory", Arg: "size", Help: "a task waits while less memory than this is available and another is worked on, such as 2GB; -1: no limit", check: limit(ParseSize), Default: "512MB"},
	{Name: "outputs_max_size", Arg: "size", Help: "how much the stored outputs of a folder may take on disk, such as 10GB; the oldest are removed first; -1: no limit", check: limit(ParseSize), Default: "10GB"},
	{Name: "outputs_max_age", Arg: "age", Help: "how long outputs are stored, such as 90d or 12h; -1: no limit", check: limit(ParseAge), Default: "90d"},
	{Name: "screen_reader", Arg: "on|off", Help: "on a terminal: plain lines that are written once, with words in place of signs, and nothing that is drawn again", Values: onOff, Default: "off"},
	{Name: "runs_max_age", Arg: "age", Help: "how long a run that has ended is stored, with all it left, since it was last used; -1: no limit", check: limit(ParseAge), Default: "90d"},
}

func oneHost(s string) error {
	_, err := network.Hosts([]string{s})
	return err
}

// oneVariable checks the name of a variable, which is given without its value.
func oneVariable(s string) error {
	if name, _, given := strings.Cut(s, "="); given {
		return fmt.Errorf("%s is a variable with its value: give the name alone, %s", visible.Quote(s), visible.Quote(name))
	}
	if strings.TrimSpace(s) != s || s == "" {
		return fmt.Errorf("%s is not the name of a variable", visible.Quote(s))
	}
	return nil
}

func list(names []string) string { return strings.Join(names, ", ") }

// OneOf returns a check that a value is one of names.
func OneOf(names ...string) func(string) error {
	return func(s string) error {
		if slices.Contains(names, s) {
			return nil
		}
		near := text.DidYouMean(s, names)
		if ours := foreignValues[strings.ToLower(s)]; slices.Contains(names, ours) {
			near = fmt.Sprintf("; did you mean %s?", visible.Quote(ours))
		}
		return fmt.Errorf("%s is not one of %s%s", visible.Quote(s), list(names), near)
	}
}

// foreignValues are words for values of settings that other programs have.
var foreignValues = map[string]string{
	"true": "on", "yes": "on", "1": "on", "enabled": "on", "false": "off", "no": "off", "0": "off", "disabled": "off",
	"yolo": "bypass", "bypasspermissions": "bypass", "never": "bypass", "auto_edit": "accept-edits", "edit": "accept-edits", "acceptedits": "accept-edits",
	"readonly": "plan", "read-only": "plan", "ask": "default", "normal": "default", "manual": "default",
	"minimal": "low", "ultra": "max", "maximum": "max", "off": "none", "reject": "deny", "block": "deny", "error": "fail",
	"md": "markdown", "htm": "html", "bash": "shell",
}

func whole(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n == 0 || n < -1 {
		return fmt.Errorf("invalid value %s: must be a whole number above 0, or -1 for no limit", visible.Quote(s))
	}
	return nil
}

func positive(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n < 1 {
		return fmt.Errorf("invalid value %s: must be a whole number above 0", visible.Quote(s))
	}
	return nil
}

// minWindow is the smallest context window in tokens: instructions and tools alone take
// several thousand.
const minWindow = 4096

func window(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n < minWindow {
		return fmt.Errorf("invalid value %s: must be a whole number of tokens, at least %d", visible.Quote(s), minWindow)
	}
	return nil
}

func share(s string) error {
	if f, err := strconv.ParseFloat(s, 64); err != nil || !(f > 0 && f <= 1) {
		return fmt.Errorf("invalid value %s: must be a number above 0 and up to 1, such as 0.8", visible.Quote(s))
	}
	return nil
}

func amount(s string) error {
	if f, err := strconv.ParseFloat(s, 64); err != nil || !(f > 0 || f == -1) || math.IsInf(f, 0) {
		return fmt.Errorf("invalid value %s: must be dollars, such as 2.50, or -1 for no limit", visible.Quote(s))
	}
	return nil
}

func durationLimit(s string) error {
	if d, err := parseDuration(s); err != nil || d <= 0 && d != noLimit {
		return fmt.Errorf("invalid value %s: must be a duration with its unit, such as 90s or 2h, or -1 for no limit", visible.Quote(s))
	}
	return nil
}

func durationOrNone(s string) error {
	if d, err := parseDuration(s); err != nil || d < 0 {
		return fmt.Errorf("invalid value %s: must be a duration with its unit, such as 90s or 2h, or 0 for not at all", visible.Quote(s))
	}
	return nil
}

func positiveDuration(s string) error {
	if d, err := parseDuration(s); err != nil || d <= 0 {
		return fmt.Errorf("invalid value %s: must be a duration with its unit, such as 90s or 2h", visible.Quote(s))
	}
	return nil
}

// noLimit is the duration that stands for no limit; it may be written without its unit.
const noLimit = -time.Second

func parseDuration(s string) (time.Duration, error) {
	if s == "-1" {
		return noLimit, nil
	}
	return time.ParseDuration(s)
}

func limit[T int64 | time.Duration](parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		_, err := ParseLimit(s, parse)
		return err
	}
}

// ParseLimit parses a limit: -1 is no limit, for which it returns 0.
func ParseLimit[T int64 | time.Duration](text string, parse func(string) (T, error)) (T, error) {
	if text == "-1" {
		return 0, nil
	}
	n, err := parse(text)
	if err != nil {
		return 0, fmt.Errorf("%w; -1 is no limit", err)
	}
	return n, nil
}

// ParseSize parses a number of bytes as people write it: 5GB, 500 MB, 10GiB, 4096B. A number alone is none: who writes 2 means 2GB.
func ParseSize(size string) (int64, error) {
	number := strings.TrimRight(size, "kKmMgGtTiIbB ")
	unit := strings.ToLower(strings.TrimSpace(size[len(number):]))
	factor, ok := map[string]float64{
		"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}[unit]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok || !(n > 0) || n*factor > 1<<62 {
		return 0, fmt.Errorf("%s is not a size: give it with its unit, such as 5GB or 500MB", visible.Quote(size))
	}
	return int64(n * factor), nil
}

// ParseMemory parses a number of bytes, or a share of the machine's memory such as 75%.
func ParseMemory(size string) (int64, error) {
	percent, ok := strings.CutSuffix(size, "%")
	if !ok {
		return ParseSize(size)
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
	if err != nil || !(n > 0 && n <= 100) {
		return 0, fmt.Errorf("%s is not a share of the machine's memory: give it as 75%%, or as a size such as 8GB", visible.Quote(size))
	}
	return int64(n / 100 * float64(proc.MachineMemory())), nil
}

// ParseAge parses a duration, in days too: 30d, 12h.
func ParseAge(age string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(age, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > 0 && n < 100_000 {
			return time.Duration(n * float64(24*time.Hour)), nil
		}
	}
	if d, err := time.ParseDuration(age); err == nil && d > 0 {
		return d, nil
	}
	return 0, fmt.Errorf("%s is not an age: give it with its unit, such as 30d or 12h", visible.Quote(age))
}

// ParseSince parses a point in time: a duration before now, in days too, or a day.
// "" is the zero time.
func ParseSince(since string, now time.Time) (time.Time, error) {
	if since == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, since, now.Location()); err == nil {
		return day, nil
	}
	if age, err := ParseAge(since); err == nil {
		return now.Add(-age), nil
	}
	return time.Time{}, fmt.Errorf("%s is not a time: give 36h, 7d, or a day such as 2026-11-20", visible.Quote(since))
}
