package external

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pawl/internal/lazy"
	"pawl/internal/plainjson"
	"pawl/run"
)

// codex is Codex. Flags, settings and events as observed in 0.169.0, 2026-11-22.
type codex struct{}

func (codex) hasSystem() bool { return false }

// codexTools are its tools as its hook names them.
var codexTools = map[string]string{
	"Bash": "Bash", "apply_patch": "Edit command=patch", "view_image": "Read path=file_path",
	"spawn_agent": "", "send_input": "", "send_message": "", "followup_task": "", "interrupt_agent": "", "list_agents": "", "wait_agent": "", "close_agent": "",
	"multi_agent_v1send_input": "", "multi_agent_v1wait_agent": "", "multi_agent_v1close_agent": "", "multi_agent_v1resume_agent": "", // as of 0.169
	"resume_agent": "", "update_plan": "", "get_goal": "", "create_goal": "", "update_goal": "", "tool_search": "", "wait": "", "sleep": "",
}

// codexHookKey is the name of the first hook that flags define, in the table of those that are
// trusted.
const codexHookKey = "/<session-flags>/config.toml:pre_tool_use:0:0"

func (codex) invoke(t Turn, conversation string, resume bool) (invocation, error) {
	args := []string{"exec"}
	if resume {
		args = append(args, "resume")
	}
	args = append(args, "--json", "--skip-git-repo-check")
	set := func(key string, v any) { args = append(args, "-c", key+"="+tomlValue(v)) }
	projects := map[string]any{}
	sandbox := "read-only"
	switch {
	case t.Mode == "bypass":
		sandbox = "danger-full-access"
	case t.Mode != "plan" && len(t.Server.Hook) > 0:
		sandbox = "workspace-write"
	}
	if sandbox != "danger-full-access" {
		set("web_search", "cached") // by its provider, which asks no other
	}
	set("tools.experimental_request_user_input.enabled", false) // without a terminal it refuses its own question
	set("sandbox_mode", sandbox)                                // resume has no flag for it, and does not inherit it
	// What a person has said in it of this repository does not count, nor what the repository says.
	for dir := t.Workspace; ; dir = filepath.Dir(dir) {
		projects[dir] = map[string]string{"trust_level": "untrusted"}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	set("projects", projects)
	if len(t.Server.Hook) > 0 {
		h := t.hooks(1)
		set("features.hooks", true)
		set("features.unified_exec_tty", false) // it does not ask about what it types into a running command
		set("hooks.PreToolUse", []matcher{h})
		set("hooks.state", map[string]any{codexHookKey: map[string]any{"enabled": true, "trusted_hash": codexHash("pre_tool_use", h)}})
	}
	set("approval_policy", "never")
	set("check_for_update_on_startup", false)
	if t.Model != DefaultModel {
		args = append(args, "-m", t.Model)
	}
	if servers := t.codexServers(); len(servers) > 0 {
		set("mcp_servers", servers)
	}
	var env []string
	if len(t.Server.Command) > 0 {
		key := "mcp_servers." + ServerName + "."
		var names []string
		for _, name := range sortedKeys(t.Server.Env) {
			names = append(names, name)
			env = append(env, name+"="+t.Server.Env[name])
		}
		set(key+"command", t.Server.Command[0])
		set(key+"args", t.Server.Command[1:])
		set(key+"env_vars", names) // from the environment: a command line can be seen by others
		set(key+"default_tools_approval_mode", "approve")
		set(key+"tool_timeout_sec", 86400)
		set(key+"startup_timeout_sec", 60)
		set(key+"required", true) // else the first requests are made without its tools until it is ready
		// Else models of OpenAI find them by a search alone, or in the scripts that they write: the one that submits, too.
		set(key+"omit_tools_from", []string{"deferred", "code_mode"})
	}
	if resume {
		args = append(args, conversation)
	}
	if lookup(t.Env, "RUST_LOG") == "" { // see codexRetries
		env = append(env, "RUST_LOG=error,codex_core::responses_retry=warn")
	}
	return invocation{args: append(args, "-"), env: env}, nil
}

// codexRetries is what its log says on standard error before it makes a request again, which it does when the provider
// says: its stream has no time for that (0.169.0, 2026-11-27).
var codexRetries = lazy.Regexp(`retrying sampling request \([0-9]+/[0-9]+ in ([0-9.]+)(m?s)\)[^\n]* sampling_error=([^\n]*)\n`)

// codexRetry returns the first of these in b, and where it ends; 0: there is none.
func codexRetry(b []byte) (retry, int) {
	m := codexRetries().FindSubmatchIndex(b)
	if m == nil {
		return retry{}, 0
	}
	return retry{string(b[m[6]:m[7]]), duration(b[m[2]:m[3]], string(b[m[4]:m[5]]))}, m[1]
}

// duration parses a waiting time that a program prints, limited to 30 days; 0 if number is not a number.
func duration(number []byte, unit string) time.Duration {
	n, _ := strconv.ParseFloat(string(number), 64)
	if unit == "ms" {
		n /= 1000
	}
	return time.Duration(min(n, 30*86400) * float64(time.Second))
}

// codexHash returns what it takes as the person's word that a hook may run: the hash of its JSON with
// sorted keys, as observed.
func codexHash(event string, m matcher) string {
	h := m.Hooks[0]
	identity, _ := plainjson.Marshal(map[string]any{"event_name": event, "matcher": m.Matcher, // of strings and numbers
		"hooks": []any{map[string]any{"async": false, "command": h.Command, "timeout": h.Timeout, "type": h.Type}}})
	return fmt.Sprintf("sha256:%x", sha256.Sum256(identity))
}

// tomlValue returns a value as TOML has it in one line: the JSON of strings, numbers and lists, and
// tables with = for the colon.
func tomlValue(v any) string {
	text, _ := plainjson.Marshal(v) // of strings and numbers
	if !bytes.ContainsRune(text, '{') {
		return string(text)
	}
	var out []byte
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			out = append(out, c)
			i++
		case c == '"':
			inString = !inString
		case c == ':' && !inString:
			out = append(out, '=')
			continue
		}
		out = append(out, text[i])
	}
	return string(out)
}

func (codex) stream() stream { return &codexStream{} }

type codexStream struct{ last string }

type codexLine struct {
	Type    string `json:"type"`
	Thread  string `json:"thread_id"`
	Message string `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage struct {
		Input     int64 `json:"input_tokens"`
		Cached    int64 `json:"cached_input_tokens"`
		Written   int64 `json:"cache_write_input_tokens"`
		Output    int64 `json:"output_tokens"`
		Reasoning int64 `json:"reasoning_output_tokens"`
	} `json:"usage"`
	Item codexItem `json:"item"`
}

type codexItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Text    string `json:"text"`
	Message string `json:"message"`
	Status  string `json:"status"`
	// of a command
	Command string `json:"command"`
	Output  string `json:"aggregated_output"`
	Exit    *int   `json:"exit_code"`
	// of a tool of a server
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    *struct {
		Content json.RawMessage `json:"content"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
	Changes json.RawMessage `json:"changes"`
	Query   string          `json:"query"`
}

func (s *codexStream) line(b []byte, r *report) {
	var l codexLine
	if json.Unmarshal(b, &l) != nil {
		return
	}
	r.lines++
	switch l.Type {
	case "thread.started":
		r.conversation = l.Thread
	case "item.started":
		codexCall(l.Item, r)
	case "item.completed":
		s.item(l.Item, r)
	case "error":
		s.last = l.Message // it may try again
		r.lines--
	case "turn.failed":
		r.done = true
		reason := codexError(l.Error.Message)
		r.failed(kindOfText(reason), reason)
	case "turn.completed":
		r.done, r.fail = true, nil
		u := l.Usage
		r.usage = r.usage.Add(run.Usage{Input: max(0, u.Input-u.Cached), CacheRead: u.Cached, CacheWrite: u.Written, Output: u.Output})
	default:
		r.lines--
	}
}

func (s *codexStream) item(i codexItem, r *report) {
	switch i.Type {
	case "agent_message":
		r.text(i.Text)
	case "reasoning":
		r.thinking(i.Text)
	case "error": // a warning: a failure is said by an event of its own
	default:
		codexCall(i, r)
		text, failed := i.Output, i.Status == "failed" && i.Exit == nil // a command that has ended has an exit code
		switch {
		case i.Error != nil:
			text, failed = i.Error.Message, true
		case i.Result != nil:
			text = claudeText(i.Result.Content)
		case i.Type == "file_change":
			text = i.Status
		}
		r.result(i.ID, text, failed, i.Exit)
	}
}

// codexCall reports the call that an item is.
func codexCall(i codexItem, r *report) {
	object := func(v any) json.RawMessage {
		b, _ := json.Marshal(v) // of strings and of what was JSON
		return b
	}
	switch i.Type {
	case "command_execution":
		r.call(i.ID, "shell", false, object(map[string]string{"command": i.Command}))
	case "mcp_tool_call":
		r.call(i.ID, i.Server+"."+i.Tool, i.Server == ServerName, i.Arguments)
	case "file_change":
		r.call(i.ID, "edit", false, object(map[string]any{"changes": i.Changes}))
	case "web_search":
		r.call(i.ID, "web_search", false, object(map[string]string{"query": i.Query}))
	}
}

func (s *codexStream) end(r *report) {
	if !r.done && r.fail == nil && s.last != "" {
		reason := codexError(s.last)
		r.failed(kindOfText(reason), reason)
	}
}

// codexError returns the message in the provider's JSON, if an error is that.
func codexError(text string) string {
	var e struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if i := strings.IndexByte(text, '{'); i >= 0 && json.Unmarshal([]byte(text[i:]), &e) == nil && e.Error.Message != "" {
		return strings.TrimSpace(text[:i] + e.Error.Message)
	}
	return text
}
