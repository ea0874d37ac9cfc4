package tool

import (
	"pawl/tool/changes"
	"pawl/tool/journal"
)

// journal returns the journal of the workspace.
func (env Env) journal() journal.Journal { return journal.In(env.StateDir) }

// hashOf returns the SHA-256 of content as the journal and the log have it.
func hashOf(content []byte) string { return journal.Hash(content) }

// tracker returns what knows the changes of commands in a run's workspace, which the session lets go of when it is closed; nil
// if there is no state folder.
func (env Env) tracker() *changes.Tracker {
	s := env.Session
	if s == nil || env.StateDir == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tracker == nil && !s.closed {
		s.tracker = changes.Track(env.StateDir, env.Workspace)
	}
	return s.tracker
}
