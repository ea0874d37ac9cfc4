package llmtest

import (
	"bytes"
	"strings"
	"testing"

	"pawl/llm"
	"pawl/run"
)

// conversations are about what goes back: the fake server refuses whatever a real
// one would.
func conversations(t *testing.T, w Wire) {
	step := func(t *testing.T, p llm.Provider, c *Talk) ([]run.Call, *llm.Answer) {
		t.Helper()
		h := Listen(t.Context(), t, p, Request(t, p, c.Messages...))
		if h.Err != nil {
			t.Fatalf("no answer: %v", h.Err)
		}
		return c.Assistant(h.Answer.Parts), h.Answer
	}

	t.Run("a long talk with everything in it stays valid", func(t *testing.T) {
		t.Parallel()
		p, s := w.start(t, `
{"thinking":"I need two files.","redacted":"c2VjcmV0","text":"I read them.  \n","calls":[{"id":"same","tool":"read","args":{"path":"a"}},{"id":"same","tool":"write","raw_args":"{oops"},{"id":"same","tool":"no such.tool","args":{}}]}
{"calls":[{"id":"same","tool":"list","raw_args":""},{"tool":"","raw_args":"{}"}]}
{"text":"   ","thinking":"Nothing to say."}
{"text":"One ","stop":"pause_turn"}
{"text":"two. ","stop":"max_tokens"}
{"text":"It said: {{last_result}}; you said: {{prompt}}"}`, never)
		c := &Talk{}
		c.User(run.Text("Read both."), run.Text("  "), run.Part{Type: run.ImagePart, Image: &run.Image{MediaType: "image/png", Data: []byte{1, 2, 3}}},
			run.Part{Type: run.ImagePart, Image: &run.Image{MediaType: "image/tiff", Data: []byte{1}}})
		calls, _ := step(t, p, c)
		if len(calls) != 3 {
			t.Fatalf("%d calls, want 3", len(calls))
		}
		c.User(run.Text("By the way, be quick."), // text still follows the results
			Result(calls[0].ID, "content \xff of a", false), Result(calls[1].ID, "", true),
			run.Part{Type: run.ResultPart, Result: &run.Result{Call: calls[2].ID, IsError: true}})
		calls, _ = step(t, p, c)
		c.User(run.Part{Type: run.ResultPart, Result: &run.Result{Call: calls[0].ID}}, Result(calls[1].ID, "the call names no tool", true))
		step(t, p, c)              // white space and thinking: nothing of it is sent
		c.User(run.Text("Go on.")) // joins the results
		_, paused := step(t, p, c) // the empty answer is used up
		step(t, p, c)              // continues after the pause
		c.User(run.Text("Go on!")) // after the limit
		_, last := step(t, p, c)
		if paused.Stop != run.StopPause {
			t.Errorf("the fourth answer stops with %q, want a pause", paused.Stop)
		}
		if got, want := run.PlainText(last.Parts), "It said: the call names no tool; you said: Go on!"; got != want {
			t.Errorf("the last answer is %q, want %q", got, want)
		}
		if s != nil && len(s.Requests()) != 6 {
			t.Errorf("%d requests, want 6", len(s.Requests()))
		}
	})

	t.Run("a conversation begun with another provider continues", func(t *testing.T) {
		t.Parallel()
		p, _ := w.start(t, `{"text":"first, not given"}`+"\n"+`{"text":"Done."}`, never)
		c := &Talk{}
		c.User(run.Text("Hello."))
		calls := c.Assistant([]run.Part{
			{Type: run.ThinkingPart, Text: "hm", Signature: "of somebody else", Wire: "another"},
			{Type: run.OpaquePart, Raw: `{"type":"reasoning"}`, Wire: "another"},
			{Type: run.ThinkingPart, Text: "unsigned", Wire: p.Wire()},
			{Type: run.CallPart, Call: &run.Call{ProviderID: "call.0|x", Tool: "list", Arguments: "{}"}},
		})
		c.User(Result(calls[0].ID, "a.go", false))
		if _, a := step(t, p, c); run.PlainText(a.Parts) != "Done." {
			t.Errorf("got %+v", a)
		}
	})

	t.Run("a log with arguments that strict servers refuse continues", func(t *testing.T) {
		t.Parallel()
		p, _ := w.start(t, `{"text":"first, not given"}`+"\n"+`{"text":"Done."}`, never)
		c := &Talk{}
		c.User(run.Text("Hello."))
		calls := c.Assistant([]run.Part{call("list", `{"a":1,"a":2}`), call(strings.Repeat("\u202e", 1000), strings.Repeat(`{"a":`, 1000)+"1"+strings.Repeat("}", 1000))})
		c.User(Result(calls[0].ID, "refused", true), Result(calls[1].ID, "refused", true))
		r := Request(t, p, c.Messages...)
		for _, m := range r.Messages {
			if bytes.Contains(m.Body, []byte(`\"a\":1`)) || bytes.Contains(m.Body, []byte(`"a":1`)) || bytes.Contains(m.Body, []byte(`"a":{"a"`)) {
				t.Errorf("they go back: %.300s", m.Body)
			}
		}
		if h := Listen(t.Context(), t, p, r); h.Text != "Done." {
			t.Errorf("got %+v", h)
		}
	})

	t.Run("a request without tools may look back on calls", func(t *testing.T) {
		t.Parallel()
		p, _ := w.start(t, `{"when":{"tools":false},"text":"What I did."}`, never)
		c := &Talk{}
		c.User(run.Text("Hello."))
		calls := c.Assistant([]run.Part{call("list", "{}")})
		c.User(Result(calls[0].ID, "a.go", false), run.Text("Sum up."))
		r := Request(t, p, c.Messages...)
		r.Tools = nil
		if h := Listen(t.Context(), t, p, r); h.Text != "What I did." {
			t.Errorf("got %+v", h)
		}
	})

	t.Run("a request may show its tools and want no call", func(t *testing.T) {
		t.Parallel()
		p, _ := w.start(t, `{"when":{"tools":false},"text":"What I did."}`, never)
		c := &Talk{}
		c.User(run.Text("Hello."))
		calls := c.Assistant([]run.Part{call("list", "{}")})
		c.User(Result(calls[0].ID, "a.go", false), run.Text("Sum up."))
		r := Request(t, p, c.Messages...)
		r.NoCalls = true
		if h := Listen(t.Context(), t, p, r); h.Text != "What I did." {
			t.Errorf("got %+v", h)
		}
	})

	t.Run("an answer by schema is asked for", func(t *testing.T) {
		t.Parallel()
		p, _ := w.start(t, `{"text":"{\"n\": 1}"}`, never)
		c := &Talk{}
		c.User(run.Text("How many?"))
		r := Request(t, p, c.Messages...)
		var err error
		r.Output, err = p.EncodeOutput([]byte(`{"type":"object","properties":{"n":{"type":"integer","minimum":0}},"required":["n"],"additionalProperties":false}`))
		if err != nil {
			t.Fatal(err)
		}
		if h := Listen(t.Context(), t, p, r); h.Text != `{"n": 1}` {
			t.Errorf("got %+v", h)
		}
	})

	t.Run("what was sent once is read from the cache", func(t *testing.T) {
		t.Parallel()
		p, s := w.start(t, `{"text":"One.","calls":[{"tool":"list"}]}`+"\n"+`{"text":"Two."}`, never)
		if s == nil {
			t.Skip("this provider has no network")
		}
		c := &Talk{}
		c.User(run.Text("Hello. " + string(bytes.Repeat([]byte("A long prompt. "), 100))))
		calls, first := step(t, p, c)
		c.User(Result(calls[0].ID, "a.go", false))
		_, second := step(t, p, c)
		written := first.Usage.CacheWrite
		if w.NoCacheWrite {
			written = first.Usage.Input - 1 // the server says one token that is not written
		}
		if first.Usage.CacheRead != 0 || written <= 0 {
			t.Errorf("the first request's usage is %+v, want only writing", first.Usage)
		}
		if second.Usage.CacheRead < written {
			t.Errorf("the second request read %d tokens from the cache, want the %d that the first wrote", second.Usage.CacheRead, written)
		}
	})
}
