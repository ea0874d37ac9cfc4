package run

import (
	"slices"
	"strings"
)

// Grants are the tools that a run may call: their names, sorted, with a blank between them. A name
// that ends in * stands for all that begin so, and [GrantOwn] for all that are of no MCP server.
// The empty value grants every tool, "-" none. Equal sets are equal strings.
type Grants string

const noTools Grants = "-"

// GrantOwn grants the tools that are of no MCP server.
const GrantOwn = "*"

// ofServers is how the names of the tools of MCP servers begin.
const ofServers = "mcp__"

// GrantServer is the name that grants the tools of an MCP server.
func GrantServer(name string) string { return ofServers + name + "__*" }

// Grant returns the grants of exactly these tools; without names, of none.
func Grant(names ...string) Grants {
	if len(names) == 0 {
		return noTools
	}
	return Grants(strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), " "))
}

// Limited reports whether only some tools, or none, are granted.
func (g Grants) Limited() bool { return g != "" }

// Names returns the tools that are granted, sorted; nil if all or none are.
func (g Grants) Names() []string {
	if g == noTools {
		return nil
	}
	return strings.Fields(string(g))
}

// Has reports whether a tool is granted.
func (g Grants) Has(name string) bool {
	return !g.Limited() || slices.ContainsFunc(g.Names(), func(granted string) bool {
		if granted == GrantOwn {
			return !strings.HasPrefix(name, ofServers)
		}
		begin, all := strings.CutSuffix(granted, "*")
		return granted == name || all && strings.HasPrefix(name, begin)
	})
}

// With returns g with more tools.
func (g Grants) With(names ...string) Grants {
	if !g.Limited() {
		return g
	}
	return Grant(append(g.Names(), names...)...)
}

// Without returns g with fewer tools. all are the tools that there are: they are what
// remains to be granted if g grants every tool.
func (g Grants) Without(all []string, names ...string) Grants {
	if len(names) == 0 {
		return g
	}
	have := g.Names()
	if !g.Limited() || strings.Contains(string(g), "*") {
		have = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !g.Has(name) })
	}
	return Grant(slices.DeleteFunc(have, func(name string) bool { return slices.Contains(names, name) })...)
}
