package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pawl/external"
	"pawl/internal/lazy"
	"pawl/internal/text"
	"pawl/permission"
	"pawl/run"
	"pawl/tool"
)

// permissionName is the tool with which an external agent asks whether it may use a tool of
// its own.
const permissionName = "permission"

// permissionTool answers whether a tool may be used ([external.Asked]): Claude Code calls it
// (--permission-prompt-tool), and for the other programs their hook does. The rules that decide are
// those for the tool of pawl's that does the same; a command runs outside of pawl's sandbox,
// so it needs what an unconfined one needs.
type permissionTool struct{}

func (permissionTool) Spec() tool.Spec {
	return tool.Spec{Name: permissionName, Unstored: true, Description: "Asks pawl whether a tool may be used. It is for the agent's program, not for the model.",
		Schema: json.RawMessage(`{"type":"object","properties":{"tool_name":{"type":"string"},"input":{"type":"object"},"tool_use_id":{"type":"string"},"cwd":{"type":"string"}},"required":["tool_name"]}`)}
}

func (permissionTool) Inspect(env tool.Env, raw json.RawMessage) (tool.Intent, error) {
	var args external.Asked
	if err := json.Unmarshal(raw, &args); err != nil {
		return tool.Intent{}, err
	}
	in, err := inputOf(args)
	if err != nil {
		return tool.Intent{}, err
	}
	if args.Dir == "" {
		args.Dir = env.Workspace
	} else if env.Session, err = sessionIn(env.Workspace, args.Dir); err != nil {
		return tool.Intent{}, err
	}
	paths := func(ps ...string) (given []string) {
		for _, p := range ps {
			switch {
			case p == "":
			case args.Dir == env.Workspace || filepath.IsAbs(p):
				given = append(given, p)
			default:
				given = append(given, filepath.Join(args.Dir, p))
			}
		}
		return given
	}
	title := func(what string) string { return text.OneLine(strings.TrimSpace(args.Tool+" "+what), 120) }
	env.Sandbox = nil
	files := paths(append(in.Files, in.File, in.Notebook)...)
	switch args.Tool {
	case "Edit", "MultiEdit", "NotebookEdit", "Write", "Read":
		if len(files) == 0 {
			return tool.Intent{}, fmt.Errorf("the input of %s names no file", args.Tool)
		}
	}
	switch args.Tool {
	case "Bash":
		b, err := json.Marshal(map[string]string{"command": in.Command})
		if err != nil {
			return tool.Intent{}, err
		}
		intent, err := tool.Shell(tool.ShellOptions{}).Inspect(env, b)
		intent.As, intent.Title, intent.Polls, intent.Dir = "shell", title(in.Command), false, env.Session.ShellDir()
		if in.Unconfined {
			intent.Sandbox, intent.Title = run.Unconfined, title("outside of its sandbox: "+in.Command)
		}
		return intent, err
	case "Edit", "MultiEdit", "NotebookEdit":
		return tool.Intent{As: "edit", Class: run.Writes, Paths: files, Title: title(cmp.Or(in.File, in.Notebook, strings.Join(in.Files, " ")))}, nil
	case "Write":
		return tool.Intent{As: "write", Class: run.Writes, Paths: files, Title: title(in.File)}, nil
	case "Read":
		return tool.Intent{As: "read", Class: run.Reads, Paths: files, Title: title(in.File)}, nil
	case "Glob", "Grep", "LS":
		where := append(paths(cmp.Or(in.Path, ".")), paths(in.Files...)...)
		switch args.Tool {
		case "Glob":
			where = append(where, leadsTo(in.Pattern)...)
		case "Grep": // pawl's own search passes over these files
			var c permission.Classification
			if plainGlob().MatchString(in.Glob) {
				c.Only = []string{in.Glob}
			}
			for _, dir := range where {
				if !filepath.IsAbs(dir) {
					dir = filepath.Join(args.Dir, dir)
				}
				where = append(where, tool.SecretsBelow(env, dir, c)...)
			}
		}
		return tool.Intent{As: "search", Class: run.Reads, Paths: where, Title: title(in.Path + " " + in.Pattern)}, nil
	case "WebFetch":
		return tool.Intent{As: "fetch", Class: run.Reads, URL: in.URL, Title: title(in.URL)}, nil
	}
	as := permissionName
	if permission.IsServerTool(args.Tool) {
		as = args.Tool
	}
	return tool.Intent{As: as, Class: run.Writes, Title: title("")}, nil
}

// permissionInput is what the input of a tool says that rules decide on.
type permissionInput struct {
	Command string `json:"command"`
	File    string `json:"file_path"`
	// Files are what a patch changes.
	Files    []string `json:"file_paths"`
	Notebook string   `json:"notebook_path"`
	Path     string   `json:"path"`
	Pattern  string   `json:"pattern"`
	// Glob is for the names of the files that are searched.
	Glob string `json:"glob"`
	URL  string `json:"url"`
	// Unconfined asks for a command to run outside of the sandbox that the agent's program
	// may have of its own: it needs a rule that grants as much, or a person.
	Unconfined bool `json:"dangerouslyDisableSandbox"`
}

// plainGlob matches the patterns whose meaning all programs agree on.
var plainGlob = lazy.Regexp(`^\*\.\w+$`)

// sessionIn returns a session whose shell is in a folder, given as an absolute path.
func sessionIn(workspace, dir string) (*tool.Session, error) {
	rel, err := filepath.Rel(workspace, dir)
	if err != nil || !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("the folder %q is not an absolute path", dir)
	}
	return tool.NewSession(workspace, run.ToolState{Dir: filepath.ToSlash(rel)}), nil
}

// inputOf returns what the input of a tool says. The program gets the input back as it is and
// takes its members by their exact names, so one of another spelling, or one that occurs
// twice, is refused: it must not be read differently here.
func inputOf(args external.Asked) (in permissionInput, err error) {
	if len(args.Input) == 0 {
		return in, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(args.Input))
	if _, err := d.ReadValue(); err != nil {
		return in, fmt.Errorf("the input of %s: %w", args.Tool, err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(args.Input, &members); err != nil {
		return in, fmt.Errorf("the input of %s: %w", args.Tool, err)
	}
	for name := range members {
		for _, known := range []string{"command", "file_path", "file_paths", "notebook_path", "path", "pattern", "glob", "url", "dangerouslyDisableSandbox"} {
			if name != known && strings.EqualFold(name, known) {
				return in, fmt.Errorf("the input of %s has %q: leave it out, the name is %s", args.Tool, name, known)
			}
		}
	}
	return in, json.Unmarshal(args.Input, &in)
}

// leadsTo returns the folder that a pattern of files begins in, if it leads out of the folder
// that is searched: of an absolute one what stands before its first special character, of one
// with .. or with alternatives that are absolute the root.
func leadsTo(pattern string) []string {
	for _, out := range []string{"..", "{/", ",/"} {
		if strings.Contains(pattern, out) {
			return []string{"/"}
		}
	}
	if !path.IsAbs(pattern) {
		return nil
	}
	if i := strings.IndexAny(pattern, "*?[{"); i >= 0 {
		pattern = pattern[:strings.LastIndexByte(pattern[:i], '/')+1]
	}
	return []string{path.Clean(pattern)}
}

// Run is called when the use is allowed.
func (permissionTool) Run(_ context.Context, _ tool.Env, c tool.Call) (tool.Result, error) {
	var args external.Asked
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
