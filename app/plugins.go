package app

import (
	"os"
	"path/filepath"

	"pawl/agent"
	"pawl/mcp"
	"pawl/plugin"
)

// pluginsFound are the plugins that a person has added and that count.
type pluginsFound struct {
	all      []plugin.Plugin
	problems []string // which do not count, and why
}

// Plugins returns the store of the person's plugins, which are the same in every workspace.
func (w *Workspace) Plugins() plugin.Store {
	return plugin.Store{Dir: filepath.Join(w.env.StateDir(), "plugins"), Data: filepath.Join(w.State, "plugin-data"),
		Path: w.env.Get("PATH"), Not: []string{w.Dir}}
}

func (w *Workspace) findPlugins() (f pluginsFound) {
	all, problems, err := w.Plugins().All()
	if f.problems = problems; err != nil {
		f.problems = append(f.problems, err.Error())
	}
	for _, p := range all {
		if p.Dir != "" {
			f.all = append(f.all, p)
		}
	}
	return f
}

// check returns an error if the files of a plugin are not those that were trusted.
func (f pluginsFound) check(name string) error {
	for _, p := range f.all {
		if p.Name == name {
			return p.Check()
		}
	}
	return nil
}

// broughtServers returns the MCP servers of plugins.
func (w *Workspace) broughtServers() (all []mcp.Definition) {
	for _, p := range w.plugins().all {
		all = append(all, p.Servers...)
	}
	return all
}

// broughtAgents returns the agents of plugins.
func (w *Workspace) broughtAgents() (all []agent.Brought) {
	for _, p := range w.plugins().all {
		for _, f := range p.Agents {
			all = append(all, agent.Brought{Plugin: p.Name, Path: filepath.Join(p.Dir, filepath.FromSlash(f.Name)), Content: f.Content})
		}
	}
	return all
}

// pluginDirs returns the folders of the plugins.
func (w *Workspace) pluginDirs() (dirs []string) {
	for _, p := range w.plugins().all {
		dirs = append(dirs, p.Dir)
	}
	return dirs
}

// pluginData returns the folders that plugins write, which are made. A plugin has one for each workspace: what commands in
// the sandbox of one write there must not run in another. Where it cannot be made, the plugin has none.
func (w *Workspace) pluginData() (dirs []string) {
	for _, p := range w.plugins().all {
		dir := w.Plugins().DataOf(p.Name)
		if len(p.Hooks)+len(p.Servers) == 0 || os.MkdirAll(dir, 0o700) != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dirs = append(dirs, real)
		}
	}
	return dirs
}
