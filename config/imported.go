package config

import (
	"fmt"
	"path"
	"strings"

	"pawl/internal/lazy"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/permission/spelling"
)

// An Imported is a rule of another agent, in rules of pawl's. One that allows covers nothing here that it does not
// cover there.
type Imported struct {
	Rules []permission.Rule // none: it cannot be taken, and Why says why
	Why   string
	// Lost is what it covers there and Rules do not.
	Lost string
}

// shown is a text of another agent's on one line, with what people do not see as escapes.
func shown(s string) string { return visible.Escape(strings.Join(strings.Fields(s), " ")) }

func notImported(format string, args ...any) Imported {
	return Imported{Why: fmt.Sprintf(format, args...)}
}

// imported returns rules with these texts, if all can be read.
func imported(effect permission.Verdict, lost string, texts ...string) Imported {
	i := Imported{Lost: lost}
	for _, t := range texts {
		r, err := permission.ParseRule(t)
		if err == nil {
			err = r.CheckReach()
		}
		if err != nil {
			return notImported("%s", err)
		}
		r.Effect = effect
		i.Rules = append(i.Rules, r)
	}
	return i
}

// importWords is the rule of another agent for all commands that begin with some words.
func importWords(effect permission.Verdict, words []string) Imported {
	var quoted []string
	for _, w := range words {
		quoted = append(quoted, permission.QuotePattern(w))
	}
	return imported(effect, "", permission.Rule{Tool: "shell", Pattern: strings.Join(append(quoted, "*"), " ")}.String())
}

// importCommand is the rule of another agent for commands: * stands there for any characters, at the end after a blank
// for none too. An empty pattern is every command.
func importCommand(effect permission.Verdict, pattern string) Imported {
	words := strings.Fields(pattern)
	if len(words) == 0 || len(words) == 1 && words[0] == "*" {
		return imported(effect, "", "shell")
	}
	if i := strings.IndexAny(pattern, ";&|<>$`()\n\\\"'?"); i >= 0 {
		return notImported("it has %q, which means something else in a pattern here", pattern[i:i+1])
	}
	lost, inside := "", "here * stays within a word"
	for i, w := range words {
		switch last := i == len(words)-1; {
		case !strings.Contains(w, "*"), w == "*" && last:
		case w == "*" && effect == permission.Allow:
			return notImported("here * also stands for no word, which would allow more")
		case w == "*":
		case last && effect != permission.Allow && strings.Count(w, "*") == 1 && strings.HasSuffix(w, "*"):
			words = append(words, "*") // what follows the word is covered there too
		default:
			lost = inside
		}
	}
	return imported(effect, lost, permission.Rule{Tool: "shell", Pattern: strings.Join(words, " ")}.String())
}

// parameter is how Claude Code names an argument of a tool in a rule, as Bash(run_in_background:true).
var parameter = lazy.Regexp(`^[A-Za-z_]+:[^*]`)

// importClaude is a rule of the user's settings of Claude Code (code.claude.com/docs/en/permissions, read 2026-11-28).
// Its patterns of paths are those of .gitignore.
func importClaude(effect permission.Verdict, given, home string) Imported {
	given = strings.TrimSpace(given)
	name, pattern, has := strings.Cut(given, "(")
	pattern, closed := strings.CutSuffix(pattern, ")")
	if pattern = strings.TrimSpace(pattern); has != closed {
		return notImported("it has no closing parenthesis at its end")
	}
	if permission.IsServerTool(name) {
		switch {
		case has:
			return notImported("its pattern is not one of pawl's")
		case strings.Count(name, "__") == 1:
			name += "__*"
		}
		return imported(effect, "", name)
	}
	tools, known := spelling.Tools(name)
	switch {
	case !known || strings.Contains(name, "*"):
		return notImported("pawl has no tool %s", shown(name))
	case len(tools) == 0:
		return notImported("pawl has no tool that does what %s does", name)
	case tools[0] == "shell":
		if prefix, any := strings.CutSuffix(pattern, ":*"); any {
			pattern = prefix + " *"
		} else if parameter().MatchString(pattern) {
			return notImported("it is for an argument of the tool")
		}
		return importCommand(effect, pattern)
	case tools[0] == "fetch":
		host, is := strings.CutPrefix(pattern, "domain:")
		if pattern != "" && !is {
			return notImported("its pattern is not one of pawl's")
		}
		return imported(effect, "", permission.Rule{Tool: "fetch", Pattern: host}.String())
	case pattern == "":
		return imported(effect, "", forEffect(effect, tools)...)
	case !spelling.HasPattern(tools[0]):
		return notImported("a rule for %s has no pattern here", tools[0])
	}
	return importIgnore(effect, tools, pattern, home)
}

// forEffect returns for which of the tools that do the same a rule is needed: those that deny or ask hold for all.
func forEffect(effect permission.Verdict, tools []string) []string {
	if effect == permission.Allow {
		return tools
	}
	return tools[:1]
}

// importIgnore is a pattern of .gitignore for files.
func importIgnore(effect permission.Verdict, tools []string, pattern, home string) Imported {
	lost := ""
	switch {
	case strings.ContainsAny(pattern, `\{}[]!`):
		return notImported("its pattern has characters that mean something else here")
	case strings.HasPrefix(pattern, "//"):
		pattern = pattern[1:]
	case strings.HasPrefix(pattern, "~/"):
		pattern = home + pattern[1:]
	case strings.HasPrefix(pattern, "~"):
		return notImported("it names the home of another user")
	case strings.HasPrefix(pattern, "/") && effect == permission.Allow:
		return notImported("it begins at the folder of the settings, which is another here")
	case strings.HasPrefix(pattern, "/"):
		pattern, lost = pattern[1:], "it begins at the workspace here, and there at the folder of the settings"
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if before, folder := strings.CutSuffix(pattern, "/"); folder {
		pattern = before + "/**"
	}
	switch {
	case pattern == "" || pattern == "*" || pattern == "**":
		return imported(effect, lost, forEffect(effect, tools)...)
	case !strings.Contains(pattern, "/"):
		pattern = "**/" + pattern
	}
	patterns := []string{pattern}
	if !strings.HasSuffix(pattern, "/**") && effect != permission.Allow { // of a folder all that is in it
		patterns = append(patterns, pattern+"/**")
	}
	return importPaths(effect, lost, tools, patterns...)
}

func importPaths(effect permission.Verdict, lost string, tools []string, patterns ...string) Imported {
	var texts []string
	for _, tool := range forEffect(effect, tools) {
		for _, p := range patterns {
			texts = append(texts, permission.Rule{Tool: tool, Pattern: p}.String())
		}
	}
	return imported(effect, lost, texts...)
}

// importOpenCode is a permission of OpenCode for a pattern of what a tool is called with (opencode.ai/docs/permissions,
// read 2026-11-28). * stands there for any characters, those of folders too.
func importOpenCode(effect permission.Verdict, tool, pattern string) Imported {
	tools, known := spelling.Tools(tool)
	switch {
	case !known || len(tools) == 0:
		return notImported("pawl has nothing that is called %s there", shown(tool))
	case tools[0] == "shell":
		return importCommand(effect, pattern)
	case pattern == "" || pattern == "*" || pattern == "**":
		return imported(effect, "", forEffect(effect, tools)...)
	case tools[0] == "fetch" || !spelling.HasPattern(tools[0]):
		return notImported("a rule for %s has no such pattern here", tools[0])
	case strings.ContainsAny(pattern, `\{}[]!?`):
		return notImported("its pattern has characters that mean something else here")
	case strings.HasPrefix(pattern, "~"), strings.HasPrefix(pattern, "$HOME"), path.IsAbs(pattern):
		return notImported("a path outside of the workspace is allowed by more than this there: write a rule for it")
	}
	if before, folder := strings.CutSuffix(pattern, "/*"); folder {
		pattern = before + "/**"
	}
	if strings.HasPrefix(pattern, "*") && !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	lost, name := "", strings.TrimPrefix(pattern, "**/")
	rest := strings.TrimSuffix(name, "/**")
	if strings.Contains(strings.TrimPrefix(rest, "*"), "*") || strings.HasPrefix(rest, "*") && rest != name {
		lost = "here * stays within the name of a file"
	}
	return importPaths(effect, lost, tools, pattern)
}

// importGemini is a tool, with the beginning of a command for that of the shell, that Gemini CLI allows or excludes
// (geminicli.com/docs/reference/configuration and policy-engine, read 2026-11-28).
func importGemini(effect permission.Verdict, tool, prefix string) Imported {
	tools, known := spelling.Tools(tool)
	switch {
	case !known || strings.Contains(tool, "*"):
		return notImported("pawl has no tool %s", shown(tool))
	case len(tools) == 0:
		return notImported("pawl has no tool that does what %s does", tool)
	case tools[0] == "shell" && strings.TrimSpace(prefix) == "":
		return importCommand(effect, "")
	case tools[0] == "shell" && strings.Contains(prefix, "*"):
		return notImported("it has *, which stands for itself there")
	case tools[0] == "shell":
		return importCommand(effect, prefix+" *")
	case prefix != "":
		return notImported("its pattern is not one of pawl's")
	}
	return imported(effect, "", forEffect(effect, tools)...)
}

// importGroup returns which calls the rules for a tool of another agent are about, by its name: those for one group limit
// each other. Empty: none of pawl's.
func importGroup(tool string) string {
	if permission.IsServerTool(tool) {
		return "mcp"
	}
	tools, _ := spelling.Tools(tool)
	if len(tools) == 0 {
		return ""
	}
	switch tools[0] {
	case "read", "list", "glob", "search":
		return "read"
	case "edit", "write":
		return "edit"
	}
	return tools[0]
}
