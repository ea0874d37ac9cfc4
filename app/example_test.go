package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl/app"
	"pawl/request"
	"pawl/run"
	"pawl/view"
	"pawl/worker"
)

// A face shows a run as it happens, and allows every call that waits for a person.
type face struct {
	session *app.Session
	view    *view.Projection
	ended   chan struct{} // closed when the turn has ended
	shown   chan struct{} // closed when all was shown
}

// open makes the face of a session and shows what happens from now on.
func open(s *app.Session) *face {
	f := &face{session: s, view: view.From(s.State()), ended: make(chan struct{}), shown: make(chan struct{})}
	updates := s.Follow(context.Background(), s.State().Seq)
	go func() {
		defer close(f.shown)
		for u, err := range updates {
			check(err)
			for _, item := range f.view.Update(u) {
				f.show(item)
			}
		}
	}()
	return f
}

func (f *face) show(i view.Item) {
	switch {
	case i.Kind == view.KindCall && i.Call.State == view.Waiting:
		waiting, err := f.session.Approvals()
		check(err)
		for _, a := range waiting {
			fmt.Println("? may this run:", a.Request.Command)
			check(f.session.Decide(context.Background(), a.Run, request.Decide{Call: a.Call.ID, Answer: run.Allow, Digest: a.Digest}))
		}
	case i.Kind == view.KindCall && i.Call.State == view.Running && i.Call.Tail == "working":
		f.session.Interrupt(run.Interrupted{Cause: run.ByPerson})
	case !i.Final || i.Gone:
	case i.Kind == view.KindCall:
		fmt.Printf("  %s: %s\n", i.Call.Title(), i.Call.OutcomeWords())
	case i.Kind == view.KindEnd:
		fmt.Println("--", view.EndWords(i.End.End))
		close(f.ended)
	case i.Kind == view.KindMessage && i.Message.Kind == view.Continue:
		fmt.Println("> (continue)")
	case i.Kind == view.KindMessage:
		fmt.Println(">", i.Text)
	case i.Text != "":
		fmt.Println(strings.TrimSpace(i.Text))
	}
}

// close waits until the turn has ended, and closes the session.
func (f *face) close() {
	<-f.ended
	check(f.session.Close())
	<-f.shown
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A whole face: a run is started and shown live, a call is allowed, the turn is
// interrupted in a command, and the run is resumed.
func Example() {
	dir, err := os.MkdirTemp("", "pawl-example")
	check(err)
	defer os.RemoveAll(dir)
	script, folder := filepath.Join(dir, "model.jsonl"), filepath.Join(dir, "work")
	check(os.Mkdir(folder, 0o700))
	check(os.WriteFile(script, []byte(`{"text":"I make a note.","calls":[{"tool":"shell","args":{"command":"touch note"}}]}
{"text":"Now a long one.","calls":[{"tool":"shell","args":{"command":"echo working; sleep 60"}}]}
{"text":"The note is there."}
`), 0o600))
	variables := map[string]string{"HOME": dir, "PAWL_STATE_DIR": filepath.Join(dir, "state"), "PAWL_MODEL": "script/" + script}
	ws, err := app.Open(app.Options{
		Dir: folder, Drives: true, OnAsk: worker.AskWait,
		Env: func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
	})
	check(err)
	defer ws.Close()
	ctx := context.Background()

	s, err := ws.Start(ctx, app.Task{})
	check(err)
	f := open(s)
	check(s.Prompt(ctx, run.Text("make a note")))
	f.close()

	s, err = ws.Resume(ctx, "last", app.Task{})
	check(err)
	f = open(s)
	check(s.Continue(ctx))
	f.close()
	// Output:
	// > make a note
	// I make a note.
	// ? may this run: touch note
	//   shell touch note: ok
	// Now a long one.
	// [Conversation interrupted]
	//   shell echo working; sleep 60: stopped
	// Based on the tool executions:
	// - shell touch note: (no output)
	// - shell echo working; sleep 60: stopped while it ran
	// Files changed: note
	// -- interrupted
	// > (continue)
	// The note is there.
	// -- completed
}
