package output_test

import (
	"path/filepath"
	"testing"

	"pawl/output"
	"pawl/output/outputtest"
)

func TestAFolderPassesTheSuite(t *testing.T) {
	t.Parallel()
	outputtest.Run(t, func(t *testing.T) (*output.Store, func() *output.Store) {
		dir := filepath.Join(t.TempDir(), "outputs")
		return output.NewStore(dir), func() *output.Store { return output.NewStore(dir) }
	})
}
