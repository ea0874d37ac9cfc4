package external

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pawl/run"
)

// opencode is OpenCode. Flags, variables and events as observed in 1.18.33, 2026-11-22.
type opencode struct{}

func (opencode) hasSystem() bool { return false }

const opencodeConfig = "OPENCODE_CONFIG_CONTENT"

// opencodeTools are its tools.
var opencodeTools = map[string]string{
	"bash": "Bash workdir=cwd", "edit": "Edit filePath=file_path oldString=old_string newString=new_string replaceAll=replace_all", "write": "Write filePath=file_path", "read": "Read filePath=file_path",
	"apply_patch": "Edit patchText=patch", "patch": "Edit patchText=patch", "list": "LS", "glob": "Glob", "grep": "Grep include=glob", "webfetch": "WebFetch",
	"task": "", "todowrite": "", "todoread": "", "skill": "", "invalid": "",
}

// opencodePlugin runs the hook. A command, with the hook in it, is put before it.
//
//go:embed opencode.js
var opencodePlugin string

func (opencode) invoke(t Turn, conversation string, resume bool) (invocation, error) {
	// Its stream has nothing of a server that could not be started, and its log, on standard error,
	// has; see [Kind.unreached].
	args := []string{"run", "--format", "json", "--print-logs", "--log-level", "WARN", "--dir", t.Workspace}
	if resume {
		args = append(args, "--session", conversation)
	}
	if t.Model != DefaultModel {
		args = append(args, "--model", t.Model)
	}
	// A question ends a headless run, so there is none: what asks by default (opencode.ai/docs/permissions, and
	// the agent "build" of 1.18.33) is denied. The plugin that runs the hook allows it, but in mode plan: without
	// the plugin nothing does.
	permission := map[string]any{"edit": "deny", "bash": "deny", "external_directory": "deny", "doom_loop": "deny",
		"read": map[string]any{"*": "allow", "*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"}}
	// Servers of languages and formatters, which a person can turn on, are programs of the folder, as
	// node_modules/.bin/biome and vendor/bin/pint, or obey its files, and run unasked for a file that is written.
	config := map[string]any{"autoupdate": false, "share": "disabled", "permission": permission, "lsp": false, "formatter": false}
	if len(t.Server.Command) > 0 {
		config["mcp"] = map[string]any{ServerName: map[string]any{"type": "local", "enabled": true, "command": t.Server.Command, "environment": t.Server.Env, "timeout": 86400000}}
	}
	var base map[string]any
	if theirs := lookup(t.Env, opencodeConfig); theirs != "" {
		if err := json.Unmarshal([]byte(theirs), &base); err != nil {
			return invocation{}, fmt.Errorf("%s: %w", opencodeConfig, err)
		}
	}
	if len(t.Server.Hook) > 0 {
		command, _ := json.Marshal(t.hookCommand()) // a string
		words, _ := json.Marshal(elsewhere)         // strings
		file, err := t.file("opencode.js", []byte("const command = "+string(command)+", elsewhere = "+string(words)+", relaxes = "+strconv.FormatBool(t.Mode != "plan")+"\n"+opencodePlugin))
		if err != nil {
			return invocation{}, err
		}
		theirs, _ := base["plugin"].([]any)
		config["plugin"] = append([]any{"file://" + file}, theirs...)
	}
	config = merged(base, config)
	b, _ := json.Marshal(config) // of strings and of what was JSON
	return invocation{args: args, env: []string{
		opencodeConfig + "=" + string(b),
		// Not a guard: plugins of the workspace are loaded all the same, see [Kind.Obeys].
		"OPENCODE_DISABLE_PROJECT_CONFIG=1",
		"OPENCODE_DISABLE_AUTOUPDATE=1",
		"OPENCODE_PURE=0", // without the plugin nothing is allowed
	}}, nil
}

// merged returns a with the members of b, which are stronger, at every depth.
func merged(a, b map[string]any) map[string]any {
	if a == nil {
		return b
	}
	for k, v := range b {
		x, isMap := a[k].(map[string]any)
		y, both := v.(map[string]any)
		if isMap && both {
			v = merged(x, y)
		}
		a[k] = v
	}
	return a
}

func (opencode) stream() stream { return &opencodeStream{} }

// opencodeStream has no event at the end of a turn: its last step says how it ended.
type opencodeStream struct{ reason string }

type opencodeLine struct {
	Type    string `json:"type"`
	Session string `json:"sessionID"`
	Part    struct {
		opencodePart
		Reason string `json:"reason"`
		Tokens struct {
			Input     int64 `json:"input"`
			Output    int64 `json:"output"`
			Reasoning int64 `json:"reasoning"`
			Cache     struct {
				Read  int64 `json:"read"`
				Write int64 `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
		Cost float64 `json:"cost"`
	} `json:"part"`
	// of a line of the plugin's: what the session does
	Status struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Next    int64  `json:"next"` // of a retry: when it is, in milliseconds since 1970
	} `json:"status"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
			Status  int    `json:"statusCode"`
		} `json:"data"`
	} `json:"error"`
}

// An opencodePart is what its stream and its database have of a part of a message.
type opencodePart struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"` // the program's own words
	Tool      string `json:"tool"`
	Call      string `json:"callID"`
	State     struct {
		Status string          `json:"status"`
		Input  json.RawMessage `json:"input"`
		Output string          `json:"output"`
		Error  string          `json:"error"`
	} `json:"state"`
}

// use reports the use of a tool, with its result if it has ended.
func (p opencodePart) use(r *report) {
	r.call(p.Call, p.Tool, strings.HasPrefix(p.Tool, ServerName+"_"), p.State.Input)
	switch p.State.Status {
	case "pending", "running":
	case "error":
		r.result(p.Call, p.State.Error, true, nil)
	default:
		r.result(p.Call, p.State.Output, false, nil)
	}
}

func (s *opencodeStream) line(b []byte, r *report) {
	var l opencodeLine
	if json.Unmarshal(b, &l) != nil || l.Session == "" {
		return
	}
	r.lines++
	if l.Type != "pawl_status" { // which may be of a sub-agent
		r.conversation = l.Session
	}
	p := &l.Part
	switch l.Type {
	case "step_start":
		s.reason = ""
	case "text":
		r.text(p.Text)
	case "reasoning":
		r.thinking(p.Text)
	case "tool_use":
		p.use(r)
	case "step_finish":
		s.reason = p.Reason
		u := p.Tokens
		used := run.Usage{Input: u.Input, Output: u.Output + u.Reasoning, CacheRead: u.Cache.Read, CacheWrite: u.Cache.Write}
		if p.Cost > 0 {
			used.Cost, used.Priced = p.Cost, true
		}
		r.usage = r.usage.Add(used)
	case "error":
		reason := l.Error.Data.Message
		if reason == "" {
			reason = l.Error.Name
		}
		r.failed(kindOf(l.Error.Data.Status, kindOfText(reason)), reason)
	case "pawl_status": // its own stream says nothing of waiting, which has no end
		if l.Status.Type == "retry" {
			r.retry(retry{l.Status.Message, time.Until(time.UnixMilli(l.Status.Next))}, time.Now())
		}
		r.lines--
	default:
		r.lines--
	}
}

func (s *opencodeStream) end(r *report) {
	// Without a reason it was cut off, and with that one a call that needs approval stopped it.
	r.done = r.fail == nil && s.reason != "" && s.reason != "tool-calls"
}
