package approval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/text"
	"pawl/permission"
	"pawl/run"
	"pawl/view"
)

// maxCompared bounds the file that a change is compared with, in bytes.
const maxCompared = 1 << 20

// before reads a file that a call would change, by the name that the call has for it: that of an external agent's may
// be from another folder, and then it is the only one. A file that does not exist is empty.
func before(r permission.Request, path string) (string, error) {
	i := slices.Index(r.Paths, path)
	if i < 0 && len(r.Paths) == 1 {
		i = 0
	}
	if i < 0 || len(r.Resolved) != len(r.Paths) {
		return "", fmt.Errorf("the call does not change %s", path)
	}
	at := r.Resolved[i]
	if !filepath.IsAbs(at) {
		at = filepath.Join(r.Workspace, at)
	}
	info, err := os.Lstat(at)
	switch {
	case os.IsNotExist(err):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > maxCompared:
		return "", fmt.Errorf("%s is not a file that can be compared", path)
	}
	f, err := os.Open(at)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxCompared))
	return string(content), err
}

// ChangeOf returns what a call of edit, write or memory would change, or that of a tool of an external agent's, uncut, as
// the lines of a diff with the file as it is now; empty: it is not known.
func ChangeOf(c run.Call, r permission.Request) string {
	type edit struct {
		Old, New string
		From     string `json:"old_string"` // external agents name them so
		To       string `json:"new_string"`
		All      bool   `json:"replace_all"`
	}
	var args struct {
		Path, Patch string
		File        string `json:"file_path"`
		Content     *string
		Note        string
		Replaces    string
		Edits       []edit
		edit
	}
	tool, arguments := view.Use(c.Tool, c.Arguments)
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return ""
	}
	if args.edit != (edit{}) {
		args.Edits = append(args.Edits, args.edit)
	}
	path := cmp.Or(args.Path, args.File)
	switch tool = strings.ToLower(tool); {
	case tool == "edit" && args.Patch != "":
		return args.Patch
	case (tool == "edit" || tool == "multiedit") && len(args.Edits) > 0:
		old, err := before(r, path)
		changed, found := old, err == nil
		var all []string // for where they are in the file is not known
		for _, e := range args.Edits {
			from, to := cmp.Or(e.Old, e.From), cmp.Or(e.New, e.To)
			n := strings.Count(changed, from)
			if found = found && from != "" && (n == 1 || n > 1 && e.All); found {
				changed = strings.ReplaceAll(changed, from, to)
			}
			d, _, _ := text.Diff(from, to, 0)
			for line := range strings.SplitSeq(d, "\n") {
				if !strings.HasPrefix(line, "@@ ") {
					all = append(all, line)
				}
			}
		}
		if !found {
			return strings.Join(all, "\n")
		}
		d, _, _ := text.Diff(old, changed, 0)
		return d
	case tool == permission.MemoryTool && args.Note+args.Replaces != "":
		d, _, _ := text.Diff(args.Replaces, args.Note, 0)
		return d
	case tool == "write" && args.Content != nil:
		old, err := before(r, path)
		if err != nil {
			return ""
		}
		d, _, _ := text.Diff(old, *args.Content, 0)
		return d
	}
	return ""
}
