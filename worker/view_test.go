package worker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pawl/run"
	"pawl/store"
	"pawl/tool"
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
	v, err := store.Dial(t.Context(), owner.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for d.listen.Viewers() == 0 {
		runtime.Gosched()
	}
	// What this process wants of the run is read because it wakes the owner.
	put(t, r, "s", store.Steer, "faster")
	if err := v.Wake(); err != nil {
		t.Error(err)
	}
	r.until(func(v View) bool { return v.Event != nil && store.Type(v.Event.Payload) == "said" })
	close(k.goOn)
	r.until(func(v View) bool { return v.Progress != nil })
	put(t, r, "k", store.Interrupt, `{"by":"ann"}`)
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
		case l.Seq != 0:
			last = l.Seq
			if last == s.Seq { // nothing follows
				v.Close()
			}
		case l.Progress != nil:
			seen = append(seen, string(l.Progress.Call)+" "+l.Progress.Text)
		case l.Stopping != "":
			seen = append(seen, "stopping: "+l.Stopping)
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
