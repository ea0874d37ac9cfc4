package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"pawl/config"
	"pawl/internal/build"
	"pawl/internal/proc"
	"pawl/mcp"
	"pawl/run"
	"pawl/sandbox"
	"pawl/tool"
)

// Servers returns the MCP servers of the settings. None is started.
func (w *Workspace) Servers() (*mcp.Servers, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.loaded()
	if err != nil {
		return nil, err
	}
	return w.serversOf(s), nil
}

// serversOf returns the servers of the workspace. w.mu is held.
func (w *Workspace) serversOf(s *settings) *mcp.Servers {
	if w.servers != nil {
		return w.servers
	}
	shell := s.shellOptions()
	definitions := slices.Clone(s.Servers)
	for i := range definitions {
		if d := &definitions[i]; d.Command != "" && d.Dir == "" && d.Source != config.ServersFile {
			d.Dir = ownServersDir
		}
	}
	w.servers = mcp.NewServers(definitions, mcp.Options{
		Workspace: w.Dir, Cache: filepath.Join(w.State, "mcp"), Logins: filepath.Join(w.env.StateDir(), "mcp-logins"), Version: build.Version(),
		Getenv:  func(name string) (string, bool) { return w.env(name) },
		Environ: func() []string { return shell.Passed(os.Environ()) },
		Confine: func(d mcp.Definition, workspace string, c proc.Command) (proc.Command, *sandbox.Session, error) {
			if d.Unconfined {
				return c, nil, nil
			}
			level := run.WithNetwork
			if d.Closed {
				level = run.Confined
			}
			w.mu.Lock()
			err := w.confine(s)
			w.mu.Unlock()
			if err != nil {
				return c, nil, err
			}
			confined, err := w.confineIn(s, workspace)
			if err == nil && confined == nil {
				err = mayBeUnconfined(d)
			}
			if err != nil {
				return c, nil, err
			}
			rules, _ := s.policy.Rules("") // with an error those that deny hold
			f := fence(rules, workspace)
			if d.Plugin != "" {
				f.Owns = []string{w.Plugins().DataOf(d.Plugin)}
			}
			return confined.Start(c, level, f) // without one the person is told when runs are driven
		},
		Notice:  w.opt.Notice,
		Changed: func() { w.offerServers() },
	})
	return w.servers
}

// mayBeUnconfined says why a server is not started on a machine without a sandbox: trust in a repository is in what
// starts its servers, and the sandbox bounds what they do. A nil error: it is a person's own.
func mayBeUnconfined(d mcp.Definition) error {
	if d.Source != config.ServersFile && d.Plugin == "" {
		return nil
	}
	return errors.New("it is a server of the repository or of a plugin, and no sandbox can be had on this machine (pawl doctor says why)")
}

// ownServersDir is the folder that the servers of a person work in if their definitions name none. In that of
// the run the repository would decide what npx, uvx or python -m start, with the variables of the definition.
const ownServersDir = string(filepath.Separator)

// offerServers offers the tools of the servers to all runs, from their next request on. Tools that
// are left out are told once.
func (w *Workspace) offerServers() {
	w.mu.Lock()
	servers, driver := w.servers, w.worker
	w.mu.Unlock()
	if driver == nil || servers == nil {
		return
	}
	tools, left := servers.Tools()
	for _, sentence := range left {
		if _, told := w.toldOfServers.LoadOrStore(sentence, true); !told {
			w.opt.Notice(sentence)
		}
	}
	driver.SetTools(driver.Tools.With(tools...))
}

// withServed returns a registry that has the tools of the servers too, as far as they are known.
func (w *Workspace) withServed(r *tool.Registry) *tool.Registry {
	servers, err := w.Servers()
	if err != nil { // who opens the workspace to drive runs is told
		return r
	}
	tools, _ := servers.Tools()
	return r.With(tools...)
}

// awaitServers returns when the tools of all MCP servers are known, or it is known that they cannot
// be had, or that they take too long; that of the tool or prompt needed, if any, may take its time. It is an error if one
// cannot be had that a definition requires.
func (w *Workspace) awaitServers(ctx context.Context, needed string) error {
	s, err := w.load()
	if err != nil || len(s.Servers) == 0 {
		return err
	}
	servers, err := w.Servers()
	if err != nil {
		return err
	}
	w.preparing.Lock()
	defer w.preparing.Unlock()
	if !w.prepared {
		if err := servers.Prepare(ctx); err != nil {
			return err
		}
		w.prepared = true
		w.offerServers()
	}
	servers.Need(ctx, needed)
	return nil
}
