package external

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pawl/run"
)

// maxLine bounds a line of an agent's stream, in bytes. A longer one is passed over.
const maxLine = 16 << 20

// maxStderr is how much of the end of standard error is kept.
const maxStderr = 8 << 10

// Events runs the turn. It yields what the agent reports as [run.Observed], its id for the
// conversation first, and finally [run.Replied] or [run.RequestFailed]. When ctx is done the
// agent is stopped with all processes that it started. Events returns when they have ended.
func (t Turn) Events(ctx context.Context) iter.Seq2[run.Payload, error] {
	return func(yield func(run.Payload, error) bool) {
		final, err := t.run(ctx, func(p run.Payload) bool { return yield(p, nil) })
		if err != nil {
			yield(nil, err)
		} else if final != nil {
			yield(final, nil)
		}
	}
}

// errGone says that the caller takes no more events.
var errGone = errors.New("the turn is over")

// run runs the turn: in its conversation, and, if the program does not know that any more, in
// a new one.
func (t Turn) run(ctx context.Context, yield func(run.Payload) bool) (run.Payload, error) {
	t.Patience, t.Silence = cmp.Or(t.Patience, DefaultPatience), cmp.Or(t.Silence, DefaultSilence)
	if err := os.MkdirAll(t.State, 0o700); err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		resume := t.Conversation != ""
		conversation := t.Conversation
		if !resume && t.Kind.chooses {
			conversation = newConversation()
			if !yield(run.Observed{Conversation: conversation}) {
				return nil, nil
			}
		}
		e, err := t.attempt(ctx, conversation, resume, yield)
		switch {
		case errors.Is(err, errGone):
			return nil, nil
		case err != nil:
			return nil, err
		}
		final := e.final(ctx, t.Kind)
		// Nothing was done in these two cases. Each is met once at most.
		if _, failed := final.(run.RequestFailed); failed && attempt < 2 && ctx.Err() == nil && e.report.lines == 0 {
			switch problem := e.problem(); {
			case resume && says(problem, unknownConversation):
				t.Conversation = ""
				continue
			case !resume && says(problem, conversationInUse):
				t.Conversation = conversation
				continue
			}
		}
		return final, nil
	}
}

// What the programs say of a conversation that they do not know, or that they know already:
// as observed, in lower case.
var (
	unknownConversation = []string{"no conversation found", "session not found", "no rollout found", "thread not found", "no saved session", "invalid session identifier", "no previous sessions found", "error resuming session"}
	conversationInUse   = []string{"is already in use", "already exists"}
)

func says(text string, words []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// newConversation returns a random UUID, version 4.
func newConversation() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// An ending is how the process of an attempt ended.
type ending struct {
	report  *report
	how     string // "exit code 1", "signal: killed"
	stderr  string
	silence time.Duration // it was stopped because it had printed nothing for so long; 0: it was not
	unasked bool          // it was stopped because it had used a tool and not run the hook
}

// attempt starts the program once and reads it to its end.
func (t Turn) attempt(ctx context.Context, conversation string, resume bool, yield func(run.Payload) bool) (*ending, error) {
	inv, err := t.Kind.adapter.invoke(t, conversation, resume)
	if err != nil {
		return nil, err
	}
	unlock, err := t.lock(conversation)
	if err != nil {
		return nil, err
	}
	defer func() { unlock() }() // it is replaced when the program names its conversation
	if inv.log != "" {
		_ = os.Remove(inv.log) // of a killed pawl: the program appends
		defer os.Remove(inv.log)
	}
	// What a killed pawl left would write to the same conversation.
	endTree(t.mark(), t.Patience)
	if err := errors.Join(os.MkdirAll(t.folder(), 0o700), os.RemoveAll(t.hooked())); err != nil {
		return nil, err
	}
	prompt := ""
	if !inv.prompted {
		prompt = t.prompt(!resume)
	}
	p, err := t.start(inv, prompt)
	if err != nil {
		return nil, err
	}
	// When this returns the tree has ended, also if the caller's yield panics.
	defer p.end()
	unasked := context.AfterFunc(ctx, p.stop)
	defer unasked()

	e := &ending{report: newReport()}
	r := e.report
	r.patience = max(0, cmp.Or(t.Retry, run.DefaultRetry))
	var silent atomic.Bool
	quiet := time.AfterFunc(t.Silence, func() { silent.Store(true); p.stop() })
	defer quiet.Stop()
	s := t.Kind.adapter.stream()
	named := conversation
	stopped := false // because it waits for too long
	for open := true; open; {
		var line []byte
		select {
		case line, open = <-p.lines:
		case again := <-p.retries:
			r.retry(again, time.Now())
		}
		if stopped {
			continue // what it says of being stopped
		}
		quiet.Reset(t.Silence)
		if open && line != nil {
			before, known := r.lines, r.trouble
			if s.line(line, r); r.lines > before && r.trouble == known {
				r.trouble = nil // it has an answer
			}
		}
		if stopped = r.waits; stopped {
			p.stop()
		}
		if r.used && len(t.Server.Hook) > 0 && t.Server.Permission == "" && !e.unasked {
			if _, err := os.Stat(t.hooked()); err != nil {
				e.unasked = true
				p.stop()
			}
		}
		if r.conversation != "" && r.conversation != named {
			named = r.conversation
			again, err := t.lock(named)
			if err != nil {
				return nil, err
			}
			unlock = both(unlock, again)
			if !yield(run.Observed{Conversation: named}) {
				return nil, errGone
			}
		}
		if !r.done && r.usage != (run.Usage{}) {
			r.news = append(r.news, run.Observed{Usage: r.usage})
			r.usage = run.Usage{}
		}
		for _, o := range r.take() {
			if !yield(o) {
				return nil, errGone
			}
		}
	}
	e.how = p.wait()
	r.clean = e.how == "exit code 0"
	e.stderr = p.stderr.String()
	if silent.Load() {
		e.silence = t.Silence
	}
	s.end(r)
	if (p.stderr.saw() || holds(inv.log, t.Kind.unreached)) && r.fail == nil { // whatever it has done instead
		r.failed(run.ErrInvalid, noServer)
	}
	return e, nil
}

// holds reports whether a file holds text; without a name, or a file, it does not.
func holds(name string, text []byte) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	found := &tail{watched: text}
	_, _ = io.Copy(found, f) // what cannot be read is not known
	return found.saw()
}

const noServer = "the server with pawl's tools could not be used"

func both(a, b func()) func() { return func() { b(); a() } }

// problem is what the program has printed of what went wrong.
func (e *ending) problem() string {
	if e.report.fail != nil && e.report.fail.Reason != "" {
		return e.report.fail.Reason + "\n" + e.stderr
	}
	return e.stderr
}

// final is what the end of the turn was. The exit code counts for nothing but the words.
func (e *ending) final(ctx context.Context, k Kind) run.Payload {
	r := e.report
	failed := func(kind run.ErrorKind, reason string) run.RequestFailed {
		f := run.RequestFailed{Kind: kind, Reason: reason, Usage: r.usage}
		switch now := time.Now(); {
		case kind == run.ErrAuth && k.Login == "":
			f.Reason += "; log in, or set a valid key"
		case kind == run.ErrAuth:
			f.Reason += fmt.Sprintf("; log in with `%s`, or set a valid key", k.Login)
		case kind == run.ErrRateLimited && !r.resets.IsZero():
			f.Asked = max(0, r.resets.Sub(now))
		case kind == run.ErrRateLimited: // Gemini CLI says it on standard error alone
			f.Asked = cmp.Or(asked(reason, now), asked(e.stderr, now))
		}
		return f
	}
	switch {
	case e.unasked:
		return failed(run.ErrInvalid, k.Title+" was stopped: it has used a tool without asking pawl. Settings of the system, or of its administrator, may keep it from running the hook")
	case r.done && r.fail == nil: // whatever became of the process after it
		p := run.Replied{Stop: run.StopEndTurn, Usage: r.usage, Model: plain(r.model)}
		if text := strings.TrimSpace(plain(r.said.String())); text != "" {
			p.Parts = []run.Part{run.Text(text)}
		}
		return p
	case ctx.Err() != nil:
		reason := k.Title + " was stopped: " + fmt.Sprint(context.Cause(ctx))
		if r.trouble != nil {
			reason += "; it was trying a failed request again: " + r.trouble.said()
		}
		return failed(run.ErrAborted, reason)
	case e.silence > 0 && r.trouble != nil:
		return failed(r.trouble.kind, fmt.Sprintf("%s was stopped: it was trying a failed request again, and had printed nothing for %v: %s", k.Title, e.silence, r.trouble.said()))
	case e.silence > 0:
		return failed(run.ErrTimeout, fmt.Sprintf("%s was stopped: it had printed nothing for %v", k.Title, e.silence))
	case r.fail != nil:
		reason := r.fail.Reason
		if reason == "" {
			reason = "it says no more (" + e.how + ")"
		}
		return failed(r.fail.Kind, k.Title+": "+reason)
	}
	reason := fmt.Sprintf("%s ended before its turn was over (%s)", k.Title, e.how)
	kind := run.ErrBrokenStream
	if last := lastLines(e.stderr); last != "" {
		reason += ": " + last
		if r.lines == 0 {
			kind = kindOfText(last)
		}
	}
	return failed(kind, reason)
}

// lastLines returns the end of what a program has printed to standard error, on one line, without
// lines of stacks and of OpenCode's log.
func lastLines(s string) string {
	fields := strings.FieldsFunc(plain(strings.ReplaceAll(s, "\r", "\n")), func(c rune) bool { return c == '\n' })
	fields = slices.DeleteFunc(fields, func(l string) bool {
		l = strings.TrimSpace(l)
		return l == "" || strings.HasPrefix(l, "at ") || strings.HasPrefix(l, "timestamp=") || strings.HasPrefix(l, "Reading additional input")
	})
	return strings.Join(fields[max(0, len(fields)-5):], " · ")
}

// lines yields the lines of a stream. One that is too long is passed over.
func lines(r io.Reader) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b := bufio.NewReader(r)
		var line []byte
		long := false
		for {
			piece, err := b.ReadSlice('\n')
			if long = long || len(line)+len(piece) > maxLine; !long {
				line = append(line, piece...)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if !long && len(line) > 0 && !yield(line) {
				return
			}
			line, long = line[:0], false
			if err != nil {
				return // the end; what else it may be is seen in how the process ends
			}
		}
	}
}

// folder is where files of the run are.
func (t Turn) folder() string { return Folder(t.State, t.Run) }

// hooked returns the file that the hook leaves when it runs.
func (t Turn) hooked() string { return filepath.Join(t.folder(), "hooked") }

// State returns the [Turn.State] of a workspace, in the folder for what pawl keeps of it.
func State(dir string) string { return filepath.Join(dir, "external") }

// Folders returns the runs that have a folder.
func Folders(state string) ([]run.ID, error) {
	entries, err := os.ReadDir(filepath.Join(state, "runs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []run.ID
	for _, e := range entries {
		ids = append(ids, run.ID(e.Name()))
	}
	return ids, err
}

// Folder returns where, in a [Turn.State], files of a run are kept. They may be removed with
// the run.
func Folder(state string, id run.ID) string { return filepath.Join(state, "runs", string(id)) }

// file writes a file of the turn and returns its path.
func (t Turn) file(name string, content []byte) (string, error) {
	if err := os.MkdirAll(t.folder(), 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(t.folder(), name)
	return path, os.WriteFile(path, content, 0o600)
}

// lookup returns the value of a variable.
func lookup(env []string, name string) string {
	value := ""
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest
		}
	}
	return value
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// A tail keeps the end of what is written to it, and whether watched was part of it.
type tail struct {
	watched []byte                    // at most maxStderr; nil: nothing is watched
	retry   func([]byte) (retry, int) // see [Kind.retry]
	retries chan<- retry              // gets them, but for those that no one has waited for

	mu   sync.Mutex
	b    []byte
	past int // what is before it in b was searched for retries
	seen bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	t.seen = t.seen || t.watched != nil && bytes.Contains(t.b, t.watched)
	for t.retry != nil {
		again, n := t.retry(t.b[t.past:])
		if n == 0 {
			break
		}
		t.past += n
		select {
		case t.retries <- again:
		default:
		}
	}
	cut := max(0, len(t.b)-maxStderr)
	t.b, t.past = t.b[cut:], max(0, t.past-cut)
	return len(p), nil
}

func (t *tail) saw() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.b), "\uFFFD")
}
