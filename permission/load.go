package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pawl/run"
)

// maxRuleFile bounds a file of rules in bytes; no person writes a longer one.
const maxRuleFile = 1 << 20

// ruleJSON is a rule as files and the API have it.
type ruleJSON struct {
	Rule    string          `json:"rule"`
	Effect  Verdict         `json:"effect"`
	Scope   Scope           `json:"scope,omitempty"`
	Source  string          `json:"source,omitempty"`
	By      string          `json:"by,omitempty"`
	When    time.Time       `json:"when,omitzero"`
	Why     string          `json:"why,omitempty"`
	Sandbox run.Confinement `json:"sandbox,omitempty"`
	Network []string        `json:"network,omitempty"`
	Matches []string        `json:"matches,omitempty"`
	Not     []string        `json:"not,omitempty"`
}

var ruleKeys = set("rule effect scope source by when why sandbox network matches not")

// MarshalJSON writes the rule as files have it:
//
//	{"rule": "shell(go test *)", "effect": "allow", "matches": ["go test ./..."]}
func (r Rule) MarshalJSON() ([]byte, error) {
	sandbox, network := r.Sandbox, r.Sandbox.Hosts()
	if network != nil {
		sandbox = run.Confined
	}
	return json.Marshal(ruleJSON{r.String(), r.Effect, r.Scope, r.Source, r.By, r.When, r.Why, sandbox, network, r.Matches, r.Not})
}

// UnmarshalJSON reads the form of MarshalJSON. A field that is not known, or there
// twice, is an error: a rule that was misread might allow what it should not.
func (r *Rule) UnmarshalJSON(data []byte) error {
	if err := checkKeys(data, ruleKeys); err != nil {
		return err
	}
	var j ruleJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	parsed, err := ParseRule(j.Rule)
	if err != nil {
		return err
	}
	switch j.Effect {
	case Allow, Ask, Deny:
	case "bypass":
		return errors.New("bypass is a mode, not an effect of a rule; write allow, ask or deny")
	default:
		return fmt.Errorf("effect %q: write allow, ask or deny", j.Effect)
	}
	if !slices.Contains([]run.Confinement{run.Confined, run.WithNetwork, run.Unconfined}, j.Sandbox) {
		return fmt.Errorf("sandbox %q: write network or none, or leave it out", j.Sandbox)
	}
	if j.Sandbox, err = NetworkOf(j.Sandbox, j.Network); err != nil {
		return err
	}
	if j.Sandbox != run.Confined && (j.Effect != Allow || parsed.Tool != "shell") {
		return errors.New("only an allow rule for shell can lift the sandbox: leave sandbox and network out")
	}
	parsed.Effect, parsed.Scope, parsed.Source, parsed.By, parsed.When = j.Effect, j.Scope, j.Source, j.By, j.When
	parsed.Why, parsed.Sandbox, parsed.Matches, parsed.Not = j.Why, j.Sandbox, j.Matches, j.Not
	*r = parsed
	return nil
}

// A RuleError says what is wrong with one rule of a file.
type RuleError struct {
	Source       string
	Line, Column int    // where the rule begins, from 1
	Rule         string // as written, as far as it could be read
	// Counts: the rule is in force all the same, because it forbids or asks.
	Counts bool
	Err    error
}

func (e *RuleError) Error() string {
	outcome := "the rule is ignored"
	if e.Counts {
		outcome = "the rule still applies, because it only makes decisions stricter"
	}
	return fmt.Sprintf("%s:%d:%d: rule %q: %v; %s", e.Source, e.Line, e.Column, e.Rule, e.Err, outcome)
}

func (e *RuleError) Unwrap() error { return e.Err }

// Load reads a file {"rules": […]} and gives its rules scope and source. Each rule's
// own tests are tried.
//
// The rules returned are those that count, also when there is an error: the error
// joins a [RuleError] for every rule that is wrong. If the file as such cannot be
// read the error is of another type and there are no rules; then a rule that
// forbids may be missing, and the caller should not continue without the person
// knowing.
func Load(r io.Reader, scope Scope, source string) (Rules, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxRuleFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the rules of %s: %w", source, err)
	}
	if len(data) > maxRuleFile {
		return nil, fmt.Errorf("the rules of %s have more than %d bytes; split the file or remove rules", source, maxRuleFile)
	}
	items, bad := ruleItems(data)
	if bad != nil {
		line, column := position(data, bad.offset)
		return nil, fmt.Errorf("%s:%d:%d: %s", source, line, column, bad.what)
	}
	var rules Rules
	var problems []error
	for _, item := range items {
		var rule Rule
		err := json.Unmarshal(item.raw, &rule)
		counts := false
		if err == nil {
			err = admit(&rule, scope, source)
		}
		if err == nil {
			if err = rule.check(); err != nil {
				counts = rule.Effect != Allow
			}
		}
		if err == nil || counts {
			rules = append(rules, rule)
		}
		if err != nil {
			line, column := position(data, item.offset)
			text := rule.String()
			if rule.Tool == "" {
				text = snippet(item.raw)
			}
			problems = append(problems, &RuleError{Source: source, Line: line, Column: column, Rule: text, Counts: counts, Err: err})
		}
	}
	return rules, errors.Join(problems...)
}

// admit gives a rule its scope and source, and refuses what its scope must not
// hold.
func admit(r *Rule, scope Scope, source string) error {
	if r.Scope != "" && r.Scope != scope {
		return fmt.Errorf("its scope is %q, but this file is for scope %q: leave scope out", r.Scope, scope)
	}
	r.Scope, r.Source = scope, source
	if scope != FromRepository || r.Effect != Allow {
		return nil
	}
	// A repository must not switch the questions off for whoever clones it.
	switch {
	case r.Sandbox == run.Unconfined:
		return errors.New("a repository's rules cannot lift the sandbox; your own rules can")
	case GivesSecret(r.Sandbox):
		return errors.New("a repository's rules cannot give a secret; your own rules can")
	case r.Tool == "shell" && r.anything():
		return errors.New("a repository cannot allow every command, which has the effect of mode bypass; name the programs")
	case r.Tool == MemoryTool:
		return errors.New("a repository cannot allow what is noted for later runs; your own rules can")
	}
	return nil
}

// An itemError says where a file of rules cannot be read, and why.
type itemError struct {
	offset int64
	what   string
}

// A ruleItem is one rule of a file, not read yet.
type ruleItem struct {
	raw    json.RawMessage
	offset int64
}

// ruleItems cuts {"rules": […]} into its rules.
func ruleItems(data []byte) ([]ruleItem, *itemError) {
	d := json.NewDecoder(bytes.NewReader(data))
	fail := func(err error) *itemError {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return &itemError{syntax.Offset, "not valid JSON: " + err.Error()}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return &itemError{int64(len(data)), "the JSON ends too early"}
		}
		return &itemError{d.InputOffset(), err.Error()}
	}
	expect := func(want json.Delim) *itemError {
		token, err := d.Token()
		if err != nil {
			return fail(err)
		}
		if token != want {
			return &itemError{d.InputOffset(), fmt.Sprintf("there is %v where %v should be; write {\"rules\": […]}", token, want)}
		}
		return nil
	}
	if err := expect('{'); err != nil {
		return nil, err
	}
	var items []ruleItem
	seen := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fail(err)
		}
		if key != "rules" || seen {
			return nil, &itemError{d.InputOffset(), fmt.Sprintf("unknown or duplicate field %q; write {\"rules\": […]}", key)}
		}
		seen = true
		if err := expect('['); err != nil {
			return nil, err
		}
		for d.More() {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				return nil, fail(err)
			}
			items = append(items, ruleItem{raw, d.InputOffset() - int64(len(raw))})
		}
		if err := expect(']'); err != nil {
			return nil, err
		}
	}
	if err := expect('}'); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &itemError{d.InputOffset(), "there is text after the end of the object"}
	}
	return items, nil
}

// checkKeys reports a key of an object that is not known or there twice; the
// standard decoder takes the last one, and capitals for small letters. The data is valid
// JSON, as [json.Unmarshaler] has it.
func checkKeys(data []byte, known map[string]bool) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return errors.New("a rule is an object: {\"rule\": …, \"effect\": …}")
	}
	seen := map[string]bool{}
	for d.More() {
		token, _ := d.Token()
		key, _ := token.(string)
		if !known[key] {
			return fmt.Errorf("unknown field %q; a rule has rule, effect, matches, not, why, by, when, sandbox, network", key)
		}
		if seen[key] {
			return fmt.Errorf("duplicate field %q", key)
		}
		seen[key] = true
		var skip json.RawMessage
		_ = d.Decode(&skip)
	}
	return nil
}

// position returns the line and column of an offset, from 1.
func position(data []byte, offset int64) (line, column int) {
	before := data[:min(int(offset), len(data))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// snippet shows a rule that could not be read.
func snippet(raw []byte) string {
	const limit = 60
	s := strings.Join(strings.Fields(string(raw)), " ")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// check tries the rule's own tests: it has to decide each of Matches and none of
// Not, as the only rule there is.
func (r Rule) check() error {
	var problems []error
	for _, text := range r.Matches {
		if d, ok := r.decides(text); !ok {
			problems = append(problems, fmt.Errorf("its test %q should match and does not: %s", text, d.Reason))
		}
	}
	for _, text := range r.Not {
		if _, ok := r.decides(text); ok {
			problems = append(problems, fmt.Errorf("its test %q should not match and does", text))
		}
	}
	return errors.Join(problems...)
}

// decides reports whether the rule, alone, decides about a call written in the form
// of its pattern. Tests are tried as in a sandbox and in a workspace of any name.
func (r Rule) decides(text string) (Decision, bool) {
	request := Request{Tool: r.Tool, Class: run.Writes, Workspace: "/workspace", Sandboxed: true, EnforcesReadOnly: true}
	switch {
	case r.Tool == "shell":
		request.Command = text
	case r.Tool == "fetch":
		request.Class, request.URL = run.Reads, text
		if !strings.Contains(text, "://") {
			request.URL = "https://" + text
		}
	default:
		request.Paths = []string{text}
	}
	d := Rules{r}.Decide(request, Default)
	return d, d.Rule != "" && d.Verdict == r.Effect
}
