package tool

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"pawl/internal/text"
	"pawl/tool/tree"
)

// missing says that a file is not there, and which one may be meant.
func missing(ctx context.Context, env Env, rel string) error {
	dir, name := path.Split(rel)
	dir = path.Clean(dir)
	says := rel + " does not exist."
	var names []string
	if f, err := openFolder(env, dir); err == nil {
		entries, _, err := f.Entries()
		f.Close()
		if err == nil {
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
	} else {
		says = fmt.Sprintf("%s does not exist, and neither does its folder.", rel)
	}
	var meant []string
	for _, n := range text.Similar(name, names, 3) {
		meant = append(meant, path.Join(dir, n))
	}
	if len(meant) == 0 {
		meant = elsewhere(ctx, env, name)
	}
	if len(meant) == 0 {
		return tell("%s Use list or glob to see what there is.", says)
	}
	return tell("%s Did you mean %s?", says, strings.Join(meant, " or "))
}

// elsewhere looks for files of the same name in other folders; it looks at a
// bounded number, for it is only a hint.
func elsewhere(ctx context.Context, env Env, name string) []string {
	left := 5000
	var found []string
	start, err := openFolder(env, ".")
	if err != nil {
		return nil
	}
	defer start.Close()
	_ = tree.Walk(ctx, start, tree.Walking{Hidden: true}, func(_ *tree.Folder, rel string, e fs.DirEntry) error {
		if left--; left < 0 || len(found) == 3 {
			return tree.ErrEnough
		}
		if !e.IsDir() && strings.EqualFold(e.Name(), name) {
			found = append(found, rel)
		}
		return nil
	})
	return found
}
