package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"pawl/agent"
	"pawl/config"
	"pawl/instructions"
	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/judge"
	"pawl/mcp"
	"pawl/permission"
	"pawl/permission/spelling"
	"pawl/policy"
	"pawl/run"
	"pawl/runlog"
	"pawl/tool"
)

// A Typed is what a person has typed, as it is meant: words, or "/name arguments", which calls one of
// [Workspace.PromptCommands].
type Typed struct {
	Words   string                // as they were typed
	Command *instructions.Command // that is called; nil: they are words

	arguments string
}

// slash is the form of the first word of a line that calls a command.
var slash = lazy.Regexp(`^/[\p{L}\p{N}_:-]+(\s|$)`)

// CallsCommand reports whether words call a command, whether there is one of that name or not. /path/to/file
// is a word, and so is /name if there is such a file, or if a blank stands before it.
func CallsCommand(words string) bool {
	if !slash().MatchString(words) {
		return false
	}
	_, err := os.Lstat(strings.Fields(words)[0])
	return err != nil
}

// Typed returns what words mean that a person has typed. Every face asks it, so that /name means the same
// everywhere. An error says that there is no command of that name, and which is near; see [CallsCommand].
func (w *Workspace) Typed(ctx context.Context, words string) (Typed, error) {
	t := Typed{Words: words}
	if !CallsCommand(words) {
		return t, nil
	}
	name := strings.Fields(words)[0]
	t.arguments = strings.TrimSpace(words[len(name):])
	if strings.HasPrefix(name, "/"+mcp.Prefix) {
		if err := w.awaitServers(ctx, name[1:]); err != nil {
			return t, err
		}
	}
	all, untrusted, problems := w.PromptCommands()
	if i := text.Named(name[1:], all, func(c instructions.Command) string { return c.Name }); i >= 0 {
		t.Command = &all[i]
		return t, ctx.Err()
	}
	var names []string
	for _, c := range all {
		names = append(names, "/"+c.Name)
	}
	why := ""
	if len(untrusted) > 0 {
		why = "; those in " + strings.Join(untrusted, " and ") + " are not used until you review them with `pawl trust`"
	}
	if _, _, ofSkills, err := w.Skills(); err == nil {
		problems = append(problems, ofSkills...)
	}
	for _, p := range problems {
		file, _, _ := strings.Cut(p, ": ")
		file = strings.TrimSuffix(file, "/"+policy.SkillFile)
		named := strings.TrimSuffix(path.Base(file), path.Ext(file))
		if name[strings.LastIndexAny(name, "/:")+1:] == named || strings.HasSuffix(p, notRead) {
			why += "; " + p
		}
	}
	return t, config.Errorf("there is no command %s%s; to send it as a message, begin it with a space%s", visible.Quote(name), why, text.DidYouMean(name, names))
}

// An Approve asks a person, once, whether the shell commands of a prompt that need approval may run. The error says
// why they may not. A nil Approve means that no one can be asked.
type Approve func(ctx context.Context, commands []PromptCommand) error

// A PromptCommand is a shell command of a prompt, and why it needs approval.
type PromptCommand struct{ Command, Reason string }

// Parts returns what the agent of a run is given for what was typed: the words, or those that the command makes of its
// arguments, and what they mention by @. The shell commands in it run now, each judged as a call of that run would be;
// if one may not, the error says so and nothing is to be sent. The zero state is that of no run.
func (w *Workspace) Parts(ctx context.Context, t Typed, of run.State, approve Approve) (Attachments, error) {
	if parts, is, err := w.servedPrompt(ctx, t); is {
		for i := range parts {
			parts[i].Typed = t.Words
		}
		return Attachments{Parts: parts}, err
	}
	words, mentions := t.Words, t.Words
	if t.Command != nil {
		pieces := t.Command.Pieces(t.arguments, map[string]string{"CLAUDE_SKILL_DIR": t.Command.Dir, "CLAUDE_SESSION_ID": string(of.Created.Run), "CLAUDE_EFFORT": of.Config.Effort})
		runs := make([]func(context.Context) (string, error), len(pieces))
		var ask []PromptCommand
		failed := func(i int, err error) (Attachments, error) {
			return Attachments{}, config.Errorf("/%s was not sent: `%s`: %w", t.Command.Name, text.OneLine(pieces[i].Text, 120), err)
		}
		for i, p := range pieces { // none runs unless all may
			if p.Shell {
				var reason string
				var err error
				if runs[i], reason, err = w.permitted(p.Text, of, approve != nil); err != nil {
					return failed(i, err)
				}
				if c := (PromptCommand{p.Text, reason}); reason != "" && !slices.Contains(ask, c) {
					ask = append(ask, c)
				}
			}
		}
		if len(ask) > 0 {
			if err := approve(ctx, ask); err != nil {
				return Attachments{}, config.Errorf("/%s was not sent: %w", t.Command.Name, err)
			}
		}
		words, mentions = "", ""
		for i, p := range pieces {
			if !p.Shell {
				words, mentions = words+p.Text, mentions+p.Text
				continue
			}
			out, err := runs[i](ctx)
			if err != nil {
				return failed(i, err)
			}
			words, mentions = words+out, mentions+" "
		}
	}
	a, err := w.mentions(ctx, mentions, of.Config.Dirs...)
	served := w.served(ctx, mentions, of)
	a.Parts, a.Notes = append(a.Parts, served.Parts...), append(a.Notes, served.Notes...)
	if words != "" {
		p := run.Text(words)
		if t.Command != nil {
			p.Typed = t.Words
		}
		a.Parts = slices.Insert(a.Parts, 0, p)
	}
	return a, err
}

// TypedText is [Workspace.Parts] where text alone can be taken, as for a task: what is mentioned is not attached. typed
// is what a person typed, where the text is what a command made of it.
func (w *Workspace) TypedText(ctx context.Context, words string, approve Approve) (all, typed string, err error) {
	t, err := w.Typed(ctx, words)
	if err != nil || t.Command == nil {
		return words, "", err
	}
	said, err := w.Parts(ctx, t, run.State{}, approve)
	if err != nil {
		return "", "", err
	}
	return said.Parts[0].Text, said.Parts[0].Typed, nil
}

// permitted returns what runs a shell command of a prompt as a call of the run would, and returns what it prints. With a
// reason it needs the approval of a person first, who can be asked; an error says why it may not run.
func (w *Workspace) permitted(line string, of run.State, asks bool) (command func(context.Context) (string, error), reason string, err error) {
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return nil, "", err // unreachable: it is a text
	}
	id := of.Created.Run
	s, env, err := w.callEnv(of)
	if err != nil {
		return nil, "", err
	}
	if env.Run = id; id == "" {
		env.Run = runlog.NewID(time.Now()) // so that it is not taken for a command of the person
	}
	rules := func(run.ID) permission.Rules {
		rules, _ := s.policy.Rules(id) // with an error they allow nothing
		return rules
	}
	shell, _ := registry(rules, s.shellOptions(), agent.Delegation{}).Get("shell")
	in, err := shell.Inspect(env, args)
	if err != nil {
		return nil, "", err
	}
	mode := permission.Mode(of.Config.Mode)
	if id == "" {
		mode = permission.Mode(s.Get("mode"))
	}
	if mode == "" {
		mode = permission.Default
	}
	if err := mayBypass(mode, w.asRoot(), s.confinement); err != nil {
		return nil, "", err
	}
	j := w.judge(s.policy).Of(judge.Call{Run: id, Mode: mode, Tool: "shell", Class: in.Class, Intent: in, Args: args, Env: env})
	d := j.Decision()
	asked := d.Verdict == permission.Ask && asks
	if d.Verdict == permission.Ask && !asked {
		how := cmp.Or(s.toAllow(j, id))
		if how != "" {
			how = "; to allow it: " + how
		}
		return nil, "", fmt.Errorf("it needs approval (%s), and no one can be asked%s", d.Reason, how)
	}
	if d.Verdict == permission.Deny {
		return nil, "", fmt.Errorf("it is not allowed: %s", d.Reason)
	}
	env.Leads = j.Request.Resolved
	call := tool.Call{Run: env.Run, ID: "typed", Args: args, Sandbox: d.Sandbox, Granted: asked}
	if asked {
		reason = cmp.Or(d.Reason, "it needs approval")
	}
	return func(ctx context.Context) (string, error) {
		r, err := shell.Run(ctx, env.ForCall(), call)
		switch {
		case err != nil:
			return "", err
		case r.IsError:
			return "", fmt.Errorf("it failed: %s", run.PlainText(r.Content))
		}
		return strings.TrimRight(run.PlainText(r.Content), "\n"), ctx.Err()
	}, reason, nil
}

// called returns a task with what the command asks for that begins it. What was given for the task or for this process
// is stronger; a note says what does not count, and why. Of the tools that a command names those of the person's own
// files are allowed without a question, and those of a repository are all that the run has.
func (w *Workspace) called(ctx context.Context, s *settings, t Task) Task {
	c := t.Typed.Command
	if c == nil {
		return t
	}
	note := func(format string, args ...any) {
		w.opt.Notice(fmt.Sprintf("/%s: ", c.Name) + fmt.Sprintf(format, args...))
	}
	if c.Agent != "" && t.Agent == "" {
		if _, err := w.roster(s).Get(c.Agent); err != nil {
			note("its agent is not used: %v", err)
		} else {
			t.Agent = c.Agent
		}
	}
	if c.Model != "" && t.Model == "" && !s.Has("model", true) {
		err := error(nil)
		if c.Repository {
			err = policy.CheckSetting("model", c.Model)
		}
		model := ""
		if err == nil {
			model, _, err = w.findModel(ctx, s, c.Model)
		}
		if err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			note("its model is not used: %s", first)
		} else {
			t.Model = model
		}
	}
	if c.Effort != "" && !s.Has("effort", true) {
		if err := config.OneOf(config.Efforts...)(c.Effort); err != nil {
			note("its effort is not used: %v", err)
		} else {
			t.effort = c.Effort
		}
	}
	var names []string
	for _, written := range c.Tools {
		ours := []string{written}
		if translated, _ := spelling.Translate(written); len(translated) > 0 {
			ours = translated
		}
		for _, given := range ours {
			rule, err := permission.ParseTyped(given, ToolNames())
			if err != nil {
				continue // a tool that there is not here is not called
			}
			names = append(names, rule.Tool)
			if rule.Effect, rule.Scope, rule.Why = permission.Allow, permission.ForRun, "the command /"+c.Name; !c.Repository {
				t.Rules = append(t.Rules, rule)
			}
		}
	}
	if c.Repository && len(names) > 0 {
		t.tools = run.Grant(names...)
	}
	return t
}

// narrowed returns the configuration of a new run with what the command has of it that begins it.
func (t Task) narrowed(c run.Config) run.Config {
	c.Effort = cmp.Or(t.effort, c.Effort)
	if t.tools.Limited() {
		c.Tools = run.Grant(slices.DeleteFunc(t.tools.Names(), func(name string) bool { return !c.Tools.Has(name) })...)
	}
	return c
}
