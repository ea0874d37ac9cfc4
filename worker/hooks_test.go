package worker

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pawl/hook"
	"pawl/llm"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/view"
)

// hooked makes a rig whose calls have a hook that answers, at both points before them, with what says returns.
func hooked(t *testing.T, replies string, rules func(permission.Request) permission.Decision, says func(input string) string) *rig {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		io.WriteString(w, `{"hookSpecificOutput":`+says(string(b))+`}`)
	}))
	t.Cleanup(srv.Close)
	one := `[{"hooks":[{"type":"http","url":"` + srv.URL + `"}]}]`
	hooks, problems, err := hook.Parse([]byte(`{"hooks":{"PreToolUse":`+one+`,"PermissionRequest":`+one+`}}`), "F", true)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	r := newRig(t, replies)
	r.w.Hooks = func() *hook.Set { return &hook.Set{Hooks: hooks} }
	r.w.Authorizer = authorizer(rules)
	return r
}

// What a hook allows is a question that no rule asks, about a call that stays in the sandbox; and what it has changed is
// judged again.
func TestAHookLiftsNothing(t *testing.T) {
	t.Parallel()
	const allows = `{"permissionDecision":"allow"}`
	ask := func(source string, sandbox run.Confinement) permission.Decision {
		return permission.Decision{Verdict: permission.Ask, Source: source, Reason: "why", Sandbox: sandbox}
	}
	for name, c := range map[string]struct {
		rules permission.Decision
		says  string
		runs  bool
		path  string
	}{
		"a question of the default is answered":     {ask("default", run.Confined), allows, true, "a.txt"},
		"also where only a person would be asked":   {ask("default", run.Confined), `{"decision":{"behavior":"allow"}}`, true, "a.txt"},
		"one about what programs obey is not":       {ask("default", run.Confined), allows, false, ".vscode/tasks.json"},
		"one about a secret is not":                 {ask("default", run.Confined), allows, false, ".env"},
		"nor one about a file elsewhere":            {ask("default", run.Confined), allows, false, "/etc/x"},
		"nor one about the network":                 {ask("default", run.WithNetwork), allows, false, ""},
		"nor one about leaving the sandbox":         {ask("default", run.Unconfined), allows, false, ""},
		"an ask rule holds":                         {ask("user", run.Confined), allows, false, ""},
		"a mode holds":                              {ask("mode", run.Confined), allows, false, ""},
		"a deny rule holds":                         {permission.Decision{Verdict: permission.Deny, Source: "default", Reason: "why"}, allows, false, ""},
		"what rules allow it can have asked":        {permission.Decision{Verdict: permission.Allow}, `{"permissionDecision":"ask"}`, false, ""},
		"and refuse":                                {permission.Decision{Verdict: permission.Allow}, `{"permissionDecision":"deny"}`, false, ""},
		"a refusal when asked for permission holds": {ask("default", run.Confined), `{"decision":{"behavior":"deny","message":"no"}}`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := hooked(t, `{"calls":[{"tool":"edit","args":{"do":"a","path":"`+c.path+`"}}]}
{"text":"done"}`, func(permission.Request) permission.Decision { return c.rules }, func(string) string { return c.says })
			s := r.run(r.create(), prompt("go"))
			if ran := len(r.edit.ran) == 1; ran != c.runs || s.Turn.End.End != run.Completed {
				t.Errorf("it ran: %t, the turn ended %+v\n%s", ran, s.Turn.End, strings.Join(r.log(r.mem), "\n"))
			}
		})
	}
}

func TestWhatAHookChangesIsJudgedAgain(t *testing.T) {
	t.Parallel()
	rules := func(r permission.Request) permission.Decision {
		if slices.Contains(r.Paths, "secret") {
			return permission.Decision{Verdict: permission.Deny, Source: "user", Reason: "it is secret"}
		}
		return permission.Decision{Verdict: permission.Allow}
	}
	for path, runs := range map[string]bool{"secret": false, "other": true} {
		r := hooked(t, `{"calls":[{"tool":"edit","args":{"do":"a","path":"plain"}}]}
{"text":"done"}`, rules, func(input string) string {
			return `{"permissionDecision":"allow","updatedInput":{"do":"b","path":"` + path + `"}}`
		})
		s := r.run(r.create(), prompt("go"))
		if ran := slices.Equal(r.edit.ran, []string{"b"}); ran != runs {
			t.Errorf("%s: it ran as %q", path, r.edit.ran)
		}
		result := s.Messages[len(s.Messages)-2].Parts[0].Result
		if text := run.PlainText(result.Content); !strings.Contains(text, "changed what the call was given to") || !runs && !strings.Contains(text, "it is secret") {
			t.Errorf("%s: the model reads %q", path, text)
		}
	}
}

// What hooks have made of a call that does not fit its tool is a mistake that the model is told, and nothing runs.
func TestWhatAHookChangesHasToFitTheTool(t *testing.T) {
	t.Parallel()
	r := hooked(t, `{"calls":[{"tool":"edit","args":{"do":"a"}}]}
{"text":"done"}`, allowAll, func(string) string { return `{"updatedInput":{"what":7}}` })
	s := r.run(r.create(), prompt("go"))
	if text := run.PlainText(s.Messages[len(s.Messages)-2].Parts[0].Result.Content); len(r.edit.ran) > 0 || !strings.Contains(text, "what") || s.Turn.End.End != run.Completed {
		t.Errorf("it ran %q, and the model reads %q", r.edit.ran, text)
	}
}

// Nothing waits for the hooks that tell a person of a call: the answer counts and the turn ends while they run. The run is
// not let go of before they have ended, and the hooks of the end of a session.
func TestNothingWaitsForANotification(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var ended atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if strings.Contains(string(b), `"SessionEnd"`) {
			ended.Store(string(b))
			return
		}
		<-release
	}))
	t.Cleanup(srv.Close)
	one := `[{"hooks":[{"type":"http","url":"` + srv.URL + `"}]}]`
	hooks, _, err := hook.Parse([]byte(`{"hooks":{"Notification":`+one+`,"SessionEnd":`+one+`}}`), "F", true)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, `
{"calls":[{"tool":"edit","args":{"do":"ok"}},{"tool":"edit","args":{"do":"ok too"}}]}
{"text":"done"}`)
	r.w.Hooks = func() *hook.Set { return &hook.Set{Hooks: hooks} }
	r.w.OnAsk, r.w.Authorizer = AskWait, authorizer(needsApproval)
	d := r.create()
	go func() {
		r.until(func(u view.Update) bool { return len(u.Waiting) > 0 })
		d.Post(context.Background(), request.Decide{Call: "c_1", Answer: run.Allow}, request.Decide{Call: "c_2", Answer: run.Allow})
	}()
	s, err := d.Run(t.Context(), prompt("go"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Turn.End.End != run.Completed {
		t.Fatalf("the turn ended %+v", s.Turn.End)
	}
	close(release)
	d.Ends("clear")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := ended.Load().(string); !strings.Contains(got, `"reason":"clear"`) {
		t.Errorf("the hooks of the end were told %q", got)
	}
	var log []string
	for e := range r.mem.Events(t.Context(), "r", 0) {
		switch p := e.Payload.(type) {
		case run.HookStarted:
			log = append(log, fmt.Sprint("started ", p.Point, p.Call))
		case run.HookSettled:
			log = append(log, fmt.Sprint("settled ", p.Point, p.Call, p.Runs[0].Problem))
		}
	}
	// One of two calls that wait at once is told of.
	want := []string{"settled Notificationc_1", "settled SessionEnd", "started Notificationc_1", "started SessionEnd"}
	if slices.Sort(log); !slices.Equal(log, want) {
		t.Errorf("the log has %q", log)
	}
}

// A context that becomes full is summarized, and the hooks are told that nobody has asked for it.
func TestHooksAreToldOfASummaryThatTheContextNeeds(t *testing.T) {
	t.Parallel()
	var told atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		told.Store(string(b))
	}))
	t.Cleanup(srv.Close)
	hooks, _, err := hook.Parse([]byte(`{"hooks":{"PreCompact":[{"matcher":"auto","hooks":[{"type":"http","url":"`+srv.URL+`"}]},{"matcher":"manual","hooks":[{"type":"http","url":"http://127.0.0.1:1"}]}]}}`), "F", true)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, `{"text":"not asked"}`)
	m := &counting{t: t, window: 8000, steps: 60, purpose: map[string]int{}}
	r.w.Provider = func(string) (llm.Provider, string, error) { return m, "m", nil }
	r.w.Hooks = func() *hook.Set { return &hook.Set{Hooks: hooks} }
	d, err := r.w.Create(t.Context(), run.Created{Run: "r", Workspace: "/w", Config: run.Config{Window: m.window, Limits: run.Limits{Steps: 200}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { // the test does not wait for the fake to begin
		for range r.read.begun {
		}
	}()
	s, err := d.Run(t.Context(), prompt("do 60 steps"))
	if err != nil || s.Turn.End.End != run.Completed || s.Summarized == 0 {
		t.Errorf("ended %+v, summarized at %d: %v", s.Turn.End, s.Summarized, err)
	}
	if got, _ := told.Load().(string); !strings.Contains(got, `"trigger":"auto"`) {
		t.Errorf("the hooks were told %q", got)
	}
	d.Close()
	close(r.read.begun)
}

// Hooks are told of a summary that a person has asked for, and it is not made if they refuse it. After one that is made those
// of the beginning run again, and what they say is for the model.
func TestHooksAreToldOfASummary(t *testing.T) {
	t.Parallel()
	for _, refuses := range []bool{false, true} {
		var told atomic.Value
		var starts atomic.Int32
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			switch s := string(b); {
			case !strings.Contains(s, `"PreCompact"`):
				starts.Add(1)
				io.WriteString(w, `{"hookSpecificOutput":{"additionalContext":"read the plan again"}}`)
			case refuses:
				told.Store(s)
				io.WriteString(w, `{"decision":"block","reason":"not now"}`)
			default:
				told.Store(s)
			}
		}))
		t.Cleanup(srv.Close)
		one := `"hooks":[{"type":"http","url":"` + srv.URL + `"}]`
		hooks, _, err := hook.Parse([]byte(`{"hooks":{"PreCompact":[{"matcher":"manual",`+one+`}],"SessionStart":[{"matcher":"compact",`+one+`}]}}`), "F", true)
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, `{"text":"not asked"}`)
		m := &counting{t: t, window: 100_000, steps: 30, purpose: map[string]int{}}
		r.w.Provider = func(string) (llm.Provider, string, error) { return m, "m", nil }
		r.w.Hooks = func() *hook.Set { return &hook.Set{Hooks: hooks} }
		d, err := r.w.Create(t.Context(), run.Created{Run: "r", Workspace: "/w", Config: run.Config{Window: m.window}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() { // the test does not wait for the fake to begin
			for range r.read.begun {
			}
		}()
		if _, err := d.Run(t.Context(), prompt("do 30 steps")); err != nil {
			t.Fatal(err)
		}
		s, err := d.Run(t.Context(), run.Configured{Change: run.ConfigChange{Compact: true}}, prompt("go on"))
		if err != nil || s.Turn.End.End != run.Completed || (s.Summarized == 0) != refuses {
			t.Fatalf("refused %t: ended %+v, summarized at %d: %v", refuses, s.Turn.End, s.Summarized, err)
		}
		if got, _ := told.Load().(string); !strings.Contains(got, `"trigger":"manual"`) {
			t.Errorf("the hooks were told %q", got)
		}
		var all string
		for _, m := range s.Messages {
			all += run.PlainText(m.Parts)
		}
		if again := strings.Contains(all, "read the plan again"); again == refuses || (starts.Load() == 0) != refuses {
			t.Errorf("refused %t: %d hooks of the beginning ran, and the model was told: %t", refuses, starts.Load(), again)
		}
		d.Close()
		close(r.read.begun)
	}
}
