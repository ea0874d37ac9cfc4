// Package changes knows what the commands of runs have changed in a workspace, and sees to it that what was there before can be
// restored.
//
// It restores nothing: undo, in package tool, puts back what edits and commands have changed. It does not know what a command is,
// and does not keep it from running.
package changes

import (
	"cmp"
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

	"pawl/internal/visible"
	"pawl/run"
	"pawl/tool/journal"
	"pawl/tool/tree"
)

// A Tracker looks at the workspace before and after each command, for all runs of this process in it:
//
//	refresh    looks at what may have changed since it was last looked at, and says what has
//	keep       sees to it that what is there can be restored: by git, or from the journal
//	Begin      both, before a command that may write; what changed until now is not the command's
//	End        refresh; what has changed is the command's
//
// Where paths are watched (see watch) a refresh looks at those that had an event, elsewhere at all. All but the
// first refresh and keep of a process are beside the model's request as far as possible: Begin finds nothing to do then.
//
// A nil *Tracker tracks nothing. Its methods may be called concurrently.
type Tracker struct {
	key   key
	ctx   context.Context // until the last run lets go of it
	stop  context.CancelFunc
	users int // guarded by trackers.mu

	mu       sync.Mutex // held while anything below is used
	journal  journal.Journal
	files    journal.Files
	dirs     map[string]*tree.Rules // the folders that are looked into, with the rules that hold in them
	outside  map[string]string      // what is not covered at all, and why: its topmost paths
	linked   map[string]bool        // files with several names: they change without an event
	watch    *watch                 // nil: nothing can be watched
	all      bool                   // everything has to be looked at
	full     bool                   // there are more paths than maxKnownFiles
	device   uint64                 // the file system of the workspace
	toKeep   map[string]bool        // files whose content has to be kept
	unkept   map[string]string      // files whose content is not kept, and why
	written  fs.FileInfo            // the file in which files was stored last; nil: it has changed since
	own      map[string]string      // by path, the hash of what the tools that change files have written last
	moved    map[uint64]bool        // inodes that a path had when commands began that run, and had no more: another may have it by now
	foreign  map[uint64]bool        // inodes that came while commands run from where nothing is looked at
	running  []*Command             // the commands that run
	beating  chan struct{}          // closed when no command runs any more
	later    *time.Timer            // for what is done beside the model's request; nil: nothing is
	closed   bool
	recovers bool           // it says what a command has changed whose process was killed
	began    time.Time      // of that command
	lateDone sync.WaitGroup // what later does
}

type key struct{ state, workspace string }

var trackers = struct {
	mu  sync.Mutex
	all map[key]*Tracker
}{all: map[key]*Tracker{}}

// Track returns the tracker of a workspace, whose contents are kept in the journal of a state folder. Who has called it calls
// [Tracker.Release] in the end.
func Track(stateDir, workspace string) *Tracker {
	of := key{stateDir, workspace}
	trackers.mu.Lock()
	defer trackers.mu.Unlock()
	t := trackers.all[of]
	if t == nil {
		t = &Tracker{key: of, journal: journal.In(stateDir)}
		t.ctx, t.stop = context.WithCancel(context.Background())
		trackers.all[of] = t
	}
	t.users++
	return t
}

// Release lets go of a tracker. Of commands that still run undo looks at what has changed since they began, as after a kill.
func (t *Tracker) Release() {
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

// Wrote records the content that an editing tool has written, so that it is not attributed to a command.
func Wrote(stateDir, workspace, path, hash string) {
	trackers.mu.Lock()
	t := trackers.all[key{stateDir, workspace}]
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

// A Command is one that may write, from its start to its end.
type Command struct {
	t       *Tracker
	run     run.ID
	call    string
	job     bool
	began   time.Time
	changes []run.FileChange
	at      map[string]int    // the index in changes, by path
	lost    map[string]string // by path, why what there was before the command cannot be restored
	unread  map[string]string // by path, why what is there now is not known to be the command's
	left    map[string]string
	outside map[string]bool
}

// maxPrepare bounds what a command waits for the workspace to be looked at and kept: what was not by then is named by undo.
// Later commands find the rest done. A workspace of 3,000 files takes 0.1 s the first time, one of 50,000 some seconds.
const maxPrepare = 5 * time.Second

// Begin looks at the workspace before a command that may write. It never keeps the command from running: what cannot be
// stored cannot be undone, and undo says so. A nil *Command is one that is not tracked.
func (t *Tracker) Begin(ctx context.Context, id run.ID, call string, job bool) *Command {
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
	c := t.command(id, call, job)
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

func (t *Tracker) command(id run.ID, call string, job bool) *Command {
	return &Command{t: t, run: id, call: call, job: job, at: map[string]int{}, lost: map[string]string{}, unread: map[string]string{},
		left: map[string]string{}, outside: map[string]bool{}}
}

// bring brings what is known and kept up to date, and stores what is known. It reports false if that cannot be.
func (t *Tracker) bring(ctx context.Context) bool {
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

func (t *Tracker) beat(stop chan struct{}) {
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

// EndWith is [Command.End] for a call that may be interrupted meanwhile: then it returns, and the journal alone has what was changed.
func (c *Command) EndWith(ctx context.Context) []run.FileChange {
	if c == nil {
		return nil
	}
	found := make(chan []run.FileChange, 1)
	go func() { found <- c.End() }()
	select {
	case files := <-found:
		return files
	case <-ctx.Done():
		return nil
	}
}

// End returns what the command has changed, as far as the log has it. The second time it does nothing. When the tracker is let
// go of before that is known, the journal has what was before the command, and undo looks at what has changed since.
func (c *Command) End() []run.FileChange {
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
		t.own, t.moved, t.foreign = map[string]string{}, map[uint64]bool{}, map[uint64]bool{}
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
func (c *Command) lookOutside() {
	n := 0
	for rel, reason := range c.t.outside {
		if n++; n > maxOutside {
			return
		}
		if info, err := os.Lstat(filepath.Join(c.t.key.workspace, filepath.FromSlash(rel))); err == nil && changedOf(info).After(c.began) {
			c.outside[notCovered(rel, reason)] = true
		}
	}
}

// notCovered names a path that is not covered, for people.
func notCovered(rel, reason string) string { return visible.Line(rel) + " (" + reason + ")" }

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
func (t *Tracker) soon() {
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

// Prepare does what the first command would have to wait for.
func (t *Tracker) Prepare() {
	if t != nil {
		t.mu.Lock()
		t.soon()
		t.mu.Unlock()
	}
}

// maxLeft bounds the paths of a command that undo names.
const maxLeft = 1000

// result returns what is known of the command.
func (c *Command) result(ended time.Time) journal.Command {
	r := journal.Command{Began: c.began, Ended: ended, Workspace: c.t.key.workspace}
	left := maps.Clone(c.left)
	for _, f := range c.changes {
		changed := f.Before != f.After || f.BeforeMode != f.AfterMode
		reason := c.unread[f.Path]
		if reason == "" && changed {
			reason = c.lost[f.Path]
		}
		if reason != "" {
			left[f.Path] = cmp.Or(left[f.Path], reason)
		} else if changed {
			r.Files = append(r.Files, f)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		if len(r.Left) == maxLeft {
			r.Left = append(r.Left, journal.Left{Path: ".", Reason: fmt.Sprintf("has %d more that are not undone", len(left)-maxLeft)})
			break
		}
		r.Left = append(r.Left, journal.Left{Path: path, Reason: left[path]})
	}
	r.Outside = slices.Sorted(maps.Keys(c.outside))
	if len(r.Outside) > maxLeft {
		r.Outside = r.Outside[:maxLeft]
	}
	return r
}

func (c *Command) record(ended time.Time) error {
	return c.t.journal.RecordCommand(c.run, c.call, c.result(ended))
}

// A difference is what a refresh has found to be another than it was.
type difference struct {
	run.FileChange
	lost      string // why what there was cannot be restored; empty: it can
	unread    string // why what is there now is not known, or not by whom; empty: it is
	uncovered string // why it is not covered at all; empty: it is
}

// distribute says of what was found which command has made it.
func (t *Tracker) distribute(all []difference) {
	if len(t.running) == 0 {
		return // a person, or another process
	}
	var commands, jobs []*Command
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
		case f.After != "" && t.own[f.Path] == f.After && f.uncovered == "":
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
func (c *Command) leave(f difference, reason string) {
	if f.uncovered != "" {
		c.outside[notCovered(f.Path, f.uncovered)] = true
	} else if c.left[f.Path] == "" {
		c.left[f.Path] = reason
	}
}

// add notes what the command has changed. It may be looked at several times while it runs: what counts is how a path was
// before the first change and is after the last.
func (c *Command) add(f difference) {
	if f.uncovered != "" {
		c.leave(f, "")
		return
	}
	i, known := c.at[f.Path]
	if !known {
		c.at[f.Path], c.lost[f.Path] = len(c.changes), f.lost
		c.changes = append(c.changes, f.FileChange)
	} else {
		c.changes[i].After, c.changes[i].AfterMode = f.After, f.AfterMode
	}
	c.unread[f.Path] = f.unread
}

// Recover notes in the journal what a command has changed whose process was killed, once: what was changed until soon
// after the process was last known to be alive. No other process may drive the run.
func Recover(stateDir string, id run.ID, call string) {
	settle(stateDir, id, call, journal.In(stateDir).LastAlive(id, call).Add(2*beatEvery))
}

// Ended says that a command has just ended that another process began, and which call it was; it returns what it has changed, as
// far as the log has it. The process has let go of its tracker since.
func Ended(stateDir string, id run.ID, began, call string) []run.FileChange {
	settle(stateDir, id, began, time.Now())
	return logged(journal.In(stateDir).Rename(id, began, call).Files)
}

// Forget removes what was kept for a command that another process began, and whose end is not known.
func Forget(stateDir string, id run.ID, began string) {
	j := journal.In(stateDir)
	j.Discard(id, began)
	j.ForgetFiles(id, began)
}

// settle notes in the journal what a command has changed until a time, unless that is known.
func settle(stateDir string, id run.ID, call string, until time.Time) {
	j := journal.In(stateDir)
	e, err := j.Entry(id, call)
	if err != nil || e.Command == nil || !e.Command.Ended.IsZero() {
		return
	}
	before := j.FilesBefore(id, call)
	if before == nil {
		return // undo says that nobody knows
	}
	t := &Tracker{key: key{stateDir, e.Command.Workspace}, journal: j, files: before, recovers: true, began: e.Command.Began}
	c := t.command(id, call, false)
	c.began = e.Command.Began
	ctx, cancel := context.WithTimeout(context.Background(), maxPrepare)
	defer cancel()
	for _, f := range t.refresh(ctx) {
		if f.uncovered == "" && t.changedAt(f.Path).After(until) {
			f.unread = "was changed after pawl last saw the command run, and it is not known by whom"
		}
		c.add(f)
	}
	if ctx.Err() == nil && c.record(until) == nil {
		j.ForgetFiles(id, call)
	}
}

// changedAt returns when a path was last changed, or when the folder that it was in was.
func (t *Tracker) changedAt(rel string) time.Time {
	for ; ; rel = path.Dir(rel) {
		if f, ok := t.files[rel]; ok || rel == "." {
			return time.Unix(0, f.Ctime)
		}
	}
}

// A Skipped change is not undone.
type Skipped struct {
	Change run.FileChange
	Reason string // for people
}

// A Changed is what calls of a run have changed, in order.
type Changed struct {
	Files     []run.FileChange
	Left      []Skipped // what undo leaves alone
	Uncovered []string  // what commands may have changed that undo does not look at, for people
}

// maxNamed bounds how many of a kind a sentence names.
const maxNamed = 5

// By returns what the calls have changed whose results are events of a run after one. Owned says that no process drives
// the run: what a killed one has left is looked at now.
func By(stateDir string, id run.ID, events []run.Event, after int64, owned bool) (c Changed) {
	j, commands := journal.In(stateDir), false
	var outside, unknown []string
	add := func(call string, files []run.FileChange, change run.Change) {
		if owned {
			Recover(stateDir, id, call)
		}
		entry, err := j.Entry(id, call)
		if err != nil || entry.Command == nil {
			if c.Files = append(c.Files, files...); len(files) == 0 && change == run.MayChange {
				unknown = append(unknown, call)
			}
			return
		}
		if commands = true; entry.Command.Ended.IsZero() {
			unknown = append(unknown, call)
		}
		c.Files = append(c.Files, entry.Command.Files...)
		for _, l := range entry.Command.Left {
			c.Left = append(c.Left, Skipped{run.FileChange{Path: l.Path}, visible.Line(l.Path) + " " + l.Reason})
		}
		for _, o := range entry.Command.Outside {
			if !slices.Contains(outside, o) {
				outside = append(outside, o)
			}
		}
	}
	if owned {
		events = append(slices.Clip(events), cutOff(events)...)
	}
	var since time.Time
	for _, e := range events {
		if e.Seq <= after {
			since = e.At
			continue
		}
		switch p := e.Payload.(type) {
		case run.CallSettled:
			add(string(p.Call), p.Files, p.Change)
		case run.Observed: // of an external agent
			for _, part := range p.Parts {
				if part.Result != nil {
					add(string(part.Result.Call), part.Result.Files, run.NoChange)
				}
			}
		}
	}
	for _, use := range j.Uses(id) {
		e, err := j.Entry(id, use)
		if err == nil && e.Command != nil && !e.Command.Began.Before(since) && (owned || !e.Command.Ended.IsZero()) {
			add(use, nil, run.NoChange)
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
