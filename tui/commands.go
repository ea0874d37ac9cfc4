package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/app"
	"pawl/config"
	"pawl/instructions"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/permission"
	"pawl/render"
	"pawl/run"
	"pawl/tool"
	"pawl/tui/editor"
	"pawl/view"
)

// A command is what /name does.
type command struct {
	name, args, help string
	// do carries the command out. The arguments are what follows the name.
	do func(m *model, args string) []effect
}

// commands returns the commands of the terminal, by name.
func commands() []command {
	return []command{
		{"agents", "", "the agents that runs can be started with", pawl("agents", "list")},
		{"clear", "", "begin a new conversation", func(m *model, _ string) []effect { return m.clear() }},
		{"compact", "", "summarize the conversation before the next request, to save room", (*model).compact},
		{"context", "", "what fills the model's context", (*model).showContext},
		{"continue", "", "resume a turn that ended early", (*model).resumeTurn},
		{"cost", "", "tokens and cost of this run", (*model).showCost},
		{"diff", "", "show what has changed since the last commit, with new files", (*model).showDiff},
		{"doctor", "", "check the configuration and say what is missing", pawl("doctor")},
		{"effort", "[LEVEL]", "how hard the model thinks", (*model).effort},
		{"export", "[FILE]", "write this run to a file, as Markdown or by the file's ending", (*model).export},
		{"fork", "", "continue in a copy of this run; the run itself stays as it is", (*model).fork},
		{"help", "", "keys and commands", (*model).help},
		{"init", "", "write a first AGENTS.md for this folder", pawl("init")},
		{"login", "", "store the key of a model provider", (*model).login},
		{"mcp", "", "the MCP servers: which run, and what is wrong with the others", (*model).showServers},
		{"mode", "[MODE]", "what runs without a question", (*model).modeCommand},
		{"model", "[MODEL]", "choose the model", (*model).modelCommand},
		{"outputs", "[ID]", "list stored outputs, show the call c_4, or query as `pawl outputs` does", (*model).outputs},
		{"permissions", "[ARGUMENTS]", "list rules, or change them as `pawl permissions` does", (*model).permissions},
		{"plugins", "", "the plugins that you have added", pawl("plugin", "list")},
		{"quit", "", "leave", func(m *model, _ string) []effect { return m.leave() }},
		{"rename", "NAME", "give this run a name", (*model).rename},
		{"resume", "[RUN]", "continue another run: an id, its beginning or last; without one, choose", (*model).resumeCommand},
		{"tasks", "", "the tasks of this folder", pawl("task", "list")},
		{"todo", "", "show or hide the list of tasks", (*model).toggleTodo},
		{"trust", "", "review this repository's agent configuration", (*model).trust},
		{"undo", "", "restore the files that were changed last", (*model).undo},
	}
}

// otherCommands are commands of other agents, with what there is in their place.
var otherCommands = map[string]string{
	"theme": "the colours are those of the terminal; NO_COLOR=1 is none", "config": "settings are in a file: pawl config", "settings": "settings are in a file: pawl config",
	"new": "use /clear", "exit": "use /quit", "usage": "use /cost", "status": "use /doctor", "rewind": "press esc twice", "history": "press ctrl+r", "approvals": "use /permissions",
	"memory": "type in a shell: pawl memory", "hooks": "type in a shell: pawl hooks list", "skills": "type in a shell: pawl skills list",
	"add-dir": "begin with pawl --add-dir DIR", "plan": "use /mode plan", "stop": "press esc", "compress": "use /compact", "summarize": "use /compact", "stats": "use /cost",
	"allowed-tools": "use /permissions", "review": "say what to review", "vim": "ctrl+g opens your editor", "logout": "use /login",
}

// command carries out a line that begins with a slash.
func (m *model) command(line string, images ...editor.Image) []effect {
	name, args, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	args = strings.TrimSpace(args)
	all := commands()
	if i := slices.IndexFunc(all, func(c command) bool { return c.name == name }); i >= 0 {
		return all[i].do(m, args)
	}
	if text.Named(name, m.own, func(c instructions.Command) string { return c.Name }) >= 0 {
		return m.send(line, images...)
	}
	if !m.listed {
		m.early = append(m.early, func() []effect { return m.command(line, images...) })
		m.hint = "looking for the command /" + visible.Escape(name)
		return nil
	}
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	for _, c := range m.own {
		names = append(names, c.Name)
	}
	m.hint = "unknown command /" + visible.Escape(name)
	near := text.Typo(name, names)
	switch words := otherCommands[name]; {
	case words != "":
		m.hint += ": " + words
	case near != "":
		m.hint += "; did you mean /" + near + "?"
	default:
		m.hint += "; /help lists the commands"
	}
	if len(m.untrusted) > 0 {
		m.hint += m.Dot() + untrustedWords(m.untrusted)
	}
	m.input.editor.Append(line, images...)
	return nil
}

// pawl returns the command that runs a command line of pawl and prints what it prints.
func pawl(words ...string) func(m *model, args string) []effect {
	return func(m *model, args string) []effect {
		line := append(slices.Clone(words), strings.Fields(args)...)
		if m.CommandLine == nil {
			m.hint = "use `pawl " + strings.Join(line, " ") + "` in a shell"
			return nil
		}
		call, width := m.CommandLine, m.width
		style := m.Style
		return []effect{later(func(ctx context.Context, b *backend) error {
			out, _ := call(ctx, width-2, line...)
			b.post(printed{append([]string{""}, wrapped(style, out, width)...)})
			return nil
		})}
	}
}

// wrapped returns text as indented lines, broken between words. What was indented stays so.
func wrapped(style render.Style, text string, width int) []string {
	var lines []string
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		l = visible.Escape(strings.ReplaceAll(l, "\t", "    "))
		words := strings.TrimLeft(l, " ")
		indent := "  " + l[:min(len(l)-len(words), width/2)]
		lines = append(lines, render.Hang(indent, style.Wrap([]render.Span{{Text: words, Paint: render.Plain}}, width-len(indent), false))...)
	}
	return lines
}

func (m *model) permissions(args string) []effect {
	if args == "" {
		args = "list"
	}
	return pawl("permissions")(m, args)
}

func (m *model) outputs(args string) []effect {
	if m.id == "" {
		m.hint = "nothing has been stored yet"
		return nil
	}
	if args == "" {
		return pawl("outputs", "list", "--run", string(m.id))(m, "")
	}
	if strings.HasPrefix(args, "c_") && !strings.Contains(args, " ") {
		return m.viewCalls(args)
	}
	return pawl("outputs")(m, args)
}

func (m *model) export(args string) []effect {
	if m.id == "" {
		m.hint = "there is nothing to export yet"
		return nil
	}
	if args == "" {
		args = string(m.id) + ".md"
	}
	format := "markdown"
	for end, f := range map[string]string{".json": "json", ".html": "html"} {
		if strings.HasSuffix(args, end) {
			format = f
		}
	}
	id, dir, call := m.id, m.Dir, m.CommandLine
	if call == nil {
		return nil
	}
	return []effect{later(func(ctx context.Context, b *backend) error {
		out, code := call(ctx, 0, "runs", "export", string(id), "--format", format)
		if code != 0 {
			return errors.New(out)
		}
		path, err := writeNew(dir, args, out)
		if err == nil {
			b.post(notice{"written to " + path})
		}
		return err
	})}
}

// busy reports whether the agent works here on what leaving the run would cut off, and says what to do.
func (m *model) busy() bool {
	if m.attached || !m.works() && !m.awaits && !m.worksBeside() {
		return false
	}
	m.hint = "the agent is at work: interrupt it first, with esc"
	return true
}

// clear begins a new conversation.
func (m *model) clear() []effect {
	if m.busy() || m.id == "" {
		return nil
	}
	if m.attached || !m.state.Turn.Open() {
		m.say("run " + string(m.id) + " is kept: /resume finds it")
	}
	m.forget()
	m.print(append([]string{""}, m.header()...)...)
	return []effect{inOrder(func(_ context.Context, b *backend) error { return b.part(app.ForClear) })}
}

// forget is the state without a conversation.
func (m *model) forget() {
	mode := permission.Mode(m.state.Config.Mode)
	if m.chosenMode != "" { // also what the run has not taken in yet
		mode = permission.Stricter(mode, permission.Mode(m.chosenMode))
	}
	m.wish = app.Task{Model: m.state.Config.Model, Mode: string(mode), Agent: m.state.Created.Agent}
	m.flush()
	m.n, m.id, m.attached, m.state = -1, "", false, run.State{}
	m.transcript, m.prompts, m.ask, m.pane = m.newTranscript(), nil, nil, nil
	m.answered()
	m.awaits, m.stopping = false, false
	clear(m.sent)
	clear(m.children)
}

func (m *model) compact(string) []effect {
	if m.id == "" {
		m.hint = "there is nothing to compact yet"
		return nil
	}
	return []effect{with(func(ctx context.Context, c conversation) error {
		return c.Configure(ctx, run.ConfigChange{Compact: true})
	})}
}

func (m *model) showContext(string) []effect {
	m.print(m.contextLines()...)
	return nil
}

func (m *model) showCost(string) []effect {
	u := m.state.Usage
	m.say(fmt.Sprintf("this run: %s input tokens (%s cached), %s output tokens, %s",
		text.Commas(u.Input+u.CacheRead+u.CacheWrite), text.Commas(u.CacheRead), text.Commas(u.Output), view.Money(u)))
	return nil
}

// showServers says how the MCP servers of the folder are, as this process knows it.
func (m *model) showServers(string) []effect {
	style, width := m.Style, m.width
	return []effect{later(func(_ context.Context, b *backend) error {
		servers, err := b.ws.Servers()
		if err != nil {
			return err
		}
		var lines []string
		for _, r := range servers.All() {
			s := r.Status()
			offered := 0
			for _, t := range s.Tools {
				if t.As != "" {
					offered++
				}
			}
			state := "is started when it is called"
			switch {
			case s.Running:
				state = "runs"
			case s.Failed != "":
				state = s.Failed
			case !s.Known:
				state = "has not listed its tools yet"
			}
			lines = append(lines, fmt.Sprintf("%s: %s; %s", r.Name, text.Plural(int64(offered), "tool"), state))
		}
		if len(lines) == 0 {
			lines = []string{"no MCP servers: `pawl mcp add` in a shell adds one"}
		}
		b.post(printed{append([]string{""}, wrapped(style, strings.Join(lines, "\n"), width)...)})
		return nil
	})}
}

// resumeTurn continues the run without words.
func (m *model) resumeTurn(string) []effect {
	if m.id == "" {
		m.hint = "there is nothing to continue: /resume finds earlier runs"
		return nil
	}
	if m.works() {
		m.hint = "the agent is already working"
		return nil
	}
	m.awaits, m.began = true, m.now
	return []effect{with(func(ctx context.Context, c conversation) error {
		s, ok := c.(*app.Session)
		if !ok {
			return errors.New("another process drives this run: continue it there")
		}
		return s.Continue(ctx)
	})}
}

func (m *model) fork(string) []effect {
	if m.busy() {
		return nil
	}
	if m.id == "" {
		m.hint = "there is nothing to fork yet"
		return nil
	}
	id, t := m.id, m.kept()
	m.forget()
	return []effect{inOrder(func(ctx context.Context, b *backend) error {
		to, err := b.ws.Fork(ctx, id, 0, "")
		if err != nil {
			return err
		}
		if err := b.part(app.ForResume); err != nil {
			return err
		}
		b.post(notice{fmt.Sprintf("now in run %s, a copy of %s", to, id)})
		return b.resume(ctx, string(to), t, false)
	})}
}

func (m *model) modeCommand(args string) []effect {
	if args == "" {
		return m.pickMode()
	}
	if !slices.Contains(allModes, args) {
		m.hint = fmt.Sprintf("%s is not a mode%s; choose %s", visible.Quote(args), text.DidYouMean(args, allModes), strings.Join(allModes, ", "))
		return nil
	}
	if now := permission.Mode(m.mode()); m.ask != nil && permission.Stricter(now, permission.Mode(args)) != permission.Mode(args) {
		m.hint = answerFirst
		return nil
	}
	return m.setMode(args)
}

// answerFirst says why the mode stays while a dialog is open.
const answerFirst = "answer first: a wider mode would allow what is asked about"

// allModes are the permission modes; shift+tab goes through modes, in all of which no one but the person says yes.
var (
	allModes = []string{string(permission.Default), string(permission.AcceptEdits), string(permission.Plan), string(permission.Auto), string(permission.Bypass)}
	modes    = allModes[:3]
)

func (m *model) setMode(mode string) []effect {
	m.wish.Mode, m.chosenMode = mode, mode
	return []effect{inOrder(func(ctx context.Context, b *backend) error { return b.setMode(ctx, mode) })}
}

func (m *model) effort(args string) []effect {
	if m.id == "" {
		m.hint = "send a prompt first, or begin with `pawl --effort LEVEL`"
		return nil
	}
	if err := config.OneOf(config.Efforts...)(args); err != nil {
		m.hint = "choose " + strings.Join(config.Efforts, ", ")
		return nil
	}
	return []effect{with(func(ctx context.Context, c conversation) error {
		return c.Configure(ctx, run.ConfigChange{Effort: &args})
	})}
}

func (m *model) rename(args string) []effect {
	if err := run.CheckName(args); err != nil || m.id == "" || args == "" {
		m.hint = "/rename NAME names this run, once it has begun"
		return nil
	}
	return []effect{with(func(ctx context.Context, c conversation) error {
		return c.Configure(ctx, run.ConfigChange{Name: &args})
	})}
}

// nextMode changes to the next mode.
func (m *model) nextMode() []effect {
	i := slices.Index(modes, m.mode())
	return m.setMode(modes[(i+1)%len(modes)])
}

func (m *model) modelCommand(args string) []effect {
	if args == "" {
		return []effect{pickModel()}
	}
	return m.setModel(args)
}

func (m *model) setModel(name string) []effect {
	return []effect{inOrder(func(ctx context.Context, b *backend) error {
		change, err := b.ws.ModelChange(ctx, name)
		if err != nil {
			return err
		}
		if c, _ := b.current(); c != nil { // also one that was about to open
			return c.Configure(ctx, change)
		}
		b.post(modelChosen{*change.Model})
		return nil
	})}
}

func (m *model) resumeCommand(args string) []effect {
	if m.busy() {
		return nil
	}
	if args == "" {
		return []effect{pickRun(m.kept())}
	}
	t := m.kept()
	return []effect{inOrder(func(ctx context.Context, b *backend) error { return b.resume(ctx, args, t, true) })}
}

// undo puts back the files that were changed last, in the last turn that has changed any.
func (m *model) undo(string) []effect {
	if len(m.prompts) == 0 || m.attached || m.state.Turn.Open() {
		m.hint = "there is nothing to undo"
		if m.state.Turn.Open() {
			m.hint = "interrupt it first, with esc"
		}
		return nil
	}
	id, t, prompts := m.id, m.kept(), slices.Clone(m.prompts)
	return []effect{inOrder(func(ctx context.Context, b *backend) error {
		if err := b.leave(app.ForResume); err != nil {
			return err
		}
		var report tool.UndoReport
		var problem error
		for i := len(prompts) - 1; i >= 0 && problem == nil && len(report.Changes)+len(report.Skipped) == 0; i-- {
			if report, problem = b.ws.Undo(ctx, id, prompts[i].after, false); i < len(prompts)-1 && len(report.Changes) > 0 {
				b.post(notice{"changed after the prompt: " + view.OneLine(prompts[i].text, view.MaxLine)})
			}
		}
		for _, line := range undoWords(report) {
			b.post(notice{line})
		}
		return errors.Join(problem, b.resume(ctx, string(id), t, false))
	})}
}

// rewind goes back to before a prompt: the conversation, in a copy of the run, or the files that
// were changed since, or both.
func (m *model) rewind(p prompt, conversation, files bool) []effect {
	id, t := m.id, m.kept()
	if conversation {
		m.forget()
		m.wish = app.Task{Agent: m.wish.Agent, Mode: m.wish.Mode}
	}
	return []effect{inOrder(func(ctx context.Context, b *backend) error {
		if err := b.leave(app.ForResume); err != nil {
			return err
		}
		to := id
		var problems error
		if files {
			report, err := b.ws.Undo(ctx, id, p.after, false)
			problems = err
			for _, line := range undoWords(report) {
				b.post(notice{line})
			}
		}
		if conversation && p.turn > 1 {
			copied, err := b.ws.Fork(ctx, id, p.after, "")
			if err != nil {
				return errors.Join(problems, err)
			}
			to = copied
			b.post(notice{fmt.Sprintf("now in run %s, a copy of %s up to that prompt", to, id)})
		}
		if conversation {
			b.post(withdrawn{p.parts}) // below what was typed since
		}
		if conversation && p.turn == 1 { // before the first prompt there is nothing
			return problems
		}
		return errors.Join(problems, b.resume(ctx, string(to), t, false))
	})}
}

// helpColumn is where what a key or a command does begins.
const helpColumn = 26

func (m *model) help(string) []effect {
	width := m.width
	var lines []string
	row := func(left, right string) {
		mark := "  " + m.Paint(render.Accent, left) + strings.Repeat(" ", max(2, helpColumn-render.Cells(left)))
		if room := width - 2 - max(helpColumn, render.Cells(left)+2); room >= 24 {
			lines = append(lines, render.Hang(mark, m.Wrap([]render.Span{{Text: right, Paint: render.Plain}}, room, false))...)
			return
		}
		lines = append(lines, mark)
		lines = append(lines, render.Hang("    ", m.Wrap([]render.Span{{Text: right, Paint: render.Plain}}, width-4, false))...)
	}
	lines = append(lines, "", m.Paint(render.Bold, "Keys"))
	for _, k := range bindings {
		row(k[0], k[1])
	}
	lines = append(lines, "", m.Paint(render.Bold, "Commands"))
	for _, c := range commands() {
		row("/"+strings.TrimSpace(c.name+" "+c.args), c.help)
	}
	for _, c := range m.own {
		row("/"+strings.TrimSpace(visible.Escape(c.Name)+" "+oneLine(c.Arguments)), view.OneLine(c.Description, view.MaxLine))
	}
	m.print(lines...)
	return nil
}
