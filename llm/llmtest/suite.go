package llmtest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
	"pawl/run"
)

// A Wire is a provider under test: one of Open and Direct is set.
type Wire struct {
	// Open returns a provider that talks to a fake server.
	Open func(at Endpoint) llm.Provider
	// Direct returns a provider that needs no server.
	Direct func(s script.Script, idle time.Duration) llm.Provider
	// EarlyUsage is set for a wire that reports what was read before the answer begins.
	EarlyUsage bool
	// KeepAlives are what servers of this wire send while there is nothing to say,
	// beside comments and pings.
	KeepAlives []string
	// NoCacheWrite is set for a wire that does not tell what the provider wrote into
	// its cache: there it is part of the input.
	NoCacheWrite bool
}

// An Endpoint says where a fake server is and how to reach it.
type Endpoint struct {
	BaseURL string
	Key     string
	Client  *http.Client  // nil: one for sockets
	Idle    time.Duration // after which a silent answer is given up
}

// start returns a provider that is answered by a script; the server is nil for a
// direct one.
func (w Wire) start(t testing.TB, lines string, idle time.Duration) (llm.Provider, *Server) {
	t.Helper()
	if w.Direct != nil {
		return w.Direct(Parse(t, lines), idle), nil
	}
	s := NewServer(t, lines)
	return w.Open(Endpoint{BaseURL: s.URL, Key: Key, Idle: idle}), s
}

// never is an idle time that no test reaches.
const never = time.Hour

// Run runs the suite: what every provider does with every kind of answer, as a
// worker sees it.
func Run(t *testing.T, w Wire) {
	t.Run("answers", func(t *testing.T) { t.Parallel(); answers(t, w) })
	t.Run("failures", func(t *testing.T) { t.Parallel(); failures(t, w) })
	t.Run("conversation", func(t *testing.T) { t.Parallel(); conversations(t, w) })
	t.Run("effort", func(t *testing.T) { t.Parallel(); efforts(t, w) })
	t.Run("leaving", func(t *testing.T) { t.Parallel(); leaving(t, w) })
}

func call(tool, arguments string) run.Part {
	return run.Part{Type: run.CallPart, Call: &run.Call{Tool: tool, Arguments: arguments}}
}

func faulty(tool string, fault run.Fault, raw string) run.Part {
	return run.Part{Type: run.CallPart, Call: &run.Call{Tool: tool, Arguments: "{}", Fault: fault, Raw: raw}}
}

func thinking(text string) run.Part { return run.Part{Type: run.ThinkingPart, Text: text} }

// bare returns parts without what differs between wires.
func bare(parts []run.Part) []run.Part {
	var out []run.Part
	for _, part := range parts {
		part.Wire, part.Signature = "", ""
		if part.Call != nil {
			c := *part.Call
			c.ProviderID = ""
			part.Call = &c
		}
		out = append(out, part)
	}
	return out
}

// answers are replies that come to an answer.
func answers(t *testing.T, w Wire) {
	long := strings.Repeat("All work and no play. ", 1<<20/22)
	nested := strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000)
	deep := `{"path":"` + strings.Repeat("ä/", 5000) + `"}`
	for _, c := range []struct {
		name, script string
		want         []run.Part
		stop         run.StopReason
	}{
		{"text comes as it was said", `{"text":"Hello, <b>world</b> & all.\n"}`,
			[]run.Part{run.Text("Hello, <b>world</b> & all.\n")}, run.StopEndTurn},
		{"thinking stands before text", `{"thinking":"Hm, let me see.","text":"Yes."}`,
			[]run.Part{thinking("Hm, let me see."), run.Text("Yes.")}, run.StopEndTurn},
		{"parallel calls keep their order", `{"text":"Both.","calls":[{"tool":"read","args":{"path":"a"}},{"tool":"read","args":{"path":"b"}},{"tool":"list"}]}`,
			[]run.Part{run.Text("Both."), call("read", `{"path":"a"}`), call("read", `{"path":"b"}`), call("list", "{}")}, run.StopToolUse},
		{"arguments are put together from fragments", `{"calls":[{"tool":"read","args":` + deep + `}]}`,
			[]run.Part{call("read", deep)}, run.StopToolUse},
		{"no fragment at all means an empty object", `{"calls":[{"tool":"list","raw_args":""},{"tool":"read","args":{"path":"a"}}]}`,
			[]run.Part{call("list", "{}"), call("read", `{"path":"a"}`)}, run.StopToolUse},
		{"arguments that are not JSON spoil their call alone", `{"calls":[{"tool":"write","raw_args":"{path: a}"},{"tool":"list"}]}`,
			[]run.Part{faulty("write", run.FaultNotJSON, "{path: a}"), call("list", "{}")}, run.StopToolUse},
		{"arguments that are no object spoil their call", `{"calls":[{"tool":"write","raw_args":"[1]"},{"tool":"write","raw_args":"null"}]}`,
			[]run.Part{faulty("write", run.FaultNotJSON, "[1]"), faulty("write", run.FaultNotJSON, "null")}, run.StopToolUse},
		{"arguments with a name twice spoil their call", `{"calls":[{"tool":"write","raw_args":"{\"a\":1,\"a\":2}"}]}`,
			[]run.Part{faulty("write", run.FaultNotJSON, `{"a":1,"a":2}`)}, run.StopToolUse},
		{"arguments nested too deep spoil their call, and little is kept of them", `{"calls":[{"tool":"write","raw_args":"` + strings.ReplaceAll(nested, `"`, `\"`) + `"}]}`,
			[]run.Part{faulty("write", run.FaultNotJSON, nested[:2000])}, run.StopToolUse},
		{"a name that is no tool's is bounded and printable", `{"calls":[{"tool":"\u001b[2J` + strings.Repeat("x", 5000) + `"}]}`,
			[]run.Part{call("_[2J"+strings.Repeat("x", 252), "{}")}, run.StopToolUse},
		{"a call without a name is faulty", `{"calls":[{"tool":"","args":{"a":1}}]}`,
			[]run.Part{faulty("", run.FaultEmpty, `{"a":1}`)}, run.StopToolUse},
		{"an unknown stop reason is kept", `{"text":"x","stop":"out_of_cheese"}`,
			[]run.Part{run.Text("x")}, "out_of_cheese"},
		{"a pause is told", `{"text":"Searching","stop":"pause_turn"}`,
			[]run.Part{run.Text("Searching")}, run.StopPause},
		{"text cut at the limit is kept", `{"text":"and then","stop":"max_tokens"}`,
			[]run.Part{run.Text("and then")}, run.StopMaxTokens},
		{"a call cut at the limit never runs, whole ones before it do", `{"calls":[{"tool":"list"},{"tool":"write","raw_args":"{\"path\":\"a"}],"stop":"max_tokens"}`,
			[]run.Part{call("list", "{}"), faulty("write", run.FaultCut, `{"path":"a`)}, run.StopMaxTokens},
		{"a call cut before its arguments never runs", `{"calls":[{"tool":"write","raw_args":""}],"stop":"max_tokens"}`,
			[]run.Part{faulty("write", run.FaultCut, "")}, run.StopMaxTokens},
		{"a whole call at the limit stays whole", `{"calls":[{"tool":"list","args":{"a":1}}],"stop":"max_tokens"}`,
			[]run.Part{call("list", `{"a":1}`)}, run.StopMaxTokens},
		{"a refusal is an answer", `{"text":"I will not.","stop":"refusal"}`,
			[]run.Part{run.Text("I will not.")}, run.StopRefusal},
		{"an empty answer is an answer", `{}`, nil, run.StopEndTurn},
		{"a megabyte of text", `{"text":"` + long + `"}`,
			[]run.Part{run.Text(long)}, run.StopEndTurn},
		{"characters may be split between writes", `{"thinking":"é😀","text":"żółć 😀 漢字","calls":[{"tool":"read","args":{"path":"ß😀"}}],"split":1}`,
			[]run.Part{thinking("é😀"), run.Text("żółć 😀 漢字"), call("read", `{"path":"ß😀"}`)}, run.StopToolUse},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, _ := w.start(t, c.script, never)
			h := Listen(t.Context(), t, p, Request(t, p, hello()))
			if h.Err != nil {
				t.Fatalf("no answer: %v", h.Err)
			}
			if diff := cmp.Diff(c.want, bare(h.Answer.Parts)); diff != "" {
				t.Errorf("parts (-want +got):\n%.3000s", diff)
			}
			if h.Answer.Stop != c.stop {
				t.Errorf("stop = %q, want %q", h.Answer.Stop, c.stop)
			}
			if want := joinedText(h.Answer.Parts, run.TextPart); h.Text != want {
				t.Errorf("the deltas' text is not the answer's: %d and %d bytes", len(h.Text), len(want))
			}
			if want := joinedText(h.Answer.Parts, run.ThinkingPart); h.Thinking != want {
				t.Errorf("the deltas' thinking is %q, the answer's %q", h.Thinking, want)
			}
			if len(h.Parts) != len(h.Answer.Parts) {
				t.Errorf("%d parts were told as finished, want %d", len(h.Parts), len(h.Answer.Parts))
			}
			if h.Answer.Model != "test-model" {
				t.Errorf("model = %q", h.Answer.Model)
			}
		})
	}
	t.Run("usage is told whole", func(t *testing.T) {
		t.Parallel()
		p, _ := w.start(t, `{"text":"x","usage":{"input":12,"output":34,"cache_read":56,"cache_write":78}}`, never)
		h := Listen(t.Context(), t, p, Request(t, p, hello()))
		want := run.Usage{Input: 12, Output: 34, CacheRead: 56, CacheWrite: 78}
		if w.NoCacheWrite {
			want.Input, want.CacheWrite = want.Input+want.CacheWrite, 0
		}
		if h.Answer.Usage != want {
			t.Errorf("usage = %+v, want %+v", h.Answer.Usage, want)
		}
	})
}

func hello() run.Message {
	return run.Message{ID: "m_1", Role: run.User, Parts: []run.Part{run.Text("Hello?")}}
}

func joinedText(parts []run.Part, kind run.PartType) string {
	var b strings.Builder
	for _, part := range parts {
		if part.Type == kind {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}

// failures are replies that come to an error.
func failures(t *testing.T, w Wire) {
	for _, c := range []struct {
		name, script string
		kind         run.ErrorKind
		status       int
		wait         time.Duration
		delivered    bool
		network      bool // only where there is one
	}{
		{name: "a stream cut in its text is broken", script: `{"text":"Hello there","cut":"text"}`, kind: run.ErrBrokenStream, delivered: true},
		{name: "a stream cut in its thinking is broken", script: `{"thinking":"Hello there","cut":"thinking"}`, kind: run.ErrBrokenStream, delivered: true},
		{name: "a stream cut in a call is broken", script: `{"calls":[{"tool":"list"},{"tool":"read","args":{"path":"a"}}],"cut":"call"}`, kind: run.ErrBrokenStream, delivered: true},
		{name: "a connection reset in the middle is broken", script: `{"text":"Hello there","cut":"reset"}`, kind: run.ErrBrokenStream, delivered: true},
		{name: "overloaded inside a stream", script: `{"text":"Hello there","error":{"type":"overloaded_error"}}`, kind: run.ErrOverloaded, delivered: true},
		{name: "rate limited inside a stream", script: `{"error":{"type":"rate_limit_error"}}`, kind: run.ErrRateLimited},
		{name: "a wait is told", script: `{"error":{"status":429,"retry_after":1.5}}`, kind: run.ErrRateLimited, status: 429, wait: 1500 * time.Millisecond},
		{name: "529 is overloaded", script: `{"error":{"status":529}}`, kind: run.ErrOverloaded, status: 529},
		{name: "500 is overloaded", script: `{"error":{"status":500}}`, kind: run.ErrOverloaded, status: 500},
		{name: "401 is the key's", script: `{"error":{"status":401}}`, kind: run.ErrAuth, status: 401},
		{name: "a key that the provider repeats is taken out", script: `{"error":{"status":401,"message":"bad key ` + Key + `"}}`, kind: run.ErrAuth, status: 401, network: true},
		{name: "403 is the key's", script: `{"error":{"status":403}}`, kind: run.ErrAuth, status: 403},
		{name: "404 is invalid", script: `{"error":{"status":404}}`, kind: run.ErrInvalid, status: 404},
		{name: "400 is invalid", script: `{"error":{"status":400,"message":"` + strings.Repeat("long ", 200) + `"}}`, kind: run.ErrInvalid, status: 400},
		{name: "a prompt that is too long", script: `{"error":{"status":400,"message":"prompt is too long: 208310 tokens > 200000 maximum"}}`, kind: run.ErrTooLong, status: 400},
		{name: "a request that is too large", script: `{"error":{"status":413}}`, kind: run.ErrTooLong, status: 413},
		{name: "a page instead of a stream", script: `{"body":"<html><body>Sign in</body></html>"}`, kind: run.ErrBrokenStream, network: true},
		{name: "JSON that is not an event stream", script: `{"body":"{\"answer\":1}"}`, kind: run.ErrBrokenStream, network: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.network && w.Open == nil {
				t.Skip("this provider has no network")
			}
			p, _ := w.start(t, c.script, never)
			h := Listen(t.Context(), t, p, Request(t, p, hello()))
			if h.Err == nil {
				t.Fatalf("it was an answer: %+v", h.Answer)
			}
			if h.Err.Kind != c.kind || h.Err.Status != c.status || h.Err.Wait != c.wait || h.Err.Delivered != c.delivered {
				t.Errorf("kind, status, wait, delivered = %s %d %s %v, want %s %d %s %v (%v)",
					h.Err.Kind, h.Err.Status, h.Err.Wait, h.Err.Delivered, c.kind, c.status, c.wait, c.delivered, h.Err)
			}
			if h.Err.Message == "" {
				t.Error("it says nothing to people")
			}
		})
	}
	silences(t, w)
	t.Run("what a broken answer has cost is known as far as it was reported", func(t *testing.T) {
		t.Parallel()
		p, _ := w.start(t, `{"text":"Hello there","cut":"text","usage":{"input":12,"output":34,"cache_read":56,"cache_write":78}}`, never)
		h := Listen(t.Context(), t, p, Request(t, p, hello()))
		if h.Err == nil {
			t.Fatalf("it was an answer: %+v", h.Answer)
		}
		if u := h.Err.Usage; w.EarlyUsage && (u.Input != 12 || u.CacheRead != 56 || u.CacheWrite != 78) {
			t.Errorf("usage = %+v, want what was read", u)
		}
	})
	t.Run("a failed request can be sent again", func(t *testing.T) {
		t.Parallel()
		// What a faulty gateway does to single requests. Once the server has streamed, a body that is
		// not a stream is the gateway's, and is retried as if the server were overloaded.
		p, _ := w.start(t, strings.Join([]string{
			`{"error":{"status":529},"times":2}`,
			`{"body":"{malformed json: <<<"}`,
			`{"error":{"status":429}}`,
			`{"cut":"text","text":"Hello"}`,
			`{"body":"{malformed json: <<<"}`,
			`{"body":"<html>Bad gateway</html>","times":4}`,
			`{"cut":"reset","text":"Hello"}`,
			`{"text":"Hello"}`,
		}, "\n"), never)
		gateway := run.ErrOverloaded
		if w.Open == nil { // there is none
			gateway = run.ErrBrokenStream
		}
		r := Request(t, p, hello())
		for _, want := range []run.ErrorKind{run.ErrOverloaded, run.ErrOverloaded, run.ErrBrokenStream, run.ErrRateLimited,
			run.ErrBrokenStream, gateway, gateway, gateway, gateway, gateway, run.ErrBrokenStream} {
			if h := Listen(t.Context(), t, p, r); h.Err == nil || h.Err.Kind != want || !h.Err.Kind.Transient() {
				t.Fatalf("got %v, want %s", h.Err, want)
			}
		}
		if h := Listen(t.Context(), t, p, r); h.Answer == nil || h.Text != "Hello" {
			t.Errorf("at last: %+v", h)
		}
	})
}

// silences are answers that make no progress. Their clock is that of the bubble.
func silences(t *testing.T, w Wire) {
	const idle = 90 * time.Second
	givenUp := func(t *testing.T, p llm.Provider, delivered bool) {
		t.Helper()
		began := time.Now()
		h := Listen(t.Context(), t, p, Request(t, p, hello()))
		if h.Err == nil || h.Err.Kind != run.ErrTimeout || h.Err.Delivered != delivered {
			t.Errorf("got %+v, want a timeout; delivered %v", h.Err, delivered)
		}
		if took := time.Since(began); took < idle || took > idle+time.Second {
			t.Errorf("it was given up after %s, want %s", took, idle)
		}
	}
	t.Run("a silent answer is given up", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			hangs := Parse(t, `{"text":"Hello","hang":true}`)
			if w.Direct != nil {
				givenUp(t, w.Direct(hangs, idle), true)
				return
			}
			givenUp(t, w.Open(Endpoint{BaseURL: "http://server", Key: Key, Idle: idle, Client: Serve(t, fake.New(hangs, false))}), true)
		})
	})
	if w.Direct != nil {
		return
	}
	for _, noise := range append([]string{": keep-alive\n\n", "event: ping\ndata: {\"type\":\"ping\"}\n\n", ":", "d"}, w.KeepAlives...) {
		t.Run(fmt.Sprintf("an answer of nothing but %.40q is given up", noise), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				givenUp(t, w.Open(Endpoint{BaseURL: "http://server", Key: Key, Idle: idle, Client: Serve(t, Repeat(noise, time.Second/2))}), false)
			})
		})
	}
}

// leaving is about listeners that have had enough.
func leaving(t *testing.T, w Wire) {
	gone := func(t *testing.T, s *Server) {
		if s != nil {
			select {
			case <-s.Left(): // the server saw that the connection was closed
			case <-t.Context().Done():
				t.Error("the connection was not closed")
			}
		}
	}
	t.Run("breaking off closes the connection", func(t *testing.T) {
		t.Parallel()
		p, s := w.start(t, `{"text":"for ever ","endless":true}`, never)
		for d, err := range p.Stream(t.Context(), Request(t, p, hello())) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Text != "" {
				break
			}
		}
		gone(t, s)
	})
	for _, c := range []struct{ name, script string }{
		{"cancelling ends a stream that never ends", `{"text":"for ever ","endless":true}`},
		{"cancelling ends a stream that is silent", `{"text":"Well","hang":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, s := w.start(t, c.script, never)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			why := fmt.Errorf("the person said stop")
			var last error
			for d, err := range p.Stream(ctx, Request(t, p, hello())) {
				if d.Text != "" {
					cancel(why)
				}
				last = err
			}
			e := llm.AsError(t.Context(), last)
			if e.Kind != run.ErrAborted || e.Err != why || !e.Delivered {
				t.Errorf("got %+v, want aborted by %v after something was delivered", e, why)
			}
			gone(t, s)
		})
	}
	t.Run("a request that is cancelled before it is sent is not sent", func(t *testing.T) {
		t.Parallel()
		p, s := w.start(t, `{"text":"Hello"}`, never)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		h := Listen(ctx, t, p, Request(t, p, hello()))
		if h.Err == nil || h.Err.Kind != run.ErrAborted {
			t.Errorf("got %+v, want aborted", h)
		}
		if s != nil && len(s.Requests()) != 0 {
			t.Error("the server got a request")
		}
	})
}
