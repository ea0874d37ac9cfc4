package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/internal/proc"
	"pawl/run"
	"pawl/sandbox"
	"pawl/tool/tree"
)

const (
	maxRunningJobs = 16
	// maxKnownJobs is how many jobs are remembered with what they printed; the
	// oldest that have ended are forgotten first.
	maxKnownJobs = 64
)

// shellState is what the shell tools keep between the calls of a run. Its folder is
// in the log too; a run that is resumed has no jobs.
type shellState struct {
	mu     sync.Mutex
	dir    string // absolute; empty: the workspace
	jobs   []*job // in the order they were started
	lastID int
	closed bool
	// sessions are those of jobs to the sandbox, and remarks what is to be said of
	// those that ended.
	sessions map[*job]*sandbox.Session
	remarks  []string
	leaving  sync.Mutex // held until the remarks of a session that ends are in remarks; before mu
}

// folder returns where the next command of the run starts, and what is to be
// said about it. The folder may have been removed since the last command.
func (s *shellState) folder(env Env) (dir, note string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return env.Workspace, ""
	}
	if info, err := os.Stat(s.dir); err != nil || !info.IsDir() {
		note = fmt.Sprintf("[%s is gone; this ran in the workspace]", inWorkspace(env, s.dir))
		s.dir = ""
		env.movedTo(".")
		return env.Workspace, note
	}
	return s.dir, ""
}

// move takes over the folder that a command ended in, and returns what is to be
// said about it. A command that did not change its folder changes nothing here:
// several may run beside each other.
func (s *shellState) move(env Env, from, to string) (note string) {
	if to == "" || to == from {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, in := tree.Below(env.Workspace, to); !in && env.dirOf(to) == "" {
		s.dir = ""
		env.movedTo(".")
		return fmt.Sprintf("[%s is outside the workspace; the next command starts in the workspace again]", to)
	}
	s.dir = to
	env.movedTo(inWorkspace(env, to))
	return fmt.Sprintf("[now in %s]", inWorkspace(env, to))
}

// movedTo records the folder of the next command, relative to the workspace.
func (e Env) movedTo(dir string) {
	if e.changes != nil {
		e.changes.Dir = dir
	}
}

// startedJob records how many jobs were started, so that no later process reuses a name.
func (e Env) startedJob() {
	if e.changes != nil {
		e.Session.shell.mu.Lock()
		e.changes.Jobs = e.Session.shell.lastID
		e.Session.shell.mu.Unlock()
	}
}

// inWorkspace returns a folder as people call it.
func inWorkspace(env Env, dir string) string {
	if rel, err := filepath.Rel(env.Workspace, dir); err == nil {
		return filepath.ToSlash(rel)
	}
	return dir
}

// launch starts a job and gives it its id. The error is for the model. Both
// happen under the lock, so that [Session.Close] misses no job.
func (s *shellState) launch(j *job, c proc.Command, session *sandbox.Session, limit time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := 0
	for _, k := range s.jobs {
		if k.running() {
			running++
		}
	}
	switch {
	case s.closed:
		return errors.New("the run is being closed: no job starts any more")
	case running >= maxRunningJobs:
		return fmt.Errorf("%d jobs run already: stop one with shell_stop first", running)
	}
	if err := j.start(c, limit); err != nil {
		return fmt.Errorf("the job was not started: %w", err)
	}
	s.lastID++
	j.id = fmt.Sprintf("job_%d", s.lastID)
	s.jobs = append(s.jobs, j)
	if session != nil {
		if s.sessions == nil {
			s.sessions = map[*job]*sandbox.Session{}
		}
		s.sessions[j] = session
		session.StopOn(j.process.Stop)
	}
	if session != nil || j.tracked != nil {
		go func() {
			<-j.process.Done()
			s.leave(j)
		}()
	}
	for i := 0; len(s.jobs) > maxKnownJobs && i < len(s.jobs); i++ {
		if !s.jobs[i].running() {
			delete(s.sessions, s.jobs[i])
			s.jobs = slices.Delete(s.jobs, i, i+1)
			i--
		}
	}
	return nil
}

// leave ends the session of a job that has ended. When it returns, what the session
// had to say is in remarks, whoever ended it.
func (s *shellState) leave(j *job) {
	s.leaving.Lock()
	defer s.leaving.Unlock()
	s.mu.Lock()
	session := s.sessions[j]
	s.mu.Unlock()
	told := bracketed(session.End()...)
	j.tracked.End()
	s.mu.Lock()
	s.remarks = append(s.remarks, told...)
	s.mu.Unlock()
}

// refusal says what the sandbox refused to a job that has ended and printed text;
// empty if nothing.
func (s *shellState) refusal(j *job, text string) string {
	if j.running() {
		return ""
	}
	s.mu.Lock()
	session := s.sessions[j]
	s.mu.Unlock()
	status, _ := j.process.Wait()
	return session.Refusal(status, text)
}

// find returns the job of that id. The error is for the model.
func (s *shellState) find(id string) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, j := range s.jobs {
		if j.id == id {
			return j, nil
		}
		ids = append(ids, j.id)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("there is no job %q: none was started, or pawl was restarted since, which ends them", clip(id, 40))
	}
	return nil, fmt.Errorf("there is no job %q; there are %s", clip(id, 40), strings.Join(ids, ", "))
}

// notices says which jobs have ended that nobody was told of yet, but for the
// one given, whose result says so itself.
func (s *shellState) notices(except *job) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.remarks
	s.remarks = nil
	for _, j := range s.jobs {
		if j == except || j.running() || j.told {
			continue
		}
		j.told = true
		lines = append(lines, fmt.Sprintf("[%s %s; shell_output has what it printed]", j.id, j.ending()))
	}
	return lines
}

// all returns the jobs.
func (s *shellState) all() []*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.jobs)
}

// ShellDir returns the folder the next shell command starts in, absolute; empty
// is the workspace.
func (s *Session) ShellDir() string {
	s.shell.mu.Lock()
	defer s.shell.mu.Unlock()
	return s.shell.dir
}

// folderOf is [Session.ShellDir], with the workspace by its name.
func (s *Session) folderOf(env Env) string {
	if dir := s.ShellDir(); dir != "" {
		return dir
	}
	return env.Workspace
}

// Jobs returns the background jobs that are running, oldest first.
func (s *Session) Jobs() []run.Job {
	var jobs []run.Job
	for _, j := range s.shell.all() {
		if j.running() {
			jobs = append(jobs, run.Job{ID: j.id, Command: clip(j.command, 200), Since: j.since.UTC()})
		}
	}
	return jobs
}

// JobsRun reports whether a background job of the run is running.
func (s *Session) JobsRun() bool {
	return slices.ContainsFunc(s.shell.all(), (*job).running)
}

// StopJobs ends all background jobs, with a reason for people, and returns when
// they have ended or cannot be.
func (s *Session) StopJobs(reason string) {
	jobs := s.shell.all()
	for _, j := range jobs {
		j.process.Stop(reason)
	}
	for _, j := range jobs {
		j.wait(context.Background(), stopPatience, nil)
		if !j.running() {
			s.shell.leave(j)
		}
	}
}

// Close ends the run's background jobs; none starts afterwards. It may be called
// twice.
func (s *Session) Close() {
	s.shell.mu.Lock()
	s.shell.closed = true
	s.shell.mu.Unlock()
	s.StopJobs("the run was closed")
	s.mu.Lock()
	t := s.tracker
	s.tracker, s.closed = nil, true
	s.mu.Unlock()
	t.Release()
}
