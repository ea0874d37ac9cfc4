// Package hook is the commands of people that run at moments of a run: read from their files, matched, run, and their
// answers read.
//
// The files, what hooks are given and what they answer have the form of Claude Code (npm @anthropic-ai/claude-agent-sdk
// 0.3.330, sdk.d.ts, and anthropics/claude-code CHANGELOG up to 2.1.240, read 2026-11-23), so that hooks made for it
// work here. It neither decides whether a file counts, which is package policy's, nor records what came of a hook,
// which is package worker's.
package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"pawl/internal/jsonc"
	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/run"
)

// A Hook is one command, and when it runs.
type Hook struct {
	Point   run.HookPoint
	Matcher string // which tools, sources or agents it is for; empty: all
	If      string // a rule that the call has to match, such as Bash(git *); empty: any

	Command    string   // a line for bash, or with Args a program
	Args       []string // its arguments; nil: Command is a line
	URL        string   // of a request, instead of a command
	Headers    map[string]string
	AllowedEnv []string // variables that headers may have
	Timeout    time.Duration
	Once       bool // once in a run
	Blocks     bool // that it fails is a refusal

	Source string // its file
	Own    bool   // a person's own for pawl: it may leave the sandbox
	// Project is the folder whose file has it, the workspace or one above it; empty: it is a person's. Files are those of
	// the folder that it names: they were reviewed with it.
	Project string
	Files   []string
	Sandbox run.Confinement
	// Plugin is the plugin that brings it, and Env are further variables, as NAME=value.
	Plugin string
	Env    []string

	matches func(name string) bool
}

// Name says where a hook stands and what it runs, on one line: it is in each of its events.
func (h *Hook) Name() string { return h.Source + ": " + text.OneLine(h.Runs(), 200) }

// Runs returns the command with its arguments, or the address.
func (h *Hook) Runs() string {
	if h.URL != "" {
		return h.URL
	}
	return strings.Join(append([]string{h.Command}, h.Args...), " ")
}

// Time limits, as Claude Code has them.
const (
	defaultTimeout = 600 * time.Second
	promptTimeout  = 30 * time.Second
	notifyTimeout  = 30 * time.Second        // pawl's own: the end of pawl waits for it
	endTimeout     = 1500 * time.Millisecond // of SessionEnd
	maxEndTimeout  = 60 * time.Second        // pawl's own, for the same reason
)

// maxHooks bounds how many hooks a file may have.
const maxHooks = 500

type handler struct {
	Type       string            `json:"type"`
	Command    string            `json:"command"`
	Args       []string          `json:"args"`
	Shell      string            `json:"shell"`
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers"`
	AllowedEnv []string          `json:"allowedEnvVars"`
	Timeout    float64           `json:"timeout"` // seconds
	If         string            `json:"if"`
	Once       bool              `json:"once"`
	OnFailure  string            `json:"onFailure"`
	Sandbox    string            `json:"sandbox"` // pawl's own: network or none
}

// Parse reads the hooks of a file, whose key "hooks" has them. problems say which of them do not run, and why; an error
// that none does. own says that it is the person's own file for pawl.
func Parse(content []byte, source string, own bool) (hooks []Hook, problems []string, err error) {
	var file struct {
		Hooks map[string]json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(jsonc.Strict(content), &file); err != nil {
		return nil, nil, fmt.Errorf("%s: it is not a JSON object with hooks: %s", source, jsonWords(err))
	}
	var events []string
	for event := range file.Hooks {
		events = append(events, event)
	}
	slices.Sort(events)
	say := func(event, format string, args ...any) {
		problems = append(problems, source+": "+event+": "+fmt.Sprintf(format, args...))
	}
	for _, event := range events {
		var groups []struct {
			Matcher string            `json:"matcher"`
			Hooks   []json.RawMessage `json:"hooks"`
		}
		point := run.HookPoint(event)
		if !slices.Contains(run.HookPoints, point) {
			say(event, "pawl has no such event, and its hooks do not run")
			continue
		}
		if err := json.Unmarshal(file.Hooks[event], &groups); err != nil {
			say(event, "it is not a list of matchers with hooks: %s", jsonWords(err))
			continue
		}
		for _, g := range groups {
			matches, err := matcher(g.Matcher)
			if err != nil {
				say(event, "the matcher %q is no regular expression: %v", g.Matcher, err)
				continue
			}
			for _, raw := range g.Hooks {
				var c handler
				if err := json.Unmarshal(raw, &c); err != nil {
					say(event, "a hook cannot be read: %s", jsonWords(err))
					continue
				}
				h := Hook{Point: point, Matcher: g.Matcher, If: c.If, Command: c.Command, Args: c.Args, URL: c.URL, Headers: c.Headers,
					AllowedEnv: c.AllowedEnv, Timeout: time.Duration(c.Timeout * float64(time.Second)), Once: c.Once,
					Blocks: c.OnFailure == "block", Source: source, Own: own, matches: matches}
				if problem := h.complete(c); problem != "" {
					say(event, "%s", problem)
					continue
				}
				if len(hooks) == maxHooks {
					problems = append(problems, fmt.Sprintf("%s has more than %d hooks: those that follow do not run", source, maxHooks))
					return hooks, problems, nil
				}
				hooks = append(hooks, h)
			}
		}
	}
	return hooks, problems, nil
}

// jsonWords says what is wrong with JSON, without the types of the program.
func jsonWords(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return err.Error()
	case wrong.Field == "":
		return "there is a value of the wrong type (" + wrong.Value + ")"
	}
	return fmt.Sprintf("%s has a value of the wrong type (%s)", wrong.Field, wrong.Value)
}

// complete fills in what the file leaves open, and returns why the hook cannot run.
func (h *Hook) complete(c handler) (problem string) {
	if h.Timeout <= 0 || h.Timeout > 24*time.Hour {
		switch h.Timeout = defaultTimeout; h.Point {
		case run.UserPromptSubmit:
			h.Timeout = promptTimeout
		case run.Notification:
			h.Timeout = notifyTimeout
		case run.SessionEnd:
			h.Timeout = endTimeout
		}
	}
	if h.Point == run.SessionEnd {
		h.Timeout = min(h.Timeout, maxEndTimeout)
	}
	switch {
	case c.Type == "command" && strings.TrimSpace(c.Command) != "":
		h.URL = ""
	case c.Type == "http" && c.URL != "":
		h.Command, h.Args = "", nil
	case c.Type == "command", c.Type == "http":
		return "a hook of type " + c.Type + " has no " + map[string]string{"command": "command", "http": "url"}[c.Type]
	default:
		return fmt.Sprintf("a hook of type %q does not run here: command and http do", c.Type)
	}
	switch {
	case c.Shell != "" && c.Shell != "bash":
		return fmt.Sprintf("%s: the shell %q is not used here: bash is", h.Name(), c.Shell)
	case c.Sandbox == "":
	case !h.Own:
		return h.Name() + ": only hooks of your own hooks.json can leave the sandbox"
	case c.Sandbox == string(run.WithNetwork), c.Sandbox == string(run.Unconfined):
		h.Sandbox = run.Confinement(c.Sandbox)
	default:
		return fmt.Sprintf("%s: the sandbox %q is not known: network and none are", h.Name(), c.Sandbox)
	}
	return ""
}

// matcher returns what a matcher matches: all names if it is empty or *, those that it lists with | or a comma, or what
// its regular expression finds something in.
func matcher(pattern string) (func(name string) bool, error) {
	if pattern == "" || pattern == "*" {
		return func(string) bool { return true }, nil
	}
	if !strings.ContainsFunc(pattern, func(c rune) bool { return strings.ContainsRune(`.*+?()[]{}^$\`, c) }) {
		names := strings.FieldsFunc(pattern, func(c rune) bool { return c == '|' || c == ',' || c == ' ' })
		return func(name string) bool { return slices.Contains(names, name) }, nil
	}
	r, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return r.MatchString, nil
}

// Mentions returns what the command names that could be a file below a project, with slashes, so that it can be trusted
// together with the hook that runs it. It may be named from a folder that the command goes to. Of what an interpreter is to
// run * stands for what is known only when it runs.
func (h *Hook) Mentions(project string) (names []string) {
	all := append(words(h.Command), h.Args...)
	folders := []string{"."}
	for i, word := range all {
		before := ""
		if i > 0 {
			before = all[i-1]
		}
		if word = strings.TrimPrefix(word, project+"/"); strings.HasPrefix(word, "$") || strings.HasPrefix(word, "/") {
			_, word, _ = strings.Cut(word, "/") // of $CLAUDE_PROJECT_DIR, $PWD, or $(pwd), whose words these are
		}
		if word = unknown().ReplaceAllString(word, "*"); IsPattern(word) && i > 0 && !slices.Contains(interpreters, path.Base(before)) {
			word, _, _ = strings.Cut(word, "*") // of what is given to programs only the folder
			word = path.Dir(word + "x")
		}
		last := folders[len(folders)-1]
		for _, folder := range folders {
			name := path.Join(folder, word)
			if name != "." && filepath.IsLocal(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if before == "cd" || before == "pushd" {
			folders = append(folders, path.Clean(word), path.Join(last, word))
		}
	}
	return names
}

// IsPattern reports whether a name that [Hook.Mentions] returns stands for several.
func IsPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// unknown finds variables, and words in braces of which the shell makes several.
var unknown = lazy.Regexp(`\$\{[^}]*\}|\$\w*|\{[^}]*\}`)

// interpreters run the file that is named next.
var interpreters = strings.Fields("sh bash dash zsh ksh node deno bun tsx python python3 ruby perl php source . exec env run")

// words returns the words of a line, without their quotes: what could be the name of a file.
func words(line string) []string {
	line = strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(line)
	return strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" \t\n;|&()<>`=", c) })
}
