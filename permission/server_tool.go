package permission

import (
	"fmt"
	"strings"
)

// serverPrefix is how the names of tools of MCP servers begin: mcp__SERVER__TOOL.
const serverPrefix = "mcp__"

// IsServerTool reports whether a name is that of a tool of an MCP server, or of all of one.
func IsServerTool(tool string) bool { return strings.HasPrefix(tool, serverPrefix) }

// allOfServer returns the end of the name of a tool that stands for all tools of a server: "*" of
// mcp__SERVER__*, else nothing.
func allOfServer(tool string) string {
	if server, is := strings.CutSuffix(strings.TrimPrefix(tool, serverPrefix), "__*"); is && IsServerTool(tool) && server != "" && !strings.Contains(server, "*") {
		return "*"
	}
	return ""
}

// checkServerTool returns why a rule names no tool of a server, and not all of one; nil if it does.
func (r Rule) checkServerTool() error {
	server, name, ok := strings.Cut(strings.TrimPrefix(r.Tool, serverPrefix), "__")
	if !ok || server == "" || name == "" {
		return fmt.Errorf("rule %q: name a tool of a server, mcp__SERVER__TOOL, or all of them, mcp__SERVER__*", r)
	}
	return nil
}

// checkArgumentPatterns returns what is wrong with the words of a pattern; nil if nothing is.
func checkArgumentPatterns(words []string) error {
	for _, w := range words {
		if name, _, ok := strings.Cut(w, "="); !ok || name == "" || strings.Contains(name, wild) {
			return fmt.Errorf("%q is no argument with its value; write them as NAME=VALUE, where * stands for any characters", strings.ReplaceAll(w, wild, "*"))
		}
	}
	return nil
}

// covers reports whether a rule for a tool that touches no file covers a call: it has no pattern, or
// the call has all arguments of it. There are servers that take Owner for owner, so rules that deny or ask
// find it by either name, and one that allows covers no call that has another spelling of a name.
func (r Rule) covers(arguments map[string]string) bool {
	if r.Pattern == "" {
		return true
	}
	if !IsServerTool(r.Tool) {
		return false
	}
	for _, w := range r.split() {
		name, pattern, ok := strings.Cut(w, "=")
		found := false
		for given, value := range arguments {
			if !strings.EqualFold(given, name) {
				continue
			}
			matches := matchWord(pattern, value)
			if r.Effect == Allow && (given != name || !matches) {
				return false
			}
			found = found || matches
		}
		if !ok || !found {
			return false
		}
	}
	return true
}

// calls says in words which calls of such a tool the rule is for.
func (r Rule) calls() string {
	switch {
	case allOfServer(r.Tool) != "":
		return "every call of the tools " + r.Tool
	case r.Pattern == "":
		return "every call of " + r.Tool
	}
	return "every call of " + r.Tool + " with " + quote(r.Pattern)
}
