package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	return w.serversOf(s)
}

// serversOf returns the servers of the workspace. w.mu is held.
func (w *Workspace) serversOf(s *settings) (*mcp.Servers, error) {
	if w.servers != nil {
		return w.servers, nil
	}
	if err := w.confine(s); err != nil {
		return nil, err
	}
	shell := s.shellOptions()
	w.servers = mcp.NewServers(s.Servers, mcp.Options{
		Workspace: w.Dir, Cache: filepath.Join(w.State, "mcp"), Version: Version(),
		Getenv: func(name string) (string, bool) { return w.env(name) },
		Environ: func() []string {
			withheld := shell.Withheld(os.Environ())
			return slices.DeleteFunc(os.Environ(), func(v string) bool {
				name, _, _ := strings.Cut(v, "=")
				return slices.Contains(withheld, name)
			})
		},
		Confine: func(d mcp.Definition, folder string, c proc.Command) (proc.Command, *sandbox.Session, error) {
			if d.Unconfined || s.confinement == nil { // without one the person was told when the workspace was opened
				return c, nil, nil
			}
			level := run.WithNetwork
			if d.Closed {
				level = run.Confined
			}
			return w.sandboxAt(s, folder).Start(c, level, sandbox.Fence{})
		},
		Notice:  w.opt.Notice,
		Changed: func() { w.offerServers() },
	})
	return w.servers, nil
}

// sandboxAt returns the sandbox of commands in a folder: that of the workspace, or of a copy of it.
func (w *Workspace) sandboxAt(s *settings, folder string) *sandbox.Policy {
	if folder == w.Dir || strings.HasPrefix(folder, w.Dir+string(filepath.Separator)) {
		return s.confinement
	}
	if p, err := w.confineIn(s, folder); err == nil {
		return p
	}
	return s.confinement
}

// offerServers offers the tools of the servers to all runs, from their next request on. Tools that
// are left out are told once.
func (w *Workspace) offerServers() {
	w.mu.Lock()
	servers, driving := w.servers, w.worker != nil
	w.mu.Unlock()
	if !driving || servers == nil {
		return
	}
	tools, left := servers.Tools()
	for _, sentence := range left {
		if _, told := w.toldOfServers.LoadOrStore(sentence, true); !told {
			w.opt.Notice(sentence)
		}
	}
	w.mu.Lock()
	driver := w.worker
	w.mu.Unlock()
	driver.SetTools(withTools(driver.Tools, tools))
}

// withServed returns a registry that has the tools of the servers too, as far as they are known.
func (w *Workspace) withServed(r *tool.Registry) *tool.Registry {
	servers, err := w.Servers()
	if err != nil { // who opens the workspace to drive runs is told
		return r
	}
	tools, _ := servers.Tools()
	return withTools(r, tools)
}

func withTools(r *tool.Registry, more []tool.Tool) *tool.Registry {
	for _, t := range more {
		r = r.With(t)
	}
	return r
}

// awaitServers returns when the tools of all MCP servers are known, or it is known that they cannot
// be had. It is an error if one cannot that a definition requires.
func (w *Workspace) awaitServers(ctx context.Context) error {
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
	if w.prepared {
		return nil
	}
	if err := servers.Prepare(ctx); err != nil {
		return err
	}
	w.prepared = true
	w.offerServers()
	return nil
}
