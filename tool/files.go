package tool

import (
	"context"
	"errors"
	"io/fs"
)

// Files returns the files of a workspace that are not ignored, by name, with slashes, at most
// limit of them.
func Files(ctx context.Context, workspace string, limit int) ([]string, error) {
	start, err := openFolder(Env{Workspace: workspace}, ".")
	if err != nil {
		return nil, err
	}
	defer start.close()
	var names []string
	err = walk(ctx, start, walking{}, func(_ *folder, rel string, e fs.DirEntry) error {
		if e.Type().IsRegular() {
			names = append(names, rel)
		}
		if len(names) >= limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return names, err
}
