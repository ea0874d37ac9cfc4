package external

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"pawl/internal/atomicfile"
)

// The MCP servers that a person has configured in a program work outside of the workspace, as those in pawl's own
// configuration do, unless the person has given them a folder. The program would start them in the folder that it works
// in, where npx, uvx, python -m and relative names find what the repository brings.

// serversDir is the folder that they work in.
const serversDir = string(filepath.Separator)

// elsewhere are words that start the command after them in serversDir.
var elsewhere = []string{"/bin/sh", "-c", `cd / && exec "$@"`, "sh"}

// staying reports whether a server is a command that would be started in the folder of the program.
func staying(server map[string]any) bool {
	command, _ := server["command"].(string)
	dir, _ := server["cwd"].(string)
	return command != "" && dir == ""
}

// claudeServers returns the commands among the servers that Claude Code has for all folders and for this one, started
// elsewhere: its servers have no folder of their own.
func (t Turn) claudeServers() map[string]any {
	type servers struct {
		Servers map[string]any `json:"mcpServers"`
	}
	var theirs struct {
		servers
		Projects map[string]servers `json:"projects"`
	}
	all := map[string]any{}
	dir := lookup(t.Env, "CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = lookup(t.Env, "HOME")
	}
	if b, err := atomicfile.Read(filepath.Join(dir, ".claude.json")); err != nil || json.Unmarshal(b, &theirs) != nil {
		return all // the program says so
	}
	for _, of := range []servers{theirs.servers, theirs.Projects[repository(t.Workspace)], theirs.Projects[t.Workspace]} {
		for name, s := range of.Servers {
			if s, ok := s.(map[string]any); ok && staying(s) {
				args, _ := s["args"].([]any)
				var command []any
				for _, word := range elsewhere {
					command = append(command, word)
				}
				s = maps.Clone(s)
				s["args"] = slices.Concat(command[1:], []any{s["command"]}, args)
				s["command"] = command[0]
				all[name] = s
			}
		}
	}
	return all
}

// repository returns the folder of the repository that a folder is in; without one the folder itself.
func repository(folder string) string {
	for dir := folder; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
	}
	return folder
}

// codexServers returns what is to be added to the servers that Codex has.
func (t Turn) codexServers() map[string]any {
	dir := lookup(t.Env, "CODEX_HOME")
	if dir == "" {
		dir = filepath.Join(lookup(t.Env, "HOME"), ".codex")
	}
	config := map[string]any{}
	for _, dir := range []string{"/etc/codex", dir} {
		var of map[string]any
		if b, err := atomicfile.Read(filepath.Join(dir, "config.toml")); err == nil && toml.Unmarshal(b, &of) == nil { // else the program says so
			config = merged(config, of)
		}
	}
	theirs, _ := config["mcp_servers"].(map[string]any)
	return moved(theirs)
}

// moved returns what is to be added to servers, so that they work in serversDir.
func moved(servers map[string]any) map[string]any {
	all := map[string]any{}
	for name, s := range servers {
		if s, ok := s.(map[string]any); ok && staying(s) {
			all[name] = map[string]any{"cwd": serversDir}
		}
	}
	return all
}

// geminiExtensions returns the servers of the extensions in a folder of Gemini CLI. It merges them with those of its
// settings, where one without a command is none.
func geminiExtensions(dir string) map[string]any {
	all := map[string]any{}
	extensions, _ := os.ReadDir(dir) // without it there is none
	for _, e := range extensions {
		at := filepath.Join(dir, e.Name())
		var linked struct{ Type, Source string }
		if b, err := atomicfile.Read(filepath.Join(at, ".gemini-extension-install.json")); err == nil && json.Unmarshal(b, &linked) == nil && linked.Type == "link" {
			at = linked.Source
		}
		var x struct {
			Servers map[string]any `json:"mcpServers"`
		}
		if b, err := atomicfile.Read(filepath.Join(at, "gemini-extension.json")); err == nil && json.Unmarshal(b, &x) == nil {
			all = merged(all, x.Servers)
		}
	}
	return all
}

// PluginServers returns the person's plugins of Claude Code, by their ids, that name commands as servers: see [Turn.hookSettings].
func (k Kind) PluginServers(env func(name string) string) (ids []string) {
	if _, ok := k.adapter.(claude); !ok {
		return nil
	}
	dir := ownDir(env, "CLAUDE_CONFIG_DIR", ".claude")
	read := func(to any, path ...string) {
		if b, err := atomicfile.Read(filepath.Join(path...)); err == nil {
			_ = json.Unmarshal(b, to) // what cannot be read names none
		}
	}
	var settings struct {
		Enabled map[string]bool `json:"enabledPlugins"`
	}
	var installed struct {
		Plugins map[string]json.RawMessage `json:"plugins"`
	}
	read(&settings, dir, "settings.json")
	read(&installed, dir, "plugins", "installed_plugins.json")
	type place struct {
		Path string `json:"installPath"`
	}
	for _, id := range slices.Sorted(maps.Keys(installed.Plugins)) {
		var places []place
		if json.Unmarshal(installed.Plugins[id], &places) != nil { // before 2.1 it was one
			places = make([]place, 1)
			_ = json.Unmarshal(installed.Plugins[id], &places[0])
		}
		for _, at := range places {
			var manifest, file map[string]any
			read(&manifest, at.Path, ".claude-plugin", "plugin.json")
			if name, ok := manifest["mcpServers"].(string); ok {
				read(&file, at.Path, name)
			} else {
				read(&file, at.Path, ".mcp.json")
			}
			servers, _ := manifest["mcpServers"].(map[string]any)
			if inner, ok := file["mcpServers"].(map[string]any); ok {
				file = inner
			}
			for _, s := range merged(file, servers) {
				if s, ok := s.(map[string]any); ok && s["command"] != nil && settings.Enabled[id] && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}
