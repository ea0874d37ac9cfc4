package app

import (
	"context"

	"pawl/tool"
)

// Files returns the files of the workspace that are not ignored, by name, with slashes, at
// most limit of them.
func (w *Workspace) Files(ctx context.Context, limit int) ([]string, error) {
	return tool.Files(ctx, w.Dir, limit)
}
