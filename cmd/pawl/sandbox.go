package main

import (
	"fmt"
	"path/filepath"

	"pawl/sandbox"
)

// sandbox returns what confines the commands of runs in a place; nil where nothing
// can: the rules are stricter then, and the person is told.
func (a *app) sandbox(p place, sockets string) (*sandbox.Policy, error) {
	if !sandbox.Probe().Confines() {
		fmt.Fprintln(a.stderr, "pawl: no sandbox can be had here: commands have your own authority, and more of them ask (`pawl doctor` says why)")
		return nil, nil
	}
	return sandbox.For(p.workspace, a.stateDir(), sockets, func(name string) string {
		v, _ := a.env(name)
		return v
	})
}

// own returns pawl's own folders and files, where no call writes.
func (a *app) own(p place) []string {
	var own []string
	for _, path := range []string{a.stateDir(), p.state, filepath.Dir(a.userFile())} {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			own = append(own, resolved)
		} else if abs, err := filepath.Abs(path); err == nil {
			own = append(own, abs) // not there yet
		}
	}
	return own
}
