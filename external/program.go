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
// the current one). path is the value of PATH.
func (r Registry) Programs(path, dir string) []Program {
	kinds := r.All()
	all := make([]Program, len(kinds))
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	done := make(chan struct{})
	for i, k := range kinds {
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

// Note says what a person should know of the program before an agent works with it; empty: nothing. env returns variables.
// The program may be started.
func (p Program) Note(env func(name string) string) string {
	switch {
	case p.Path == "" || p.Err != nil:
		return ""
	case p.LoggedOut(p.Path, env):
		return (&LoginError{p.Kind}).Error()
	}
	return p.Untested(p.Version)
}

// TokenVariable is the variable in which the server of a run's tools gets its token.
const TokenVariable = "PAWL_RUN_TOKEN"

// AddressVariable is the variable in which a program in the sandbox gets the address of the tools of its run: it
// can neither open the store nor reach the sockets of the process that drives the run.
const AddressVariable = "PAWL_RUN_ADDRESS"
