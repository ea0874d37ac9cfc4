package policy

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"pawl/internal/inside"
	"pawl/run"
)

// runRules returns the file with the rules of a run. The state folder is that of
// [Options].
func runRules(stateDir string, id run.ID) string {
	return filepath.Join(stateDir, "rules", string(id)+".json")
}

// RemoveRun removes the rules that were stored for a run.
func RemoveRun(stateDir string, id run.ID) error {
	if err := inside.Remove(stateDir, runRules(stateDir, id)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RunsWithRules returns the runs for which rules were stored, by name.
func RunsWithRules(stateDir string) (ids []run.ID, err error) {
	names, err := inside.ReadDir(stateDir, filepath.Join(stateDir, "rules"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, e := range names {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && !strings.HasPrefix(id, ".") {
			ids = append(ids, run.ID(id))
		}
	}
	return ids, err
}
