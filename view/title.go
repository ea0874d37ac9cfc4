package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Use returns the tool and the arguments of what a call is about: of one that asks for the use of a tool of an external
// agent's own, that tool and its input, and else the call's own.
func Use(tool, arguments string) (string, string) {
	var asked struct {
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"input"`
	}
	if tool != "permission" || json.Unmarshal([]byte(arguments), &asked) != nil || asked.Tool == "" {
		return tool, arguments
	}
	return asked.Tool, string(asked.Input)
}

// Title says in one line what a call does: the tool and the subject of its arguments.
func Title(tool, arguments string) string { return title(tool, Subject(tool, arguments)) }

func title(tool, subject string) string {
	tool = OneLine(tool, 64) // a model may name anything
	if subject == "" {
		return tool
	}
	return OneLine(tool+" "+subject, MaxLine)
}

// subjects are the arguments that say what a call is about, the first that is there.
// Tools of external agents are among those that have them.
var subjects = []string{"command", "question", "file_path", "path", "url", "pattern", "query", "id", "prompt", "task", "description", "text", "name"}

// maxArguments bounds the arguments that a subject is taken from, in bytes.
const maxArguments = 4096

// Subject says in one line what a call is about: the command of a shell, the path of a
// file, the pattern of a search, how far a list of tasks is. Where nothing is known of the
// tool it is the arguments as name=value. The arguments may be incomplete.
func Subject(tool, arguments string) string {
	if len(arguments) > maxArguments {
		arguments = arguments[:maxArguments]
	}
	members, ok := fields(arguments)
	if !ok {
		return OneLine(arguments, MaxLine)
	}
	args := map[string]json.RawMessage{}
	for _, f := range members {
		args[f.name] = f.value
		if progress, ok := tasks(f.value); ok {
			return progress
		}
	}
	arg := func(name string) string { return asString(args[name]) }
	switch {
	case strings.HasPrefix(tool, "tool_outputs"):
		return oneLineOf(arg("id"), output(args))
	case tool == "submit_result", tool == "planner-output", tool == "completion-report":
		return "" // its value is an item of its own
	case tool == "permission" && arg("tool_name") != "":
		return OneLine(arg("tool_name")+" "+Subject(arg("tool_name"), string(args["input"])), MaxLine)
	case tool == "read" && arg("path") != "":
		subject := arg("path")
		if pages := arg("pages"); pages != "" {
			subject += ", pages " + pages
		}
		if offset := plain(args["offset"], ""); offset != "" && offset != "0" && offset != "1" {
			subject += ", from line " + offset
		}
		return OneLine(subject, MaxLine)
	case tool == "memory":
		return OneLine(cmp.Or(arg("note"), arg("replaces")), MaxLine)
	case (tool == "handoff" || tool == "agent") && arg("agent") != "":
		return OneLine(arg("agent")+": "+arg("prompt"), MaxLine)
	case paths(args["changes"]) != "": // of Codex
		return OneLine(paths(args["changes"]), MaxLine)
	case arg("pattern") != "" && arg("path") != "":
		return OneLine(arg("pattern")+" in "+arg("path"), MaxLine)
	}
	for _, name := range subjects {
		if s := arg(name); s != "" {
			return OneLine(s, MaxLine)
		}
	}
	var pairs []string
	for _, f := range members {
		pairs = append(pairs, f.name+"="+brief(f.value))
	}
	return OneLine(strings.Join(pairs, " "), MaxLine)
}

// output says what a query of a stored output asks for.
func output(args map[string]json.RawMessage) string {
	if counted := paths(args["counts"]); counted != "" {
		return counted
	}
	var found []string
	for _, name := range []string{"op", "pattern", "query", "path", "value_path", "group_by"} {
		if s := asString(args[name]); s != "" {
			found = append(found, s)
		}
	}
	return strings.Join(found, " ")
}

// paths returns those of a list of objects that have one.
func paths(list json.RawMessage) string {
	var items []struct{ Path string }
	if json.Unmarshal(list, &items) != nil {
		return ""
	}
	var all []string
	for _, i := range items {
		all = append(all, i.Path)
	}
	return strings.Join(all, ", ")
}

func oneLineOf(words ...string) string {
	words = slices.DeleteFunc(words, func(s string) bool { return s == "" })
	return OneLine(strings.Join(words, " "), MaxLine)
}

// tasks says how far a list of tasks is: a list of objects that have a status.
func tasks(value json.RawMessage) (progress string, ok bool) {
	var items []struct{ Status, Text, Content, Step string }
	if json.Unmarshal(value, &items) != nil || len(items) == 0 {
		return "", false
	}
	done, active := 0, ""
	for _, item := range items {
		switch item.Status {
		case "":
			return "", false
		case "done", "completed":
			done++
		case "active", "in_progress":
			if active == "" {
				active = ": " + item.Text + item.Content + item.Step
			}
		}
	}
	return OneLine(fmt.Sprintf("%d of %d done%s", done, len(items), active), MaxLine), true
}

// brief writes an argument shortly: an object or array by its size.
func brief(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0:
		return ""
	case value[0] == '{':
		return "{…}"
	case value[0] == '[':
		var elements []json.RawMessage
		if json.Unmarshal(value, &elements) != nil || len(elements) == 0 {
			return "[]"
		}
		return fmt.Sprintf("[%d]", len(elements))
	case value[0] == '"':
		return OneLine(asString(value), 40)
	}
	return string(value)
}
