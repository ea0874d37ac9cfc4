package external

import (
	"os"
	"path/filepath"
)

// A Program is a program of an external agent on this machine.
type Program struct {
	Kind
	Path    string // empty: it is not installed
	Version string
	Err     error // why it has no path or no version
}

// Programs returns the programs of external agents that there are on this machine, asking
// each for its version, all at once; none that is in dir, the folder that agents work in ("":
// the current one). path is the value of PATH. Whether a person is logged in is not looked at.
func Programs(path, dir string) []Program {
	all := make([]Program, len(Kinds))
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	done := make(chan struct{})
	for i, k := range Kinds {
		go func() {
			defer func() { done <- struct{}{} }()
			x := Program{Kind: k}
			if x.Path, x.Err = k.Find(path, dir); x.Err == nil {
				x.Version, x.Err = k.Version(x.Path, os.Environ())
			}
			all[i] = x
		}()
	}
	for range all {
		<-done
	}
	return all
}

// TokenVariable is the variable in which the server of a run's tools gets its token.
const TokenVariable = "PAWL_RUN_TOKEN"
