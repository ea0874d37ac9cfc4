package external

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/atomicfile"
	"pawl/internal/lazy"
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
	if at := slices.Concat(members["file_path"], members["path"]); at != nil && len(k.nearby) > 0 && (a.Tool == "Read" || k.imports) {
		var file string
		if err := json.Unmarshal(at, &file); err != nil {
			return a, false, fmt.Errorf("the input of %s: %w", use.Tool, err)
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(a.Dir, file)
		}
		if files := k.ReadWith(a.Dir, file); len(files) > 0 {
			members["file_paths"], _ = json.Marshal(files) // of strings
		}
	}
	a.Input, err = json.Marshal(members)
	return a, true, err
}

// maxReadWith bounds the files that are looked at for imports.
const maxReadWith = 1000

// importPattern finds what a file for agents imports.
var importPattern = lazy.Regexp(`@(\S+)`)

// ReadWith returns the files that the program reads by itself with a file or a folder, and does not ask about: those
// for agents which are there, or above it as far as the folder top, if they are links, and what they import. Paths are
// absolute.
func (k Kind) ReadWith(top, file string) (files []string) {
	var found []string
	for dir := filepath.Clean(file); ; dir = filepath.Dir(dir) {
		for _, name := range k.nearby {
			found = append(found, filepath.Join(dir, name))
		}
		if dir == top || dir == filepath.Dir(dir) {
			break
		}
	}
	own := len(found)
	for i := 0; i < len(found); i++ {
		if i-own > maxReadWith {
			return append(files, string(filepath.Separator)) // what is not looked at may lead anywhere
		}
		info, err := os.Lstat(found[i])
		if err != nil {
			continue
		}
		if i >= own || info.Mode()&fs.ModeSymlink != 0 {
			files = append(files, found[i])
		}
		if info, err = os.Stat(found[i]); err != nil || !info.Mode().IsRegular() || !k.imports {
			continue
		}
		content, _ := atomicfile.Read(found[i]) // what cannot be read is not imported from
		for _, m := range importPattern().FindAllSubmatch(content, -1) {
			path := string(m[1])
			if !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(found[i]), path)
			}
			if !slices.Contains(found, path) {
				found = append(found, path)
			}
		}
	}
	return files
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
