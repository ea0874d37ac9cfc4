package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net"
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
	guard   *guard              // nil: the command can change nothing
	mounted map[string]fileStat // what the command has in its file tree, unchangeable
	places  places              // what there is for the command
	tree    *tree               // the file tree it runs in; nil: it has none of its own
	network net.Listener        // where the command asks for its network; nil: it has none by host
	ending  func() []string     // see [Session.AtEnd]
	hosts   []string            // see [Session.Suggest]
	find    func(printed string) []string
	temp    string // a temporary folder of its own, removed at its end; empty: none

	mu     sync.Mutex
	stop   func(reason string)
	reason string // why the command is to be stopped; empty: it is not
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
func (p *Policy) Start(c proc.Command, level run.Confinement, fence Fence) (proc.Command, *Session, error) {
	if p == nil || level == run.Unconfined {
		return c, nil, nil
	}
	report := p.abilities()
	if level.Hosts() != nil && !p.ByHost() {
		return c, nil, errors.New("no sandbox here bounds the network of a command by the names of hosts (pawl doctor says what is missing)")
	}
	if !report.Confines() || level == run.ReadOnly && !report.EnforcesReadOnly() || isContained(level) && !p.Contains() {
		return c, nil, ErrNone
	}
	fence.Repository = fence.Repository && level == run.Inside && p.runsNoOthers() // else what git runs could change it
	s := &Session{policy: p, level: level}
	places := maps.Clone(p.places())
	if level == run.Confined || level == run.WithNetwork {
		for _, folder := range fence.Owns {
			if real, err := filepath.EvalSymlinks(folder); err == nil {
				places[real] = grant{path: real, source: real, kind: helper.Writable, pinned: true}
			}
		}
	}
	confine := confinementAt(level)
	var err error
	if isContained(level) {
		if err := p.contain(places, level, fence.Repository); err != nil {
			return c, nil, err
		}
	}
	switch level { // what changes nothing need not be guarded
	case run.ReadOnly:
		p.readOnly(places)
		c.Env = p.readOnlyEnv(c.Env)
	case run.Trial:
	default:
		s.guard = guardOf(p)
		mounts := places
		if !report.Abilities.Tree {
			mounts = nil
		}
		err = s.guard.begin(s, mounts)
		c.Beat = s.guard.beats()
	}
	kind := treeKind{level: level, owns: strings.Join(fence.Owns, "\x00"), repository: fence.Repository && level == run.Inside}
	if report.Abilities.Tree {
		kind.git = p.fence(places, fence, level)
	} else if level == run.ReadOnly {
		p.fence(places, Fence{}, level)
	}
	s.places = places
	temp := p.Temp
	switch {
	case err != nil:
	case report.Abilities.Tree:
		if s.tree, err = p.trees.enter(p, kind, places); err == nil && level.Hosts() != nil {
			s.network, err = s.tree.resident.Listen()
		}
		switch temp = "/tmp"; {
		case level == run.ReadOnly:
			temp = p.readOnlyTemp()
		case !isContained(level) && p.makeAllowedTemp() == nil:
			temp += "/" + allowedTemp
		}
	case report.Abilities.Profile:
		confine.Profile = profile(places, p.guarded(), p.Temp, level == run.WithNetwork)
	default:
		if level == run.ReadOnly {
			if temp, err = os.MkdirTemp(p.Temp, "read-"); err != nil {
				break
			}
			s.temp = temp
		}
		for variable, folder := range p.ownCaches(places) {
			c.Env = append(slices.DeleteFunc(slices.Clone(c.Env), func(v string) bool { return strings.HasPrefix(v, variable+"=") }), variable+"="+folder)
		}
		var rules landlockRules
		rules, err = places.rules(temp)
		confine.Read, confine.List, confine.Write = rules.read, rules.list, rules.write
	}
	if err != nil {
		s.End()
		return c, nil, err
	}
	if s.tree != nil {
		c.Resident = s.tree.resident
	} else {
		c.Confine = confine
	}
	c.Isolation = report.Abilities.Isolation // what was planned for, and no other
	c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(outsideVariables, name)
	})
	c.Env = append(c.Env, "TMPDIR="+temp)
	if level != run.WithNetwork && level.Hosts() == nil {
		c.Env = append(c.Env, noRetries...)
	}
	return c, s, nil
}

// noRetries keep package managers from asking for a minute what cannot be reached, where there is no network. From
// npm-config(7) of npm 11, "pip help install" of pip 25, the Cargo book of 1.95 and docs.astral.sh/uv, read 2026-11-29.
var noRetries = []string{"npm_config_fetch_retries=0", "PIP_RETRIES=0", "CARGO_NET_RETRY=0", "UV_HTTP_RETRIES=0"}

// confinementAt returns how commands are confined at a level, without what they may reach.
func confinementAt(level run.Confinement) *helper.Confinement {
	c := &helper.Confinement{Network: helper.ClosedNetwork, ReadOnly: level == run.ReadOnly}
	if level == run.WithNetwork {
		c.Network = helper.OpenNetwork
	}
	return c
}

// Prepare builds, in the background, the file tree for commands at a level, so that the first
// one of a run has less to wait for. It does nothing where commands have no file tree of
// their own. [Policy.Start] looks whether the tree is what its command is to have, as it does
// for each command. When ctx is done, the run has ended: the tree is taken away unless a command
// was started in it, or another run may yet start one.
func (p *Policy) Prepare(ctx context.Context, level run.Confinement, fence Fence) {
	if p != nil && level != run.Unconfined && p.abilities().Abilities.Tree && (level != run.ReadOnly || p.EnforcesReadOnly()) {
		go p.prepare(ctx, level, fence)
	}
}

func (p *Policy) prepare(ctx context.Context, level run.Confinement, fence Fence) {
	if !p.index.begin(ctx) {
		return
	}
	places := maps.Clone(p.places())
	if isContained(level) && p.contain(places, level, false) != nil {
		return
	}
	if level == run.ReadOnly {
		p.readOnly(places)
	} else if level != run.Trial {
		guardOf(p).foresee(p, places)
	}
	p.trees.ahead(ctx, p, treeKind{level: level, git: p.fence(places, fence, level)}, places)
}

// guarded returns the paths that programs outside obey, as the index knows them, there
// or not.
func (p *Policy) guarded() []string {
	paths := slices.Clone(p.ReadOnly)
	repositories, links := p.index.gitPaths()
	for _, dir := range repositories {
		for _, name := range gitNames {
			paths = append(paths, filepath.Join(dir, name))
		}
		if isDotGit(filepath.Base(dir)) || slices.Contains(p.repositories, dir) {
			paths = append(paths, p.elsewhere(dir, p.workOf(dir))...)
		}
	}
	for _, dir := range p.index.foreignRepositories() {
		paths = append(paths, foreignPaths(dir)...)
	}
	for _, path := range paths {
		// What a link leads to is obeyed as well.
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				paths = append(paths, real)
			}
		}
	}
	paths = slices.DeleteFunc(append(paths, links...), func(path string) bool {
		return slices.Contains(p.workFolders(), path) || !slices.ContainsFunc(p.guardedFolders(), func(f string) bool { return isBelow(path, f) && path != f })
	})
	slices.Sort(paths)
	return slices.Compact(paths)
}

// workOf returns the folder that is worked in with the repository of a folder.
func (p *Policy) workOf(dir string) string {
	if slices.ContainsFunc(p.workFolders(), func(f string) bool { return isBelow(dir, f) }) {
		return filepath.Dir(dir)
	}
	return p.Workspace
}

// StopOn says how the command is stopped when it does again and again what the sandbox
// undoes while it runs.
func (s *Session) StopOn(stop func(reason string)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop = stop; s.reason != "" {
		stop(s.reason)
	}
}

// Network returns what accepts the connections of a command to the network that it was given by host, by
// [run.ToHosts]: a port of 127.0.0.1 as the command sees it. Who takes it closes it at the end of the session at the
// latest; see [Session.AtEnd]. nil: the command has no such network.
func (s *Session) Network() net.Listener {
	if s == nil {
		return nil
	}
	return s.network
}

// AtEnd says what is done when the session ends, and returns more of what [Session.End] returns.
func (s *Session) AtEnd(ending func() []string) { s.ending = ending }

// Suggest says which hosts the command may need, and how they are found in what it has printed if that is not known
// before; see [Session.Refusal].
func (s *Session) Suggest(hosts []string, find func(printed string) []string) {
	if s != nil && s.policy.ByHost() {
		s.hosts, s.find = hosts, find
	}
}

// violated stops the command.
func (s *Session) violated(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason = reason; s.stop != nil {
		s.stop(reason)
	}
}

// End ends the session: what the command was able to change and must not have is
// put back. It returns what, in sentences for the model and the person. The second
// time it does nothing.
func (s *Session) End() (told []string) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	ending := s.ending
	s.ending = nil
	s.mu.Unlock()
	if ending != nil {
		told = ending()
	}
	if s.network != nil {
		s.network.Close()
	}
	if s.guard != nil {
		told = append(told, s.guard.end(s)...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tree != nil {
		s.policy.trees.leave(s.tree)
		s.tree = nil
	}
	if s.temp != "" {
		os.RemoveAll(s.temp)
		s.temp = ""
	}
	return told
}
