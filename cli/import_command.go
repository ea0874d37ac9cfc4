package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"pawl/app"
	"pawl/cli/command"
	"pawl/cli/servers"
	"pawl/config"
	"pawl/forms"
	"pawl/internal/text"
	"pawl/permission"
	"pawl/policy"
)

// importNames are what the agents are called whose configuration is imported, and in package config.
var importNames = map[string]string{
	"claude-code": "claude", "claude": "claude", "codex": "codex", "opencode": "opencode", "gemini-cli": "gemini", "gemini": "gemini",
}

func importCommand(inv *command.Invocation) *cobra.Command {
	names := []string{"claude-code", "codex", "opencode", "gemini-cli"}
	cmd := &cobra.Command{
		Use:   "import [AGENT...]",
		Short: "Take over what you have in another agent",
		Long: `Shows what you have in your own files of Claude Code, Codex, OpenCode and Gemini CLI, what
becomes of it here, and what does not and why. With --yes the rules are added to yours, and
MCP servers to your config.toml. No rule allows here what it does not allow there. Commands,
skills and agents are read where they are. Nothing of a repository is looked at.`,
		Example:   "  pawl import\n  pawl import claude-code --yes",
		ValidArgs: names,
		Args:      cobra.ArbitraryArgs,
	}
	yes := cmd.Flags().Bool("yes", false, "add what is new")
	asJSON := command.JSONFlag(cmd)
	cmd.AddCommand(importSessionsCommand(inv, names))
	return command.InWorkspace(cmd, inv.OpenPlain, func(ctx context.Context, ws *app.Workspace, args []string) error {
		var agents []string
		for _, a := range args {
			if importNames[a] == "" {
				return command.Usage("pawl imports nothing of %s; it knows %s. Runs that pawl has exported are imported with pawl runs import FILE", command.Quoted(a), strings.Join(names, ", "))
			}
			agents = append(agents, importNames[a])
		}
		if *yes {
			if err := inv.AsPerson("import rules"); err != nil {
				return err
			}
		}
		p, err := ws.Policy()
		if err != nil {
			return err
		}
		all, err := broughtRules(inv, p, agents, *yes)
		if err != nil {
			return err
		}
		more, err := broughtServers(inv, agents, *yes)
		if err != nil {
			return err
		}
		all = append(all, more...)
		read, err := readInPlace(ws)
		if err != nil {
			return err
		}
		for _, f := range read {
			if len(agents) == 0 || slices.Contains(agents, f.Agent) {
				all = append(all, f)
			}
		}
		all = append(all, broughtTexts(inv, agents)...)
		kept, _ := ws.Kept(ctx) // what cannot be read is said by the command that imports it
		for len(kept) > 0 {
			k, n := kept[0].Kind.Name, 1 // they are in the order of their agents
			for n < len(kept) && kept[n].Kind.Name == k {
				n++
			}
			if len(agents) == 0 || slices.Contains(agents, importNames[k]) {
				all = append(all, forms.BroughtForm{Agent: k, Kind: "sessions", Name: strconv.Itoa(n), Source: filepath.Dir(kept[0].File),
					Becomes: []string{}, State: "left", Why: "pawl import sessions makes runs of them"})
			}
			kept = kept[n:]
		}
		for i := range all {
			all[i].Agent = cmp.Or(map[string]string{"claude": "claude-code", "gemini": "gemini-cli"}[all[i].Agent], all[i].Agent)
		}
		if *asJSON {
			return inv.Encode(forms.List[forms.BroughtForm]{Items: append([]forms.BroughtForm{}, all...)})
		}
		return printBrought(inv, all, *yes)
	})
}

// broughtRules says what becomes of the rules of other agents; with yes they are stored.
func broughtRules(inv *command.Invocation, p *policy.Policy, agents []string, yes bool) ([]forms.BroughtForm, error) {
	var all []forms.BroughtForm
	found, notes := config.Env(inv.Env).ForeignRules(agents...)
	for _, note := range notes {
		inv.Notice(note)
	}
	have := p.List()
	for _, f := range found {
		b, isNew := forms.BroughtFormOf(f), false
		for _, r := range f.Rules {
			r.Scope, r.Why = permission.ForUser, "from "+f.Source
			if slices.ContainsFunc(have, func(l policy.Listed) bool {
				return l.Scope == r.Scope && l.Effect == r.Effect && l.String() == r.String() && l.Sandbox == r.Sandbox
			}) {
				continue
			}
			isNew = true
			have = append(have, policy.Listed{Rule: r})
			if yes {
				if err := p.Add(r, ""); err != nil {
					return nil, err
				}
			}
		}
		switch {
		case len(f.Rules) == 0:
		case !isNew:
			b.State = "there"
		case yes:
			b.State = "added"
		}
		all = append(all, b)
	}
	return all, nil
}

// broughtServers is broughtRules for MCP servers.
func broughtServers(inv *command.Invocation, agents []string, yes bool) (all []forms.BroughtForm, err error) {
	env := config.Env(inv.Env)
	folder, err := config.Workspace(inv.Dir)
	if err != nil {
		return nil, err
	}
	found, notes := env.ForeignServers(folder, agents...)
	for _, note := range notes {
		inv.Notice(note)
	}
	items, err := servers.Import(env, found, yes)
	for i, f := range items {
		b := forms.BroughtForm{Agent: found[i].Agent, Kind: "server", Name: f.Name, Source: f.Source, State: "new",
			Becomes: []string{f.Is}, Why: f.Why}
		switch {
		case f.Taken:
			b.State = "added"
		case f.Why != "":
			b.State, b.Becomes = "left", []string{}
		}
		all = append(all, b)
	}
	return all, err
}

// broughtTexts are files of other agents that a person may want here, and that pawl does not read.
func broughtTexts(inv *command.Invocation, agents []string) (all []forms.BroughtForm) {
	env := config.Env(inv.Env)
	home := env.Get("HOME")
	if !filepath.IsAbs(home) {
		return nil
	}
	own, openCode := env.UserDir(), filepath.Join(home, ".config", "opencode")
	for _, f := range []struct{ agent, kind, path, to string }{
		{"claude", "instructions", filepath.Join(home, ".claude", "CLAUDE.md"), filepath.Join(own, "AGENTS.md")},
		{"codex", "instructions", filepath.Join(env.CodexDir(), "AGENTS.md"), filepath.Join(own, "AGENTS.md")},
		{"codex", "commands", filepath.Join(env.CodexDir(), "prompts"), filepath.Join(own, "commands")},
		{"opencode", "instructions", filepath.Join(openCode, "AGENTS.md"), filepath.Join(own, "AGENTS.md")},
		{"gemini", "instructions", filepath.Join(home, ".gemini", "GEMINI.md"), filepath.Join(own, "AGENTS.md")},
	} {
		if _, err := os.Stat(f.path); err == nil && (len(agents) == 0 || slices.Contains(agents, f.agent)) {
			all = append(all, forms.BroughtForm{Agent: f.agent, Kind: f.kind, Name: filepath.Base(f.path), Source: f.path,
				Becomes: []string{}, State: "left", Why: "copy what is meant for pawl too to " + f.to})
		}
	}
	if len(agents) == 0 || slices.Contains(agents, "claude") {
		all = append(all, broughtPlugins(filepath.Join(home, ".claude", "plugins"))...)
	}
	return all
}

// broughtPlugins names the plugins that are installed in Claude Code, with the commands that add them here. They are not
// taken over: what is there was not shown to the person by pawl.
func broughtPlugins(dir string) (all []forms.BroughtForm) {
	var installed struct{ Plugins map[string]any }
	var known map[string]struct {
		Source struct{ Repo, URL, Path string }
	}
	file := filepath.Join(dir, "installed_plugins.json")
	for name, to := range map[string]any{file: &installed, filepath.Join(dir, "known_marketplaces.json"): &known} {
		if content, err := config.ReadBounded(name, 1<<20); err == nil { // one that is not there names none
			_ = json.Unmarshal(content, to) // what of it can be read counts
		}
	}
	for _, id := range slices.Sorted(maps.Keys(installed.Plugins)) {
		_, marketplace, _ := strings.Cut(id, "@")
		why := "pawl plugin add " + text.ShellWord(id)
		if of := known[marketplace].Source; cmp.Or(of.Repo, of.URL, of.Path) != "" {
			why = "pawl plugin marketplace add " + text.ShellWord(cmp.Or(of.Repo, of.URL, of.Path)) + ", then " + why
		}
		all = append(all, forms.BroughtForm{Agent: "claude", Kind: "plugin", Name: id, Source: file, Becomes: []string{}, State: "left",
			Why: "look at it and add it: " + why})
	}
	return all
}

// broughtLines returns rows as a table, or where that is wider than the terminal what becomes of each below it: why
// something is left is never cut.
func broughtLines(rows [][]string, width int) []string {
	lines := command.TableLines(rows, 0)
	if width == 0 || !slices.ContainsFunc(lines, func(line string) bool { return utf8.RuneCountInString(line) > width }) {
		return lines
	}
	lines = nil
	for _, row := range rows[1:] {
		lines = append(lines, strings.Join(row[:3], "  "))
		for _, cell := range row[3:] {
			if cell != "" {
				lines = append(lines, "    "+cell)
			}
		}
	}
	return lines
}

func printBrought(inv *command.Invocation, all []forms.BroughtForm, yes bool) error {
	open, added := 0, 0
	rows := [][]string{{"FROM", "KIND", "NAME", "BECOMES", ""}}
	for _, b := range all {
		name, state := b.Name, b.State
		switch b.State {
		case "new", "added":
			if open++; b.State == "added" {
				added++
			}
			if b.Lost != "" {
				state += ", in part: " + b.Lost
			}
		case "there":
			state = "you have it"
		case "read":
			state = "read where they are, in " + b.Source
		case "left":
			state = "left: " + b.Why
		}
		rows = append(rows, []string{b.Agent, b.Kind, command.OneLine(name, 60),
			command.OneLine(strings.Join(b.Becomes, ", "), 100), command.OneLine(state, 4*command.MaxTitle)})
	}
	switch {
	case len(all) == 0:
		inv.Hint("nothing of Claude Code, Codex, OpenCode or Gemini CLI was found in your home")
		return nil
	case yes && added == 0:
		inv.Hint("nothing is new")
	case yes:
		inv.Hint(text.Count(int64(added), "entry", "entries") + " added; see `pawl permissions list` and `pawl mcp list`")
	case open > 0:
		inv.Hint("nothing is changed yet: pawl import --yes takes what is new")
	}
	return inv.PrintLines(broughtLines(rows, inv.TableWidth()))
}

// readInPlace returns the folders of other agents in the person's home that have something which counts here, as it is.
func readInPlace(ws *app.Workspace) (all []forms.BroughtForm, err error) {
	env := ws.Options().Env
	home := env.Get("HOME")
	if !filepath.IsAbs(home) {
		return nil, nil
	}
	var files [3][]string
	commands, _, _ := ws.PromptCommands()
	for _, c := range commands {
		files[0] = append(files[0], c.Source)
	}
	skills, _, _, err := ws.Skills()
	if err != nil {
		return nil, err
	}
	for _, skill := range skills {
		files[1] = append(files[1], skill.Source)
	}
	roster, err := ws.Agents()
	if err != nil {
		return nil, err
	}
	agents, err := roster.All()
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		files[2] = append(files[2], a.Path)
	}
	for _, of := range []struct{ agent, dir string }{
		{"claude", filepath.Join(home, ".claude")}, {"codex", env.CodexDir()},
		{"opencode", filepath.Join(home, ".config", "opencode")}, {"gemini", filepath.Join(home, ".gemini")},
	} {
		for i, kind := range []string{"commands", "skills", "agents"} {
			count := 0
			for _, file := range files[i] {
				// A skill is a command too.
				if strings.HasPrefix(file, of.dir+"/") && (kind != "commands" || !strings.HasPrefix(file, of.dir+"/skills/")) {
					count++
				}
			}
			if count > 0 {
				all = append(all, forms.BroughtForm{Agent: of.agent, Kind: kind, Name: strconv.Itoa(count), Source: of.dir,
					Becomes: []string{}, State: "read"})
			}
		}
	}
	return all, nil
}
