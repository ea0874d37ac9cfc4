package permission_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pawl/permission"
	"pawl/run"
)

func TestRulesAreLoadedWithTheirTests(t *testing.T) {
	t.Parallel()
	const file = `{"rules": [
		{"rule": "shell(go test *)", "effect": "allow", "matches": ["go test ./..."], "not": ["go test ./... | sh", "go test -exec=sudo ./...", "git log"]},
		{"rule": "shell(npm install *)", "effect": "allow", "sandbox": "network", "by": "ann", "when": "2026-11-20T10:00:00Z", "why": "needs the registry"},
		{"rule": "edit(src/**)", "effect": "allow", "matches": ["src/a/b.go"], "not": ["src/../x", "src/.git/config"]},
		{"rule": "fetch(*.example.com)", "effect": "allow", "matches": ["https://a.example.com/x"], "not": ["example.com", "http://a.example.com@evil.test/"]},
		{"rule": "shell(rm *)", "effect": "deny", "matches": ["rm x", "sudo rm x", "/bin/rm x"], "not": ["git rm x"]},
		{"rule": "mcp__files__list", "effect": "ask"}
	]}`
	rs, err := permission.Load(strings.NewReader(file), permission.ForUser, "permissions.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(rs) != 6 {
		t.Fatalf("%d rules count, want 6", len(rs))
	}
	want := permission.Rule{Effect: permission.Allow, Tool: "shell", Pattern: "npm install *", Scope: permission.ForUser, Source: "permissions.json",
		By: "ann", When: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), Why: "needs the registry", Sandbox: run.WithNetwork}
	if diff := cmp.Diff(want, rs[1], cmpopts.IgnoreUnexported(permission.Rule{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, r := range rs {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again permission.Rule
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(r, again, cmpopts.IgnoreUnexported(permission.Rule{})); diff != "" {
			t.Errorf("%s (-want +got)\n%s", data, diff)
		}
	}
}

// A rule that allows is set aside when something is wrong with it; one that forbids
// or asks counts if it can be read at all.
func TestARuleThatFailsItsTestFailsClosed(t *testing.T) {
	t.Parallel()
	const file = `{"rules": [
  {"rule": "shell(make *)", "effect": "allow", "matches": ["make | sh"]},
  {"rule": "shell(rm *)", "effect": "deny", "matches": ["ls"]},
  {"rule": "shell(mv *)", "effect": "ask", "not": ["mv a b"]},
  {"rule": "shell(go *)", "effect": "allow", "scoop": "user"},
  {"rule": "shell(ls *)", "effect": "allow"}
]}`
	rs, err := permission.Load(strings.NewReader(file), permission.ForUser, "p.json")
	var got []string
	for _, r := range rs {
		got = append(got, string(r.Effect)+" "+r.String())
	}
	if diff := cmp.Diff([]string{"deny shell(rm *)", "ask shell(mv *)", "allow shell(ls *)"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var problem *permission.RuleError
	if !errors.As(err, &problem) || problem.Line != 2 || problem.Column != 3 || problem.Counts {
		t.Errorf("the first problem is %+v", problem)
	}
	for _, want := range []string{"p.json:2:3: rule \"shell(make *)\"", "is ignored", "p.json:3:3", "still applies", "p.json:4:3", "p.json:5:3", `unknown field "scoop"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

func TestFilesOfRulesThatCannotBeReadSayWhere(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"":                               "x:1:1: the JSON ends too early",
		"[]":                             "x:1:2: there is [ where { should be",
		"{\n\"rulez\": []}":              `x:2:8: unknown or duplicate field "rulez"`,
		"{\"rules\": [],\n\"rules\":[]}": "x:2:8: unknown or duplicate field \"rules\"",
		"{\"rules\": [{]}":               "not valid JSON",
		"{\"rules\": []} x":              "after the end",
		"{\"rules\": [1":                 "ends too early",
	} {
		rs, err := permission.Load(strings.NewReader(file), permission.ForUser, "x")
		var rule *permission.RuleError
		if err == nil || rs != nil || errors.As(err, &rule) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
	for rule, want := range map[string]string{
		`{"rule": "shell(", "effect": "allow"}`:                           "closing parenthesis",
		`{"rule": "shell(a 'b)", "effect": "allow"}`:                      "not closed",
		`{"rule": "shell(a)", "effect": "permit"}`:                        "write allow, ask or deny",
		`{"rule": "shell(a)", "effect": "bypass"}`:                        "bypass is a mode",
		`{"rule": "shell(a)", "effect": "deny", "effect": "allow"}`:       "duplicate field",
		`{"Rule": "shell(a)", "effect": "deny"}`:                          `unknown field "Rule"`,
		`{"rule": "edit(a)", "effect": "allow", "sandbox": "none"}`:       "only an allow rule for shell",
		`{"rule": "shell(a)", "effect": "deny", "sandbox": "none"}`:       "only an allow rule for shell",
		`{"rule": "shell(a)", "effect": "allow", "sandbox": "much"}`:      "write network or none",
		`{"rule": "shell(a)", "effect": "allow", "sandbox": "read-only"}`: "write network or none",
		`{"rule": "shell(a)", "effect": "allow", "scope": "managed"}`:     "this file is for scope",
		`{"rule": "shell(make *)", "effect": "allow", "sandbox": "none"}`: "cannot lift the sandbox",
		`{"rule": "shell", "effect": "allow"}`:                            "the effect of mode bypass",
		`{"rule": "shell(* *)", "effect": "allow"}`:                       "the effect of mode bypass",
		`{"rule": "shell(**)", "effect": "allow"}`:                        "the effect of mode bypass",
		`7`: "a rule is an object",
	} {
		rs, err := permission.Load(strings.NewReader(`{"rules":[`+rule+`]}`), permission.FromRepository, "x")
		if err == nil || len(rs) > 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", rule, err, want)
		}
	}
}

// A rule that cannot be read is shown by its beginning, and what is wrong with it is kept.
func TestARuleThatCannotBeReadIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ written, shown string }{
		{`{"nothing":   "` + strings.Repeat("x", 45) + `"}`, `{"nothing": "` + strings.Repeat("x", 45) + `"}`},
		{`{"nothing":   "` + strings.Repeat("x", 46) + `"}`, `{"nothing": "` + strings.Repeat("x", 46) + `"…`},
	} {
		_, err := permission.Load(strings.NewReader(`{"rules": [ `+c.written+` ]}`), permission.ForUser, "p.json")
		wrong, ok := errors.AsType[*permission.RuleError](err)
		if !ok || wrong.Rule != c.shown || wrong.Line != 1 || wrong.Column != 13 || errors.Unwrap(wrong) == nil {
			t.Errorf("%s: %v, want it to show %s", c.written, err, c.shown)
		}
	}
}

func TestBypassIsNeverTakenFromARepository(t *testing.T) {
	t.Parallel()
	if err := permission.CheckMode(permission.Bypass, permission.FromRepository); err == nil {
		t.Error("a repository switches the questions off")
	}
	if err := permission.CheckMode(permission.Bypass, permission.ForUser); err != nil {
		t.Error(err)
	}
	if err := permission.CheckMode("yolo", permission.ForUser); err == nil {
		t.Error("there is a mode yolo")
	}
}

func TestRulesAreMerged(t *testing.T) {
	t.Parallel()
	mine := rules(t, permission.Allow, "go test *", "make")
	managed := rules(t, permission.Deny, "rm *")
	managed[0].Scope = permission.Managed
	all := permission.Merge(mine, managed, mine)
	if len(all) != 3 {
		t.Fatalf("%d rules, want 3: %v", len(all), all)
	}
}

// A truncated rule file is refused, wherever it is cut: a deny rule may be missing.
func TestAFileOfRulesThatEndsTooEarlyIsRefused(t *testing.T) {
	t.Parallel()
	const file = `{"rules": [{"rule": "shell(rm *)", "effect": "deny"}, {"rule": "edit(src/**)", "effect": "allow"}]}`
	for end := range len(file) {
		rs, err := permission.Load(strings.NewReader(file[:end]), permission.ForUser, "p.json")
		if len(rs) > 0 || err == nil || !strings.HasPrefix(err.Error(), "p.json:") {
			t.Errorf("%s: %v, %v", file[:end], rs, err)
		}
	}
	for _, more := range []string{"}", "]", "{}", "x", "null"} {
		if rs, err := permission.Load(strings.NewReader(file+more), permission.ForUser, "p.json"); len(rs) > 0 || err == nil {
			t.Errorf("%s at the end: %v, %v", more, rs, err)
		}
	}
	for bad, says := range map[string]string{`[]`: "there is [ where { should be", `{"rules": {}}`: "there is { where [ should be", `{"rules": []]`: "invalid character ']'", `{"rules": [1}`: "invalid character '}'"} {
		if _, err := permission.Load(strings.NewReader(bad), permission.ForUser, "p.json"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", bad, err, says)
		}
	}
	for _, bad := range []string{`{x`, `{"rules": [], x`, `{"rules": [x`, `{"rules": x`} {
		if _, err := permission.Load(strings.NewReader(bad), permission.ForUser, "p.json"); err == nil || !strings.Contains(err.Error(), "not valid JSON: invalid character 'x'") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if rs, err := permission.Load(strings.NewReader(file+" \n"), permission.ForUser, "p.json"); len(rs) != 2 || err != nil {
		t.Errorf("%v, %v", rs, err)
	}
}

func TestAFileOfRulesHasAtMostAMegabyte(t *testing.T) {
	t.Parallel()
	file := `{"rules": [{"rule": "shell(rm *)", "effect": "deny"}]}`
	file += strings.Repeat(" ", 1<<20-len(file))
	if rs, err := permission.Load(strings.NewReader(file), permission.ForUser, "p.json"); len(rs) != 1 || err != nil {
		t.Errorf("a megabyte: %v, %v", rs, err)
	}
	if rs, err := permission.Load(strings.NewReader(file+" "), permission.ForUser, "p.json"); len(rs) != 0 || err == nil || !strings.Contains(err.Error(), "have more than 1048576 bytes") {
		t.Errorf("a megabyte and a byte: %v, %v", rs, err)
	}
}
