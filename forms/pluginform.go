package forms

import (
	"pawl/instructions"
	"pawl/mcp"
	"pawl/plugin"
)

// A PluginForm is a plugin as JSON.
type PluginForm struct {
	Name        string   `json:"name"`
	Version     string   `json:"version,omitempty"`
	Description string   `json:"description,omitempty"`
	Source      string   `json:"source"`
	Commit      string   `json:"commit,omitempty"`
	SHA256      string   `json:"sha256"` // of all its files
	Folder      string   `json:"folder"` // where its files are
	Skills      []string `json:"skills"`
	Commands    []string `json:"commands"`
	Agents      []string `json:"agents"` // their files
	Servers     []string `json:"servers"`
	Runs        []string `json:"runs"`     // by itself: its hooks and servers
	Unused      []string `json:"unused"`   // what it has that pawl does not use
	Problems    []string `json:"problems"` // what of it does not count, and why
}

// PluginFormOf returns a plugin as JSON.
func PluginFormOf(p plugin.Plugin) PluginForm {
	return PluginForm{Name: p.Name, Version: p.Version, Description: p.Description, Source: p.Source.String(), Commit: p.Source.Commit,
		SHA256: p.Digest, Folder: p.Dir,
		Skills:   Forms(p.Skills, func(s instructions.Skill) string { return s.Name }),
		Commands: Forms(p.Commands, func(c instructions.Command) string { return c.Name }),
		Agents:   Forms(p.Agents, func(f plugin.File) string { return f.Name }),
		Servers:  Forms(p.Servers, func(d mcp.Definition) string { return d.Name }),
		Runs:     append([]string{}, p.Runs()...), Unused: append([]string{}, p.Unused...), Problems: append([]string{}, p.Problems...)}
}

// A PluginChangeForm is what became of a plugin that was added, updated or removed, as JSON.
type PluginChangeForm struct {
	Name  string `json:"name"`
	State string `json:"state"` // added, updated, unchanged, removed; shown: nothing is changed
	// Plugin is what it is, Files are how its files differ from those that were trusted, and Others are those of these that
	// are not shown.
	Plugin *PluginForm   `json:"plugin,omitempty"`
	Files  []TrustChange `json:"files,omitempty"`
	Others []string      `json:"others,omitempty"`
}

// A MarketplaceForm is a marketplace as JSON.
type MarketplaceForm struct {
	Name    string         `json:"name"`
	Source  string         `json:"source"`
	Plugins []plugin.Entry `json:"plugins"`
}

// MarketplaceFormOf returns a marketplace as JSON.
func MarketplaceFormOf(m plugin.Marketplace) MarketplaceForm {
	return MarketplaceForm{m.Name, m.Source.String(), append([]plugin.Entry{}, m.Entries...)}
}
