package app

import (
	"os"

	"pawl/config"
	"pawl/permission"
	"pawl/permission/filenames"
	"pawl/sandbox"
	"pawl/store/socket"
)

// A confining is what was found out about how the commands of runs are confined.
type confining struct {
	sockets string          // the folder of pawl's own; empty: there is none
	policy  *sandbox.Policy // nil: nothing confines them
	err     error
}

// findConfining finds that out. What the machine has is tried beside what the workspace needs.
func (w *Workspace) findConfining() (c confining) {
	go sandbox.Probe()
	var err error
	// Without a socket others poll the database.
	if c.sockets, err = socket.Dir(); err != nil {
		w.logger().Warn("no folder for sockets", "error", err)
	}
	p, err := sandbox.For(w.Dir, w.sandboxOptions(c.sockets))
	switch {
	case !sandbox.Probe().Confines():
		p.Close()
	case err != nil:
		c.err = config.Errorf("%w", err)
	default:
		c.policy = p
	}
	return c
}

// confine sets what confines the commands of runs: nothing where nothing can, and the rules
// are stricter then. w.mu is held.
func (w *Workspace) confine(s *settings) error {
	if s.confinement != nil {
		return nil
	}
	find := w.findConfining
	if w.sandboxed != nil {
		find, w.sandboxed = w.sandboxed, nil // after an error it is looked again
	}
	c := find()
	s.sockets, s.confinement = c.sockets, c.policy
	return c.err
}

// putBack undoes what commands have changed whose pawl was killed, and says what.
func (w *Workspace) putBack(p *sandbox.Policy) error {
	undone, err := p.Recover()
	for _, u := range undone {
		w.opt.Notice(u)
	}
	return err
}

// Recover undoes what commands have changed in the workspace whose pawl was killed. It
// comes before the workspace's own settings and rules are read: those that such a command
// has left must neither count, nor be trusted, nor keep a run from starting.
func (w *Workspace) Recover() error {
	if !sandbox.MayHaveLeft(w.env.StateDir(), w.Dir) || !sandbox.Probe().Confines() {
		return nil
	}
	sockets, _ := socket.Dir() // without one there is nothing to keep from commands
	p, err := sandbox.For(w.Dir, w.sandboxOptions(sockets))
	if err != nil {
		return nil // no command has run confined here; a run says why
	}
	return w.putBack(p)
}

// sandboxOptions returns what the sandbox of every workspace is made from; sockets is the
// folder of pawl's own.
func (w *Workspace) sandboxOptions(sockets string) sandbox.Options {
	return sandbox.Options{StateDir: w.env.StateDir(), RuntimeDir: sockets, ConfigDir: w.env.UserDir(), Reads: append(w.skillDirs(), w.pluginData()...), Getenv: w.env.Get,
		IsSecret: func(path string) bool { return filenames.Secret(path) != "" },
		IsObeyed: func(path string) bool { return filenames.Obeyed(path) != "" }}
}

// mayBypass refuses mode bypass where one wrong command has the whole machine: as root,
// with nothing that confines commands.
func mayBypass(mode permission.Mode, root bool, confinement *sandbox.Policy) error {
	if mode != permission.Bypass || !root || confinement != nil {
		return nil
	}
	return config.Errorf("mode bypass as root and without a sandbox: every command would have access to the whole machine; run as another user, or set PAWL_BYPASS_AS_ROOT=1 if this machine may be lost")
}

// asRoot reports whether commands run as root, on a machine that was not said to be one
// to lose.
func (w *Workspace) asRoot() bool {
	return os.Geteuid() == 0 && w.env.Get("PAWL_BYPASS_AS_ROOT") != "1"
}
