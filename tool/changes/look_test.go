package changes

import (
	"os"
	"path/filepath"
	"testing"

	"pawl/tool/journal"
	"pawl/tool/tree"
)

func TestAFolderThatIsRemovedWhileItIsLookedAtIsNotUnreadable(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := os.Remove(folder); err != nil {
		t.Skip("a folder that is open cannot be removed here")
	}
	l := &look{t: &Tracker{dirs: map[string]*tree.Rules{}}, files: journal.Files{}, outside: map[string]string{}}
	if l.below(dir, nil, "d"); len(l.outside) > 0 {
		t.Errorf("not covered: %v", l.outside)
	}
}
