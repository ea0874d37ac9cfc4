package worker

import (
	"context"
	"encoding/json"
	"iter"
	"net/http/httptrace"
	"testing"

	"pawl/llm"
	"pawl/permission"
	"pawl/run"
	"pawl/tool"
)

// overHTTP is a provider that writes each request twice, as after a connection that was closed,
// and whose model thinks until it has.
type overHTTP struct {
	llm.Provider
	thought <-chan struct{}
}

func (p overHTTP) Stream(ctx context.Context, q llm.Request) iter.Seq2[llm.Delta, error] {
	if t := httptrace.ContextClientTrace(ctx); t != nil && t.WroteRequest != nil {
		t.WroteRequest(httptrace.WroteRequestInfo{})
		t.WroteRequest(httptrace.WroteRequestInfo{})
	}
	<-p.thought
	return p.Provider.Stream(ctx, q)
}

// A prepared is what a tool was told to prepare.
type prepared struct {
	life  context.Context
	level run.Confinement
}

// builder is a tool that notes what it prepares.
type builder struct {
	told chan prepared
	once chan struct{} // closed when it was told first
}

func (builder) Spec() tool.Spec {
	return tool.Spec{Name: "build", Description: "Builds.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
}

func (builder) Inspect(tool.Env, json.RawMessage) (tool.Intent, error) {
	return tool.Intent{Class: run.Reads, Title: "build"}, nil
}

func (builder) Run(context.Context, tool.Env, tool.Call) (tool.Result, error) {
	return tool.TextResult("built"), nil
}

func (builder) Expected() tool.Intent { return tool.Intent{Class: run.Reads, Command: "ls"} }

func (b builder) Prepare(life context.Context, _ tool.Env, level run.Confinement) {
	if b.told <- (prepared{life, level}); len(b.told) == 1 {
		close(b.once)
	}
}

func preparing(t *testing.T, replies string) (*rig, builder) {
	r, b := newRig(t, replies), builder{make(chan prepared, 16), make(chan struct{})}
	r.w.Tools = tool.NewRegistry(b)
	inner, _, _ := r.w.Provider("")
	r.w.Provider = func(string) (llm.Provider, string, error) { return overHTTP{inner, b.once}, "m", nil }
	return r, b
}

func TestToolsArePreparedOnceWhileTheFirstAnswerIsWritten(t *testing.T) {
	t.Parallel()
	r, b := preparing(t, `
{"calls":[{"tool":"build"}]}
{"text":"Built."}`)
	r.w.Authorizer = authorizer(func(q permission.Request) permission.Decision {
		return permission.Decision{Verdict: permission.Allow, Sandbox: run.ReadOnly}
	})
	d := r.create()
	if _, err := d.Run(t.Context(), prompt("go")); err != nil {
		t.Fatal(err)
	}
	p := <-b.told
	if p.level != run.ReadOnly || p.life.Err() != nil {
		t.Errorf("prepared at %q, %v: want the level of what the rules allow, until the run is closed", p.level, p.life.Err())
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	<-p.life.Done()
	if len(b.told) > 0 {
		t.Error("it was prepared again")
	}
}

func TestNothingIsPreparedThatAPersonDecides(t *testing.T) {
	t.Parallel()
	r, b := preparing(t, `{"text":"yes"}`)
	d := r.create()
	defer d.Close()
	for _, v := range []permission.Verdict{permission.Ask, permission.Deny} {
		r.w.Authorizer = authorizer(func(permission.Request) permission.Decision { return permission.Decision{Verdict: v} })
		if d.prepare(d.State(), d.env, "build", b); len(b.told) > 0 {
			t.Errorf("%s: it was prepared", v)
		}
	}
}
