package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl/permission/spelling"
)

// ParseTyped parses a rule that a person typed or wrote into their settings. Beyond
// [ParseRule] it refuses what can match no call: a tool that is not one of tools, a pattern
// of a tool that has none, and a path that no call names.
func ParseTyped(given string, tools []string) (Rule, error) {
	r, err := ParseRule(given)
	if err != nil {
		return Rule{}, err
	}
	if !IsServerTool(r.Tool) && !slices.Contains(tools, r.Tool) {
		return Rule{}, fmt.Errorf("rule %q: there is no tool %q%s", given, r.Tool, spelling.Instead(r.Tool, r.Pattern, tools))
	}
	return r, r.CheckReach()
}

// CheckReach returns why the rule matches no call; nil if it may.
func (r Rule) CheckReach() error {
	switch {
	case IsServerTool(r.Tool):
		return r.checkServerTool()
	case r.Pattern == "" || r.Tool == "shell" || r.Tool == "fetch":
		return nil
	case !spelling.HasPattern(r.Tool):
		return fmt.Errorf("rule %q: a rule for %s has no pattern; write %s", r, r.Tool, r.Tool)
	case strings.HasPrefix(r.Pattern, "~"):
		return fmt.Errorf("rule %q: ~ is not expanded in rules; write the absolute path, in a shell \"%s($HOME%s)\"", r, r.Tool, strings.TrimPrefix(r.Pattern, "~"))
	case path.Clean(r.Pattern) == ".." || strings.HasPrefix(path.Clean(r.Pattern), "../"):
		return fmt.Errorf("rule %q: a path outside the workspace has to be absolute", r)
	}
	return nil
}
