// Package spelling knows the tools of other agents, and says their rules in the words of pawl.
package spelling

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/text"
)

// pathTools are the tools whose patterns are paths.
var pathTools = []string{"edit", "glob", "list", "read", "search", "write"}

// HasPattern reports whether rules for a tool have patterns.
func HasPattern(tool string) bool {
	return tool == "shell" || tool == "fetch" || slices.Contains(pathTools, tool)
}

// foreignTools are the tools of other agents, in lower case, and pawl's that do the same:
// those of Claude Code (code.claude.com/docs/en/tools-reference), Gemini CLI
// (geminicli.com/docs/reference/tools) and OpenCode (opencode.ai/docs/tools), read
// 2026-11-22. No tool: pawl has none.
var foreignTools = map[string][]string{
	"agent": {"agent"}, "apply_patch": {"edit", "write"}, "askuserquestion": {"ask"}, "bash": {"shell"}, "bashoutput": {"shell_output"},
	"edit": {"edit", "write"}, "exec_command": {"shell"}, "fetch": {"fetch"}, "glob": {"glob"}, "google_web_search": nil, "grep": {"search"},
	"grep_search": {"search"}, "killbash": {"shell_stop"}, "killshell": {"shell_stop"}, "list": {"list"}, "list_directory": {"list"},
	"local_shell": {"shell"}, "ls": {"list"}, "multiedit": {"edit"}, "notebookedit": {"edit"}, "notebookread": {"read"}, "patch": {"edit", "write"},
	"read": {"read"}, "read_file": {"read"}, "read_many_files": {"read"}, "replace": {"edit"}, "save_memory": {"memory"}, "run_shell_command": {"shell"}, "search": {"search"},
	"search_file_content": {"search"}, "shell": {"shell"}, "shelltool": {"shell"}, "skill": {"skill"}, "task": {"agent"}, "taskoutput": {"shell_output"},
	"taskstop": {"shell_stop"}, "todoread": {"todo"}, "todowrite": {"todo"}, "update_plan": {"todo"}, "web_fetch": {"fetch"}, "webfetch": {"fetch"},
	"websearch": nil, "write": {"write"}, "write_file": {"write"},
}

// Tools returns pawl's tools that do what a tool of another agent does, and whether name is one.
func Tools(name string) (ours []string, known bool) {
	ours, known = foreignTools[strings.ToLower(name)]
	return ours, known
}

// Same returns which of tools do what a tool of another agent does, and whether name is one.
func Same(name string, tools []string) (same []string, known bool) {
	same, known = Tools(name)
	return slices.DeleteFunc(slices.Clone(same), func(ours string) bool { return !slices.Contains(tools, ours) }), known
}

// DidYouMean is [text.DidYouMean] for the name of a tool; it knows those of other agents.
func DidYouMean(name string, tools []string) string {
	switch same, known := Same(name, tools); {
	case len(same) > 0:
		return fmt.Sprintf("; did you mean %q?", same[0])
	case known:
		return ""
	}
	return text.DidYouMean(name, tools)
}

// ownTools are pawl's tools that have the names of tools in foreignTools, or their meaning.
var ownTools = strings.Fields("agent ask edit fetch glob list memory read search shell shell_output shell_stop skill todo write")

// Translate returns the rules that say what a rule in the spelling of another agent says
// there, and a remark to follow them. Without rules, why says that pawl has no such tool;
// with neither, the rule is not known to be another agent's.
func Translate(given string) (ours []string, why string) {
	name, pattern, _ := strings.Cut(strings.TrimSpace(given), "(")
	pattern, closed := strings.CutSuffix(pattern, ")")
	pattern = strings.TrimSpace(pattern)
	if strings.Contains(given, "(") && !closed {
		return nil, ""
	}
	original, own := pattern, slices.Contains(ownTools, name)
	names, known := Tools(name)
	switch {
	case own:
		names = []string{name}
	case !known:
		return nil, ""
	case len(names) == 0:
		return nil, fmt.Sprintf("pawl has no tool that does what %s does", name)
	}
	switch names[0] {
	case "shell":
		prefix, any := strings.CutSuffix(pattern, ":*")
		literal := prefix // shell(npm run 'test:'*) begins with it
		if i := strings.LastIndexByte(prefix, ' '); i >= 0 {
			literal = prefix[i+1:]
		}
		switch {
		case any && prefix == "":
			pattern = ""
		case any:
			pattern = prefix + " *"
			if own && literal != "" {
				why = fmt.Sprintf("; for a word that begins with %q, quote that: '%s:'*", literal+":", literal)
			}
		case strings.EqualFold(name, "run_shell_command") || strings.EqualFold(name, "ShellTool"):
			if pattern != "" { // Gemini CLI compares the beginning of a command
				pattern += " *"
			}
		case pattern == "*" && !own:
			pattern = ""
		}
	case "fetch":
		pattern = strings.TrimPrefix(pattern, "domain:")
	default:
		switch {
		case !own && pattern != "" && !HasPattern(names[0]):
			pattern, why = "", fmt.Sprintf(": a rule for %s has no pattern", names[0])
		case !own: // Claude Code: // is the root of the disk, / the folder of the settings
			if absolute, ok := strings.CutPrefix(pattern, "//"); ok {
				pattern = "/" + absolute
			} else {
				pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "/"), "./")
			}
			if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
				pattern, why = "$HOME/"+rest, ", in double quotes for the shell: ~ is not expanded in rules"
			}
		}
	}
	if own && pattern == original {
		return nil, ""
	}
	for _, tool := range names {
		if pattern != "" {
			tool += "(" + pattern + ")"
		}
		ours = append(ours, tool)
	}
	return ours, why
}

// Check returns an error for a rule in the spelling of another agent. It names the rule to write instead.
func Check(given string) error {
	ours, why := Translate(given)
	switch {
	case len(ours) > 0:
		return fmt.Errorf("rule %q: write %s%s", given, strings.Join(ours, " and "), why)
	case why != "":
		return fmt.Errorf("rule %q: %s", given, why)
	}
	return nil
}

// Instead says what may have been meant by a rule for a tool that is none of tools, as the end of a sentence.
func Instead(tool, pattern string, tools []string) string {
	near := text.DidYouMean(tool, tools)
	first, rest, _ := strings.Cut(strings.TrimSuffix(strings.Replace(tool, "[", ":", 1), "]"), ":") // shell:ls, shell[ls]
	switch {
	case strings.Contains(tool, ","):
		return "; more than one rule: give each with a flag of its own, and in a variable on a line of its own"
	case tool[0] == '!' || tool[0] == '-':
		return "; a rule is allowed, asked or denied by the flag that it is given with"
	case rest != "" && pattern == "" && HasPattern(first):
		return fmt.Sprintf("; write %s(%s)", first, rest)
	case near != "":
		return near
	case pattern == "" && (tool == "all" || tool == "any" || tool == "everything"):
		return "; a rule is for one tool, such as shell or edit, and mode bypass is for all"
	case pattern == "":
		return fmt.Sprintf("; for a command write shell(%s *); tools are %s", tool, strings.Join(tools, ", "))
	}
	return "; there are " + strings.Join(tools, ", ")
}
