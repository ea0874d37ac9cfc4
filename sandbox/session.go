package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pawl/internal/helper"
	"pawl/internal/proc"
	"pawl/run"
)

// ErrNone is that this machine has no sandbox; [Probe] says what is missing. A
// command may then run only if it is decided that it runs without one.
var ErrNone = errors.New("no sandbox can be had on this machine (pawl doctor says why)")

// A Session is one command under a policy, from its start to its end. A nil Session is
// a command without a sandbox.
type Session struct {
	policy  *Policy
	level   run.Confinement
	places  places // what there is for the command
	temp    string // a temporary folder of its own, removed at its end; empty: none
	mu      sync.Mutex
	watched []watched
}

// watched is a folder with what is guarded in it.
type watched struct {
	guard *guard
	root  *os.Root
}

// outsideVariables name sockets of the person's session and other doors to the
// outside.
var outsideVariables = []string{
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_HOST", "CONTAINER_HOST", "TMUX", "TMUX_PANE", "STY",
	"VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "TMPDIR", "TMP", "TEMP",
}

// Start puts a command under the policy: it returns the command as it is to be
// started, and the session, which must be left when the command has ended or was not
// started. At the level [run.Unconfined], and without a policy, the command stays
// as it is and the session is nil. It returns [ErrNone] where there is no sandbox.
func (p *Policy) Start(c proc.Command, level run.Confinement) (proc.Command, *Session, error) {
	if p == nil || level == run.Unconfined {
		return c, nil, nil
	}
	report := p.abilities()
	if !report.Confines() || level == run.ReadOnly && !report.EnforcesReadOnly() {
		return c, nil, ErrNone
	}
	s := &Session{policy: p, level: level}
	places := maps.Clone(p.places)
	confine := &helper.Confinement{Network: helper.ClosedNetwork, ReadOnly: level == run.ReadOnly}
	var err error
	switch level {
	case run.ReadOnly: // it changes nothing, so nothing has to be guarded
		p.readOnly(places)
		c.Env = p.readOnlyEnv(c.Env)
	case run.WithNetwork:
		confine.Network = helper.OpenNetwork
		fallthrough
	default:
		err = s.guard(places, report.Abilities.Tree)
	}
	s.places = places
	temp := p.Temp
	switch {
	case err != nil:
	case report.Abilities.Tree:
		confine.Mounts = places.mounts()
		if temp = "/tmp"; level == run.ReadOnly {
			temp = readOnlyTemp
		}
	case report.Abilities.Profile:
		confine.Profile = profile(places, p.protected(), p.Temp, level == run.WithNetwork)
	default:
		if level == run.ReadOnly {
			if temp, err = os.MkdirTemp(p.Temp, "read-"); err != nil {
				break
			}
			s.temp = temp
		}
		var rules landlockRules
		rules, err = places.rules(temp)
		confine.Read, confine.List, confine.Write = rules.read, rules.list, rules.write
	}
	if err != nil {
		s.End()
		return c, nil, err
	}
	c.Confine = confine
	c.Isolation = report.Abilities.Isolation // what was planned for, and no other
	c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(outsideVariables, name)
	})
	c.Env = append(c.Env, "TMPDIR="+temp)
	return c, s, nil
}

// guard remembers what must stay as it is, and adds it to the command's places.
func (s *Session) guard(places places, hold bool) error {
	s.policy.index.refresh()
	byRoot := map[string][]string{}
	for _, path := range s.policy.protected() {
		root := s.policy.rootOf(path)
		rel, err := filepath.Rel(root, path)
		if root == "" || err != nil {
			continue
		}
		byRoot[root] = append(byRoot[root], rel)
	}
	for _, folder := range slices.Sorted(maps.Keys(byRoot)) {
		root, err := os.OpenRoot(folder)
		if err != nil {
			return fmt.Errorf("the sandbox cannot look after %s: %w", folder, err)
		}
		g := guardOf(folder)
		s.watched = append(s.watched, watched{g, root})
		for _, rel := range g.enter(root, byRoot[folder], hold) {
			path := filepath.Join(folder, rel)
			kind := helper.ReadOnly
			if filepath.Base(path) == ".git" {
				if info, err := os.Lstat(path); err == nil && info.IsDir() {
					kind = helper.Writable // to be committed to, and not to be exchanged
				}
			}
			places.put(grant{path: path, source: path, kind: kind, pinned: true})
		}
	}
	return nil
}

// protected returns the paths that must stay as they are now.
func (p *Policy) protected() []string {
	paths := slices.Clone(p.ReadOnly)
	add := func(dir, work string) {
		if dir == "" {
			return
		}
		paths = append(paths, gitPaths(dir)...)
		if hooks := p.git.hooksElsewhere(dir, work); isBelow(hooks, p.Workspace) && hooks != p.Workspace {
			paths = append(paths, hooks)
		}
	}
	add(p.repository, p.Workspace)
	repositories, links := p.index.gitPaths()
	for _, at := range slices.Concat([]string{filepath.Join(p.Workspace, ".git")}, repositories, links) {
		if !isDotGit(filepath.Base(at)) {
			continue
		}
		paths = append(paths, at)
		add(p.git.folder(filepath.Dir(at)), filepath.Dir(at))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// rootOf returns the folder, of those that commands write, that a path is in: the
// workspace, or the repository it is a worktree of. Empty: none, so commands cannot
// change it.
func (p *Policy) rootOf(path string) string {
	for _, folder := range append([]string{p.Workspace}, p.Writable...) {
		if isBelow(path, folder) && path != folder {
			return folder
		}
	}
	return ""
}

// End ends the session: what the command was able to change and must not have is
// put back. It returns what, in sentences for the model and the person. The second
// time it does nothing.
func (s *Session) End() (told []string) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watched {
		told = append(told, w.guard.leave(w.root, s.policy.refused, s.policy.isHarmlessConfig)...)
		w.root.Close()
	}
	s.watched = nil
	if s.temp != "" {
		os.RemoveAll(s.temp)
		s.temp = ""
	}
	return told
}
