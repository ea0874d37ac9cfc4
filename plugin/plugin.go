// Package plugin is what people have packaged for agents: folders with skills, commands, agents, hooks and MCP servers,
// taken from a folder or from a commit of a git repository when a person has looked at all of them.
//
// The form is that of Claude Code (code.claude.com/docs/en/plugins-reference and anthropics/claude-code, plugins/ and
// CHANGELOG up to 2.1.240, read 2026-11-28). What pawl has nothing for is named and not used. This package reads and
// keeps plugins; what they bring is read by the packages that read the same of people and repositories.
package plugin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl/hook"
	"pawl/instructions"
	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/mcp"
	"pawl/policy"
)

// A Plugin is a plugin with what counts of it. What it brings is called NAME:what, and its servers plugin_NAME_what.
type Plugin struct {
	Name        string
	Version     string // as it says
	Description string
	Source      Source
	Digest      string // of all its files
	Dir         string // where they are, if it was added
	Tree        Tree

	Skills   []instructions.Skill
	Commands []instructions.Command
	Agents   []File // of Claude Code's form
	Hooks    []hook.Hook
	Servers  []mcp.Definition
	Unused   []string // what it has that pawl does not use
	Problems []string // what of it does not count, and why
}

// pluginName is what plugins can be called: the names of their servers are made of it.
var pluginName = lazy.Regexp(`^[A-Za-z0-9]{1,32}([_-][A-Za-z0-9]{1,32}){0,9}$`)

// plainKeys are the keys of a manifest that are used, or that say who made it and the like; unusedKeys and unusedFiles are
// what pawl does not have.
var (
	plainKeys = strings.Fields("name version description author homepage repository license keywords $schema displayName " +
		"category tags strict source icon commands agents skills hooks mcpServers")
	unusedKeys = map[string]string{
		"lspServers": "language servers", "outputStyles": "output styles", "experimental": "themes and monitors", "themes": "themes",
		"monitors": "monitors", "channels": "channels", "settings": "settings", "userConfig": "settings that are asked for",
		"dependencies": "other plugins", "defaultEnabled": "being switched off at first",
	}
	unusedFiles = map[string]string{
		".lsp.json": "language servers", "bin/": "programs for PATH", "output-styles/": "output styles",
		"settings.json": "settings", "monitors/": "monitors", "themes/": "themes",
	}
)

// A reading is a plugin that is read.
type reading struct {
	*Plugin
	manifest  map[string]json.RawMessage
	variables map[string]string
}

// parse reads a plugin; without a name of its own it has the one that is given. Below the folders in and data, where it has
// its name, are its files, or will be, and is what it may write: programs import what is beside them by that name.
func parse(t Tree, name, in, data string) (Plugin, error) {
	p := &Plugin{Name: name, Digest: t.digest(), Tree: t}
	r := reading{Plugin: p, manifest: map[string]json.RawMessage{}}
	if content := t.file(manifestFile); content != nil {
		if err := json.Unmarshal(bytes.TrimPrefix(content, []byte("\ufeff")), &r.manifest); err != nil {
			return *p, fmt.Errorf("its %s cannot be read: %w", manifestFile, err)
		}
	}
	for key, to := range map[string]*string{"name": &p.Name, "version": &p.Version, "description": &p.Description} {
		if raw := r.manifest[key]; raw != nil && json.Unmarshal(raw, to) != nil {
			return *p, fmt.Errorf("its %s cannot be used: %s is no text", manifestFile, key)
		}
	}
	p.Version, p.Description = text.OneLine(p.Version, 40), text.OneLine(p.Description, 300)
	if !pluginName().MatchString(p.Name) || len(p.Name) > 64 {
		return *p, fmt.Errorf("the name %s cannot be that of a plugin: it has to be at most 64 letters and digits, with single - or _ between them", visible.Quote(text.OneLine(p.Name, 80)))
	}
	p.Dir = filepath.Join(in, p.Name)
	r.variables = map[string]string{"CLAUDE_PLUGIN_ROOT": p.Dir, "CLAUDE_PLUGIN_DATA": filepath.Join(data, p.Name)}
	r.commands()
	r.agents()
	r.skills()
	r.each("hooks", "hooks/hooks.json", r.hooks)
	r.each("mcpServers", ".mcp.json", r.servers)
	r.unused()
	if len(p.Skills)+len(p.Commands)+len(p.Agents)+len(p.Hooks)+len(p.Servers) == 0 {
		return *p, errors.New("nothing in it counts here: " + strings.Join(append(p.Problems, "it has no skills, commands, agents, hooks or MCP servers that can be used"), "; "))
	}
	return *p, nil
}

// filled returns a text with the plugin's variables in place.
func (r reading) filled(s string) string {
	for name, value := range r.variables {
		s = strings.ReplaceAll(s, "${"+name+"}", value)
	}
	return s
}

func (r reading) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// paths returns the paths that the manifest has for a key, and the default beside them or instead. Values that are none
// are given to other; nil: they are wrong.
func (r reading) paths(key, usual string, beside bool, other func(json.RawMessage)) (paths []string) {
	raw, given := r.manifest[key]
	if !given || beside {
		paths = append(paths, usual)
	}
	var all []json.RawMessage
	if given && json.Unmarshal(raw, &all) != nil {
		all = []json.RawMessage{raw}
	}
	for _, one := range all {
		var written string
		if json.Unmarshal(one, &written) != nil {
			if other == nil {
				r.problem("%s: %s: it is not a path", key, visible.Escape(text.OneLine(string(one), 80)))
			} else {
				other(one)
			}
			continue
		}
		name, err := inPlugin(written)
		if err != nil {
			r.problem("%s: %v", key, err)
		} else if !slices.Contains(paths, name) {
			if r.Tree.file(name) == nil && len(r.Tree.below(name).Files) == 0 {
				r.problem("%s: there is no %s in it", key, visible.Quote(written))
			}
			paths = append(paths, name)
		}
	}
	return paths
}

// markdown calls add with the Markdown files that the manifest names, or that are in the usual folder, once each; rel is
// relative to the folder.
func (r reading) markdown(key string, add func(f File, rel string)) {
	seen := map[string]bool{}
	for _, name := range r.paths(key, key, false, nil) {
		for _, f := range r.Tree.Files {
			rel, below := strings.CutPrefix(f.Name, name+"/")
			if name == "" {
				rel, below = f.Name, true
			}
			if f.Name == name {
				rel, below = path.Base(name), true
			}
			if below && path.Ext(f.Name) == ".md" && !seen[f.Name] {
				seen[f.Name] = true
				add(f, rel)
			}
		}
	}
}

func (r reading) commands() {
	r.markdown("commands", func(f File, rel string) {
		c, err := instructions.ParseCommand(rel, f.Content)
		if err != nil {
			r.problem("the command %s: %v", f.Name, err)
			return
		}
		r.Commands = append(r.Commands, r.called(c, f))
	})
}

// called returns a command or skill as one of the plugin. The tools that it asks for are no one's to give.
func (r reading) called(c instructions.Command, f File) instructions.Command {
	c.Name, c.Source, c.Plugin = r.Name+":"+c.Name, filepath.Join(r.Dir, filepath.FromSlash(f.Name)), r.Name
	c.Repository, c.Tools, c.Variables = true, nil, r.variables
	return c
}

func (r reading) agents() {
	r.markdown("agents", func(f File, _ string) {
		if !strings.EqualFold(path.Base(f.Name), "README.md") {
			r.Agents = append(r.Agents, f)
		}
	})
}

func (r reading) skills() {
	folders := r.paths("skills", "skills", true, nil)
	if len(r.Tree.below("skills").Files) == 0 {
		folders = append(folders, "")
	}
	for _, f := range r.Tree.Files {
		dir := path.Dir(f.Name)
		at := func(folder string) bool {
			return dir == cmp.Or(folder, ".") || folder != "" && path.Dir(dir) == folder
		}
		if path.Base(f.Name) != policy.SkillFile || !slices.ContainsFunc(folders, at) {
			continue
		}
		s, err := instructions.ParseSkill(filepath.Join(r.Dir, filepath.FromSlash(dir)), f.Content)
		if err != nil {
			r.problem("the skill %s: %v", f.Name, err)
			continue
		}
		s.Command = r.called(s.Command, f)
		r.Skills = append(r.Skills, s)
	}
}

// each calls read with the files that the manifest names for a key, with the usual one and with what stands in the manifest.
func (r reading) each(key, usual string, read func(content []byte, file string)) {
	for _, name := range r.paths(key, usual, true, func(inline json.RawMessage) { read(inline, manifestFile) }) {
		if content := r.Tree.file(name); content != nil {
			read(content, name)
		} else if name != usual {
			r.problem("%s: %s is no file", key, visible.Quote(name))
		}
	}
}

// wrapped returns an object below a key, where it stands alone as plugins have it.
func wrapped(content []byte, key string) []byte {
	var object map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimPrefix(content, []byte("\ufeff")), &object) != nil || object[key] != nil {
		return content
	}
	maps.DeleteFunc(object, func(_ string, v json.RawMessage) bool {
		return !bytes.HasPrefix(v, []byte("{")) && !bytes.HasPrefix(v, []byte("["))
	})
	content, _ = json.Marshal(map[string]any{key: object}) // it was read from JSON
	return content
}

func (r reading) hooks(content []byte, file string) {
	hooks, problems, err := hook.Parse(wrapped(content, "hooks"), r.label()+": "+file, false)
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, p := range problems {
		r.problem("%s", strings.ReplaceAll(p, r.label()+": ", ""))
	}
	for _, h := range hooks {
		h.Plugin = r.Name
		for _, name := range slices.Sorted(maps.Keys(r.variables)) {
			h.Env = append(h.Env, name+"="+r.variables[name])
		}
		if h.Args != nil { // no shell replaces them
			h.Command = r.filled(h.Command)
		}
		for i := range h.Args {
			h.Args[i] = r.filled(h.Args[i])
		}
		r.Hooks = append(r.Hooks, h)
	}
}

func (r reading) label() string { return "plugin " + r.Name }

func (r reading) servers(content []byte, file string) {
	found, err := mcp.ParseFile(wrapped(content, "mcpServers"), file)
	if err != nil {
		r.problem("%v", err)
		return
	}
	for _, d := range found {
		d.Name, d.Source, d.Plugin = "plugin_"+r.Name+"_"+d.Name, r.label(), r.Name
		if slices.ContainsFunc(r.Servers, func(o mcp.Definition) bool { return o.Name == d.Name }) {
			continue
		}
		fill := func(s string) string {
			return strings.ReplaceAll(r.filled(s), "${CLAUDE_PROJECT_DIR}", "${"+mcp.WorkspaceVariable+"}")
		}
		d.Command, d.Dir, d.URL = fill(d.Command), fill(d.Dir), fill(d.URL)
		for i := range d.Args {
			d.Args[i] = fill(d.Args[i])
		}
		for _, values := range []map[string]string{d.Env, d.Headers} {
			for name := range values {
				values[name] = fill(values[name])
			}
		}
		if d.Command != "" {
			env := maps.Clone(r.variables)
			maps.Copy(env, d.Env)
			d.Env = env
		}
		r.Servers = append(r.Servers, d)
	}
}

// unused names what the plugin has that pawl does not use.
func (r reading) unused() {
	for _, key := range slices.Sorted(maps.Keys(r.manifest)) {
		if what := unusedKeys[key]; what != "" {
			r.Unused = append(r.Unused, key+" ("+what+")")
		} else if !slices.Contains(plainKeys, key) {
			r.Unused = append(r.Unused, visible.Quote(text.OneLine(key, 40))+" (not known here)")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unusedFiles)) {
		if r.Tree.file(name) != nil || strings.HasSuffix(name, "/") && len(r.Tree.below(name).Files) > 0 {
			r.Unused = append(r.Unused, name+" ("+unusedFiles[name]+")")
		}
	}
	r.Problems = append(r.Problems, r.Tree.Left...)
}

// Runs says what the plugin runs by itself, a line each: its hooks and servers, and what these are given.
func (p Plugin) Runs() (lines []string) {
	for _, h := range p.Hooks {
		what := "hook " + string(h.Point)
		if h.Matcher != "" {
			what += " (" + h.Matcher + ")"
		}
		lines = append(lines, visible.Escape(what+": "+h.Runs()))
	}
	for _, d := range p.Servers {
		line := "server " + d.Name + ": " + d.String()
		if given := variables(d); len(given) > 0 {
			line += " (is given " + strings.Join(given, ", ") + ")"
		}
		lines = append(lines, line)
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], p.Dir, "${CLAUDE_PLUGIN_ROOT}")
	}
	return lines
}

// variables returns which of a person's variables a server is given, whatever they hold.
func variables(d mcp.Definition) (names []string) {
	_, _ = d.Expand(func(name string) (string, bool) { // with these values it need not be a definition that can be
		if name != mcp.WorkspaceVariable {
			names = append(names, name)
		}
		return name, true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// Changes returns how the files of the plugin differ from those that were trusted, and the names of the others, which need
// not be looked at: what is no text, and, of a plugin that runs nothing by itself, what its skills have beside their
// SKILL.md. Those are files that the model reads, and whose commands are judged as any.
func (p Plugin) Changes(was Tree) (changes []policy.Change, others []string) {
	names := map[string]bool{}
	for _, f := range slices.Concat(p.Tree.Files, was.Files) {
		names[f.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := policy.Change{File: name, Was: was.file(name), Now: p.Tree.file(name)}
		c.Removed = c.Now == nil
		if c.Now != nil {
			c.Sum = fmt.Sprintf("%x", sha256.Sum256(c.Now))
		}
		if c.Was != nil && c.Now != nil && bytes.Equal(c.Was, c.Now) && was.exec(name) == p.Tree.exec(name) {
			continue
		}
		if policy.NotText(c.Now) || len(p.Hooks)+len(p.Servers) == 0 && !p.counts(name) {
			others = append(others, fmt.Sprintf("%s (%s)", name, text.Size(int64(len(c.Now)))))
			continue
		}
		changes = append(changes, c)
	}
	return changes, others
}

func (t Tree) exec(name string) bool {
	return slices.ContainsFunc(t.Files, func(f File) bool { return f.Name == name && f.Exec })
}

// counts reports whether a file is one of what the plugin brings.
func (p Plugin) counts(name string) bool {
	file := filepath.Join(p.Dir, filepath.FromSlash(name))
	return name == manifestFile ||
		slices.ContainsFunc(p.Skills, func(s instructions.Skill) bool { return s.Source == file }) ||
		slices.ContainsFunc(p.Commands, func(c instructions.Command) bool { return c.Source == file }) ||
		slices.ContainsFunc(p.Agents, func(f File) bool { return f.Name == name })
}
