package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl/internal/text"
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
		near := text.DidYouMean(r.Tool, tools)
		first, rest, _ := strings.Cut(strings.TrimSuffix(strings.Replace(r.Tool, "[", ":", 1), "]"), ":") // shell:ls, shell[ls]
		switch {
		case strings.Contains(r.Tool, ","):
			near = "; more than one rule: give each with a flag of its own, and in a variable on a line of its own"
		case r.Tool[0] == '!' || r.Tool[0] == '-':
			near = "; a rule is allowed, asked or denied by the flag that it is given with"
		case rest != "" && r.Pattern == "" && spelling.HasPattern(first):
			near = fmt.Sprintf("; write %s(%s)", first, rest)
		case near != "":
		case r.Pattern == "" && (r.Tool == "all" || r.Tool == "any" || r.Tool == "everything"):
			near = "; a rule is for one tool, such as shell or edit, and mode bypass is for all"
		case r.Pattern == "":
			near = fmt.Sprintf("; for a command write shell(%s *); tools are %s", r.Tool, strings.Join(tools, ", "))
		default:
			near = "; there are " + strings.Join(tools, ", ")
		}
		return Rule{}, fmt.Errorf("rule %q: there is no tool %q%s", given, r.Tool, near)
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

// checkSpelling returns an error for a rule in the spelling of another agent. It names the
// rule to write instead.
func checkSpelling(given string) error {
	ours, why := spelling.Translate(given)
	switch {
	case len(ours) > 0:
		return fmt.Errorf("rule %q: write %s%s", given, strings.Join(ours, " and "), why)
	case why != "":
		return fmt.Errorf("rule %q: %s", given, why)
	}
	return nil
}
