// Package llmtest holds what tests of model providers share: a fake server that
// looks at requests as strictly as the real ones ([fake.Server]), a listener that collects an answer, and [Run], the suite that
// every provider has to pass.
package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pawl/llm"
	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
	"pawl/run"
)

// Key is the key that tests send. It must never turn up in an error.
const Key = "sk-test-3f9c1b7e2d"

// A Server is a fake provider on this machine. It records every request.
type Server struct {
	*fake.Server
	URL string
}

// NewServer starts a server that plays a script (see package script) and stops it
// when the test ends. A request that it refused as wrong fails the test, unless
// the script had simply ended.
func NewServer(t testing.TB, lines string) *Server {
	t.Helper()
	s := fake.New(Parse(t, lines), true)
	url, stop, err := s.Listen()
	if err != nil {
		t.Fatalf("the fake server cannot listen: %v", err)
	}
	t.Cleanup(func() {
		stop()
		for _, r := range s.Requests() {
			if r.Wrong != "" && !strings.Contains(r.Wrong, "the script has ended") {
				t.Errorf("the server refused a request: %s\n%.2000s", r.Wrong, r.Body)
			}
		}
	})
	return &Server{s, url}
}

// Parse reads a script that has to be right.
func Parse(t testing.TB, lines string) script.Script {
	t.Helper()
	s, err := script.Parse(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A Heard is what a listener heard of an answer.
type Heard struct {
	Text, Thinking string     // of all deltas
	Input          string     // fragments of arguments
	Begun          []string   // tools of the calls that had begun
	Parts          []run.Part // those that were finished
	Usage          run.Usage  // the last that was reported before the end
	Answer         *llm.Answer
	Err            *llm.Error
}

// Listen sends r and collects what comes. It fails the test when the provider
// breaks its contract: two answers, an answer and an error, something after
// either, an error that is no *llm.Error, or one that tells the key.
func Listen(ctx context.Context, t testing.TB, p llm.Provider, r llm.Request) Heard {
	t.Helper()
	var h Heard
	over := false
	for d, err := range p.Stream(ctx, r) {
		if over {
			t.Fatalf("the provider went on after its end: %+v, %v", d, err)
		}
		if err != nil {
			if !errors.As(err, &h.Err) {
				t.Fatalf("the provider returned no *llm.Error but %T: %v", err, err)
			}
			if said := fmt.Sprintf("%v %v %+v", h.Err, h.Err.Err, *h.Err); strings.Contains(said, Key) {
				t.Errorf("the error tells the key: %s", said)
			}
			if len(h.Err.Message) > 500 {
				t.Errorf("the error has %d bytes of message, want at most 500", len(h.Err.Message))
			}
			if h.Err.Usage != h.Usage {
				t.Errorf("the error's usage is %+v, reported was %+v", h.Err.Usage, h.Usage)
			}
			over = true
			continue
		}
		h.Text += d.Text
		h.Thinking += d.Thinking
		h.Input += d.Input
		if d.Call != "" {
			h.Begun = append(h.Begun, d.Call)
		}
		if d.Part != nil {
			h.Parts = append(h.Parts, *d.Part)
		}
		if d.Usage != nil {
			h.Usage = *d.Usage
		}
		if d.Answer != nil {
			h.Answer, over = d.Answer, true
			if h.Answer.Usage != h.Usage && !h.Answer.Cached {
				t.Errorf("the answer's usage is %+v, reported was %+v", h.Answer.Usage, h.Usage)
			}
		}
	}
	if !over {
		t.Fatal("the provider said neither an answer nor an error")
	}
	return h
}

// Request encodes a conversation for p, with three tools on offer.
func Request(t testing.TB, p llm.Provider, conversation ...run.Message) llm.Request {
	t.Helper()
	messages, err := llm.NewEncoder(p, llm.Names{}).Messages(conversation)
	if err != nil {
		t.Fatalf("encoding: %v", err)
	}
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)
	r := llm.Request{Model: "test-model", System: "You are tested.", Messages: messages, MaxTokens: 1000}
	for _, tool := range []llm.Tool{{Name: "list", Schema: schema}, {Name: "read", Description: "Reads <a> file.", Schema: schema}, {Name: "write", Schema: schema}} {
		encoded, err := p.EncodeTool(tool)
		if err != nil {
			t.Fatalf("encoding the tool %s: %v", tool.Name, err)
		}
		r.Tools = append(r.Tools, encoded)
	}
	return r
}

// A Talk is a conversation that grows, with the ids that a run would give.
type Talk struct {
	Messages []run.Message
	calls    int
}

// User adds a message of the user.
func (c *Talk) User(parts ...run.Part) { c.add(run.User, parts) }

// Assistant adds an answer and returns its calls, numbered on.
func (c *Talk) Assistant(parts []run.Part) (calls []run.Call) {
	own := make([]run.Part, len(parts))
	for i, part := range parts {
		if part.Call != nil {
			call := *part.Call
			c.calls++
			call.ID = run.CallID(fmt.Sprintf("c_%d", c.calls))
			part.Call = &call
			calls = append(calls, call)
		}
		own[i] = part
	}
	c.add(run.Assistant, own)
	return calls
}

func (c *Talk) add(role run.Role, parts []run.Part) {
	c.Messages = append(c.Messages, run.Message{ID: fmt.Sprintf("m_%d", len(c.Messages)+1), Role: role, Parts: parts})
}

// Result returns a result of one text.
func Result(id run.CallID, text string, isError bool) run.Part {
	return run.Part{Type: run.ResultPart, Result: &run.Result{Call: id, Content: []run.Part{run.Text(text)}, IsError: isError}}
}
