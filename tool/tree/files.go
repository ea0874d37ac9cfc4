package tree

import (
	"context"
	"errors"
	"io/fs"
)

// Files returns the files of a workspace that are not ignored, by name, with slashes, at most
// limit of them.
func Files(ctx context.Context, workspace string, limit int) ([]string, error) {
	start, err := Open(workspace, ".", ".")
	if err != nil {
		return nil, err
	}
	defer start.Close()
	var names []string
	err = Walk(ctx, start, Walking{}, func(_ *Folder, rel string, e fs.DirEntry) error {
		if e.Type().IsRegular() {
			names = append(names, rel)
		}
		if len(names) >= limit {
			return ErrEnough
		}
		return nil
	})
	if errors.Is(err, ErrEnough) {
		err = nil
	}
	return names, err
}
