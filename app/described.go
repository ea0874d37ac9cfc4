package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/config"
	"pawl/external"
	"pawl/internal/proc"
	"pawl/permission"
	"pawl/run"
	"pawl/sandbox"
)

// confineProgram puts a turn of a described program into a sandbox of its own: it changes the workspace, but
// for mode plan, the further folders dirs and those that its description names. done is to be called after the turn.
func (w *Workspace) confineProgram(s *settings, turn *external.Turn, dirs []string) (done func(), err error) {
	k, plan := turn.Kind, turn.Mode == string(permission.Plan)
	report := sandbox.Probe()
	switch {
	case !report.Confines():
		return nil, config.Errorf("%s works in pawl's sandbox alone, and there is none on this machine: `pawl doctor` says what is missing", k.Title)
	case plan && !report.Abilities.Tree:
		return nil, config.Errorf("%s cannot be kept from changing files on this machine, as mode plan requires: `pawl doctor` says what is missing", k.Title)
	}
	o := w.folderOptions(turn.Workspace, s.sockets)
	o.Folders = dirs
	home := func(path string) string {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			return filepath.Join(w.env.Get("HOME"), rest)
		}
		return path
	}
	for _, path := range k.Writes {
		if err := os.MkdirAll(home(path), 0o700); err != nil {
			return nil, err
		}
		real, err := sandbox.CheckFolder(home(path), turn.Workspace, o)
		if err != nil {
			return nil, config.Errorf("the folders that %s changes: %w", k.Title, err)
		}
		o.Owns = append(o.Owns, real)
	}
	if err := os.MkdirAll(turn.Own(), 0o700); err != nil {
		return nil, err
	}
	o.Owns = append(o.Owns, turn.Own())
	for _, path := range k.Reads {
		o.Reads = append(o.Reads, home(path))
	}
	o.Reads = append(o.Reads, turn.Program, ownProgram())
	if real, err := filepath.EvalSymlinks(turn.Program); err == nil {
		if i := strings.Index(real, "/node_modules/"); i >= 0 { // what it requires is beside it
			o.Reads = append(o.Reads, real[:i]+"/node_modules")
		}
	}
	p, err := sandbox.For(turn.Workspace, o)
	if err == nil && o.Copy {
		err = w.putBack(p)
	}
	if err != nil {
		return nil, config.Errorf("%w", err)
	}
	rules, err := s.policy.Rules(turn.Run)
	if err != nil {
		p.Close()
		return nil, err
	}
	var fence sandbox.Fence
	fence.Hidden, fence.Fixed = rules.Fenced(append([]string{turn.Workspace}, dirs...)...)
	if plan {
		fence.Fixed = append(append(fence.Fixed, turn.Workspace), dirs...)
	}
	turn.Confine = func(c proc.Command) (proc.Command, *sandbox.Session, error) {
		return p.Start(c, run.WithNetwork, fence)
	}
	turn.Server.Hook = nil
	environ := os.Environ()
	turn.Env = slices.DeleteFunc(turn.Env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(environ, v) && !slices.Contains(k.Keys, name) && len(s.shellOptions().Passed([]string{v})) == 0
	})
	return p.Close, nil
}
