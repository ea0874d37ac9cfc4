package worker

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"

	"pawl/judge"
	"pawl/permission"
	"pawl/run"
	"pawl/tool"
)

// leastThinking is how long an answer has to take for tools to be prepared meanwhile: one that
// is cached or scripted comes sooner, and is not to share the processors with that.
const leastThinking = 10 * time.Millisecond

// prepareTools returns ctx for the first request of the runner. When the request has been
// written, while the model works on its answer, the tools are prepared for their first calls.
func (r *Runner) prepareTools(ctx context.Context, s run.State, m *modelSession) context.Context {
	if r.prepared {
		return ctx
	}
	r.prepared = true
	env := r.env // of this goroutine
	prepare := func() {
		r.hidden()
		for _, spec := range m.offered {
			if t, ok := m.registry.Get(spec.Name); ok {
				if p, ok := t.(tool.Preparer); ok {
					r.prepare(s, env, spec.Name, p)
				}
			}
		}
	}
	var once sync.Once // the request may be written again on another connection
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) {
			once.Do(func() {
				timer := time.AfterFunc(leastThinking, prepare)
				context.AfterFunc(ctx, func() { timer.Stop() }) // the answer is there, or an interrupt
			})
		},
	})
}

// prepare prepares a tool for the call that it expects first, as far as the rules allow that
// without a question.
func (r *Runner) prepare(s run.State, env tool.Env, name string, p tool.Preparer) {
	in := p.Expected()
	mode, err := r.mode(s)
	if err != nil {
		return // the call says so
	}
	if v := r.w.judge().Of(judge.Call{Run: r.id, Mode: mode, Tool: name, Class: in.Class, Intent: in, Env: env}).Decision(); v.Verdict == permission.Allow {
		p.Prepare(r.life, env, v.Sandbox)
	}
}
