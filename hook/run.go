package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/permission"
	"pawl/run"
	"pawl/task"
	"pawl/tool"
)

// A Set is the hooks of a workspace. It does not change and is safe for concurrent use.
type Set struct {
	Hooks   []Hook
	Options tool.ShellOptions
	// Workspace is where the hooks were found; runs may work in copies of it.
	Workspace string
	// Check returns why a hook must not run now in a project, such as a file that it runs and no one has trusted as it is;
	// nil: all may.
	Check func(h *Hook, project string) error

	mu   sync.Mutex
	done map[string]bool // hooks that run once, by run
}

// A Moment is what hooks are told.
type Moment struct {
	run.Hook
	Run   run.ID
	Agent string // of a child run: what kind it is
	Child string // of a child run: its name
	Mode  string // of permissions, as pawl calls it
	Model string

	Call    run.Call
	Result  string // of the call, as the model has it
	IsError bool

	Prompt string
	// Source is, of SessionStart, startup, resume, fork or compact, of PreCompact manual or auto, of Notification its kind,
	// and of SessionEnd the reason.
	Source  string
	Blocks  int    // of Stop: how often hooks have let the turn go on
	Message string // of Stop: the last answer
	// Messages are the conversation, of points that are not of a call: hooks can read it as their transcript.
	Messages []run.Message
	Task     task.State
	Report   string // of TaskCompleted: what its agent reports
}

// For returns the hooks of a moment, in the order of their files. A hook that stands in several files runs once.
func (s *Set) For(m Moment, workspace string) []*Hook {
	if s == nil {
		return nil
	}
	var all []*Hook
	for i := range s.Hooks {
		h := &s.Hooks[i]
		if h.Point != m.Point || !s.matches(h, m, workspace) {
			continue
		}
		same := func(o *Hook) bool {
			return o.Command == h.Command && slices.Equal(o.Args, h.Args) && o.URL == h.URL && o.Plugin == h.Plugin
		}
		if !slices.ContainsFunc(all, same) {
			all = append(all, h)
		}
	}
	return all
}

// Has reports whether a point has any hooks.
func (s *Set) Has(point run.HookPoint) bool {
	return s != nil && slices.ContainsFunc(s.Hooks, func(h Hook) bool { return h.Point == point })
}

func (s *Set) matches(h *Hook, m Moment, workspace string) bool {
	var what []string
	switch m.Point {
	case run.SessionStart, run.PreCompact, run.Notification, run.SessionEnd:
		what = []string{m.Source}
	case run.SubagentStart, run.SubagentStop:
		what = []string{m.Agent}
	case run.UserPromptSubmit, run.Stop, run.TaskCreated, run.TaskCompleted:
		return s.may(h, m) // a matcher has no meaning there
	default:
		what = names(m.Call.Tool)
	}
	if !slices.ContainsFunc(what, h.matches) {
		return false
	}
	return ruleMatches(h.If, m, workspace) && s.may(h, m)
}

// may reports whether a hook that runs once has not run.
func (s *Set) may(h *Hook, m Moment) bool {
	if !h.Once {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.done[string(m.Run)+h.Source+h.Runs()]
}

func (s *Set) ran(h *Hook, m Moment) {
	if !h.Once {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil {
		s.done = map[string]bool{}
	}
	s.done[string(m.Run)+h.Source+h.Runs()] = true
}

// ruleMatches reports whether a call fits the rule of a hook: Tool, or Tool(pattern). It only saves the start of a hook
// that would have nothing to say, so what is not understood fits.
func ruleMatches(rule string, m Moment, workspace string) bool {
	if rule == "" || m.Call.Tool == "" {
		return true
	}
	name, pattern, has := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
	if !slices.Contains(names(m.Call.Tool), name) {
		return false
	}
	if !has {
		return true
	}
	text := subject(input(m.Call.Tool, m.Call.Arguments, workspace), workspace)
	if m.Call.Tool == "shell" {
		return commandFits(strings.Replace(pattern, ":*", " *", 1), text, workspace)
	}
	if before, ok := strings.CutSuffix(pattern, "*"); ok && !strings.ContainsAny(before, "*/.~") && before != "" {
		return strings.HasPrefix(text, before)
	}
	if !strings.Contains(pattern, "/") {
		text = path.Base(text) // as in .gitignore
	}
	ok, err := path.Match(pattern, text)
	return ok || err != nil || strings.Contains(pattern, "**") || strings.ContainsAny(pattern[:min(1, len(pattern))], "/~.!")
}

// commandFits reports whether a rule would speak of a command: of a part of it, in whatever spelling. Else a hook that guards
// git push would not see "cd x && git push".
func commandFits(pattern, command, workspace string) bool {
	rule, err := permission.ParseRule("shell(" + pattern + ")")
	if err != nil {
		return true
	}
	rule.Effect = permission.Deny
	r := permission.Request{Tool: "shell", Class: run.Writes, Command: command, Workspace: workspace, Sandboxed: true, EnforcesReadOnly: true}
	return permission.Rules{rule}.Decide(r, permission.Bypass).Verdict == permission.Deny
}

// Bounds of what hooks print and say.
const (
	maxPrinted = 1 << 20
	maxKept    = 2_000  // bytes of the output in the log
	maxSaid    = 16_000 // bytes of what the model and people are told
)

// maxAtOnce is how many hooks of a moment run at once.
const maxAtOnce = 20

// Run runs the hooks of a moment at once and returns what they come to.
func (s *Set) Run(ctx context.Context, env tool.Env, m Moment, hooks []*Hook) run.HookSettled {
	in := told(m, env.Workspace)
	var conversation *os.File
	var err error
	if len(m.Messages) > 0 && slices.ContainsFunc(hooks, func(h *Hook) bool { return h.URL == "" }) {
		if conversation, in["transcript_path"], err = shared(transcript(m.Run, m.Messages, env.Workspace)); conversation != nil {
			defer forget(conversation)
		}
	}
	var given []byte
	if err == nil {
		given, err = json.Marshal(in)
	}
	answers := make([]answer, len(hooks))
	var wg sync.WaitGroup
	room := make(chan struct{}, maxAtOnce)
	for i, h := range hooks {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			began := time.Now()
			a := answer{problem: err}
			if err == nil {
				a = s.one(ctx, env, m, h, given, conversation)
			}
			a.run.Hook, a.run.Took = h.Name(), time.Since(began)
			if a.problem != nil {
				a.run.Problem = a.problem.Error()
			}
			answers[i] = a
			s.ran(h, m)
		})
	}
	wg.Wait()
	return together(m, hooks, answers)
}

// An answer is what one hook came to.
type answer struct {
	run     run.HookRun
	problem error
	says    run.HookAnswer
	reason  string
	input   map[string]any // in place of that of the call
	context string
	halt    string
	strict  bool // the problem leaves open what the hook would have refused
}

// one runs one hook.
func (s *Set) one(ctx context.Context, env tool.Env, m Moment, h *Hook, given []byte, conversation *os.File) (a answer) {
	if h.URL == "" {
		a = s.command(ctx, env, m, h, given, conversation)
	} else if err := s.check(h, env); err != nil {
		return answer{problem: err, strict: true}
	} else {
		a = s.post(ctx, m, h, given)
	}
	if a.problem != nil && h.Blocks && ctx.Err() == nil {
		a.says, a.reason = run.HookDenies, a.problem.Error()
	}
	return a
}

// check is Check, if there is one.
func (s *Set) check(h *Hook, env tool.Env) error {
	if s.Check == nil {
		return nil
	}
	return s.Check(h, s.project(h, env.Workspace))
}

// project returns the folder of a hook's project for a run that works in a workspace: of a copy it is in the copy.
func (s *Set) project(h *Hook, workspace string) string {
	below, inside := strings.CutPrefix(s.Workspace, h.Project)
	if top, ok := strings.CutSuffix(workspace, below); h.Project != "" && inside && ok {
		return top
	}
	return workspace
}

func (s *Set) command(ctx context.Context, env tool.Env, m Moment, h *Hook, given []byte, conversation *os.File) (a answer) {
	c := tool.Command{Line: h.Command, Stdin: given, Limit: h.Timeout, Most: maxPrinted, Sandbox: h.Sandbox,
		Options: s.Options, Check: func() error { return s.check(h, env) },
		Env: append([]string{"CLAUDE_PROJECT_DIR=" + s.project(h, env.Workspace)}, h.Env...)}
	for _, v := range h.Env {
		if data, ok := strings.CutPrefix(v, "CLAUDE_PLUGIN_DATA="); ok {
			c.Owns = append(c.Owns, data)
		}
	}
	if conversation != nil {
		c.Extra = []*os.File{conversation}
	}
	if h.Args != nil {
		c.Line, c.Argv = "", append([]string{h.Command}, h.Args...)
	}
	if env.Sandbox == nil && !h.Own {
		return answer{problem: errUnconfined, strict: true}
	}
	r, err := tool.RunCommand(ctx, env, c)
	if !r.Started {
		return answer{problem: err, strict: true}
	}
	a.run.Output, a.run.ExitCode = cut(strings.TrimSpace(r.Stdout+"\n"+r.Stderr), maxKept), r.ExitCode
	a.run.Message = strings.Join(r.Notes, "; ")
	switch {
	case err != nil:
		a.problem = err
	case *r.ExitCode == 2:
		a.says, a.reason = run.HookDenies, cut(strings.TrimSpace(r.Stderr), maxSaid)
		if a.reason == "" {
			a.reason = cut(strings.TrimSpace(r.Stdout), maxSaid)
		}
	case *r.ExitCode != 0:
		a.problem = fmt.Errorf("it exited with %d", *r.ExitCode)
		if line, _, _ := strings.Cut(strings.TrimSpace(r.Stderr), "\n"); line != "" {
			a.problem = fmt.Errorf("it exited with %d: %s", *r.ExitCode, cut(line, 300))
		}
	default:
		a.read(m, r.Stdout)
	}
	return a
}

var errUnconfined = errors.New("it is of the repository or of a plugin, and commands have no sandbox here (pawl doctor says why)")

// client makes the requests of hooks. What redirects is not followed: the hook names where it sends what it is told.
var client = http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (s *Set) post(ctx context.Context, m Moment, h *Hook, given []byte) (a answer) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.Timeout, fmt.Errorf("its time limit of %v was over", h.Timeout))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(given))
	if err != nil {
		return answer{problem: err}
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range h.Headers {
		r.Header.Set(name, os.Expand(value, func(variable string) string {
			value := os.Getenv(variable)
			secret := len(s.Options.Withheld([]string{variable + "=" + value})) > 0
			if !slices.Contains(h.AllowedEnv, variable) || secret && !h.Own {
				return "" // of a repository's hook no secret is sent anywhere
			}
			return value
		}))
	}
	resp, err := client.Do(r)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return answer{problem: err}
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxPrinted))
	body := s.Options.Hide(string(content))
	a.run.ExitCode, a.run.Output = &resp.StatusCode, cut(strings.TrimSpace(body), maxKept)
	switch {
	case err != nil:
		a.problem = err
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		a.problem = fmt.Errorf("the server answered %s", resp.Status)
	default:
		a.read(m, body)
	}
	return a
}

// read reads what a hook that has succeeded printed: a JSON object, or text, which at two points is for the model. It skips
// {"async": true} at the beginning: pawl waits for every hook.
func (a *answer) read(m Moment, printed string) {
	var aside struct{ Async bool }
	if d := json.NewDecoder(strings.NewReader(printed)); d.Decode(&aside) == nil && aside.Async {
		printed = printed[d.InputOffset():]
	}
	printed = strings.TrimSpace(printed)
	var out struct {
		Continue      *bool  `json:"continue"`
		StopReason    string `json:"stopReason"`
		SystemMessage string `json:"systemMessage"`
		Decision      string `json:"decision"`
		Reason        string `json:"reason"`
		Specific      struct {
			Decision       string         `json:"permissionDecision"`
			DecisionReason string         `json:"permissionDecisionReason"`
			Input          map[string]any `json:"updatedInput"`
			Context        string         `json:"additionalContext"`
			Permission     struct {
				Behavior  string         `json:"behavior"`
				Message   string         `json:"message"`
				Input     map[string]any `json:"updatedInput"`
				Interrupt bool           `json:"interrupt"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	if !strings.HasPrefix(printed, "{") {
		if m.Point == run.SessionStart || m.Point == run.UserPromptSubmit {
			a.context = cut(printed, maxSaid)
		}
		return
	}
	if err := json.Unmarshal([]byte(printed), &out); err != nil {
		a.problem = fmt.Errorf("what it printed begins like a JSON object and is none: %w", err)
		return
	}
	p := out.Specific.Permission
	for _, word := range []string{out.Specific.Decision, p.Behavior, out.Decision} {
		switch word {
		case "allow", "approve":
			a.says = run.HookAllows
		case "ask", "defer":
			a.says = run.HookAsks
		case "deny", "block":
			a.says = run.HookDenies
		default:
			continue
		}
		break
	}
	for _, text := range []string{out.Specific.DecisionReason, p.Message, out.Reason} {
		if a.reason == "" {
			a.reason = cut(text, maxSaid)
		}
	}
	if a.reason == "" && a.says == run.HookDenies {
		a.reason = cut(out.SystemMessage, maxSaid)
	}
	a.context = cut(out.Specific.Context, maxSaid)
	if a.input = out.Specific.Input; a.input == nil {
		a.input = p.Input
	}
	if out.SystemMessage != "" {
		a.run.Message = strings.TrimPrefix(a.run.Message+"; "+cut(out.SystemMessage, maxKept), "; ")
	}
	if out.Continue != nil && !*out.Continue || p.Interrupt {
		if a.halt = cut(out.StopReason, maxSaid); a.halt == "" {
			a.halt = "it gives no reason"
		}
		if p.Interrupt && out.StopReason == "" && a.reason != "" {
			a.halt = a.reason
		}
	}
}

// together returns what hooks come to: the strictest answer, with the reason of the first that gave it.
func together(m Moment, hooks []*Hook, answers []answer) run.HookSettled {
	p := run.HookSettled{Point: m.Point, Call: m.Hook.Call}
	before := m.Point == run.PreToolUse || m.Point == run.PermissionRequest
	strictness := []run.HookAnswer{run.HookPasses, run.HookAllows, run.HookAsks, run.HookDenies}
	var changed map[string]any
	var context []string
	for i, a := range answers {
		if a.strict { // what it guards must not become free by taking it away
			switch {
			case a.says == run.HookDenies:
			case before:
				a.says, a.reason = run.HookAsks, a.problem.Error()
			case m.Point == run.UserPromptSubmit, m.Point == run.TaskCreated, m.Point == run.TaskCompleted:
				a.says, a.reason = run.HookDenies, a.problem.Error()
			}
		}
		if !before && a.says != run.HookDenies {
			a.says = run.HookPasses // allow and ask mean nothing here
		}
		if slices.Index(strictness, a.says) > slices.Index(strictness, p.Says) {
			if p.Says, p.Reason = a.says, a.reason; p.Reason == "" && a.says == run.HookDenies {
				p.Reason = hooks[i].Name() + " gives no reason"
			}
		}
		if a.input != nil && before {
			changed = a.input
		}
		if a.context != "" {
			context = append(context, a.context)
		}
		if p.Halt == "" {
			p.Halt = a.halt
		}
		p.Runs = append(p.Runs, a.run)
	}
	if turns := m.Point == run.Stop || m.Point == run.SubagentStop; turns && p.Says == run.HookDenies && m.Blocks+1 >= run.MaxStopBlocks {
		p.Reason += fmt.Sprintf("\n[%d times in a row: the next answer ends the turn]", m.Blocks+1)
	}
	p.Context = strings.Join(context, "\n\n")
	if changed != nil && p.Says != run.HookDenies {
		p.Arguments = arguments(m.Call.Tool, changed)
	}
	return p
}

// cut returns at most n bytes of a text, at the beginning of a character, and says what is missing.
func cut(text string, n int) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= n {
		return text
	}
	kept := strings.ToValidUTF8(text[:n], "")
	return fmt.Sprintf("%s… [%d bytes more]", kept, len(text)-len(kept))
}

// modes are Claude Code's names of modes.
var modes = map[string]string{"accept-edits": "acceptEdits", "bypass": "bypassPermissions", "": "default"}

// told returns what hooks get on their standard input.
func told(m Moment, workspace string) map[string]any {
	mode := m.Mode
	if name, ok := modes[mode]; ok {
		mode = name
	}
	in := map[string]any{"session_id": string(m.Run), "transcript_path": "", "cwd": workspace, "permission_mode": mode,
		"hook_event_name": string(m.Point)}
	if m.Child != "" {
		in["agent_id"], in["agent_type"] = m.Child, m.Agent
	}
	switch m.Point {
	case run.PreToolUse, run.PermissionRequest, run.PostToolUse, run.PostToolUseFailure:
		in["tool_name"], in["pawl_tool"], in["tool_use_id"] = names(m.Call.Tool)[0], m.Call.Tool, string(m.Call.ID)
		in["tool_input"] = input(m.Call.Tool, m.Call.Arguments, workspace)
	}
	switch m.Point {
	case run.PostToolUse:
		response := map[string]any{"content": m.Result, "is_error": m.IsError}
		switch m.Call.Tool {
		case "shell":
			response["stdout"], response["stderr"], response["interrupted"] = m.Result, "", false
		case "write", "edit":
			response["filePath"] = in["tool_input"].(map[string]any)["file_path"]
		}
		in["tool_response"] = response
	case run.PostToolUseFailure:
		in["error"], in["is_interrupt"] = m.Result, false
	case run.UserPromptSubmit:
		in["prompt"] = m.Prompt
	case run.SessionStart:
		in["source"], in["model"] = m.Source, m.Model
	case run.PreCompact:
		in["trigger"], in["custom_instructions"] = m.Source, ""
	case run.TaskCreated, run.TaskCompleted:
		in["task_id"], in["task_subject"], in["task_description"] = string(m.Task.Created.Task), m.Task.Title(), m.Task.Description
		if m.Report != "" {
			in["task_report"] = m.Report
		}
	case run.Notification:
		in["message"] = "pawl needs your permission to use " + names(m.Call.Tool)[0]
		in["notification_type"] = m.Source
		in["tool_name"], in["tool_input"] = names(m.Call.Tool)[0], input(m.Call.Tool, m.Call.Arguments, workspace)
	case run.SessionEnd:
		in["reason"] = m.Source
	case run.Stop, run.SubagentStop:
		in["stop_hook_active"], in["last_assistant_message"] = m.Blocks > 0, m.Message
	}
	return in
}
