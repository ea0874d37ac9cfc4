package tool

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// shellState is what the shell keeps between the calls of a run.
type shellState struct {
	mu   sync.Mutex
	dir  string // the folder the next command starts in; empty: the workspace
	jobs []*job
}

// folder returns where the next command starts.
func (s *shellState) folder(workspace string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return workspace
	}
	if fi, err := os.Stat(s.dir); err != nil || !fi.IsDir() {
		s.dir = "" // it was removed
		return workspace
	}
	return s.dir
}

// moved takes in the folder that a command ended in, and returns what the model
// is to be told of it. A folder outside the workspace is not kept: what the next
// command names would not be where the permission rules look for it.
func (s *shellState) moved(workspace, dir string) string {
	dir = strings.TrimSuffix(dir, "\n")
	if dir == "" || !filepath.IsAbs(dir) {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.dir
	if was == "" {
		was = workspace
	}
	rel, inside := below(workspace, dir)
	switch {
	case !inside:
		s.dir = ""
		return "(the folder " + dir + " is outside the workspace: the next command starts in the workspace again)"
	case dir == was:
		return ""
	case rel == ".":
		s.dir = ""
		return "(folder: the workspace)"
	}
	s.dir = dir
	return "(folder: " + rel + ")"
}

// Close ends the run's background jobs and returns when they are over. It may be
// called twice.
func (s *Session) Close() {
	for _, j := range s.shell.all() {
		j.process.Stop("the run has ended")
	}
	for _, j := range s.shell.all() {
		<-j.process.Done()
	}
}

// JobsRun reports whether a background job is running.
func (s *Session) JobsRun() bool {
	for _, j := range s.shell.all() {
		if j.running() {
			return true
		}
	}
	return false
}

func (s *shellState) all() []*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*job(nil), s.jobs...)
}
