package worker

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pawl/permission"
	"pawl/request"
	"pawl/run"
)

// waiting returns a run whose first call, an edit of a.go, waits for a person.
func waiting(t *testing.T, change func(r *rig, c *ruleSet)) (*rig, *Runner, *ruleSet) {
	r, c := asks(t, `
{"calls":[{"tool":"edit","args":{"do":"ok a","path":"a.go"}}]}
{"text":"Done."}`)
	change(r, c)
	d := r.create()
	t.Cleanup(func() { d.Close() })
	if s, err := d.Run(t.Context(), prompt("go")); err != nil || !s.Turn.Open() {
		t.Fatalf("%+v, %v", s.Turn.End, err)
	}
	return r, d, c
}

// A person's answer counts for the call also where no rule comes of it, and they are told so.
func TestAnAnswerWithoutItsRuleCountsForTheCall(t *testing.T) {
	t.Parallel()
	own := rule(t, permission.Deny, "edit(*.go)")
	for name, c := range map[string]struct {
		change func(r *rig, c *ruleSet)
		answer request.Decide
		notice string // empty: none
		result string
		ran    bool
		rule   string
		reason string // that is recorded
	}{
		"allowed": {answer: request.Decide{Answer: run.Allow}, ran: true, result: "c_1 false"},
		"always":  {answer: request.Decide{Answer: run.Always}, ran: true, result: "c_1 false", rule: "edit(a.go)"},
		"always, and it cannot be stored": {change: func(_ *rig, c *ruleSet) { c.fails = errors.New("the disk is full") }, answer: request.Decide{Answer: run.Always}, ran: true,
			notice: "the rule edit(a.go) could not be stored: the disk is full; the answer applies to this call only", result: "c_1 false", rule: "edit(a.go)"},
		"always, and no rule is proposed": {change: func(r *rig, _ *ruleSet) {
			r.w.Authorizer = authorizer(func(permission.Request) permission.Decision { return permission.Decision{Verdict: permission.Ask} })
		}, answer: request.Decide{Answer: run.Always}, ran: true, notice: "no rule is stored: ; the answer applies to this call only", result: "c_1 false"},
		"always, of something else": {answer: request.Decide{Answer: run.Always, Digest: "0000"}, result: ""},
		"denied":                    {answer: request.Decide{Answer: run.Deny}, result: "c_1 true The person refused this call.", reason: "denied by a person"},
		"denied with words": {answer: request.Decide{Answer: run.Deny, Text: "It is generated."}, result: "c_1 true The person refused this call. They say: It is generated.",
			reason: "denied by a person: It is generated."},
		"never, by a rule of their own": {answer: request.Decide{Answer: run.Never, Rules: permission.Rules{own}, Text: "No Go."},
			result: "c_1 true The person refused this call, and calls like it from now on (rule edit(*.go)). They say: No Go.", rule: "edit(*.go)",
			reason: "denied by a person, and a rule was stored: No Go."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				change := c.change
				if change == nil {
					change = func(*rig, *ruleSet) {}
				}
				r, d, set := waiting(t, change)
				answer := c.answer
				answer.Call, answer.By = "c_1", "ann"
				wait := d.Post(t.Context(), answer)
				s, err := d.Run(t.Context())
				if werr := wait(t.Context()); err != nil || werr != nil {
					t.Fatal(err, werr)
				}
				if got := r.edit.Ran(); (len(got) > 0) != c.ran {
					t.Errorf("ran %q", got)
				}
				if got := strings.Join(results(s), "\n"); !strings.HasPrefix(got, c.result) {
					t.Errorf("the model is told %q, want %q", got, c.result)
				}
				noticed := r.noticed()
				if c.notice == "" && len(noticed) > 0 || c.notice != "" && !slices.Contains(noticed, c.notice) {
					t.Errorf("noticed is %q, want %q", noticed, c.notice)
				}
				for _, p := range logged[run.CallDecided](t, r) {
					if p.Decision.Rule != c.rule || p.Decision.By != "ann" || p.Decision.Source != "person" {
						t.Errorf("decided is %+v", p.Decision)
					}
					if c.reason != "" && p.Decision.Reason != c.reason {
						t.Errorf("the reason is %q, want %q", p.Decision.Reason, c.reason)
					}
				}
				if stored := len(set.rules) == 3; stored != (c.rule != "" && c.notice == "") {
					t.Errorf("the rules are %v", set.rules)
				}
			})
		})
	}
}

func TestAnAnswerToWhatDoesNotWaitIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, d, _ := waiting(t, func(*rig, *ruleSet) {})
		late := d.Post(t.Context(), request.Decide{Call: "c_9", Answer: run.Allow})
		odd := d.Post(t.Context(), request.Decide{Call: "c_1", Answer: "perhaps"})
		if !d.HasMail() {
			t.Error("nothing was posted")
		}
		if _, err := d.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := late(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "call c_9 does not need approval") {
			t.Errorf("an answer to no call: %v", err)
		}
		if err := odd(t.Context()); err == nil {
			t.Error("an answer that is none was taken")
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.Post(t.Context(), request.Decide{Call: "c_1", Answer: run.Allow})(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("posted to a run that was closed: %v", err)
		}
	})
}

func TestHowACallAsksForItsResult(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"a":1}`:                          `{"a":1} auto`,
		`{"a":1,"output_mode":"persist"}`:  `{"a":1} persist`,
		`{"output_mode":"inline"}`:         `{} inline`,
		`{"output_mode":""}`:               `{} auto`,
		`{"output_mode":"auto","b":"<x>"}`: `{"b":"\u003cx\u003e"} auto`,
		`["output_mode"]`:                  `["output_mode"] auto`,
		`{"output_mode":"later"}`:          `output_mode must be one of auto, inline, persist, got "later"`,
		`{"output_mode":7}`:                `output_mode must be one of auto, inline, persist`,
	} {
		rest, mode, err := takeMode([]byte(args))
		got := string(rest) + " " + string(mode)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	const more = `"output_mode":{"type":"string","enum":["auto","inline","persist"]}`
	for schema, want := range map[string]string{
		`{"type":"object","properties":{}}`:               `{"type":"object","properties":{` + more + `}}`,
		`{"properties":{"a":true},"type":"object"}`:       `{"properties":{` + more + `,"a":true},"type":"object"}`,
		`{"type":"object"}`:                               `{"type":"object"}`,
		`{"x":{"properties":{}},"properties":{"b":true}}`: `{"x":{"properties":{}},"properties":{` + more + `,"b":true}}`,
		`{"properties":[]}`:                               `{"properties":[]}`,
		`[]`:                                              `[]`,
		`{"a":`:                                           `{"a":`,
		`{"a`:                                             `{"a`,
	} {
		if got := string(withMode([]byte(schema))); got != want {
			t.Errorf("%s becomes %s, want %s", schema, got, want)
		}
	}
}

func TestWhatALostConversationIsSummarizedAs(t *testing.T) {
	t.Parallel()
	say := func(role run.Role, text string) run.Message {
		return run.Message{Role: role, Parts: []run.Part{run.Text(text)}}
	}
	all := []run.Message{say(run.User, " Look. "), say(run.Assistant, ""), say(run.Assistant, "I have.")}
	if got := summary(all); got != "The person: Look.\n\nThe agent: I have." {
		t.Errorf("%q", got)
	}
	if got := summary(nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	const mark, room = "[the beginning is left out]\n", 24 << 10
	exact := strings.Repeat("x", room-len("The person: "))
	if got := summary([]run.Message{say(run.User, exact)}); strings.HasPrefix(got, mark) || len(got) != room {
		t.Errorf("of what just fits %d bytes are left", len(got))
	}
	if got := summary([]run.Message{say(run.User, exact+"y")}); !strings.HasPrefix(got, mark) || !strings.HasSuffix(got, "xy") || len(got) != len(mark)+room {
		t.Errorf("of what does not fit %d bytes are left", len(got)-len(mark))
	}
}
