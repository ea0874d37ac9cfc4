package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"pawl/app"
	"pawl/config"
	"pawl/internal/visible"
	"pawl/provider"
	"pawl/run"
	"pawl/runlog"
	"pawl/store"
	"pawl/store/socket"
	"pawl/task"
	"pawl/tasklog"
	"pawl/worker"
)

// Options configure a [Driver].
type Options struct {
	// Runs is how many runs work at once; 0: DefaultRuns. One that waits for a person does not
	// count.
	Runs int
	// Notify is told that a task needs a person or has come to an end, once for each
	// occasion, from any goroutine; nil: no one is told.
	Notify func(task.Notify)
	// Session is called with each session that is opened for a task, so that a face can follow
	// it and decide; it must not block. nil: no one is told.
	Session func(task.ID, *app.Session)
	// Now is the time by which a task that waits for a limit of a provider continues; nil: time.Now.
	Now func() time.Time
	// Driving is called when the driver has the lease of all tasks; nil: no one is told.
	Driving func()
	// Held is told once why a run that could begin waits for memory, from any goroutine; nil: no one is told.
	Held func(id task.ID, why string)
}

// DefaultRuns is how many runs work at once unless Options say otherwise.
const DefaultRuns = 4

// pollTasks is how often a driver reads which tasks have changed although no one has told it.
const pollTasks = 200 * time.Millisecond

// A Driver drives tasks of one workspace. Another process may drive others of it: each task
// has one driver at a time, which holds its lease.
type Driver struct {
	board Board
	opt   Options
	slots *slots
	kicks kicks
	wake  chan struct{} // has a value when a task was changed in this process, or is not driven any more

	mu     sync.Mutex
	driven map[task.ID]bool
	ended  []task.ID // that are not driven any more and may owe something again

	some  bool  // it drives tasks that were named
	lacks error // what this process lacks to drive them
}

// NewDriver returns a driver. The caller drives with [Driver.Drive].
func NewDriver(ws *app.Workspace, opt Options) *Driver {
	if opt.Runs = cmp.Or(opt.Runs, DefaultRuns); opt.Now == nil {
		opt.Now = time.Now
	}
	d := &Driver{board: Of(ws), opt: opt, wake: make(chan struct{}, 1), driven: map[task.ID]bool{}, slots: newSlots(opt.Runs, leastMemory(ws), availableMemory)}
	ws.OnTaskChange(func(task.ID) { d.wakeUp() })
	return d
}

// leastMemory is the setting min_memory, in bytes.
func leastMemory(ws *app.Workspace) int64 {
	c, err := ws.Config()
	if err != nil {
		return 0 // nothing is driven with settings that cannot be read
	}
	n, _ := config.ParseLimit(c.Get("min_memory"), config.ParseSize) // checked when it was read
	return n
}

// wakeUp makes Drive read which tasks have changed.
func (d *Driver) wakeUp() {
	select {
	case d.wake <- struct{}{}:
	default: // it is about to
	}
}

// Drive drives the tasks of the workspace until ctx is done; with ids these alone, and until
// none of them owes anything or waits for a limit of a provider to end, or this process has no model to drive one with: the task stays as it is then, because
// another process may have one. What was left by a process that was killed is continued. When
// ctx is done, runs are interrupted as by a shutdown: the next driver continues them. Drive
// returns when all runs have stopped. Its error says why tasks cannot be read or driven. A shared database that is away is
// no error: Drive waits until it answers.
func (d *Driver) Drive(ctx context.Context, ids ...task.ID) error {
	if repository := d.board.ws.Repository(); repository != "" {
		return config.Errorf("tasks work in copies of %s, and workers carry them: start one with `pawl-fleet worker`", visible.Escape(repository))
	}
	ctx, end := shutdownWith(ctx)
	defer end()
	d.some = len(ids) > 0
	listener := d.board.ws.Listen()
	var socket string
	if listener != nil {
		defer listener.Close()
		socket = listener.Addr()
	}
	all := rights{board: d.board, socket: socket}
	defer all.release()
	if !d.some {
		err := all.renew(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil // it was stopped before it began
		case err != nil:
			return err
		}
		if d.opt.Driving != nil {
			d.opt.Driving()
		}
	}
	if _, err := d.board.ws.EndLeftAgents(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	var drivers sync.WaitGroup
	defer drivers.Wait()
	b := &backlog{board: d.board, only: ids}
	for away := false; ctx.Err() == nil; d.sleep(ctx, listener) {
		ended := d.takeEnded()
		changed, err := b.read(ctx, d.opt.Now(), ended, d.drives)
		if err == nil && !d.some {
			err = all.renew(ctx)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case errors.Is(err, store.ErrAway): // a shared database restarts, or the network is down
			if !away {
				d.board.ws.Log().Warn("tasks wait for the database", "error", err)
			}
			away = true
			continue
		case err != nil:
			return err
		case away:
			d.kicks.kickAll() // any of them may have changed meanwhile
			away = false
		}
		for _, id := range append(changed, ended...) {
			d.kicks.kick(id)
		}
		for _, sum := range b.sorted() {
			if d.take(ctx, sum, socket, &drivers) {
				delete(b.owing, sum.ID)
			}
		}
		if err := d.lack(nil); err != nil {
			return err
		}
		if len(ids) > 0 && len(b.owing)+len(b.limited) == 0 && d.idle() {
			return nil
		}
		d.board.ws.CloseGone()
	}
	return nil
}

// rights hold the lease on all tasks of the workspace.
type rights struct {
	board  Board
	socket string
	lease  store.Lease // nil: there is none now
	lost   bool        // an earlier lease has ended
}

// renew gets the lease if it has none, or if it has ended because the database was away for longer than it lasts.
func (r *rights) renew(ctx context.Context) error {
	if r.lease != nil {
		select {
		case <-r.lease.Lost():
			r.release()
			r.lost = true
		default:
			return nil
		}
	}
	lease, err := r.board.OwnAll(ctx, r.socket)
	if o, ok := errors.AsType[*store.OwnedError](err); ok {
		if r.lost && o.PID == os.Getpid() {
			return nil // the old lease has not expired by the clock of the database; the next call tries again
		}
		return fmt.Errorf("the tasks of this folder are driven by %s: stop that one first", o.By())
	}
	if err == nil {
		r.lease = lease
	}
	return err
}

func (r *rights) release() {
	if r.lease != nil {
		_ = r.lease.Release() // it ends by itself
		r.lease = nil
	}
}

// shutdownWith returns a context that ends with ctx, as a shutdown whatever the cause of that is: a
// person who interrupts a driver interrupts no task.
func shutdownWith(ctx context.Context) (context.Context, context.CancelFunc) {
	driving, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	shutdown := worker.Stop{Interrupted: run.Interrupted{Cause: run.ByShutdown}}
	unhook := context.AfterFunc(ctx, func() { cancel(shutdown) })
	return driving, func() { unhook(); cancel(shutdown) }
}

// takeEnded returns the tasks that are not driven any more since it was called last.
func (d *Driver) takeEnded() []task.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	ended := d.ended
	d.ended = nil
	return ended
}

// drives reports whether a task is driven here.
func (d *Driver) drives(id task.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.driven[id]
}

// lack says what this process lacks, if that is not nil, and returns what was said.
func (d *Driver) lack(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lacks = cmp.Or(d.lacks, err)
	return d.lacks
}

// idle reports whether no task is driven here, and takeEnded would return none.
func (d *Driver) idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.driven)+len(d.ended) == 0
}

// take drives a task in a goroutine of its own, unless it is driven here. It returns false if
// the task has to be taken later.
func (d *Driver) take(ctx context.Context, sum task.Summary, socket string, drivers *sync.WaitGroup) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.driven[sum.ID] {
		return true // what it owes is read again when it is not
	}
	lease, err := d.board.Own(ctx, sum.ID, socket)
	if err != nil {
		return false // another process drives it, or the disk is full
	}
	d.driven[sum.ID] = true
	drivers.Go(func() {
		c := &card{Driver: d, id: sum.ID, priority: sum.Priority, lease: lease}
		c.drive(ctx)
		_ = lease.Release() // the next driver finds it free in any case
		d.mu.Lock()
		delete(d.driven, sum.ID)
		d.ended = append(d.ended, sum.ID)
		d.mu.Unlock()
		d.wakeUp()
	})
	return true
}

// sleep waits until a task may have changed.
func (d *Driver) sleep(ctx context.Context, l *socket.Listener) {
	timer := time.NewTimer(pollTasks)
	defer timer.Stop()
	var wakes <-chan struct{}
	if l != nil {
		wakes = l.Wake()
	}
	select {
	case <-ctx.Done():
	case <-d.wake:
	case <-wakes:
	case <-timer.C:
	}
}

// notify tells the face of what the task needs, once.
func (c *card) notify(s task.State) {
	now := ""
	for _, cmd := range s.Next() {
		n, ok := cmd.(task.Notify)
		if !ok || c.opt.Notify == nil {
			continue
		}
		if now = fmt.Sprint(n, "/", assignments(s)); now != c.notified {
			c.opt.Notify(n)
		}
	}
	c.notified = now
}

func assignments(s task.State) (n int) {
	for _, r := range s.Chain {
		n += len(r.Assignments)
	}
	return n
}

// A card is a task that is driven.
type card struct {
	*Driver
	id       task.ID
	priority int
	lease    store.Lease // of the task

	log     tasklog.Log  // as far as it was read
	session *app.Session // of the run that is driven; nil: none
	working bool         // it has a slot
	told    map[string]bool

	letsGo bool  // of a run that waits for a person, instead of waiting with it: see Carry
	parked bool  // it has
	lost   bool  // another process has the task, or may have it
	newer  error // why the task is left to a newer pawl; nil: it is not
	full   int   // how often the disk of a shared database was full

	notified string // the occasion of which the face was told last; empty: there is none now
}

// drive performs what the task owes, and starts it if it starts by itself, until it owes nothing or ctx is
// done.
func (c *card) drive(ctx context.Context) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-c.lease.Lost(): // this machine is cut off: another one continues, so what runs here has to end
			stop(errLost)
		case <-ctx.Done():
		}
	}()
	defer func() { c.lost = c.lost || context.Cause(ctx) == errLost }()
	defer c.close()
	for ctx.Err() == nil && c.lack(nil) == nil && !c.parked && !c.lost && c.newer == nil {
		changed := c.kicks.of(c.id)
		s, err := c.load(ctx)
		if errors.Is(err, store.ErrNoTask) {
			return
		}
		if err != nil {
			if !c.leaves(err) {
				c.wait(ctx, changed, pollTasks) // a log that cannot be read now
			}
			continue
		}
		c.notify(s)
		if s.Owes() {
			c.step(ctx, s, changed)
			continue
		}
		now := c.opt.Now()
		rests, err := c.board.Rests(ctx, s, now)
		if err == nil && rests {
			return
		}
		if err == nil {
			err = c.board.Proceed(ctx, s, now, c.some)
		}
		switch {
		case c.some && errors.Is(err, provider.ErrNoModel):
			c.lack(err)
		case err != nil:
			c.wait(ctx, changed, pollTasks)
		}
	}
}

// load returns the task as it is now.
func (c *card) load(ctx context.Context) (task.State, error) {
	var err error
	if c.log.State.Seq == 0 {
		c.log, err = c.board.Log(ctx, c.id)
	} else {
		err = c.log.Read(ctx, c.id)
	}
	return c.log.State, err
}

// step performs the first command that is owed, and what belongs to it.
func (c *card) step(ctx context.Context, s task.State, changed <-chan struct{}) {
	switch cmd := s.Next()[0].(type) {
	case task.StopRun:
		c.stop(ctx, s, cmd.Run)
	case task.StartRun:
		if c.open(ctx, s, cmd.Run) {
			c.say(ctx, s, cmd)
		}
	case task.DriveRun:
		c.follow(ctx, s, cmd, changed)
	}
}

// open makes the run of the task the one that is driven. What keeps it from being is
// recorded in the task. It reports whether it is.
func (c *card) open(ctx context.Context, s task.State, id run.ID) bool {
	if c.session != nil && c.session.ID() == id {
		return true
	}
	c.close()
	if !c.slot(ctx, s) {
		return false
	}
	r, _ := s.Run(id)
	session, err := c.board.Open(ctx, s, r)
	switch {
	case err == nil:
		c.session = session
		c.told = map[string]bool{}
		if c.opt.Session != nil {
			c.opt.Session(c.id, session)
		}
		return true
	case ctx.Err() != nil:
	case c.some && errors.Is(err, provider.ErrNoModel):
		c.lack(err)
	case errors.As(err, new(*store.OwnedError)): // a person drives it by hand: it is waited for
		c.wait(ctx, c.kicks.of(c.id), pollTasks)
	default:
		// The run is there if it has begun before; else it could not be started.
		c.cannot(ctx, s, id, r.Prompted > 0, run.Ended{End: run.EndFailed, Reason: "cannot_start"}, err)
	}
	return false
}

// slot waits for a free slot. It returns false if the task has changed meanwhile.
func (c *card) slot(ctx context.Context, s task.State) bool {
	if c.working {
		return true
	}
	for {
		changed := c.kicks.of(c.id)
		if now, err := c.load(ctx); err != nil || now.Seq != s.Seq {
			return false
		}
		c.working = c.slots.take(ctx, c.priority, changed, c.held)
		_ = c.lease.Wait("") // what it waits for is for people: see held
		if c.working {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
	}
}

// held tells other processes, and the face if it is memory, what the task waits for although an agent could work on it.
func (c *card) held(h *hold) {
	_ = c.lease.Wait(h.why) // they do not learn it then
	if h.memory && c.opt.Held != nil {
		c.opt.Held(c.id, h.why)
	}
}

// say says the words of an assignment.
func (c *card) say(ctx context.Context, s task.State, cmd task.StartRun) {
	words, err := c.board.Input(ctx, s, cmd.Run, cmd.Input)
	if err != nil {
		c.cannot(ctx, s, cmd.Run, cmd.Number > 1, run.Ended{End: run.EndFailed, Reason: "cannot_start"}, err)
		return
	}
	var tell []task.Action // what was said since is told with them
	for _, m := range s.Messages {
		if m.State == task.MessageWaits {
			words = append(words, run.TextOf(m.Text, m.Typed))
			tell = append(tell, task.Note{Run: cmd.Run, Fact: task.MessageDelivered{ID: m.ID}})
		}
	}
	err = c.session.ForTask(ctx, fmt.Sprintf("assignment-%d", cmd.Number), words,
		append([]task.Action{task.Note{Run: cmd.Run, Fact: task.AgentPrompted{Number: cmd.Number}}}, tell...))
	switch {
	case err == nil || ctx.Err() != nil:
	case refused(err): // paused, cancelled, or a message withdrawn since
	default:
		c.fail(ctx, s, cmd.Run, err)
	}
}

// refused reports whether a task did not take something because it has changed.
func refused(err error) bool {
	return errors.As(err, new(*task.TransitionError)) || errors.Is(err, task.ErrOrder)
}

// fail records that a run cannot be driven any more, because its log cannot be written. The
// task waits; the run continues when it is resumed.
func (c *card) fail(ctx context.Context, s task.State, id run.ID, err error) {
	c.cannot(ctx, s, id, true, run.Ended{End: run.EndInterrupted, Reason: "storage"}, err)
}

// cannot records that a run cannot go on, and why. A database that is away is no reason: the run continues when it answers
// again, here or elsewhere. So is a full disk of the database of a fleet, for a quarter of an hour: all tasks would wait for a
// person at once.
func (c *card) cannot(ctx context.Context, s task.State, id run.ID, begun bool, end run.Ended, why error) {
	switch {
	case errors.Is(why, store.ErrAway):
		c.close()
		c.wait(ctx, nil, time.Second)
	case c.letsGo && errors.Is(why, store.ErrDiskFull) && c.full < manyFull:
		c.close()
		c.wait(ctx, nil, min(time.Second<<c.full, time.Minute))
		c.full++
	case c.leaves(why):
	default:
		end.Detail = why.Error()
		c.end(ctx, s, id, begun, end)
	}
}

// manyFull is how often a run is continued although the disk was full: small events may fit, and an answer, which costs, may not.
const manyFull = 20

// leaves reports whether the task is left to others because of an error: while the workers of a fleet are replaced one after
// the other, a newer one may have worked on it, and only such a one can continue.
func (c *card) leaves(why error) bool {
	if c.letsGo && (errors.Is(why, store.ErrNewer) || errors.As(why, new(*store.UnreadableError))) {
		c.newer = why
	}
	return c.newer != nil
}

// end records how the turn of a run ended where the run itself could not. If that cannot be
// written either it is tried again: no task stays as it is.
func (c *card) end(ctx context.Context, s task.State, id run.ID, begun bool, end run.Ended) {
	c.close()
	for ctx.Err() == nil {
		err := c.do(ctx, task.End{Run: id, Number: assigned(s, id), Begun: begun, End: end})
		if err == nil || c.lost || errors.Is(err, store.ErrNoTask) {
			return
		}
		c.wait(ctx, nil, time.Second)
	}
}

// errLost is the error of a driver that was thought dead.
var errLost = errors.New("the lease of the task has ended")

// do records what the driver has found out about a run. A driver that was stopped, or cut off, for longer than its lease
// records nothing: another continues the run, whatever became of it here.
func (c *card) do(ctx context.Context, a task.Action) error {
	held, err := c.lease.Held(ctx)
	if err != nil {
		return err
	}
	if !held {
		c.lost = true
		return errLost
	}
	_, err = c.board.Do(ctx, c.id, "", a)
	return err
}

// follow drives a run whose words are said until its turn has ended, the task has
// changed, or ctx is done. Messages are delivered meanwhile.
func (c *card) follow(ctx context.Context, s task.State, cmd task.DriveRun, changed <-chan struct{}) {
	fresh := c.session == nil
	if !c.open(ctx, s, cmd.Run) {
		return
	}
	if fresh {
		c.resume(ctx, s, cmd)
		return
	}
	var again <-chan time.Time
	delivered := c.deliver(ctx, s)
	if !delivered {
		retry := time.NewTimer(pollTasks)
		defer retry.Stop()
		again = retry.C
	}
	rested := make(chan struct{})
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	var state run.State
	var err error
	go func() {
		defer close(rested)
		state, err = c.session.Wait(waiting)
	}()
	select {
	case <-changed: // a message, a pause, or progress
		cancel()
		<-rested
		return
	case <-again:
		cancel()
		<-rested
		return
	case <-ctx.Done():
		<-rested
		return
	case <-rested:
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		c.fail(ctx, s, cmd.Run, err)
	case state.Turn.Open() && !delivered:
		c.wait(ctx, changed, pollTasks)
	case state.Turn.Open():
		c.park(ctx, s, changed, state.Seq)
	default:
		c.ended(ctx, s, cmd.Run, state)
	}
}

// resume lets a run continue that was left by another process or by a shutdown.
func (c *card) resume(ctx context.Context, s task.State, cmd task.DriveRun) {
	state := c.session.State()
	if r, ok := s.Run(cmd.Run); ok && !state.Turn.Open() && (state.Turn.End.End != run.EndInterrupted || state.Turn.End.Reason != string(run.ByShutdown)) {
		c.record(ctx, s, r.ID, state) // it ended when its task could not be told
		return
	}
	c.deliver(ctx, s) // what was said meanwhile is told before the agent continues
	var err error
	if len(c.told) == 0 {
		err = c.session.Continue(ctx)
	}
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.As(err, new(*runlog.QuestionError)):
		c.record(ctx, s, cmd.Run, state)
	default:
		c.fail(ctx, s, cmd.Run, err)
	}
}

// park waits while the run waits for a person, without a slot, until it continues or the task has
// changed. seq is the number of the event after which it waits.
func (c *card) park(ctx context.Context, s task.State, changed <-chan struct{}, seq int64) {
	c.release()
	busy := c.session.Busy()
	if c.session.State().Seq == seq { // else it has continued already
		if c.letsGo && !c.session.JobsRun() {
			now, err := c.load(ctx)
			c.parked = err == nil && now.Seq == s.Seq // else what was said meanwhile comes first
			return
		}
		select {
		case <-changed: // a message, a pause
			return
		case <-ctx.Done():
			return
		case <-busy: // the person has decided
		}
	}
	c.slots.force()
	c.working = true
}

// ended waits for the task to show that the turn of its run has ended, which is written
// together with it. If it does not, another process has interrupted the run by a shutdown, or
// the task could not take it.
func (c *card) ended(ctx context.Context, s task.State, id run.ID, state run.State) {
	now, err := c.load(ctx)
	if err != nil {
		return
	}
	if r, ok := now.Run(id); !ok || r.Ended {
		return
	}
	if state.Turn.End.End == run.EndInterrupted && state.Turn.End.Reason == string(run.ByShutdown) {
		c.close() // it is continued with the next step
		return
	}
	c.record(ctx, s, id, state)
}

// record tells the task how the turn of a run has ended, where the two are not written
// together.
func (c *card) record(ctx context.Context, s task.State, id run.ID, state run.State) {
	err := c.do(ctx, tasklog.EndOf(id, assigned(s, id), state, state.Turn.End))
	if err != nil {
		c.wait(ctx, nil, pollTasks)
	}
}

// deliver says the queued messages to the run. It reports false if that has to be tried again.
func (c *card) deliver(ctx context.Context, s task.State) bool {
	for _, cmd := range s.Next() {
		d, ok := cmd.(task.Deliver)
		if !ok || c.told[d.Message.ID] {
			continue
		}
		c.told[d.Message.ID] = true
		state := c.session.State()
		later := state.Created.External && state.Turn.Open() // an external agent is told nothing in the middle of its turn
		err := c.session.ForTask(ctx, d.Message.ID, []run.Part{run.TextOf(d.Message.Text, d.Message.Typed)}, []task.Action{task.Note{Run: d.Run, Fact: task.MessageDelivered{ID: d.Message.ID, AtTurnEnd: later}}})
		if err != nil && ctx.Err() == nil && !refused(err) {
			delete(c.told, d.Message.ID)
			return false
		}
	}
	return true
}

// stop stops a run that the task's status has left, and returns when it has stopped and the
// task says so.
func (c *card) stop(ctx context.Context, s task.State, id run.ID) {
	cause := run.ByPerson
	if s.Status.Name == task.Waiting {
		cause = run.ByPause
	}
	var state run.State
	if c.session != nil && c.session.ID() == id {
		c.session.Interrupt(run.Interrupted{Cause: cause})
		var err error
		if state, err = c.session.Wait(ctx); ctx.Err() != nil {
			return
		}
		c.close()
		if err != nil {
			c.fail(ctx, s, id, err)
			return
		}
	} else if _, _, err := c.board.ws.Stop(ctx, id, cause, "the task was changed"); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrNotFound) {
		c.wait(ctx, nil, pollTasks) // another process drives it and does not stop, or the disk is full
		return
	}
	now, err := c.load(ctx)
	if err != nil {
		return
	}
	if r, ok := now.Run(id); !ok || r.Ended {
		return
	}
	end := run.Ended{End: run.EndInterrupted, Reason: string(cause), Detail: "stopped"}
	err = c.do(ctx, task.End{Run: id, Number: assigned(s, id), Begun: true, End: end, Said: state.Said(), Usage: state.Usage})
	if err != nil {
		c.wait(ctx, nil, pollTasks)
	}
}

// assigned returns the number of the last assignment of a run, as far as s knows: what is
// found out of the run is about that one, also if a person has resumed the task since.
func assigned(s task.State, id run.ID) int {
	r, _ := s.Run(id)
	return len(r.Assignments)
}

// release gives the slot back.
func (c *card) release() {
	if c.working {
		c.working = false
		c.slots.give()
	}
}

// close closes the session, which interrupts what works in it, and gives the slot back.
func (c *card) close() {
	if c.session != nil {
		_ = c.session.Close() // if its log could not be written, what is owed stays owed
		c.session = nil
	}
	c.release()
}

// wait waits for a while, or until the channel is closed.
func (c *card) wait(ctx context.Context, changed <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case <-timer.C:
	}
}
