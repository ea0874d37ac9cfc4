package app

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pawl/config"
	"pawl/internal/atomicfile"
	"pawl/internal/text"
	"pawl/run"
	"pawl/store"
	"pawl/task"
	"pawl/worker"
)

// Board is the lease of the process that drives all tasks of a workspace, such as a server.
const Board run.ID = "board"

// newTask returns an id for a task, such as t-k3f9xy.
func newTask() task.ID {
	id := newRun(time.Now())
	return task.ID("t-" + id[len(id)-6:])
}

// NewRunID returns an id for a run.
func NewRunID() run.ID { return newRun(time.Now()) }

// TaskQuery selects tasks; see [store.TaskQuery].
type TaskQuery = store.TaskQuery

// ErrNoTasks says that there is no task in the workspace yet.
var ErrNoTasks = config.Errorf("there is no task in this folder yet: add one with `pawl task add \"…\"`")

// AddTask adds a task and returns it when it is durable. Its id and workspace are set here,
// unless it has an id: that of an existing task is an error.
func (w *Workspace) AddTask(ctx context.Context, by string, c task.Created) (task.State, error) {
	st, err := w.writing()
	if err != nil {
		return task.State{}, err
	}
	if c.Task == "" {
		c.Task = newTask()
	}
	c.Workspace, c.Version = w.Dir, Version()
	if err := w.checkDepends(ctx, c.Task, c.DependsOn); err != nil {
		return task.State{}, err
	}
	return w.changed(ctx, st, c.Task)(worker.DoTask(ctx, st, c.Task, by, time.Now, task.Create{Created: c}))
}

// changed wakes the processes that drive a task after it was changed.
func (w *Workspace) changed(ctx context.Context, st store.Store, id task.ID) func(task.State, error) (task.State, error) {
	return func(s task.State, err error) (task.State, error) {
		if err == nil {
			w.taskChanged(id)
			worker.Wake(ctx, st, store.TaskLease(string(id)))
			worker.Wake(ctx, st, Board)
		}
		return s, err
	}
}

// checkDepends returns an error unless the tasks that a task depends on exist, and none
// depends on it.
func (w *Workspace) checkDepends(ctx context.Context, id task.ID, on []task.ID) error {
	if len(on) == 0 {
		return nil
	}
	st, err := w.writing()
	if err != nil {
		return err
	}
	rows, _, err := st.Tasks(ctx, TaskQuery{})
	if err != nil {
		return err
	}
	graph := map[task.ID][]task.ID{}
	for _, r := range rows {
		var sum task.Summary
		if err := json.Unmarshal([]byte(r.Summary), &sum); err != nil {
			return err
		}
		graph[sum.ID] = sum.DependsOn
	}
	for _, d := range on {
		if _, ok := graph[d]; !ok {
			return &task.InputError{What: fmt.Sprintf("depends_on: there is no task %s", d), Fields: map[string]string{"depends_on": "there is no task " + string(d)}}
		}
	}
	if cycle := task.Cycle(id, on, func(id task.ID) []task.ID { return graph[id] }); cycle != nil {
		var names []string
		for _, c := range cycle {
			names = append(names, string(c))
		}
		what := "the dependencies would be a cycle: " + strings.Join(names, " → ")
		return &task.InputError{What: what, Fields: map[string]string{"depends_on": what}}
	}
	return nil
}

// Tasks returns the summaries of the tasks that q selects and where the next page begins.
func (w *Workspace) Tasks(ctx context.Context, q TaskQuery) ([]task.Summary, string, error) {
	st, err := w.reading()
	if errors.Is(err, store.ErrNoRuns) {
		return nil, "", nil
	} else if err != nil {
		return nil, "", err
	}
	rows, next, err := st.Tasks(ctx, q)
	if err != nil {
		return nil, "", err
	}
	all := make([]task.Summary, len(rows))
	for i, r := range rows {
		if err := json.Unmarshal([]byte(r.Summary), &all[i]); err != nil {
			return nil, "", fmt.Errorf("task %s: %w: %w", r.ID, store.ErrCorrupt, err)
		}
	}
	return all, next, nil
}

// FindTask returns the id of the task named by which: an id, a unique part of one, or last.
func (w *Workspace) FindTask(ctx context.Context, which string) (task.ID, error) {
	st, err := w.reading()
	if errors.Is(err, store.ErrNoRuns) {
		return "", ErrNoTasks
	} else if err != nil {
		return "", err
	}
	if row, err := st.Task(ctx, which); err == nil {
		return task.ID(row.ID), nil
	}
	rows, _, err := st.Tasks(ctx, TaskQuery{})
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", ErrNoTasks
	}
	if which == "last" {
		newest := slices.MaxFunc(rows, func(a, b store.TaskRow) int { return a.Updated.Compare(b.Updated) })
		return task.ID(newest.ID), nil
	}
	var fit, ids []string
	for _, r := range rows {
		ids = append(ids, r.ID)
		if which != "" && strings.HasPrefix(strings.TrimPrefix(r.ID, "t-"), strings.TrimPrefix(which, "t-")) {
			fit = append(fit, r.ID)
		}
	}
	switch {
	case len(fit) == 1:
		return task.ID(fit[0]), nil
	case len(fit) > 1:
		return "", config.Errorf("%q matches %d tasks, among them %s: give more of the id", which, len(fit), strings.Join(fit[:min(len(fit), 3)], ", "))
	}
	return "", config.Errorf("there is no task %q%s", which, text.DidYouMean(which, ids))
}

// LoadTask returns a task.
func (w *Workspace) LoadTask(ctx context.Context, id task.ID) (task.State, error) {
	l, err := w.TaskLog(ctx, id)
	return l.State, err
}

// TaskLog returns a task that can be read on.
func (w *Workspace) TaskLog(ctx context.Context, id task.ID) (worker.TaskLog, error) {
	st, err := w.reading()
	if err != nil {
		return worker.TaskLog{}, noRuns(err)
	}
	return worker.LoadTask(ctx, st, id)
}

// TaskEvents returns the history of a task after event number after.
func (w *Workspace) TaskEvents(ctx context.Context, id task.ID, after int64) ([]task.Event, error) {
	st, err := w.reading()
	if err != nil {
		return nil, noRuns(err)
	}
	return worker.TaskEvents(ctx, st, id, after)
}

// TaskFeed returns the events of all tasks after a position, in the order in which they became
// durable, at most limit of them.
func (w *Workspace) TaskFeed(ctx context.Context, after int64, limit int) ([]worker.FeedEntry, error) {
	st, err := w.reading()
	if errors.Is(err, store.ErrNoRuns) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return worker.TaskFeed(ctx, st, after, limit)
}

// TaskFeedEnd returns the position of the last event of all tasks; 0: there was none.
func (w *Workspace) TaskFeedEnd(ctx context.Context) (int64, error) {
	st, err := w.reading()
	if errors.Is(err, store.ErrNoRuns) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return st.TaskFeedEnd(ctx)
}

// ChangedTasks returns the tasks that have changed after a position of the feed of all tasks,
// each once, also those that were removed; and the position up to which that is.
func (w *Workspace) ChangedTasks(ctx context.Context, after int64) (changed []task.ID, position int64, err error) {
	st, err := w.reading()
	if errors.Is(err, store.ErrNoRuns) {
		return nil, after, nil
	} else if err != nil {
		return nil, after, err
	}
	const most = 500 // entries that are read at once
	seen := map[string]bool{}
	for {
		entries, err := st.TaskFeed(ctx, after, most)
		if err != nil {
			return nil, after, err
		}
		for _, e := range entries {
			if after = e.Position; !seen[e.Task] {
				seen[e.Task] = true
				changed = append(changed, task.ID(e.Task))
			}
		}
		if len(entries) < most {
			return changed, after, nil
		}
	}
}

// TaskSummary returns the summary of a task.
func (w *Workspace) TaskSummary(ctx context.Context, id task.ID) (task.Summary, error) {
	st, err := w.reading()
	if err != nil {
		return task.Summary{}, noRuns(err)
	}
	row, err := st.Task(ctx, string(id))
	if err != nil {
		return task.Summary{}, err
	}
	var sum task.Summary
	err = json.Unmarshal([]byte(row.Summary), &sum)
	return sum, err
}

// FollowTask yields the events of a task after event number after, and then what is new until
// ctx is done or the caller breaks off. When all there is was yielded, it yields an event
// without a payload, and so it does each time the caller should look again.
func (w *Workspace) FollowTask(ctx context.Context, id task.ID, after int64) iter.Seq2[task.Event, error] {
	return func(yield func(task.Event, error) bool) {
		for {
			events, err := w.TaskEvents(ctx, id, after)
			for _, e := range events {
				if after = e.Seq; !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(task.Event{}, err)
				return
			}
			if !yield(task.Event{}, nil) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pollInbox):
			}
		}
	}
}

// DoTask does something to a task, for a person, and returns the task when that is durable.
// For [task.StartPlanning] and [task.Start] see PlanTask and StartTask.
func (w *Workspace) DoTask(ctx context.Context, id task.ID, by string, a task.Action) (task.State, error) {
	if e, ok := a.(task.Edit); ok && e.DependsOn != nil {
		if err := w.checkDepends(ctx, id, *e.DependsOn); err != nil {
			return task.State{}, err
		}
	}
	st, err := w.writing()
	if err != nil {
		return task.State{}, err
	}
	return w.changed(ctx, st, id)(worker.DoTask(ctx, st, id, by, time.Now, a))
}

// PlanTask starts the planner of a task; a driver carries it out.
func (w *Workspace) PlanTask(ctx context.Context, id task.ID, by string) (task.State, error) {
	if _, err := w.taskAgent(ctx, PlannerAgent, task.Planner); err != nil {
		return task.State{}, err
	}
	return w.DoTask(ctx, id, by, task.StartPlanning{Run: newRun(time.Now()), Agent: PlannerAgent})
}

// DefaultAgent works on tasks whose plan names no agent.
const DefaultAgent = "developer"

// StartTask starts a worker on a planned task: the agent given, or that of its plan.
func (w *Workspace) StartTask(ctx context.Context, id task.ID, by, agent string) (task.State, error) {
	s, err := w.LoadTask(ctx, id)
	if err != nil {
		return s, err
	}
	if agent == "" && s.Plan != nil {
		agent = s.Plan.AssignedAgent
	}
	if agent == "" {
		agent = DefaultAgent
	}
	start := task.Start{Run: newRun(time.Now()), Agent: agent}
	for _, d := range s.DependsOn {
		other, err := w.LoadTask(ctx, d)
		if errors.Is(err, store.ErrNoTask) {
			continue // it was removed: nothing can be waited for
		} else if err != nil {
			return s, err
		}
		if other.Status.Name() != task.CompletedName {
			start.Unfinished = append(start.Unfinished, d)
		}
	}
	if s.Status.Name() == task.PlannedName { // else the status is what is wrong
		if _, err := w.taskAgent(ctx, agent, task.Worker); err != nil {
			return s, err
		}
		if len(start.Unfinished) == 0 {
			if s, err = w.isolated(ctx, s, by, agent); err != nil {
				return s, err
			}
		}
	}
	return w.DoTask(ctx, id, by, start)
}

// HandOnTask lets another agent carry on with a task: a planned one is started with it, and the
// worker of one that is active or waits is stopped first. words, if there are any, are told to
// the agent.
func (w *Workspace) HandOnTask(ctx context.Context, id task.ID, by, agent, words string) (task.State, error) {
	s, err := w.LoadTask(ctx, id)
	if err != nil {
		return s, err
	}
	if s.Status.Name() == task.PlannedName {
		if words = strings.TrimSpace(words); words != "" {
			if s, err = w.DoTask(ctx, id, by, task.Say{ID: NewMessageID(), Text: words}); err != nil {
				return s, err
			}
		}
		return w.StartTask(ctx, id, by, agent)
	}
	if _, err := w.taskAgent(ctx, agent, task.Worker); err != nil {
		return s, err
	}
	if _, works := s.Work(); works && s.Copy == nil {
		if s, err = w.isolated(ctx, s, by, agent); err != nil {
			return s, err
		}
	}
	return w.DoTask(ctx, id, by, task.HandOn{Run: newRun(time.Now()), Agent: agent, Words: words})
}

// TaskNext returns what a person can do next with a task, as a command; "" if there is nothing.
func TaskNext(s task.State) string {
	id := string(s.Created.Task)
	verb := map[task.StatusName]string{
		task.PendingName: "plan " + id, task.PlanningName: "watch " + id, task.AwaitingInputName: "answer " + id + " \"…\"",
		task.PlannedName: "start " + id, task.ActiveName: "watch " + id, task.WaitingName: "resume " + id + " -p \"…\"",
		task.CompletedName: "reopen " + id, task.FailedName: "retry " + id,
	}[s.Status.Name()]
	return "pawl task " + verb
}

// A TaskRunError says that a run belongs to a task, so that only its task continues it.
type TaskRunError struct {
	Run  run.ID
	Task task.State
}

func (e *TaskRunError) Error() string {
	return fmt.Sprintf("run %s belongs to task %s, which is %s: it is continued with its task (`%s`), or apart from it as a copy (`pawl runs fork %[1]s`)",
		e.Run, e.Task.Created.Task, strings.ReplaceAll(string(e.Task.Status.Name()), "_", " "), TaskNext(e.Task))
}

// checkNoTask returns a [*TaskRunError] for a run that belongs to a task.
func (w *Workspace) checkNoTask(ctx context.Context, id run.ID) error {
	st, err := w.reading()
	if err != nil {
		return noRuns(err)
	}
	of, err := st.TaskOf(ctx, id)
	if err != nil || of == "" {
		return err
	}
	s, err := w.LoadTask(ctx, task.ID(of))
	if errors.Is(err, store.ErrNoTask) {
		return nil // it was removed since
	} else if err != nil {
		return err
	}
	return &TaskRunError{id, s}
}

// Submit submits a result for a task from outside of its run; see [worker.Worker.Submit].
func (w *Workspace) Submit(ctx context.Context, r worker.SubmitRequest) (worker.Receipt, error) {
	d, err := w.driver()
	if err != nil {
		return worker.Receipt{}, err
	}
	return d.Submit(ctx, r)
}

// CallTool makes a call for the agent of a run from outside; see [worker.Worker.Call].
func (w *Workspace) CallTool(ctx context.Context, id run.ID, key string, c worker.OutsideCall) (worker.OutsideAnswer, error) {
	d, err := w.driver()
	if err != nil {
		return worker.OutsideAnswer{}, err
	}
	return d.Call(ctx, id, key, c)
}

// MaxAttachment bounds an attached file.
const MaxAttachment = 10 << 20 // bytes

// A TooLargeError says that a file is larger than MaxAttachment. Its code is
// FILE_TOO_LARGE.
type TooLargeError struct{ Name string }

// Code is FILE_TOO_LARGE.
func (e *TooLargeError) Code() string { return "FILE_TOO_LARGE" }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than %s, which is the most that can be attached", e.Name, text.Size(MaxAttachment))
}

// AttachToTask adds a file to a task and returns the task when both are durable.
func (w *Workspace) AttachToTask(ctx context.Context, id task.ID, by, name string, content io.Reader) (task.State, error) {
	b, err := io.ReadAll(io.LimitReader(content, MaxAttachment+1))
	if err != nil {
		return task.State{}, err
	}
	safe := safeName(name)
	if len(b) > MaxAttachment {
		return task.State{}, &TooLargeError{safe}
	}
	kind := mime.TypeByExtension(filepath.Ext(safe))
	if kind == "" {
		kind = http.DetectContentType(b)
	}
	sum := sha256.Sum256(b)
	a := task.Attachment{ID: "f-" + strings.ToLower(rand.Text()[:8]), Name: safe, Size: int64(len(b)), Type: kind, SHA256: hex.EncodeToString(sum[:]), At: time.Now().UTC().Round(0)}
	if _, err := w.LoadTask(ctx, id); err != nil {
		return task.State{}, err
	}
	file := w.AttachmentFile(id, a)
	if err := atomicfile.Write(file, b, atomicfile.Durable); err != nil {
		return task.State{}, err
	}
	s, err := w.DoTask(ctx, id, by, task.Attach{Attachment: a})
	if err != nil {
		return s, errors.Join(err, os.RemoveAll(filepath.Dir(file)))
	}
	return s, nil
}

// AttachmentFile returns where the content of an attachment is.
func (w *Workspace) AttachmentFile(id task.ID, a task.Attachment) string {
	return filepath.Join(w.attachments(id), a.ID, a.Name)
}

func (w *Workspace) attachments(id task.ID) string {
	return filepath.Join(w.State, "attachments", string(id))
}

// maxName bounds the name of an attachment, in bytes.
const maxName = 120

// safeName returns the last element of a name with letters, digits and .-_ alone, not hidden.
func safeName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	safe := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(name, "_"))
	if safe = strings.TrimLeft(safe, "."); safe == "" {
		safe = "file"
	}
	for len(safe) > maxName {
		_, size := utf8.DecodeLastRuneInString(safe)
		safe = safe[:len(safe)-size]
	}
	return safe
}

// DetachFromTask removes an attachment.
func (w *Workspace) DetachFromTask(ctx context.Context, id task.ID, by, attachment string) (task.State, error) {
	s, err := w.DoTask(ctx, id, by, task.Detach{ID: attachment})
	if err != nil {
		return s, err
	}
	return s, os.RemoveAll(filepath.Join(w.attachments(id), filepath.Base(attachment)))
}

// RemoveTask removes a task with its runs and files. It must not be at work.
func (w *Workspace) RemoveTask(ctx context.Context, id task.ID) error {
	st, err := w.writing()
	if err != nil {
		return err
	}
	s, err := w.LoadTask(ctx, id)
	if err != nil {
		return err
	}
	if s.Owes() {
		return &task.TransitionError{Task: id, From: s.Status.Name(), On: "rm", Why: "an agent is at work: pause or cancel the task first"}
	}
	lease, err := w.ownAtRest(ctx, id)
	if err != nil {
		return fmt.Errorf("task %s is driven by another process: %w", id, err)
	}
	defer lease.Release()
	if err := st.RemoveTask(ctx, string(id)); err != nil {
		return err
	}
	problems := []error{os.RemoveAll(w.attachments(id))}
	if s.Copy != nil {
		problems = append(problems, w.removeCopy(ctx, id, s.Copy.Dir))
	}
	for _, r := range s.Chain {
		if r.Parent != "" {
			continue // removed with its parent
		}
		if _, err := w.Remove(ctx, r.ID, false); err != nil && !errors.Is(err, store.ErrNotFound) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// OwnTask makes the caller the driver of a task until the lease is released. The error is
// a [*store.OwnedError] if another process drives it. socket is the address that the driver
// listens on; it may be empty.
func (w *Workspace) OwnTask(ctx context.Context, id task.ID, socket string) (store.Lease, error) {
	st, err := w.writing()
	if err != nil {
		return nil, err
	}
	return st.Own(ctx, store.TaskLease(string(id)), socket)
}

// restTime is how long the driver of a task that owes nothing may take to let go of it.
const restTime = 5 * time.Second

// ownAtRest is OwnTask for a task that owes nothing, and waits for its driver to see that.
func (w *Workspace) ownAtRest(ctx context.Context, id task.ID) (store.Lease, error) {
	wait, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	for {
		lease, err := w.OwnTask(ctx, id, "")
		if err == nil || !errors.As(err, new(*store.OwnedError)) {
			return lease, err
		}
		select {
		case <-wait.Done():
			return nil, err
		case <-time.After(pollInbox):
		}
	}
}

// OwnBoard makes the caller the driver of all tasks of the workspace; see OwnTask.
func (w *Workspace) OwnBoard(ctx context.Context, socket string) (store.Lease, error) {
	st, err := w.writing()
	if err != nil {
		return nil, err
	}
	return st.Own(ctx, Board, socket)
}

// BoardOwner returns the process that drives all tasks of the workspace, if there is one.
func (w *Workspace) BoardOwner(ctx context.Context) (store.Owner, bool, error) {
	return w.Owner(ctx, Board)
}

// ListenForTasks returns a socket through which other processes say that a task has changed;
// nil if there can be none.
func (w *Workspace) ListenForTasks() *store.Listener {
	if _, err := w.driver(); err != nil {
		return nil
	}
	s, err := w.load()
	if err != nil || s.sockets == "" {
		return nil
	}
	l, err := store.Listen(s.sockets)
	if err != nil {
		return nil
	}
	return l
}

// OnTaskChange calls f after a task was changed in this process; f must not block.
func (w *Workspace) OnTaskChange(f func(task.ID)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taskWatchers = append(w.taskWatchers, f)
}

func (w *Workspace) taskChanged(id task.ID) {
	w.mu.Lock()
	watchers := w.taskWatchers
	w.mu.Unlock()
	for _, f := range watchers {
		f(id)
	}
}

// OpenTaskRun opens the run of an assignment: the existing one, or a new one of its agent.
func (w *Workspace) OpenTaskRun(ctx context.Context, s task.State, r task.Run) (*Session, error) {
	st, err := w.writing()
	if err != nil {
		return nil, err
	}
	if _, err := st.Run(ctx, r.ID); err == nil {
		return w.resume(ctx, r.ID, Task{})
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	a, err := w.taskAgent(ctx, r.Agent, r.Kind)
	if err != nil {
		return nil, err
	}
	left, _ := s.Left()
	o, _ := a.Kind.Output() // not one that the agent declares: the task needs its own
	dir := ""
	if s.Copy != nil && r.Kind == task.Worker {
		if _, _, err := w.copyOfTask(ctx, s.Created.Task); err != nil {
			return nil, err
		}
		dir = s.Copy.Dir
	}
	return w.Start(ctx, Task{Run: r.ID, dir: dir, Agent: a.Name, Output: o, Limits: run.Limits{Cost: left.Cost, Tokens: left.Tokens}})
}

// How much of attached files an agent is given with its words, in bytes: of texts, all together
// and with a mark where they are cut, and of a picture.
const (
	maxInlineText    = 128 << 10
	maxInlinePicture = 4 << 20
)

// TaskInput returns what a run is told at an assignment: the words, and the files that were
// attached since the one before. Texts and pictures are part of it; of other files the agent
// knows the name.
func (w *Workspace) TaskInput(s task.State, id run.ID, words string) ([]run.Part, error) {
	var parts []run.Part
	if words != "" {
		parts = append(parts, run.Text(words))
	}
	r, _ := s.Run(id)
	var since time.Time
	if n := len(r.Assignments); n > 1 {
		since = r.Assignments[n-2].At
	}
	room := maxInlineText
	for _, a := range s.Attachments {
		if a.At.Before(since) {
			continue
		}
		content, err := os.ReadFile(w.AttachmentFile(s.Created.Task, a))
		if err != nil {
			return nil, err
		}
		kind, _, _ := strings.Cut(a.Type, ";")
		switch {
		case pictureTypes[kind] && len(content) <= maxInlinePicture:
			parts = append(parts, run.Text("Attached picture "+a.Name+":"), run.Part{Type: run.ImagePart, Image: &run.Image{MediaType: kind, Data: content}})
		case utf8.Valid(content) && !slices.Contains(content, 0):
			shown := string(content)
			cut := ""
			if len(shown) > room {
				shown, cut = strings.ToValidUTF8(shown[:room], ""), fmt.Sprintf("\n[cut: %d of %d bytes are shown]", room, len(shown))
			}
			room -= len(shown)
			parts = append(parts, run.Text(text.Tagged("attachment", fmt.Sprintf("name=%q", a.Name), shown+cut)))
		default:
			parts = append(parts, run.Text(fmt.Sprintf("The attached file %s is neither a text nor a picture that can be shown here.", a.Name)))
		}
	}
	return parts, nil
}

// pictureTypes are the types of pictures that every provider takes.
var pictureTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// atMost returns limits that are no higher than others; a zero field of these is none.
func atMost(l, most run.Limits) run.Limits {
	force := l.InForce()
	if most.Cost > 0 && (force.Cost < 0 || force.Cost > most.Cost) {
		l.Cost = most.Cost
	}
	if most.Tokens > 0 && (force.Tokens < 0 || force.Tokens > most.Tokens) {
		l.Tokens = most.Tokens
	}
	if most.Steps > 0 && (force.Steps < 0 || force.Steps > most.Steps) {
		l.Steps = most.Steps
	}
	if most.Calls > 0 && (force.Calls < 0 || force.Calls > most.Calls) {
		l.Calls = most.Calls
	}
	if most.Wall > 0 && (force.Wall < 0 || force.Wall > most.Wall) {
		l.Wall = most.Wall
	}
	return l
}

// NewMessageID returns an id for a message to an agent.
func NewMessageID() string { return "m-" + strings.ToLower(rand.Text()[:12]) }
