package tool

import (
	"path/filepath"
	"sync"

	"pawl/run"
	"pawl/tool/changes"
)

// A Session is what the tools of one run keep between calls. All of it that decides
// what a later call does is in the log too (see [Env.Changes]), so that a resumed run
// is the same as one that never stopped. The zero value is that of a new run.
type Session struct {
	mu   sync.Mutex
	seen map[string]sighting // by path relative to the workspace: files as last read or written here

	shell shellState

	tracker *changes.Tracker // of what commands change; nil: none has run yet
	closed  bool
}

// NewSession returns the session of a run as its log has it. Background jobs do not
// survive their process; their names are not used again.
func NewSession(workspace string, s run.ToolState) *Session {
	session := &Session{seen: map[string]sighting{}}
	for _, f := range s.Seen {
		if f.Hash == "" {
			delete(session.seen, f.Path)
		} else {
			session.seen[f.Path] = sighting{hash: f.Hash, size: f.Size, mtime: f.ModTime}
		}
	}
	if s.Dir != "" && s.Dir != "." {
		session.shell.dir = filepath.Join(workspace, filepath.FromSlash(s.Dir))
	}
	session.shell.lastID = s.Jobs
	return session
}

// saw remembers a file in the state in which a call has read or written it.
func (e Env) saw(rel string, now sighting) {
	e.Session.saw(rel, now)
	if e.changes != nil {
		e.changes.Seen = append(e.changes.Seen, run.SeenFile{Path: rel, Hash: now.hash, Size: now.size, ModTime: now.mtime.UTC()})
	}
}

// forget forgets a file that is no longer there.
func (e Env) forget(rel string) {
	e.Session.forget(rel)
	if e.changes != nil {
		e.changes.Seen = append(e.changes.Seen, run.SeenFile{Path: rel})
	}
}
