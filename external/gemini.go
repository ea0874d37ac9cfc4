package external

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pawl/internal/atomicfile"
	"pawl/internal/jsonc"
	"pawl/internal/lazy"
	"pawl/run"
)

// gemini is Gemini CLI. Flags, variables and events as observed in 0.61.0, 2026-11-22.
type gemini struct{}

func (gemini) hasSystem() bool { return false }

// geminiTools are its tools.
var geminiTools = map[string]string{
	"run_shell_command": "Bash dir_path=cwd", "write_file": "Write", "replace": "Edit", "read_file": "Read", "list_directory": "LS dir_path=path",
	"glob": "Glob dir_path=path", "grep_search": "Grep dir_path=path include_pattern=glob", "web_fetch": "WebFetch prompt=url",
	"update_topic": "", "write_todos": "", "invoke_agent": "", "activate_skill": "", "enter_plan_mode": "", "exit_plan_mode": "", "complete_task": "",
	"list_background_processes": "", "read_background_output": "",
}

// geminiMention is what makes it read the files whose name has what stands after it.
var geminiMention = lazy.Regexp(`()@`)

// geminiPlan are rules of its plan mode beside its own, which deny the tools of all servers and allow the tool that ends it.
const geminiPlan = `[[rule]]
toolName = "*"
mcpName = "` + ServerName + `"
decision = "allow"
priority = 900

[[rule]]
toolName = "exit_plan_mode"
decision = "deny"
priority = 900
`

func (gemini) invoke(t Turn, conversation string, resume bool) (invocation, error) {
	mode := "default" // in which it has no tool that runs commands or edits without a person's word
	switch {
	case t.Mode == "plan":
		mode = "plan"
	case t.Mode == "bypass" || len(t.Server.Hook) > 0: // the hook decides
		mode = "yolo"
	}
	// The prompt is on standard input.
	args := []string{"-o", "stream-json", "--approval-mode", mode}
	if resume {
		args = append(args, "--resume", conversation)
	} else {
		args = append(args, "--session-id", conversation)
	}
	if t.Model != DefaultModel {
		args = append(args, "-m", t.Model)
	}
	env := []string{
		"GEMINI_CLI_NO_RELAUNCH=true", // a relaunched child would outlive the stop of its parent
		// It works only where the folder's own settings count: servers, hooks, commands that discover tools. So it
		// is not started where there are some that the person has not trusted, see [Kind.Obeys].
		"GEMINI_CLI_TRUST_WORKSPACE=true",
	}
	if len(t.Server.Command) > 0 {
		home, err := t.geminiHome()
		if err != nil {
			return invocation{}, err
		}
		env = append(env, geminiHome+"="+home)
		// It says only in its log which server could not be started. One that the person has asked for stays theirs.
		if lookup(t.Env, geminiLog) == "" {
			log := filepath.Join(t.folder(), "gemini.log")
			return invocation{args: args, env: append(env, geminiLog+"="+log), log: log}, nil
		}
	}
	return invocation{args: args, env: env}, nil
}

// geminiRetries is what it prints to standard error before it makes a request again: its stream has nothing of that
// (0.61.0, 2026-11-29).
var geminiRetries = lazy.Regexp(`Attempt [0-9]+ failed(?:: ((?s:.*?))\.? Retrying after ([0-9]+)ms\.\.\.| with ([^\n]*?)\. Retrying with backoff\.\.\.([^\n]*)\n)`)

// geminiRetry returns the first of these in b, and where it ends; 0: there is none.
func geminiRetry(b []byte) (retry, int) {
	m := geminiRetries().FindSubmatchIndex(b)
	switch {
	case m == nil:
		return retry{}, 0
	case m[2] >= 0:
		return retry{string(b[m[2]:m[3]]), duration(b[m[4]:m[5]], "ms")}, m[1]
	}
	reason := string(b[m[6]:m[7]])
	if _, text, found := strings.Cut(string(b[m[8]:m[9]]), ": "); found {
		reason += ": " + codexError(text)
	}
	return retry{reason: reason}, m[1]
}

const geminiLog = "GEMINI_DEBUG_LOG_FILE"

const geminiHome = "GEMINI_CLI_HOME"

// geminiHome makes the home that the program gets: links to all that is in the person's own
// .gemini, and a copy of its settings with the server of pawl's tools. It has no flag for a
// server, and reads system settings that a variable names only if they are root's. The home
// stays with the run, because what is new in it, such as conversations, may be there.
func (t Turn) geminiHome() (string, error) {
	theirs := lookup(t.Env, geminiHome)
	if theirs == "" {
		theirs = lookup(t.Env, "HOME")
	}
	theirs = filepath.Join(theirs, ".gemini")
	home := filepath.Join(t.folder(), "gemini")
	dir := filepath.Join(home, ".gemini")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	// A person can take up a conversation in the program itself if it is in their home: where this folder cannot be made, it
	// is in the home of the run.
	_ = os.MkdirAll(filepath.Join(theirs, "tmp"), 0o700)
	entries, err := os.ReadDir(theirs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	settings := map[string]any{}
	for _, e := range entries {
		if e.Name() == "settings.json" {
			b, err := atomicfile.Read(filepath.Join(theirs, e.Name()))
			if err == nil {
				err = json.Unmarshal(jsonc.Strict(b), &settings)
			}
			if err != nil {
				return "", fmt.Errorf("the settings of Gemini CLI: %w", err)
			}
			continue
		}
		if err := os.Symlink(filepath.Join(theirs, e.Name()), filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	theirServers, _ := settings["mcpServers"].(map[string]any)
	servers := moved(merged(geminiExtensions(filepath.Join(theirs, "extensions")), theirServers))
	server := mcpServer{Command: t.Server.Command[0], Args: t.Server.Command[1:], Env: t.Server.Env, Trust: true, Timeout: 86400000}
	servers[ServerName] = server
	ours := map[string]any{"mcpServers": servers, "advanced": map[string]any{"ignoreLocalEnv": true}}
	// Its own plan mode ends with a question at a terminal, so it is off but in mode plan, where it gets pawl's tools.
	if t.Mode != "plan" {
		ours["general"] = map[string]any{"plan": map[string]any{"enabled": false}}
	} else {
		file, err := t.file("plan.toml", []byte(geminiPlan))
		if err != nil {
			return "", err
		}
		policies, _ := settings["policyPaths"].([]any) // which are in the place of those in its home
		if len(policies) == 0 {
			policies = []any{filepath.Join(theirs, "policies")}
		}
		ours["policyPaths"] = append(policies, file)
	}
	if len(t.Server.Hook) > 0 {
		var before []any
		if hooks, ok := settings["hooks"].(map[string]any); ok {
			before, _ = hooks["BeforeTool"].([]any)
		}
		ours["hooksConfig"] = map[string]any{"enabled": true}
		ours["hooks"] = map[string]any{"BeforeTool": append([]any{t.hooks(1000)}, before...)}
	}
	b, _ := json.Marshal(merged(settings, ours)) // of strings and of what was JSON
	return home, os.WriteFile(filepath.Join(dir, "settings.json"), b, 0o600)
}

func (gemini) stream() stream { return &geminiStream{} }

type geminiStream struct{}

type geminiLine struct {
	Type       string          `json:"type"`
	Session    string          `json:"session_id"`
	Model      string          `json:"model"`
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	Delta      bool            `json:"delta"`
	Tool       string          `json:"tool_name"`
	ID         string          `json:"tool_id"`
	Parameters json.RawMessage `json:"parameters"`
	Status     string          `json:"status"`
	Output     string          `json:"output"`
	Severity   string          `json:"severity"`
	Message    string          `json:"message"`
	Error      *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Cached int64 `json:"cached"`
	} `json:"stats"`
}

func (s *geminiStream) line(b []byte, r *report) {
	var l geminiLine
	if json.Unmarshal(b, &l) != nil {
		return
	}
	r.lines++
	switch l.Type {
	case "init":
		r.conversation, r.model = l.Session, l.Model
	case "message":
		switch {
		case l.Role != "assistant":
		case l.Delta:
			r.delta(l.Content)
		default:
			r.text(l.Content)
		}
	case "tool_use":
		r.call(l.ID, l.Tool, strings.HasPrefix(l.Tool, "mcp_"+ServerName+"_"), l.Parameters)
	case "tool_result":
		text := l.Output
		if text == "" && l.Error != nil {
			text = l.Error.Message
		}
		r.result(l.ID, text, l.Status == "error", nil)
	case "error":
		if l.Severity != "warning" && l.Message != "" {
			r.failed(kindOfText(l.Message), l.Message)
		}
	case "result":
		r.done = true
		u := l.Stats
		r.usage = r.usage.Add(run.Usage{Input: max(0, u.Input-u.Cached), CacheRead: u.Cached, Output: u.Output})
		if l.Status == "success" {
			r.fail = nil
			return
		}
		reason := "the turn ended " + l.Status
		if l.Error != nil && l.Error.Message != "" {
			reason = codexError(l.Error.Message)
		} else if r.fail != nil {
			reason = r.fail.Reason
		}
		r.failed(kindOfText(reason), reason)
	default:
		r.lines--
	}
}

func (s *geminiStream) end(*report) {}
