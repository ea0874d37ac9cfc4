package tool

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/run"
	"pawl/tool/journal"
)

// What a command has changed is known by looking at the workspace before it and after it. A tracker does that for all runs
// of this process in a workspace:
//
//	refresh    looks at what may have changed since it was last looked at, and says what has
//	keep       sees to it that what is there can be restored: by git, or from the journal
//	begin      both, before a command that may write; what changed until now is not the command's
//	end        refresh; what has changed is the command's
//
// Where paths are watched (see changesWatch) a refresh looks at those that had an event, elsewhere at all. All but the
// first refresh and keep of a process are beside the model's request as far as possible: begin finds nothing to do then.
type tracker struct {
	key   trackerKey
	ctx   context.Context // until the last run lets go of it
	stop  context.CancelFunc
	users int // guarded by trackers.mu

	mu       sync.Mutex // held while anything below is used
	journal  journal.Journal
	files    journal.Files
	dirs     map[string]*rules // the folders that are looked into, with the rules that hold in them
	outside  map[string]string // what is not covered at all, and why: its topmost paths
	linked   map[string]bool   // files with several names: they change without an event
	watch    *changesWatch     // nil: nothing can be watched
	all      bool              // everything has to be looked at
	full     bool              // there are more paths than maxKnownFiles
	device   uint64            // the file system of the workspace
	toKeep   map[string]bool   // files whose content has to be kept
	unkept   map[string]string // files whose content is not kept, and why
	written  fs.FileInfo       // the file in which files was stored last; nil: it has changed since
	own      map[string]string // by path, the hash of what the tools that change files have written last
	running  []*tracked        // the commands that run
	beating  chan struct{}     // closed when no command runs any more
	later    *time.Timer       // for what is done beside the model's request; nil: nothing is
	closed   bool
	recovers bool           // it says what a command has changed whose process was killed
	began    time.Time      // of that command
	lateDone sync.WaitGroup // what later does
}

type trackerKey struct{ state, workspace string }

var trackers = struct {
	mu  sync.Mutex
	all map[trackerKey]*tracker
}{all: map[trackerKey]*tracker{}}

// tracker returns the tracker of a run's workspace, which the session lets go of when it is closed; nil if there is no
// state folder.
func (env Env) tracker() *tracker {
	s := env.Session
	if s == nil || env.StateDir == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tracker == nil && !s.closed {
		key := trackerKey{env.StateDir, env.Workspace}
		trackers.mu.Lock()
		defer trackers.mu.Unlock()
		t := trackers.all[key]
		if t == nil {
			t = &tracker{key: key, journal: env.journal()}
			t.ctx, t.stop = context.WithCancel(context.Background())
			trackers.all[key] = t
		}
		t.users++
		s.tracker = t
	}
	return s.tracker
}

// release lets go of a tracker.
func (t *tracker) release() {
	if t == nil {
		return
	}
	trackers.mu.Lock()
	t.users--
	last := t.users == 0
	if last {
		delete(trackers.all, t.key)
	}
	trackers.mu.Unlock()
	if !last {
		return
	}
	t.stop() // background work is not waited for
	t.mu.Lock()
	t.closed = true
	if len(t.running) > 0 { // of what they have changed the journal knows what was before
		close(t.beating)
		t.running = nil
	}
	if t.later != nil && t.later.Stop() {
		t.lateDone.Done()
	}
	t.later = nil
	t.mu.Unlock()
	t.lateDone.Wait()
	t.watch.close()
}

// wrote records the content that an editing tool has written, so that it is not attributed to a command.
func (env Env) wrote(path, hash string) {
	trackers.mu.Lock()
	t := trackers.all[trackerKey{env.StateDir, env.Workspace}]
	trackers.mu.Unlock()
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.running) > 0 {
		t.own[path] = hash
	}
}

// A tracked is a command that may write, from its start to its end.
type tracked struct {
	t       *tracker
	run     run.ID
	call    string
	job     bool
	began   time.Time
	changes []run.FileChange
	at      map[string]int // the index in changes, by path
	left    map[string]string
	outside map[string]bool
}

// maxPrepare bounds what a command waits for the workspace to be looked at and kept: what was not by then is named by undo.
// Later commands find the rest done. A workspace of 3,000 files takes 0.1 s the first time, one of 50,000 some seconds.
const maxPrepare = 5 * time.Second

// begin looks at the workspace before a command that may write. It never keeps the command from running: what cannot be
// stored cannot be undone, and undo says so. A nil *tracked is a command that is not tracked.
func (t *tracker) begin(ctx context.Context, id run.ID, call string, job bool) *tracked {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxPrepare)
	defer cancel()
	c := &tracked{t: t, run: id, call: call, job: job, at: map[string]int{}, left: map[string]string{}, outside: map[string]bool{}}
	known := t.bring(ctx)
	if c.began = time.Now(); !known || t.full || t.all && t.watch != nil {
		c.left["."] = "could not be looked at in time, so nothing of what this command changed is undone"
		if t.full {
			c.left["."] = fmt.Sprintf("has more than %d files that git does not ignore, so nothing of what commands change is undone", maxKnownFiles)
		}
		_ = c.record(c.began)
		return nil
	}
	if t.journal.KeepFiles(t.key.workspace, id, call) != nil {
		return nil
	}
	if c.record(time.Time{}) != nil {
		t.journal.ForgetFiles(id, call)
		return nil
	}
	if t.running = append(t.running, c); len(t.running) == 1 {
		t.beating = make(chan struct{})
		go t.beat(t.beating)
	}
	return c
}

// bring brings what is known and kept up to date, and stores what is known. It reports false if that cannot be.
func (t *tracker) bring(ctx context.Context) bool {
	t.distribute(t.refresh(ctx))
	t.keep(ctx)
	if t.ctx.Err() != nil {
		return false
	}
	if now, err := t.journal.StatFiles(t.key.workspace); t.written == nil || err != nil || !os.SameFile(now, t.written) {
		written, err := t.journal.WriteFiles(t.key.workspace, t.files)
		if err != nil {
			return false
		}
		t.written = written
	}
	return true
}

// beatEvery is how often the journal notes that a command's process is alive: after a kill, what has changed later than
// that is not the command's.
const beatEvery = time.Second

func (t *tracker) beat(stop chan struct{}) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		t.mu.Lock()
		for _, c := range t.running {
			t.journal.Alive(c.run, c.call)
		}
		t.mu.Unlock()
	}
}

// maxLogged bounds the changes of a command that its call has in the log; undo has all.
const maxLogged = 100

// endWith is end for a call that may be interrupted meanwhile: then it returns, and the journal alone has what was changed.
func (c *tracked) endWith(ctx context.Context) []run.FileChange {
	if c == nil {
		return nil
	}
	found := make(chan []run.FileChange, 1)
	go func() { found <- c.end() }()
	select {
	case files := <-found:
		return files
	case <-ctx.Done():
		return nil
	}
}

// end returns what the command has changed, as far as the log has it. The second time it does nothing. When the tracker is let
// go of before that is known, the journal has what was before the command, and undo looks at what has changed since.
func (c *tracked) end() []run.FileChange {
	if c == nil {
		return nil
	}
	t := c.t
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.running, c)
	if i < 0 || t.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(t.ctx, maxPrepare)
	defer cancel()
	t.distribute(t.refresh(ctx))
	c.lookOutside()
	switch {
	case t.ctx.Err() != nil:
		return nil
	case ctx.Err() != nil:
		c.left["."] = fmt.Sprintf("could not be looked at within %v after this command, so what it changed is not undone", maxPrepare)
	}
	if t.running = slices.Delete(t.running, i, i+1); len(t.running) == 0 {
		close(t.beating)
		t.own = map[string]string{}
	}
	if c.record(time.Now()) == nil {
		t.journal.ForgetFiles(c.run, c.call)
	}
	t.soon()
	return logged(c.result(time.Now()).Files)
}

// maxOutside bounds how many paths that are not covered are looked at for each command.
const maxOutside = 200

// lookOutside notes which of the topmost paths that are not covered were changed, as far as that is seen from above.
func (c *tracked) lookOutside() {
	n := 0
	for rel, reason := range c.t.outside {
		if n++; n > maxOutside {
			return
		}
		if info, err := os.Lstat(filepath.Join(c.t.key.workspace, filepath.FromSlash(rel))); err == nil && changedOf(info).After(c.began) {
			c.outside[rel+" ("+reason+")"] = true
		}
	}
}

// logged returns the changes that a person reads of: files and links whose content is another.
func logged(changes []run.FileChange) (some []run.FileChange) {
	for _, f := range changes {
		if f.Before != f.After && len(some) < maxLogged {
			f.Git = ""
			some = append(some, f)
		}
	}
	return some
}

// thinkingTime is how long after a command its changes are kept, unless the next command comes first: a request to the model
// takes longer than that.
const thinkingTime = 10 * time.Millisecond

// soon brings things up to date in a while.
func (t *tracker) soon() {
	if t.later != nil || t.closed {
		return
	}
	t.lateDone.Add(1)
	t.later = time.AfterFunc(thinkingTime, func() {
		defer t.lateDone.Done()
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.later = nil; !t.closed {
			ctx, cancel := context.WithTimeout(t.ctx, maxPrepare)
			defer cancel()
			t.bring(ctx)
		}
	})
}

// prepare does what the first command would have to wait for.
func (t *tracker) prepare() {
	if t != nil {
		t.mu.Lock()
		t.soon()
		t.mu.Unlock()
	}
}

// maxLeft bounds the paths of a command that undo names.
const maxLeft = 1000

// result returns what is known of the command.
func (c *tracked) result(ended time.Time) journal.Command {
	r := journal.Command{Began: c.began, Ended: ended, Workspace: c.t.key.workspace}
	for _, f := range c.changes {
		if f.Before != f.After || f.BeforeMode != f.AfterMode {
			r.Files = append(r.Files, f)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.left)) {
		if len(r.Left) == maxLeft {
			r.Left = append(r.Left, journal.Left{Path: ".", Reason: fmt.Sprintf("has %d more that are not undone", len(c.left)-maxLeft)})
			break
		}
		r.Left = append(r.Left, journal.Left{Path: path, Reason: c.left[path]})
	}
	r.Outside = slices.Sorted(maps.Keys(c.outside))
	if len(r.Outside) > maxLeft {
		r.Outside = r.Outside[:maxLeft]
	}
	return r
}

func (c *tracked) record(ended time.Time) error {
	return c.t.journal.RecordCommand(c.run, c.call, c.result(ended))
}

// A difference is what a refresh has found to be another than it was.
type difference struct {
	run.FileChange
	left    string // why undo cannot restore it; empty: it can
	outside bool   // it is not covered at all
	foreign bool   // what is there now was there before, where it was not looked at
}

// distribute says of what was found which command has made it.
func (t *tracker) distribute(all []difference) {
	if len(t.running) == 0 {
		return // a person, or another process
	}
	var commands, jobs []*tracked
	runs := map[run.ID]bool{}
	for _, c := range t.running {
		if c.job {
			jobs = append(jobs, c)
		} else {
			commands = append(commands, c)
			runs[c.run] = true
		}
	}
	for _, j := range jobs {
		runs[j.run] = runs[j.run] || len(commands) > 0
	}
	for _, f := range all {
		switch {
		case f.After != "" && t.own[f.Path] == f.After && !f.outside:
		case len(commands) > 0 && len(runs) == 1:
			commands[0].add(f)
		case len(commands) > 0:
			for _, c := range t.running {
				c.leave(f, "was changed while commands of several runs were running, so it is not known which of them changed it")
			}
		default:
			for _, j := range jobs {
				j.leave(f, "was changed while a background command ran, and nobody knows by whom")
			}
		}
	}
}

// leave notes that something has changed that is not undone.
func (c *tracked) leave(f difference, reason string) {
	if f.outside {
		c.outside[f.Path+" ("+f.left+")"] = true
	} else if c.left[f.Path] == "" {
		c.left[f.Path] = reason
	}
}

// add notes what the command has changed.
func (c *tracked) add(f difference) {
	i, known := c.at[f.Path]
	switch {
	case f.outside:
		c.leave(f, "")
	case f.left != "":
		c.leave(f, f.left)
	case f.foreign:
		c.leave(f, "was there before under a name that is not covered")
	case !known:
		c.at[f.Path] = len(c.changes)
		c.changes = append(c.changes, f.FileChange)
	default:
		c.changes[i].After, c.changes[i].AfterMode = f.After, f.AfterMode
	}
}

// recoverChanges notes in the journal what a command has changed whose process was killed, once: what was changed until soon
// after the process was last known to be alive. No other process may drive the run.
func recoverChanges(env Env, id run.ID, call string) {
	j := env.journal()
	e, err := j.Entry(id, call)
	if err != nil || e.Command == nil || !e.Command.Ended.IsZero() {
		return
	}
	before := j.FilesBefore(id, call)
	if before == nil {
		return // undo says that nobody knows
	}
	until := j.LastAlive(id, call).Add(2 * beatEvery)
	t := &tracker{key: trackerKey{env.StateDir, e.Command.Workspace}, journal: j, files: before, recovers: true, began: e.Command.Began}
	c := &tracked{t: t, run: id, call: call, began: e.Command.Began, at: map[string]int{}, left: map[string]string{}, outside: map[string]bool{}}
	ctx, cancel := context.WithTimeout(context.Background(), maxPrepare)
	defer cancel()
	for _, f := range t.refresh(ctx) {
		if !f.outside && t.changedAt(f.Path).After(until) {
			f.left = "was changed after pawl was killed, and nobody knows by whom"
		}
		c.add(f)
	}
	if ctx.Err() == nil && c.record(until) == nil {
		j.ForgetFiles(id, call)
	}
}

// changedAt returns when a path was last changed, or when the folder that it was in was.
func (t *tracker) changedAt(rel string) time.Time {
	for ; ; rel = path.Dir(rel) {
		if f, ok := t.files[rel]; ok || rel == "." {
			return time.Unix(0, f.Ctime)
		}
	}
}

// A Changed is what calls of a run have changed, in order.
type Changed struct {
	Files     []run.FileChange
	Left      []Skipped // what undo leaves alone
	Uncovered []string  // see [UndoReport]
}

// maxNamed bounds how many of a kind a sentence names.
const maxNamed = 5

// ChangedBy returns what the calls have changed whose results are events of a run after one. Owned says that no process drives
// the run: what a killed one has left is looked at now.
func ChangedBy(env Env, events []run.Event, after int64, owned bool) (c Changed) {
	commands := false
	var outside, unknown []string
	if owned {
		events = append(slices.Clip(events), cutOff(events)...)
	}
	for _, e := range events {
		if e.Seq <= after {
			continue
		}
		f, ok := e.Payload.(run.CallSettled)
		if !ok { // of an external agent
			c.Files = append(c.Files, run.ChangesOf(e.Payload)...)
			continue
		}
		id := string(f.Call)
		if owned {
			recoverChanges(env, env.Run, id)
		}
		entry, err := env.journal().Entry(env.Run, id)
		if err != nil || entry.Command == nil {
			if c.Files = append(c.Files, f.Files...); len(f.Files) == 0 && f.Change == run.MayChange {
				unknown = append(unknown, id)
			}
			continue
		}
		if commands = true; entry.Command.Ended.IsZero() {
			unknown = append(unknown, id)
		}
		c.Files = append(c.Files, entry.Command.Files...)
		for _, l := range entry.Command.Left {
			c.Left = append(c.Left, Skipped{run.FileChange{Path: l.Path}, l.Path + " " + l.Reason})
		}
		for _, o := range entry.Command.Outside {
			if !slices.Contains(outside, o) {
				outside = append(outside, o)
			}
		}
	}
	if len(outside) > 0 {
		c.Uncovered = append(c.Uncovered, "commands changed "+named(outside)+", which undo does not cover")
	}
	if len(unknown) > 0 {
		c.Uncovered = append(c.Uncovered, "what "+named(unknown)+" changed is not known")
	}
	if commands {
		c.Uncovered = append(c.Uncovered, "not covered: what commands changed in .git (commits, branches, stashes, what is staged), in files that git ignores, and outside the workspace")
	}
	return c
}

// cutOff returns the ends that the log does not have of calls whose process was killed.
func cutOff(events []run.Event) (ends []run.Event) {
	for _, e := range events {
		switch p := e.Payload.(type) {
		case run.CallStarted:
			ends = append(ends, run.Event{Seq: e.Seq, Payload: run.CallSettled{Call: p.Call}})
		case run.CallSettled:
			ends = slices.DeleteFunc(ends, func(o run.Event) bool { return o.Payload.(run.CallSettled).Call == p.Call })
		}
	}
	return ends
}

// named returns the first of names, and how many more there are.
func named(names []string) string {
	more := ""
	if len(names) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(names)-maxNamed)
		names = names[:maxNamed]
	}
	return strings.Join(names, ", ") + more
}
