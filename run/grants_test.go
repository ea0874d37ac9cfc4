package run

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestGrantsAreASetOfNames(t *testing.T) {
	t.Parallel()
	all := []string{"edit", "read", "shell"}
	for _, c := range []struct {
		name string
		g    Grants
		want Grants
		has  []string
	}{
		{"every tool", Grants(""), "", all},
		{"no tool", Grant(), "-", nil},
		{"two, in any order", Grant("read", "edit", "read"), "edit read", []string{"edit", "read"}},
		{"one more", Grant("read").With("edit"), "edit read", []string{"edit", "read"}},
		{"one more than none", Grant().With("edit"), "edit", []string{"edit"}},
		{"one more than every tool", Grants("").With("edit"), "", all},
		{"one less", Grant("read", "edit").Without(all, "edit"), "read", []string{"read"}},
		{"every tool but one", Grants("").Without(all, "shell"), "edit read", []string{"edit", "read"}},
		{"nothing less", Grants("").Without(all), "", all},
		{"nothing less than one", Grant("edit").Without(all), "edit", []string{"edit"}},
		{"one less than one", Grant("edit").Without(all, "edit"), "-", nil},
	} {
		if c.g != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.g, c.want)
		}
		for _, tool := range all {
			if got, want := c.g.Has(tool), slices.Contains(c.has, tool); got != want {
				t.Errorf("%s: Has(%s) = %t", c.name, tool, got)
			}
		}
	}
	if all[2] != "shell" {
		t.Error("Without changed the caller's slice")
	}
}

// The change that grants every tool again is not the change that leaves the grants alone.
func TestAChangeCanGrantEveryToolAgain(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(ConfigChange{Tools: new(Grants)})
	if err != nil {
		t.Fatal(err)
	}
	var c ConfigChange
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	if got := c.Apply(Config{Tools: Grant("read")}); got.Tools.Limited() {
		t.Errorf("%s leaves %q", b, got.Tools)
	}
	if got := (ConfigChange{}).Apply(Config{Tools: Grant("read")}); got.Tools != Grant("read") {
		t.Errorf("a change of nothing leaves %q", got.Tools)
	}
}

// An agent that names MCP servers has their tools, and those of no other.
func TestServersAreGranted(t *testing.T) {
	t.Parallel()
	all := []string{"edit", "mcp__docs__find", "mcp__git__log", "mcp__github__log"}
	for _, c := range []struct {
		g   Grants
		has []string
	}{
		{Grant(GrantOwn), []string{"edit"}},
		{Grant(GrantOwn, GrantServer("git")), []string{"edit", "mcp__git__log"}},
		{Grant(GrantServer("docs"), "mcp__github__log"), []string{"mcp__docs__find", "mcp__github__log"}},
		{Grant(GrantOwn, GrantServer("git")).Without(all, "edit"), []string{"mcp__git__log"}},
		{Grant(GrantOwn).With("mcp__docs__find"), []string{"edit", "mcp__docs__find"}},
	} {
		has := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !c.g.Has(name) })
		if !slices.Equal(has, c.has) {
			t.Errorf("%q grants %v, want %v", c.g, has, c.has)
		}
	}
}
