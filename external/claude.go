package external

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl/internal/lazy"
	"pawl/run"
)

// claude is Claude Code. Flags, variables and events as observed in 2.1.197, 2026-11-22.
type claude struct{}

func (claude) hasSystem() bool { return true }

// claudeTools are those of its tools that by themselves do nothing. Others are in no table of pawl's or have there the
// name that they have here: CronCreate, which leaves a prompt in the folder for later sessions, is asked about.
var claudeTools = map[string]string{
	"Agent": "", "Task": "", "SendMessage": "", "AskUserQuestion": "", "EnterPlanMode": "", "ExitPlanMode": "", "Skill": "", "ToolSearch": "", "ReportFindings": "", "StructuredOutput": "",
	"TodoWrite": "", "TaskCreate": "", "TaskGet": "", "TaskList": "", "TaskOutput": "", "TaskStop": "", "TaskUpdate": "", "BashOutput": "", "KillShell": "",
	"CronDelete": "", "CronList": "", "ScheduleWakeup": "",
}

// claudeWithout are those of its tools that ask the person at its own terminal: their questions would come as ones for
// permission, which take no answer in words. The model asks with pawl's tools. Such tools of the others are off, too.
var claudeWithout = []string{"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"}

// claudeMention is what makes it read the file that is named after it. More counts than it looks at.
var claudeMention = lazy.Regexp(`(^|[^\w.-])@`)

func (claude) invoke(t Turn, conversation string, resume bool) (invocation, error) {
	// --setting-sources: hooks and permissions of the workspace's own .claude would count
	// without a person's word. Its CLAUDE.md is a part of Turn.System.
	args := []string{"-p", "--output-format", "stream-json", "--verbose", "--setting-sources", "user", "--permission-mode", "default",
		"--disallowedTools", strings.Join(claudeWithout, ",")}
	if resume {
		args = append(args, "--resume", conversation)
	} else {
		args = append(args, "--session-id", conversation)
	}
	if t.Model != DefaultModel {
		args = append(args, "--model", t.Model)
	}
	if t.System != "" {
		file, err := t.file("system.txt", []byte(t.System))
		if err != nil {
			return invocation{}, err
		}
		args = append(args, "--append-system-prompt-file", file)
	}
	if len(t.Server.Command) > 0 {
		servers := t.claudeServers()
		servers[ServerName] = mcpServer{Type: "stdio", Command: t.Server.Command[0], Args: t.Server.Command[1:], Env: t.Server.Env, Always: true}
		config, _ := json.Marshal(map[string]any{"mcpServers": servers}) // of strings and of what was JSON
		file, err := t.file("mcp.json", config)
		if err != nil {
			return invocation{}, err
		}
		var allowed []string
		for _, name := range t.Server.Tools {
			if name != t.Server.Permission {
				allowed = append(allowed, "mcp__"+ServerName+"__"+name)
			}
		}
		args = append(args, "--mcp-config", file, "--allowedTools", strings.Join(allowed, ","))
		if t.Server.Permission != "" {
			args = append(args, "--permission-prompt-tool", "mcp__"+ServerName+"__"+t.Server.Permission)
		}
	}
	if len(t.Server.Hook) > 0 {
		file, err := t.file("settings.json", t.hookSettings())
		if err != nil {
			return invocation{}, err
		}
		args = append(args, "--settings", file)
	}
	return invocation{args: args, env: []string{
		"CLAUDE_CODE_MAX_RETRIES=2", // else 10, for minutes, also when the key is wrong
		"DISABLE_AUTOUPDATER=1",
		"MCP_TOOL_TIMEOUT=86400000", // ms: a child run takes what it takes
		"MCP_TIMEOUT=60000",
		"MCP_CONNECT_TIMEOUT_MS=60000", // of what is always loaded
	}}, nil
}

// hookPatience is how long the hook may take, in seconds: after it the tool would be used.
// The hook is bounded by less.
const hookPatience = 3600

// hookCommand returns Hook as a command of a shell, which leaves [Turn.hooked]. The programs make a call unless its
// hook ends with exit code 2 and has printed why: Gemini CLI 0.61.0 takes no notice of exit code 2 alone (read
// 2026-11-27). So the shell outlives the signals that end the program, and says no for a hook that they have ended.
func (t Turn) hookCommand() string {
	var command strings.Builder
	command.WriteString("trap '' HUP INT TERM; true >" + shellQuoted(t.hooked()) + "; ")
	for _, name := range sortedKeys(t.Server.Env) {
		if strings.HasPrefix(name, "PAWL_") && !strings.HasSuffix(name, "_TOKEN") { // the program gets none of these
			command.WriteString(name + "=" + shellQuoted(t.Server.Env[name]) + " ")
		}
	}
	for _, word := range t.Server.Hook {
		command.WriteString(shellQuoted(word) + " ")
	}
	return command.String() + "|| { [ $? = 1 ] || echo 'pawl: the call is not allowed: the hook was stopped before there was an answer' >&2; exit 2; }"
}

// A matcher is what Claude Code and Gemini CLI have in their settings for hooks.
type matcher struct {
	Matcher string `json:"matcher"`
	Hooks   []hook `json:"hooks"`
}

type hook struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

// hooks returns the hook for every tool; unit is a second in that of its timeout.
func (t Turn) hooks(unit int) matcher {
	return matcher{"*", []hook{{"command", t.hookCommand(), hookPatience * unit}}}
}

// hookSettings returns settings with which the program runs Hook before every use of a tool,
// in subagents too, and also if the person's own settings turn hooks off. Of servers on this machine it starts
// those of the turn alone.
func (t Turn) hookSettings() []byte {
	// Commands that it has for servers elsewhere, as in plugins, would be started in the workspace.
	started := []any{map[string]any{"serverUrl": "*"}, map[string]any{"serverCommand": t.Server.Command}}
	servers := t.claudeServers()
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := servers[name].(map[string]any)
		started = append(started, map[string]any{"serverCommand": append([]any{s["command"]}, s["args"].([]any)...)})
	}
	b, _ := json.Marshal(map[string]any{ // of strings and numbers
		"disableAllHooks":   false,
		"hooks":             map[string]any{"PreToolUse": []matcher{t.hooks(1)}},
		"allowedMcpServers": started,
	})
	return b
}

func shellQuoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// mcpServer is the form that Claude Code and Gemini CLI have for a server.
type mcpServer struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
	Trust   bool              `json:"trust,omitempty"`
	// Always lets Claude Code wait for the server before the first request, and offer its tools by
	// their schemas, not by a search for tools.
	Always  bool `json:"alwaysLoad,omitempty"`
	Timeout int  `json:"timeout,omitempty"`
}

func (claude) stream() stream { return &claudeStream{} }

type claudeStream struct {
	refused string
	server  string // why pawl's tools could not be used; empty: they could
}

type claudeUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

type claudeLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Parent  string `json:"parent_tool_use_id"`
	Message struct {
		Role    string          `json:"role"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Servers []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"mcp_servers"`
	Model string `json:"model"`
	// of a limit of a subscription; of an account of the API it says nothing
	Limit struct {
		Status string `json:"status"`
		Resets int64  `json:"resetsAt"` // seconds since 1970
	} `json:"rate_limit_info"`
	// of a retry, or of a message that tells it
	Error       string  `json:"error"`
	ErrorStatus int     `json:"error_status"`
	Delay       float64 `json:"retry_delay_ms"`
	// of the result
	IsError  bool        `json:"is_error"`
	Status   int         `json:"api_error_status"`
	Result   string      `json:"result"`
	Stop     string      `json:"stop_reason"`
	Terminal string      `json:"terminal_reason"`
	Errors   []string    `json:"errors"`
	Cost     *float64    `json:"total_cost_usd"`
	Usage    claudeUsage `json:"usage"`
}

type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Use      string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"`
	IsError  bool            `json:"is_error"`
}

func (s *claudeStream) line(b []byte, r *report) {
	var l claudeLine
	if json.Unmarshal(b, &l) != nil {
		return
	}
	if l.Session != "" && l.Parent == "" {
		r.conversation = l.Session
	}
	switch l.Type {
	case "rate_limit_event":
		if r.resets = (time.Time{}); l.Limit.Status == "rejected" && l.Limit.Resets > 0 {
			r.resets = time.Unix(l.Limit.Resets, 0)
		}
	case "system":
		if l.Subtype != "init" { // which 2.0 says of a conversation that it does not know, too
			r.lines++
		}
		switch l.Subtype {
		case "init":
			r.model = l.Model
			for _, server := range l.Servers {
				if server.Name == ServerName && !slices.Contains([]string{"connected", "pending"}, server.Status) {
					s.server = noServer + ": " + server.Status
				}
			}
		case "api_retry":
			s.refused = l.Error
			r.lines--
			r.retry(retry{strings.TrimPrefix(fmt.Sprintf("%d %s", l.ErrorStatus, l.Error), "0 "), time.Duration(l.Delay * float64(time.Millisecond))}, time.Now())
		}
	case "assistant", "user":
		r.lines++
		if l.Type == "assistant" && l.Parent == "" {
			s.refused = l.Error
		}
		var blocks []claudeBlock
		if json.Unmarshal(l.Message.Content, &blocks) != nil {
			return // plain text of the user
		}
		for _, c := range blocks {
			switch {
			case c.Type == "tool_use":
				r.call(c.ID, c.Name, strings.HasPrefix(c.Name, "mcp__"+ServerName+"__"), c.Input)
			case c.Type == "tool_result":
				r.result(c.Use, claudeText(c.Content), c.IsError, nil)
			case l.Type != "assistant" || l.Parent != "": // what a subagent says is not the answer
			case c.Type == "text":
				r.text(c.Text)
			case c.Type == "thinking":
				r.thinking(c.Thinking)
			}
		}
	case "result": // also the only line where nothing was done
		s.result(l, r)
	}
}

func (s *claudeStream) result(l claudeLine, r *report) {
	r.done = true
	u := run.Usage{Input: l.Usage.Input, Output: l.Usage.Output, CacheRead: l.Usage.CacheRead, CacheWrite: l.Usage.CacheWrite}
	if l.Cost != nil && u.Total() > 0 {
		u.Cost, u.Priced = *l.Cost, true
	}
	r.usage = r.usage.Add(u)
	if !l.IsError {
		r.fail = nil
		if r.said.Len() == 0 && l.Result != "" {
			r.said.WriteString(l.Result)
		}
		return
	}
	reason := l.Result
	if reason == "" {
		reason = strings.Join(l.Errors, "; ")
	}
	kind := kindOf(l.Status, "")
	switch {
	case l.Stop == string(run.StopRefusal):
		kind = run.ErrRefused
	case strings.HasPrefix(l.Terminal, "aborted"):
		kind, reason = run.ErrAborted, "it was interrupted"
	case kind == "":
		kind = kindOfText(s.refused + " " + reason) // 2.0 gives no status
	}
	if l.Subtype != "success" && l.Subtype != "" {
		reason = strings.TrimPrefix(fmt.Sprintf("%s: %s", l.Subtype, reason), "error_during_execution: ")
	}
	if strings.TrimSpace(r.said.String()) == strings.TrimSpace(l.Result) {
		r.said.Reset() // it says its own error as if it were an answer
	}
	r.failed(kind, reason)
}

func (s *claudeStream) end(r *report) {
	if s.server != "" && r.fail == nil { // whatever it has done instead
		r.failed(run.ErrInvalid, s.server)
	}
	if !r.done && s.refused != "" && r.fail == nil {
		r.failed(kindOfText(s.refused), "the last request to its provider failed: "+s.refused)
	}
}

// claudeText returns the text of a result: a string, or a list of blocks.
func claudeText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []claudeBlock
	if json.Unmarshal(content, &blocks) != nil || slices.ContainsFunc(blocks, func(b claudeBlock) bool { return b.Type == "" }) {
		return string(content) // of another program
	}
	var all []string
	for _, b := range blocks {
		if b.Type == "text" {
			all = append(all, b.Text)
		} else {
			all = append(all, "["+b.Type+"]")
		}
	}
	return strings.Join(all, "\n")
}
