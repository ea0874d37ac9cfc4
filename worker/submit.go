package worker

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"pawl/llm"
	"pawl/run"
	"pawl/submission"
	"pawl/tool"
)

// A toolset is the tools of runs: those of the worker that are granted to them, and the one that
// submits their result. Runs with equal keys share one, which does not change.
type toolset struct {
	tools      *tool.Registry
	submission *tool.Submission // nil: no result is required
}

type toolsetKey struct {
	output   run.Output
	grants   run.Grants
	agent    bool           // of an agent
	external bool           // that is a program of its own
	base     *tool.Registry // the worker's
}

// An offer is the tools of a toolset in the form that a model is offered them. Runs with equal
// keys share one, which does not change.
type offer struct {
	names   llm.Names
	tools   []json.RawMessage
	output  json.RawMessage // see modelSession
	offered []tool.Spec
	notices []string
}

type offerKey struct {
	tools      *tool.Registry
	model      string
	window     int64
	result     run.Output
	controlled bool
	grants     run.Grants
}

// A shared keeps what runs share. The zero value is ready to be used, from any goroutine.
type shared[K comparable, V any] struct {
	mu   sync.Mutex
	kept map[K]V
}

// maxShared bounds what is kept: schemas of results may be different in each run.
const maxShared = 100

// of returns the value for a key; make makes it if it is not kept.
func (s *shared[K, V]) of(key K, make func() V) V {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.kept[key]; ok {
		return v
	}
	v := make()
	if len(s.kept) >= maxShared {
		clear(s.kept)
	}
	if s.kept == nil {
		s.kept = map[K]V{}
	}
	s.kept[key] = v
	return v
}

// tools returns the tools of the run, and the one among them that submits the result; nil
// if none is required.
func (r *Runner) tools(c run.Config) (*tool.Registry, *tool.Submission) {
	created := r.State().Created
	key := toolsetKey{c.Output, c.Tools, created.Agent != "", created.External, r.w.registry()}
	r.choosing.Lock()
	defer r.choosing.Unlock()
	if r.toolsKey == key && r.toolset.tools != nil {
		return r.toolset.tools, r.toolset.submission
	}
	r.toolsKey, r.toolset = key, r.w.toolsets.of(key, func() toolset {
		chosen := toolset{tools: key.base.For(c.Tools, key.agent)}
		if key.external {
			for _, t := range r.w.AgentTools {
				chosen.tools = chosen.tools.With(t)
			}
		}
		if c.Output.Schema != "" {
			// A schema that is not one was refused when it was given; if a log says
			// otherwise nothing can be submitted, and the run reports that.
			if s, err := tool.NewSubmission(c.Output.Tool, json.RawMessage(c.Output.Schema)); err == nil {
				chosen.tools, chosen.submission = chosen.tools.With(s), &s
			} else {
				r.w.debug("the output's schema", "run", r.id, "error", err)
			}
		}
		return chosen
	})
	return r.toolset.tools, r.toolset.submission
}

// tool returns a tool of the run by its name, granted or not.
func (r *Runner) tool(name string) (tool.Tool, bool) {
	if r.State().Created.External {
		for _, t := range r.w.AgentTools {
			if t.Spec().Name == name {
				return t, true
			}
		}
	}
	return r.w.registry().Get(name)
}

// notGranted returns why a call is refused whose tool there is, but not for this run.
func (r *Runner) notGranted(s run.State, tools *tool.Registry, name string) error {
	if _, ok := tools.Get(name); ok {
		return nil
	}
	if _, ok := r.w.registry().Get(name); !ok {
		if submission.Reserved(name) {
			return fmt.Errorf("not granted: the tool %s is not for this agent. An agent of its kind does not submit with it", submission.Wire(name))
		}
		return nil
	}
	return NotGranted(s, name, tools.Names())
}

// NotGranted returns the error for a tool that a run does not have; granted are those that it has.
func NotGranted(s run.State, name string, granted []string) error {
	who := "this run"
	if s.Created.Agent != "" {
		who = "the agent " + s.Created.Agent
	}
	return fmt.Errorf("not granted: %s does not have the tool %s. Granted: %s", who, name, strings.Join(granted, ", "))
}

// submits reports whether a call submits the result.
func (r *Runner) submits(c run.Config, call run.Call) bool {
	_, submission := r.tools(c)
	return submission != nil && call.Tool == c.Output.Tool
}

// bySchema interprets an answer that was asked for by the result's schema: it is the
// result, or there is something wrong with it, or (both empty) it is not one yet. An
// answer in several pieces is read as one.
func (r *Runner) bySchema(s run.State, p run.Replied) (value, problem string) {
	switch p.Stop {
	case run.StopMaxTokens, run.StopPause, run.StopToolUse, run.StopFiltered, run.StopRefusal, run.StopGuardrail:
		return "", "" // any other, also an unknown one, is an end
	}
	for _, part := range p.Parts {
		if part.Type == run.CallPart {
			return "", ""
		}
	}
	text := strings.TrimSpace(s.Unfinished() + run.PlainText(p.Parts))
	_, submission := r.tools(s.Config)
	if text == "" || submission == nil { // the run's own remedy for an empty answer comes first
		return "", ""
	}
	if !json.Valid([]byte(text)) {
		return "", "The answer is not JSON."
	}
	value, err := submission.Value(json.RawMessage(text))
	if err != nil {
		what := strings.TrimPrefix(err.Error(), "wrong arguments for "+s.Config.Output.Tool+": ") // it was not called
		problem = "The answer does not fit the schema: " + strings.TrimSuffix(what, ".") + "."
	}
	return value, problem
}
