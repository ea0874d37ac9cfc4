package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/instructions"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/permission/spelling"
	"pawl/run"
	"pawl/submission"
)

// A program is one whose files of agents are read as pawl's. A key that would let an agent do more than pawl lets runs do
// never counts; what does not count is in [Agent.LeftOut].
type program struct {
	title     string
	user      []string // folders, relative to the home
	workspace []string // folders, relative to the workspace
	nested    bool     // it reads the folders in those too
	read      func(*foreign)
}

// programs are those whose files are read; of two agents of one name the later counts. The keys are those of Claude Code
// (code.claude.com/docs/en/sub-agents, "Supported frontmatter fields"), Gemini CLI (google-gemini/gemini-cli,
// docs/core/subagents.md) and OpenCode (opencode.ai/docs/agents), read 2026-11-27.
var programs = []program{
	{"OpenCode", []string{".config/opencode/agent", ".config/opencode/agents"}, []string{".opencode/agent", ".opencode/agents"}, true, (*foreign).openCode},
	{"Gemini CLI", []string{".gemini/agents"}, []string{".gemini/agents"}, false, (*foreign).gemini},
	claudeCode,
}

var claudeCode = program{"Claude Code", []string{".claude/agents"}, []string{".claude/agents"}, true, (*foreign).claude}

// A foreign is a file of another program's agent that is read.
type foreign struct {
	agent Agent
	front instructions.Front
	tools []string                          // pawl's
	model func(name string) (string, error) // the model of a name here
	off   bool                              // it is switched off
}

// parseForeign reads the file of an agent of another program, named relative to its folder of them. Not ok means that it is
// switched off.
func (r *Roster) parseForeign(of program, file string, content []byte) (a Agent, ok bool, err error) {
	name := strings.TrimSuffix(file, path.Ext(file))
	f := &foreign{agent: Agent{Kind: submission.Worker}, model: r.modelNamed}
	if r.o.Tools != nil {
		f.tools = r.o.Tools()
	}
	front, body, err := instructions.CutFront(content)
	if f.front = front; err == nil {
		if given := front.Text("name"); given != "" {
			name = given
		}
		f.agent.Description = text.OneLine(front.Text("description"), maxDescription)
		f.agent.Instructions = strings.TrimSpace(visible.Strip(body))
		of.read(f)
	}
	f.agent.Name = strings.Map(func(c rune) rune {
		if c == ' ' || c == '_' || c == '.' || c == '/' {
			return '-'
		}
		return c
	}, strings.ToLower(name))
	switch {
	case err != nil:
	case !namePattern().MatchString(f.agent.Name):
		err = fmt.Errorf("the name %s must have the form %s", visible.Quote(name), namePattern())
	case len(f.agent.Instructions) > maxInstructions:
		err = fmt.Errorf("the instructions have more than %d KB: they go into every request", maxInstructions>>10)
	case f.agent.Problem != "":
		err = errors.New(f.agent.Problem)
	}
	slices.Sort(f.agent.LeftOut)
	return f.agent, !f.off, err
}

// modelNamed returns the model, as provider/name, that a name of another program means here.
func (r *Roster) modelNamed(name string) (string, error) {
	model := name
	for prefix, provider := range map[string]string{"claude-": "anthropic", "gemini-": "gemini", "gpt-": "openai"} {
		if strings.HasPrefix(name, prefix) {
			model = provider + "/" + name
		}
	}
	if !strings.Contains(model, "/") {
		if r.o.Family != nil {
			model = r.o.Family(name)
		}
		if !strings.Contains(model, "/") {
			return "", errors.New("it is not known here")
		}
	}
	if why := r.unusable(context.Background(), model); why != "" {
		return "", errors.New(why)
	}
	return model, nil
}

func (f *foreign) leave(format string, args ...any) {
	f.agent.LeftOut = append(f.agent.LeftOut, fmt.Sprintf(format, args...))
}

// each calls read with the keys of the file that it knows, in order; those that are for a face, or that every program has,
// are passed over, and all others do not count.
func (f *foreign) each(passed string, read map[string]func(value any)) {
	known := strings.Fields("name description " + passed)
	for _, key := range slices.Sorted(maps.Keys(f.front)) {
		switch do := read[key]; {
		case do != nil:
			do(f.front[key])
		case !slices.Contains(known, key):
			f.leave("%s", visible.Strip(key))
		}
	}
}

func (f *foreign) claude() {
	servers := []string(nil)
	f.each("color version", map[string]func(any){
		"tools":           func(v any) { f.grant(list(v)) },
		"disallowedTools": func(v any) { f.deny(list(v)) },
		"model":           f.useModel,
		"maxTurns":        f.steps,
		"disabled":        func(any) { f.off = f.front.Flag("disabled", false) },
		"isolation": func(v any) {
			if f.agent.Clone = fmt.Sprint(v) == "worktree"; !f.agent.Clone {
				f.leave("isolation: %v", v)
			}
		},
		"permissionMode": func(v any) {
			switch mode := fmt.Sprint(v); mode {
			case "plan":
				f.agent.Mode = permission.Plan
			case "default", "inherit", "":
			default:
				f.leave("permissionMode: %s", visible.Strip(mode))
			}
		},
		"mcpServers": func(v any) { servers = f.servers(v) },
	})
	if servers != nil {
		f.agent.Tools = grantServers(f.agent.Tools, servers)
	}
}

func (f *foreign) gemini() {
	f.each("display_name kind", map[string]func(any){
		"tools":     func(v any) { f.grant(list(v)) },
		"model":     f.useModel,
		"max_turns": f.steps,
		"timeout_mins": func(v any) {
			if n, ok := positive(v); ok {
				f.agent.Limits.Wall = time.Duration(n) * time.Minute
			} else {
				f.leave("timeout_mins")
			}
		},
		"mcpServers": func(v any) { f.servers(v) },
	})
	if kind := f.front.Text("kind"); kind != "" && kind != "local" {
		f.agent.Problem = fmt.Sprintf("kind: %s: it is an agent of another machine, which cannot be started here", visible.Strip(kind))
	}
}

func (f *foreign) openCode() {
	f.each("mode hidden color", map[string]func(any){
		"tools": func(v any) {
			switches, ok := v.(map[string]any)
			if !ok {
				f.grant(list(v))
				return
			}
			var on, off []string
			for _, name := range slices.Sorted(maps.Keys(switches)) {
				if switches[name] == false {
					off = append(off, name)
				} else {
					on = append(on, name)
				}
			}
			if slices.Contains(off, "*") {
				f.grant(on)
				return
			}
			f.deny(off)
		},
		"permission": f.permission,
		"model":      f.useModel,
		"steps":      f.steps,
		"maxSteps":   f.steps,
		"disable":    func(any) { f.off = f.front.Flag("disable", false) },
	})
}

// permission reads what OpenCode asks about or denies: a word for a tool, or for each pattern of its calls.
func (f *foreign) permission(v any) {
	tools, ok := v.(map[string]any)
	if !ok {
		tools = map[string]any{"edit": v, "bash": v, "webfetch": v}
	}
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		if tool == "" {
			continue
		}
		patterns, ok := tools[tool].(map[string]any)
		if !ok {
			patterns = map[string]any{"*": tools[tool]}
		}
		allows := false
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			verdict, written := permission.Verdict(fmt.Sprint(patterns[pattern])), tool
			if pattern != "*" {
				written += "(" + pattern + ")"
			}
			switch {
			case verdict == permission.Allow:
				allows = allows || pattern != "*"
				f.leave("permission: allow %s", visible.Strip(written))
			case verdict == permission.Ask, verdict == permission.Deny:
				f.rule(verdict, written)
			default:
				f.leave("permission: %s", visible.Strip(written))
			}
		}
		// Denied but for what is allowed: pawl's deny would leave nothing.
		if allows && patterns["*"] == string(permission.Deny) {
			f.agent.Rules = slices.DeleteFunc(f.agent.Rules, func(r permission.Rule) bool {
				return r.Effect == permission.Deny && r.Pattern == "" && f.same(tool, r.Tool)
			})
			f.rule(permission.Ask, tool)
		}
	}
}

func (f *foreign) same(theirs, ours string) bool {
	same, _ := spelling.Same(theirs, f.tools)
	return slices.Contains(same, ours)
}

// rule adds the rules that say what one in the words of another program says.
func (f *foreign) rule(effect permission.Verdict, written string) {
	ours, why := spelling.Translate(strings.ToUpper(written[:1]) + written[1:]) // edit of OpenCode is more than pawl's
	if len(ours) == 0 && why == "" {
		ours = []string{written}
	}
	for _, given := range ours {
		rule, err := permission.ParseTyped(given, f.tools)
		if err != nil {
			f.leave("%s %s", effect, visible.Strip(written))
			continue
		}
		rule.Effect, rule.Scope = effect, permission.ForRun
		f.agent.Rules = append(f.agent.Rules, rule)
	}
}

func (f *foreign) deny(tools []string) {
	for _, name := range tools {
		if name != "" {
			f.rule(permission.Deny, name)
		}
	}
}

// grant lets the agent have the tools of some names, and no others.
func (f *foreign) grant(names []string) {
	granted := []string{}
	for _, written := range names {
		name, limits, _ := strings.Cut(written, "(")
		if limits != "" {
			f.leave("tools: %s is granted as %s", visible.Strip(written), visible.Strip(name))
		}
		same, known := spelling.Same(name, f.tools)
		server, is := strings.CutPrefix(name, "mcp_")
		server = strings.TrimPrefix(server, "_")
		switch {
		case name == "*":
			return
		case is && server == "*":
			granted = append(granted, "mcp__*")
		case is:
			granted = append(granted, serverTool(server))
		case len(same) > 0:
			granted = append(granted, same...)
		case slices.Contains(f.tools, name):
			granted = append(granted, name)
		case !known || len(same) == 0:
			f.leave("tools: %s", visible.Strip(name))
		}
	}
	f.agent.Tools = run.Grant(granted...)
}

// serverTool returns what grants a tool of an MCP server, or all of them, from a name without "mcp__".
func serverTool(name string) string {
	server, tool, double := strings.Cut(name, "__")
	if !double {
		server, tool, _ = strings.Cut(name, "_")
	}
	if tool == "" || tool == "*" {
		return run.GrantServer(server)
	}
	return "mcp__" + server + "__" + tool
}

// servers returns the MCP servers that are named. One that is described in the file does not count: it would be started.
func (f *foreign) servers(v any) []string {
	named := []string{}
	all, ok := v.([]any)
	if !ok {
		all = []any{v}
	}
	for _, one := range all {
		switch s := one.(type) {
		case string:
			for name := range strings.FieldsFuncSeq(s, func(c rune) bool { return c == ',' || c == ' ' }) {
				if serverName().MatchString(name) {
					named = append(named, name)
				}
			}
		case map[string]any:
			for name := range s {
				f.leave("mcpServers: %s is a server of its own", visible.Strip(name))
			}
		}
	}
	return named
}

func (f *foreign) useModel(v any) {
	name := strings.TrimSpace(fmt.Sprint(v))
	if name == "inherit" || name == "" || v == nil {
		return
	}
	model, err := f.model(name)
	if err != nil {
		f.leave("model: %s: %s", visible.Strip(name), err)
		return
	}
	f.agent.Model = model
}

func (f *foreign) steps(v any) {
	if n, ok := positive(v); ok {
		f.agent.Limits.Steps = n
	} else {
		f.leave("steps")
	}
}

func positive(v any) (int, bool) {
	n, err := strconv.Atoi(fmt.Sprint(v))
	return n, err == nil && n > 0
}

// list returns the words of a list, or of a text with commas; those in parentheses do not divide it.
func list(v any) []string {
	return instructions.Front{"list": v}.Words("list")
}
