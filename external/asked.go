package external

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// An Asked is the use of a tool of a program's own, as its hook asks about it. The tool and the members
// of its input have the names that Claude Code has for the same, so that all are judged alike.
type Asked struct {
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"input,omitempty"`
	ID    string          `json:"tool_use_id,omitempty"` // of the use; empty: the program gives none
	// Dir is the folder that the agent is in, absolute; empty: the workspace.
	Dir string `json:"cwd,omitempty"`
}

// Asked returns what a hook asks about; input is in the form that all programs have for it. ok is
// false where there is nothing to decide: for a tool of pawl's, which the run decides on as a call
// of its own, and one that by itself does nothing, such as one that starts a sub-agent, whose tools
// are asked about in turn.
func (k Kind) Asked(input []byte) (a Asked, ok bool, err error) {
	var use struct {
		Asked
		Input json.RawMessage `json:"tool_input"`
		MCP   *struct {
			Server string `json:"server_name"`
			Tool   string `json:"tool_name"`
		} `json:"mcp_context"`
	}
	if err := json.Unmarshal(input, &use); err != nil || use.Tool == "" {
		return a, false, errors.New("the input of the hook names no tool_name")
	}
	a = use.Asked
	a.Input = use.Input
	if use.MCP != nil && use.MCP.Server != "" && use.MCP.Server != ServerName {
		a.Tool = "mcp__" + use.MCP.Server + "__" + use.MCP.Tool
		return a, true, nil
	}
	if strings.HasPrefix(a.Tool, k.prefix) {
		return a, false, nil
	}
	as, known := k.tools[a.Tool]
	if !known {
		return a, true, nil
	}
	name, renamed, _ := strings.Cut(as, " ")
	if name == "" {
		return a, false, nil
	}
	members := map[string]json.RawMessage{}
	if len(a.Input) > 0 {
		if err := json.Unmarshal(a.Input, &members); err != nil {
			return a, false, fmt.Errorf("the input of %s: %w", a.Tool, err)
		}
	}
	a.Tool = name
	for pair := range strings.FieldsSeq(renamed) {
		theirs, ours, _ := strings.Cut(pair, "=")
		value, given := members[theirs]
		delete(members, theirs)
		delete(members, ours) // the program takes it by its own name alone
		switch {
		case !given:
			continue
		case ours == "patch":
			members["file_paths"], err = patched(value)
		case ours == "url":
			value, err = address(value)
		case ours == "cwd":
			var dir string
			err = json.Unmarshal(value, &dir)
			if value = nil; dir != "" && !filepath.IsAbs(dir) {
				dir = filepath.Join(a.Dir, dir)
			}
			a.Dir = cmp.Or(dir, a.Dir)
		}
		if err != nil {
			return a, false, fmt.Errorf("the input of %s: %w", use.Tool, err)
		}
		if value != nil {
			members[ours] = value
		}
	}
	a.Input, err = json.Marshal(members)
	return a, true, err
}

// patched returns the files that a patch in the form of Codex's changes, as JSON. A line of its content
// that looks like one of its heads counts as such: more is asked about, never less.
func patched(patch json.RawMessage) (json.RawMessage, error) {
	var text string
	if err := json.Unmarshal(patch, &text); err != nil {
		return nil, err
	}
	var files []string
	for line := range strings.Lines(text) {
		for _, head := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
			if file, ok := strings.CutPrefix(strings.TrimSpace(line), head); ok {
				files = append(files, strings.TrimSpace(file))
			}
		}
	}
	return json.Marshal(files)
}

// address returns the one address that a text names, as JSON.
func address(given json.RawMessage) (json.RawMessage, error) {
	var text string
	if err := json.Unmarshal(given, &text); err != nil {
		return nil, err
	}
	var found []string
	for word := range strings.FieldsSeq(text) {
		if strings.Contains(word, "://") {
			found = append(found, word)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("it names %d addresses: name one in each call", len(found))
	}
	return json.Marshal(found[0])
}
