package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/app"
	"pawl/approval"
	"pawl/permission"
	"pawl/run"
)

const refusedModel = `{"calls":[{"tool":"write","args":{"path":"a b","content":"x"}},{"tool":"shell","args":{"command":"touch x; rm y"}},{"tool":"fetch","args":{"url":"http://127.0.0.1:1/"}}]}
{"text":"It was refused.","repeat":true}
`

// refusing opens a place in which what needs approval is refused.
func refusing(t *testing.T, p *place, given map[string][]string) *app.Workspace {
	t.Helper()
	if given["on_ask"] == nil {
		given["on_ask"] = []string{"deny"}
	}
	ws, err := app.Open(app.Options{Dir: p.dir, Drives: true, Given: given, Asks: true,
		Env: p.environment()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return ws
}

// denied runs a turn whose calls are refused, and returns what the session says of them.
func denied(t *testing.T, given map[string][]string) []approval.Denial {
	t.Helper()
	p := newPlace(t, refusedModel)
	ws := refusing(t, p, given)
	if asks, err := ws.Asks(); asks || err != nil {
		t.Errorf("with on_ask set the face asks: %t, %v", asks, err)
	}
	s := p.start(ws)
	if err := s.Prompt(t.Context(), run.Text("go")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := ws.Denials(t.Context(), s.State())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Each refused call is named with the flags that would allow it; what a rule denies, or the
// mode does not let happen, no flag allows.
func TestARefusedCallIsNamedWithTheFlagThatAllowsIt(t *testing.T) {
	t.Parallel()
	flags := func(all []approval.Denial) []string {
		var flags []string
		for _, d := range all {
			if !json.Valid(d.Input) || d.Reason == "" {
				t.Errorf("%s has input %s and reason %q", d.Call, d.Input, d.Reason)
			}
			flags = append(flags, d.Flag)
		}
		return flags
	}
	all := flags(denied(t, map[string][]string{}))
	if len(all) != 3 || all[0] != "--allow 'write(a b)'" {
		t.Fatalf("the flags are %q", all)
	}
	// Plan mode lets a rule allow what only reads.
	if diff := cmp.Diff([]string{"", "", all[2]}, flags(denied(t, map[string][]string{"mode": {"plan"}}))); diff != "" {
		t.Errorf("in plan mode (-want +got):\n%s", diff)
	}
	if got := flags(denied(t, map[string][]string{"deny": {"write"}})); got[0] != "" {
		t.Errorf("a deny rule is said to be lifted by %s", got[0])
	}
	// The flags do what they say.
	var rules []string
	for _, flag := range all {
		for flag != "" {
			var rule string
			rule, flag = cutFlag(t, flag)
			rules = append(rules, rule)
		}
	}
	if left := denied(t, map[string][]string{"allow": rules}); len(left) != len(slicesOf(all, "")) {
		t.Errorf("with %q %d calls are refused: %+v", rules, len(left), left)
	}
}

// cutFlag returns the rule of the first flag, and the flags after it.
func cutFlag(t *testing.T, flags string) (rule, rest string) {
	t.Helper()
	after, ok := strings.CutPrefix(flags, "--allow '")
	if !ok {
		t.Fatalf("%q is no flag", flags)
	}
	rule, rest, _ = strings.Cut(after, "'")
	return rule, strings.TrimSpace(rest)
}

// slicesOf returns the elements of all that equal one.
func slicesOf(all []string, one string) (same []string) {
	for _, s := range all {
		if s == one {
			same = append(same, s)
		}
	}
	return same
}

// A sub-agent works in the mode of the run that has started it, so no flag allows what that mode refuses.
func TestNoFlagAllowsASubAgentWhatTheModeAboveRefuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `{"when":{"first":"write it"},"calls":[{"tool":"write","args":{"path":"a","content":"x"}}]}
{"when":{"first":"write it"},"text":"It was refused."}
{"when":{"first":"go"},"calls":[{"tool":"agent","args":{"prompt":"write it"}}]}
{"when":{"first":"go"},"text":"Done."}
`)
	ws := refusing(t, p, map[string][]string{})
	s := p.start(ws)
	ok(t, s.Prompt(t.Context(), run.Text("go")))
	flags := func() (flags []string) {
		all, err := ws.Denials(t.Context(), rest(t, s))
		ok(t, err)
		for _, d := range all {
			if d.Run == "" || d.Tool != "write" {
				t.Errorf("refused: %+v", d)
			}
			flags = append(flags, d.Flag)
		}
		return flags
	}
	if got := flags(); len(got) != 1 || got[0] != "--allow 'write(a)'" {
		t.Errorf("the flags are %q", got)
	}
	plan := string(permission.Plan)
	ok(t, s.Configure(t.Context(), run.ConfigChange{Mode: &plan}))
	if got := flags(); len(got) != 1 || got[0] != "" {
		t.Errorf("in plan mode the flags are %q", got)
	}
}
