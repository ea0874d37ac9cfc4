package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/run"
	"pawl/store"
	"pawl/store/socket"
	"pawl/tool"
	"pawl/view"
)

// A talker is a tool that prints, waits to be let go, and prints again.
type talker struct {
	begun, goOn chan struct{}
}

func (talker) Spec() tool.Spec {
	return tool.Spec{Name: "talk", Description: "Talks.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
}

func (talker) Inspect(tool.Env, json.RawMessage) (tool.Intent, error) {
	return tool.Intent{Class: run.Reads, Title: "talk"}, nil
}

func (k talker) Run(ctx context.Context, _ tool.Env, c tool.Call) (tool.Result, error) {
	close(k.begun)
	<-k.goOn
	c.Progress("half of it")
	<-ctx.Done()
	return tool.Result{}, errors.New("stopped")
}

// socketDir is a folder whose path is short enough for sockets.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pawl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestAViewerInAnotherProcessSeesWhatTheOwnerShows(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text":"I talk.","calls":[{"tool":"talk"}]}`)
	k := talker{make(chan struct{}), make(chan struct{})}
	r.w.Tools = tool.NewRegistry(k)
	r.w.SocketDir = socketDir(t)
	d := r.create()
	defer d.Close()
	ended := make(chan run.State)
	go func() {
		s, err := d.Run(context.Background(), prompt("go"))
		if err != nil {
			t.Error(err)
		}
		ended <- s
	}()
	<-k.begun

	owner, owned, err := r.mem.Owner(t.Context(), "r")
	if err != nil || !owned || owner.Socket == "" {
		t.Fatalf("owner %+v, %v, %v", owner, owned, err)
	}
	v, err := socket.Dial(t.Context(), owner.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for d.listen.Viewers() == 0 {
		runtime.Gosched()
	}
	// What this process wants of the run is read because it wakes the owner.
	put(t, r, "s", saying("s", run.Steer, "faster"))
	if err := v.Wake(); err != nil {
		t.Error(err)
	}
	r.until(func(v view.Update) bool { return v.Event != nil && store.Type(v.Event.Payload) == "said" })
	close(k.goOn)
	r.until(func(v view.Update) bool { return v.Progress != nil })
	putRow(t, r, "k", "interrupt", `{"by":"ann"}`)
	if err := v.Wake(); err != nil {
		t.Error(err)
	}
	s := <-ended
	if s.Turn.End.End != run.EndInterrupted {
		t.Errorf("ended %+v", s.Turn.End)
	}
	var seen []string
	last := int64(0)
	for b, err := range v.Lines() {
		if err != nil {
			t.Fatal(err)
		}
		var l line
		if err := json.Unmarshal(b, &l); err != nil {
			t.Fatal(err)
		}
		switch {
		case l.Progress != nil:
			seen = append(seen, string(l.Progress.Call)+" "+l.Progress.Text)
		case l.Stopping != nil:
			seen = append(seen, "stopping: "+string(l.Stopping.Cause))
		}
		if last = l.Seq; last == s.Seq { // nothing follows
			v.Close()
		}
	}
	if want := []string{"c_1 half of it", "stopping: person"}; !slices.Equal(seen, want) || last != s.Seq {
		t.Errorf("the viewer saw %q and events up to %d, want %q and %d", seen, last, want, s.Seq)
	}
}

func TestDeltasAreShownToViewersAndDroppedWhenTheAnswerBreaksOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
{"thinking":"I wonder","text":"half of it","cut":"text"}
{"text":"All of it."}`)
	s := r.run(r.create(), prompt("go"))
	if s.Answer() != "All of it." {
		t.Errorf("answer %q", s.Answer())
	}
	shown := ""
	for _, v := range r.views {
		switch {
		case v.Drop:
			shown = ""
		case v.Delta != nil:
			shown += v.Delta.Text
		}
	}
	if shown != "All of it." {
		t.Errorf("shown %q", shown)
	}
}

func TestARunIsNotRefusedForLackOfASocket(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text":"Done."}`)
	dir := socketDir(t)
	r.w.SocketDir = filepath.Join(dir, strings.Repeat("x", 200)) // longer than the address of a socket may be
	if s := r.run(r.create(), prompt("go")); s.Answer() != "Done." {
		t.Errorf("ended %+v", s.Turn.End)
	}
}

func TestARunHasOneOwner(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text":"Done."}`)
	r.w.SocketDir = socketDir(t)
	d := r.create()
	if _, err := d.Run(t.Context(), prompt("go")); err != nil {
		t.Fatal(err)
	}
	_, err := r.w.Open(t.Context(), "r", nil)
	if owned, ok := errors.AsType[*store.OwnedError](err); !ok || owned.Run != "r" {
		t.Errorf("a second owner: %v", err)
	}
	for range 2 { // it may be called twice
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := r.open().Close(); err != nil {
		t.Error(err)
	}
}

func TestALogThatCannotBeReplayedIsNotOpened(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text":"Done."}`)
	if _, err := r.w.Open(t.Context(), "nothing", nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
	events := []run.Event{{Payload: run.Created{Run: "r"}}, {Payload: run.Ended{End: run.Completed}}}
	if err := r.mem.Append(t.Context(), "r", 0, events); err != nil {
		t.Fatal(err)
	}
	_, err := r.w.Open(t.Context(), "r", nil)
	if !errors.Is(err, run.ErrOrder) || !strings.Contains(err.Error(), "pawl runs verify r") {
		t.Errorf("a log that is not consistent: %v", err)
	}
	if _, owned, err := r.mem.Owner(t.Context(), "r"); owned || err != nil {
		t.Errorf("it is still owned: %v", err)
	}
}

// Two follow a run that works: one in its process, one in another. The other one comes
// when half of an answer has been shown.
func TestWhoFollowsLaterSeesTheAnswerFromItsBeginning(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text":"Half of it. ","calls":[{"tool":"talk"}]}
{"text":"Never ends.","hang":true}`)
	k := talker{make(chan struct{}), make(chan struct{})}
	r.w.Tools = tool.NewRegistry(k)
	r.w.SocketDir = socketDir(t)
	d := r.create()
	ended := make(chan run.State)
	go func() {
		s, err := d.Run(context.Background(), prompt("go"))
		if err != nil {
			t.Error(err)
		}
		ended <- s
		d.Close()
	}()
	<-k.begun
	close(k.goOn)
	r.until(func(u view.Update) bool { return u.Progress != nil })

	see := func(updates iter.Seq2[view.Update, error]) <-chan string {
		seen := make(chan string)
		go func() {
			var b strings.Builder
			seq := int64(0)
			for u, err := range updates {
				switch {
				case err != nil:
					t.Error(err)
				case u.Event != nil:
					if seq++; u.Event.Seq != seq {
						t.Errorf("event %d came as number %d", u.Event.Seq, seq)
					}
					fmt.Fprintf(&b, "%s ", store.Type(u.Event.Payload))
				case u.Delta != nil:
					fmt.Fprintf(&b, "%q ", u.Delta.Text)
				case u.Progress != nil:
					fmt.Fprintf(&b, "%s:%q ", u.Progress.Call, u.Progress.Text)
					seen <- "" // it follows
				}
			}
			seen <- b.String()
		}()
		return seen
	}
	within := see(d.Follow(t.Context(), 0))
	<-within
	other := see(Follow(t.Context(), r.mem, "r", 0))
	<-other
	d.Interrupt(run.Interrupted{Cause: run.ByPerson})
	<-ended
	const want = `run_created prompted request_started replied call_inspected call_decided call_started c_1:"half of it" interrupted call_settled synthesized turn_ended `
	for _, seen := range []<-chan string{within, other} {
		// The call may end before the interrupt that stops it is recorded.
		if got := strings.Replace(<-seen, "call_settled interrupted", "interrupted call_settled", 1); got != want {
			t.Errorf("saw  %s\nwant %s", got, want)
		}
	}
	for u := range d.Follow(t.Context(), d.State().Seq) {
		t.Errorf("after Close it shows %+v", u)
	}
	// A run that no process drives is followed to its end.
	for u, err := range Follow(t.Context(), r.mem, "r", d.State().Seq-1) {
		if err != nil || u.Event.Seq != d.State().Seq {
			t.Errorf("followed %+v, %v", u.Event, err)
		}
	}
}

// Who follows a run from another process before it was asked anything sees all of its first turn.
func TestARunIsFollowedBeforeItIsInTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"text":"Done."}`)
		d := r.create()
		seen := make(chan []string, 1)
		go func() {
			var types []string
			for u, err := range Follow(t.Context(), r.mem, "r", 0) {
				if err != nil {
					t.Error(err)
					break
				}
				types = append(types, store.Type(u.Event.Payload))
			}
			seen <- types
		}()
		time.Sleep(2 * pollRun)
		r.run(d, prompt("go"))
		if got, want := <-seen, r.log(r.mem); !slices.Equal(got, want) {
			t.Errorf("saw %q, not %q", got, want)
		}
	})
}

// A run whose process has no socket is followed by its log, until that process lets go of it.
func TestARunWithoutASocketIsFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, `{"calls":[{"tool":"read","args":{"do":"sleep 10s"}}]}
{"text":"Done."}`)
		d := r.create()
		ended := make(chan error, 1)
		go func() {
			_, err := d.Run(context.Background(), prompt("go"))
			ended <- errors.Join(err, d.Close())
		}()
		<-r.read.begun
		began := time.Now()
		var seen []string
		for u, err := range Follow(t.Context(), r.mem, "r", 0) {
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, store.Type(u.Event.Payload))
			if len(seen) == 7 && time.Since(began) > pollRun {
				t.Errorf("the start of the call was seen after %s", time.Since(began))
			}
		}
		if want := r.log(r.mem); !slices.Equal(seen, want) || time.Since(began) > 10*time.Second+pollRun {
			t.Errorf("after %s: saw %q, not %q", time.Since(began), seen, want)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestWhatIsLiveIsRememberedUntilItIsAnEvent(t *testing.T) {
	t.Parallel()
	var l live
	for _, u := range []view.Update{
		{Delta: &view.Delta{Thinking: "hm"}}, {Delta: &view.Delta{Text: "a"}}, {Delta: &view.Delta{Text: "b"}},
		{Delta: &view.Delta{Tool: "shell"}}, {Delta: &view.Delta{Arguments: "{"}}, {Delta: &view.Delta{Arguments: "}"}},
		{Notice: "the disk is slow"}, {Waiting: []run.CallID{"c_1"}},
	} {
		l.add(u)
	}
	want := []view.Update{
		{Delta: &view.Delta{Thinking: "hm"}}, {Delta: &view.Delta{Text: "ab"}}, {Delta: &view.Delta{Tool: "shell", Arguments: "{}"}},
		{Waiting: []run.CallID{"c_1"}},
	}
	if diff := cmp.Diff(want, l.updates()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// An answer that comes a letter at a time is remembered in pieces of some length.
	for range 3 * maxDelta {
		l.add(view.Update{Delta: &view.Delta{Text: "x"}})
	}
	text, pieces := "", 0
	for _, d := range l.answer[2:] {
		text, pieces = text+d.Text, pieces+1
	}
	if text = strings.TrimLeft(text, "{}"); len(text) != 3*maxDelta || pieces != 4 {
		t.Errorf("%d letters are remembered in %d pieces", len(text), pieces)
	}
	l.add(view.Update{Event: &run.Event{Seq: 9, Payload: run.Replied{}}})
	l.add(view.Update{Waiting: []run.CallID{}})
	if len(l.updates()) != 0 || l.seq != 9 {
		t.Errorf("after the answer: %+v", l)
	}
}
