package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"pawl/internal/text"
	"pawl/run"
	"pawl/tool"
)

// permissionName is the tool with which an external agent asks whether it may use a tool of
// its own.
const permissionName = "permission"

// permissionTool answers Claude Code (--permission-prompt-tool). The rules that decide are
// those for the tool of pawl's that does the same; a command runs outside of pawl's sandbox,
// so it needs what an unconfined one needs.
type permissionTool struct{}

// permissionArgs are the arguments, as observed in Claude Code 2.1.197.
type permissionArgs struct {
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"input,omitempty"`
	ID    string          `json:"tool_use_id,omitempty"`
}

func (permissionTool) Spec() tool.Spec {
	return tool.Spec{Name: permissionName, Unstored: true, Description: "Asks pawl whether a tool may be used. It is for the agent's program, not for the model.",
		Schema: json.RawMessage(`{"type":"object","properties":{"tool_name":{"type":"string"},"input":{"type":"object"},"tool_use_id":{"type":"string"}},"required":["tool_name"]}`)}
}

func (permissionTool) Inspect(env tool.Env, raw json.RawMessage) (tool.Intent, error) {
	var args permissionArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return tool.Intent{}, err
	}
	var in struct {
		Command  string `json:"command"`
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		Path     string `json:"path"`
		URL      string `json:"url"`
	}
	if len(args.Input) > 0 {
		if err := json.Unmarshal(args.Input, &in); err != nil {
			return tool.Intent{}, fmt.Errorf("the input of %s: %v", args.Tool, err)
		}
	}
	paths := func(ps ...string) (given []string) {
		for _, p := range ps {
			if p != "" {
				given = append(given, p)
			}
		}
		return given
	}
	title := func(what string) string { return text.OneLine(strings.TrimSpace(args.Tool+" "+what), 120) }
	env.Sandbox = nil
	switch args.Tool {
	case "Bash":
		b, err := json.Marshal(map[string]string{"command": in.Command})
		if err != nil {
			return tool.Intent{}, err
		}
		intent, err := tool.Shell(tool.ShellOptions{}).Inspect(env, b)
		intent.As, intent.Title, intent.Polls = "shell", title(in.Command), false
		return intent, err
	case "Edit", "MultiEdit", "NotebookEdit":
		return tool.Intent{As: "edit", Class: run.Writes, Paths: paths(in.File, in.Notebook), Title: title(in.File + in.Notebook)}, nil
	case "Write":
		return tool.Intent{As: "write", Class: run.Writes, Paths: paths(in.File), Title: title(in.File)}, nil
	case "Read":
		return tool.Intent{As: "read", Class: run.Reads, Paths: paths(in.File), Title: title(in.File)}, nil
	case "Glob", "Grep", "LS":
		return tool.Intent{As: "search", Class: run.Reads, Paths: paths(in.Path), Title: title(in.Path)}, nil
	case "WebFetch":
		return tool.Intent{As: "fetch", Class: run.Reads, URL: in.URL, Title: title(in.URL)}, nil
	}
	as := permissionName
	if strings.HasPrefix(args.Tool, "mcp__") {
		as = args.Tool
	}
	return tool.Intent{As: as, Class: run.Writes, Title: title("")}, nil
}

// Run is called when the use is allowed.
func (permissionTool) Run(_ context.Context, _ tool.Env, c tool.Call) (tool.Result, error) {
	var args permissionArgs
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tool.Result{}, err
	}
	if len(args.Input) == 0 {
		args.Input = json.RawMessage("{}")
	}
	b, err := json.Marshal(struct {
		Behavior string          `json:"behavior"`
		Input    json.RawMessage `json:"updatedInput"`
	}{"allow", args.Input})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.TextResult(string(b)), nil
}
