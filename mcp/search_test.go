package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pawl/tool"
)

func TestASearchFindsTheToolsThatFitTheWordsBest(t *testing.T) {
	t.Parallel()
	of := func(name, description string) tool.Spec {
		return tool.Spec{Name: name, Description: description, Server: "s", Schema: json.RawMessage(`{"type":"object"}`)}
	}
	specs := []tool.Spec{
		of("mcp__git__createIssue", "Opens an issue in a repository."),
		of("mcp__git__delete_branch", "Removes a branch, never an issue."),
		of("mcp__git__list_commits", "Lists commits."),
	}
	for i := range 150 {
		specs = append(specs, of(fmt.Sprintf("mcp__git__other_%d", i), "Does something else. "+strings.Repeat("At length. ", 300)))
	}
	for _, c := range []struct{ query, first, other string }{
		{"create an issue", "mcp__git__createIssue: ", "mcp__git__delete_branch"},
		{"issues", "mcp__git__createIssue: ", "mcp__git__delete_branch"},
		{"list_commits", "mcp__git__list_commits: ", ""},
		{"mcp__git__delete_branch", "mcp__git__delete_branch: ", "mcp__git__createIssue"},
		{"something else", "mcp__git__other_0: ", "and 42 more."},
		{"", "mcp__git__createIssue, mcp__git__delete_branch, ", "and 53 more."},
		{"weather", "None of 153 tools fits these words. mcp__git__createIssue, ", "and 53 more."},
	} {
		got := find(specs, c.query)
		if !strings.HasPrefix(got, c.first) || !strings.Contains(got, c.other) {
			t.Errorf("%q found %.200s … %s", c.query, got, got[max(0, len(got)-200):])
		}
		if len(got) > maxFoundBytes+5_000+maxFoundNames*64 {
			t.Errorf("%q: %d bytes", c.query, len(got))
		}
	}
}
