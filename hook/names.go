package hook

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// A tool as hooks made for Claude Code know it: its name there, and what its arguments are called, pawl's name first.
type alias struct {
	name, old string
	args      [][2]string
}

var aliases = map[string]alias{
	"shell":  {"Bash", "", [][2]string{{"command", "command"}, {"background", "run_in_background"}}},
	"read":   {"Read", "", [][2]string{{"path", "file_path"}, {"offset", "offset"}, {"limit", "limit"}}},
	"write":  {"Write", "", [][2]string{{"path", "file_path"}, {"content", "content"}}},
	"edit":   {"Edit", "MultiEdit", [][2]string{{"path", "file_path"}}},
	"list":   {"LS", "", [][2]string{{"path", "path"}}},
	"glob":   {"Glob", "", [][2]string{{"pattern", "pattern"}, {"path", "path"}}},
	"search": {"Grep", "", [][2]string{{"pattern", "pattern"}, {"path", "path"}, {"glob", "glob"}, {"ignore_case", "-i"}}},
	"fetch":  {"WebFetch", "", [][2]string{{"url", "url"}}},
	"agent":  {"Agent", "Task", [][2]string{{"agent", "subagent_type"}, {"prompt", "prompt"}}},
	"skill":  {"Skill", "", [][2]string{{"name", "skill"}, {"arguments", "args"}}},
	"todo":   {"TodoWrite", "", [][2]string{{"items", "todos"}}},
}

// names returns the names under which hooks may know a tool, the one that they are told first.
func names(tool string) []string {
	a, ok := aliases[tool]
	switch {
	case !ok:
		return []string{tool}
	case a.old != "":
		return []string{a.name, a.old, tool}
	}
	return []string{a.name, tool}
}

// input returns the arguments of a call as hooks get them.
func input(tool, args, workspace string) map[string]any {
	var in map[string]any
	if json.Unmarshal([]byte(args), &in) != nil || in == nil {
		return map[string]any{}
	}
	a, ok := aliases[tool]
	if !ok {
		return in
	}
	out := renamed(in, a, 0, 1)
	for _, key := range []string{"file_path", "path"} {
		if p, ok := out[key].(string); ok && p != "" && !filepath.IsAbs(p) {
			out[key] = filepath.Join(workspace, p)
		}
	}
	if seconds, ok := out["timeout_seconds"].(float64); ok && tool == "shell" {
		delete(out, "timeout_seconds")
		out["timeout"] = seconds * 1000
	}
	if edits, ok := out["edits"].([]any); ok && tool == "edit" {
		var all []any
		for _, e := range edits {
			if e, ok := e.(map[string]any); ok {
				all = append(all, renamed(e, alias{args: editArgs}, 0, 1))
			}
		}
		if out["edits"] = all; len(all) == 1 {
			delete(out, "edits")
			for k, v := range all[0].(map[string]any) {
				out[k] = v
			}
		}
	}
	return out
}

var editArgs = [][2]string{{"old", "old_string"}, {"new", "new_string"}, {"all", "replace_all"}}

// arguments returns what hooks have made of the input of a call as its arguments.
func arguments(tool string, in map[string]any) string {
	out := in
	if a, ok := aliases[tool]; ok {
		out = renamed(in, a, 1, 0)
	}
	if ms, ok := out["timeout"].(float64); ok && tool == "shell" {
		delete(out, "timeout")
		out["timeout_seconds"] = max(1, ms/1000)
	}
	if tool == "edit" {
		edits, _ := out["edits"].([]any)
		if _, single := out["old_string"]; single {
			one := map[string]any{}
			for _, k := range editArgs {
				if v, ok := out[k[1]]; ok {
					one[k[1]] = v
					delete(out, k[1])
				}
			}
			edits = []any{one}
		}
		for i, e := range edits {
			if e, ok := e.(map[string]any); ok {
				edits[i] = renamed(e, alias{args: editArgs}, 1, 0)
			}
		}
		if edits != nil {
			out["edits"] = edits
		}
	}
	if tool == "shell" {
		delete(out, "description") // of Claude Code's own
	}
	b, _ := json.Marshal(out) // it was read from JSON
	return string(b)
}

// renamed returns in with other names of its keys.
func renamed(in map[string]any, a alias, from, to int) map[string]any {
	out := map[string]any{}
	for k, v := range in {
		for _, arg := range a.args {
			if k == arg[from] {
				k = arg[to]
				break
			}
		}
		out[k] = v
	}
	return out
}

// subject returns what a rule about a call compares: its command, or its file in the workspace.
func subject(in map[string]any, workspace string) string {
	for _, key := range []string{"command", "file_path", "path", "url", "subagent_type", "skill"} {
		if s, ok := in[key].(string); ok {
			if rel, err := filepath.Rel(workspace, s); err == nil && !strings.HasPrefix(rel, "..") && filepath.IsAbs(s) {
				return rel
			}
			return s
		}
	}
	return ""
}
