package api_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"pawl/app"
	"pawl/llm"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/store"
	"pawl/submission"
	"pawl/task"
	"pawl/tasklog"
	"pawl/tool"
	"pawl/worker"
)

// An outsideAgent is an external agent that works until it is told to finish.
type outsideAgent struct {
	began, finish chan struct{}
	begin         sync.Once
}

func (a *outsideAgent) Turn(ctx context.Context, _ worker.AgentTurn) iter.Seq2[run.Payload, error] {
	return func(yield func(run.Payload, error) bool) {
		if !yield(run.Observed{Conversation: "conv-1"}, nil) {
			return
		}
		a.begin.Do(func() { close(a.began) })
		select {
		case <-a.finish:
		case <-ctx.Done():
		}
		yield(run.Replied{Parts: []run.Part{run.Text("Done.")}, Stop: run.StopEndTurn}, nil)
	}
}

// noRules asks a person about every call.
type noRules struct{}

func (noRules) Decide(run.ID, permission.Mode, permission.Request) permission.Decision {
	return permission.Decision{Verdict: permission.Ask}
}
func (noRules) Propose(run.ID, permission.Mode, permission.Request) permission.Proposal {
	return permission.Proposal{}
}
func (noRules) Explain(run.ID, permission.Mode, permission.Request) (permission.Explanation, error) {
	return permission.Explanation{}, nil
}

func (noRules) AddRules(run.ID, permission.Rules) error { return nil }
func (noRules) Fetch(context.Context, run.ID) error     { return nil }
func (noRules) Inherit(run.ID, run.ID) error            { return nil }
func (noRules) Versions(ids ...run.ID) []string         { return make([]string, len(ids)) }

// openStore opens the store of a workspace once more, as another process does.
func openStore(ws *app.Workspace) (store.Database, error) {
	key, err := os.ReadFile(filepath.Join(ws.Options().Env.StateDir(), "log-key"))
	if err != nil {
		return nil, err
	}
	return store.Open(ws.State, store.Options{Key: key})
}

// worksOutside drives a run of a task, which was assigned and has not begun, as the run of an
// external agent, in a process of its own. It returns when the agent is at work; finish lets it
// end its turn, and waits for that.
func (s *served) worksOutside(id run.ID) (finish func()) {
	s.t.Helper()
	st, err := openStore(s.ws)
	must(s.t, err)
	a := &outsideAgent{began: make(chan struct{}), finish: make(chan struct{})}
	w, err := worker.New(worker.Config{Store: st, Tools: tool.NewRegistry(), Authorizer: noRules{}, Agent: a, OnAsk: worker.AskDeny, StateDir: s.ws.State,
		TaskOf: func(ctx context.Context, id run.ID) (worker.Task, error) {
			return (&tasklog.Tasks{Store: st}).Of(ctx, id)
		},
		Provider: func(string) (llm.Provider, string, error) { return nil, "", errors.New("no model is asked") }})
	must(s.t, err)
	output, _ := submission.Worker.Output()
	r, err := w.Create(context.Background(), run.Created{Run: id, Workspace: s.dir, Agent: "developer", External: true, Config: run.Config{Model: "claude-code/default", Output: output, Tools: run.Grant()}}, nil)
	must(s.t, err)
	assigned := r.PostForTask([]task.Action{task.Note{Run: id, Fact: task.AgentPrompted{Number: 1}}},
		request.Say{ID: "assignment", Parts: []run.Part{run.Text("Carry it out.")}})
	ended := make(chan error, 1)
	go func() {
		_, err := r.Run(context.Background())
		ended <- errors.Join(err, r.Close(), st.Close())
	}()
	must(s.t, assigned(s.t.Context()))
	<-a.began
	finish = func() {
		s.t.Helper()
		close(a.finish)
		if err := <-ended; err != nil {
			s.t.Errorf("the external run: %v", err)
		}
	}
	return finish
}

var _ worker.Authorizer = noRules{}
