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
	Err     error  // why it has no path or no version
	Login   string // what [Kind.LoggedIn] says of the model that it uses by itself; empty: it has no path or no version
	// Note is a warning: not logged in, or an untested version; empty if there is none.
	Note string
}

// Programs returns the programs of external agents that there are on this machine, asking
// each for its version and its login status, all at once; none that is in dir, the
// folder that agents work in ("": the current one). env returns variables.
func (r Registry) Programs(env func(name string) string, dir string) []Program {
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
			if x.Path, x.Err = k.Find(env("PATH"), dir); x.Err == nil {
				x.Version, x.Err = k.Version(x.Path, os.Environ())
			}
			if x.Err == nil {
				if x.Login = k.LoggedIn(x.Path, DefaultModel, env); x.Login == LoggedInNo {
					x.Note = (&LoginError{k}).Error()
				} else {
					x.Note = k.Untested(x.Version)
				}
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

// AddressVariable is the variable in which a program in the sandbox gets the address of the tools of its run: it
// can neither open the store nor reach the sockets of the process that drives the run.
const AddressVariable = "PAWL_RUN_ADDRESS"
