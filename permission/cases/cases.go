// Package cases tries rules on recorded calls, each with the decision that is expected of it.
package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"pawl/permission"
)

// A Case is a shell command, the rules in force, and the decision expected of them:
// what "pawl permissions test FILE" tries.
type Case struct {
	ID       string             `json:"id,omitempty"`
	Category string             `json:"category,omitempty"`
	Command  string             `json:"command"`
	Rule     Rules              `json:"rule"`
	Expected permission.Verdict `json:"expected"`
	Why      string             `json:"why,omitempty"`
}

// Rules are the rules of a case: patterns for the shell tool, or whole rules for
// another tool: "read(/etc/hosts)".
type Rules struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	// Default is what happens to what no rule decided; empty is ask.
	Default permission.Verdict `json:"default,omitempty"`
}

// A Difference is a case that did not come out as expected.
type Difference struct {
	Case
	Got    permission.Verdict `json:"got"`
	Rule   string             `json:"got_rule,omitempty"`
	Reason string             `json:"got_reason"`
}

// A Report is how a file of cases came out.
type Report struct {
	Cases int `json:"cases"`
	// Expected and Met count the cases by what was expected, and how many of those
	// came out so.
	Expected    map[permission.Verdict]int `json:"expected"`
	Met         map[permission.Verdict]int `json:"met"`
	Differences []Difference               `json:"differences"`
}

// String returns the differing cases as JSON, one a line, and the count.
func (r Report) String() string {
	var b strings.Builder
	for _, d := range r.Differences {
		line, _ := json.Marshal(d) // it is made of texts
		b.Write(line)
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d of %d cases differ\n", len(r.Differences), r.Cases)
	return b.String()
}

// Run tries the cases of a file {"cases": […]}, or of a bare list. A case that
// expects ask may be answered by deny and never by allow; one that expects allow
// must be allowed, and one that expects deny denied. resolve says where a path relative
// to the workspace leads with every link followed: relative to it, or absolute and
// outside; an error says that it could not be followed. With a nil resolve paths are judged by their spelling alone. Cases are judged as
// strictly as without a sandbox, except that what only reads is kept to reading.
//
// The error says what is wrong with the file; a case that differs is none.
func Run(r io.Reader, resolve func(path string) (string, error)) (Report, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return Report{}, fmt.Errorf("read the cases: %w", err)
	}
	var file struct{ Cases []Case }
	if strings.HasPrefix(strings.TrimSpace(string(data)), "[") {
		err = json.Unmarshal(data, &file.Cases)
	} else {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return Report{}, fmt.Errorf("the file is not valid JSON of the form {\"cases\": [{\"command\": …}]}: %w", err)
	}
	if len(file.Cases) == 0 {
		return Report{}, errors.New("there are no cases in the file; write {\"cases\": [{\"command\": …, \"rule\": …, \"expected\": …}]}")
	}
	report := Report{Expected: map[permission.Verdict]int{}, Met: map[permission.Verdict]int{}}
	for i, c := range file.Cases {
		d, err := c.run(resolve)
		if err != nil {
			return Report{}, fmt.Errorf("case %d (%s): %w", i+1, c.ID, err)
		}
		report.Cases++
		report.Expected[c.Expected]++
		if d.Verdict == c.Expected || c.Expected == permission.Ask && d.Verdict == permission.Deny {
			report.Met[c.Expected]++
		} else {
			report.Differences = append(report.Differences, Difference{Case: c, Got: d.Verdict, Rule: d.Rule, Reason: d.Reason})
		}
	}
	return report, nil
}

// caseWorkspace is the workspace of cases: any will do.
const caseWorkspace = "/workspace"

// run decides about a case.
func (c Case) run(resolve func(path string) (string, error)) (permission.Decision, error) {
	switch c.Expected {
	case permission.Allow, permission.Ask, permission.Deny:
	default:
		return permission.Decision{}, fmt.Errorf("expected is %q; write allow, ask or deny", c.Expected)
	}
	var rules permission.Rules
	for effect, texts := range map[permission.Verdict][]string{permission.Allow: c.Rule.Allow, permission.Ask: c.Rule.Ask, permission.Deny: c.Rule.Deny} {
		for _, text := range texts {
			rule, err := caseRule(text)
			if err != nil {
				return permission.Decision{}, err
			}
			rule.Effect, rule.Source = effect, "case"
			rules = append(rules, rule)
		}
	}
	if c.Rule.Default == permission.Allow {
		rules = append(rules, permission.Rule{Effect: permission.Allow, Tool: "shell", Source: "case"})
	}
	r := permission.Request{Tool: "shell", Command: c.Command, Workspace: caseWorkspace, EnforcesReadOnly: true}
	looked := permission.Classify(c.Command)
	r.Class = looked.Class
	for _, p := range looked.Paths {
		if resolve == nil || path.IsAbs(p) || strings.HasPrefix(path.Clean(p), "../") {
			continue // outside by its spelling
		}
		r.Paths = append(r.Paths, p)
		if to, err := resolve(p); err != nil {
			r.Outside = true
		} else {
			r.Resolved = append(r.Resolved, to)
		}
	}
	d := rules.Decide(r, permission.Default)
	if c.Rule.Default == permission.Deny && d.Verdict == permission.Ask && d.Source == "default" {
		d.Verdict = permission.Deny
	}
	return d, nil
}

// caseRule reads a pattern for the shell tool, or a whole rule for another one.
func caseRule(text string) (permission.Rule, error) {
	if tool, _, ok := strings.Cut(text, "("); ok && strings.HasSuffix(text, ")") && slices.Contains([]string{"shell", "read", "write", "edit", "fetch"}, tool) {
		return permission.ParseRule(text)
	}
	return permission.ParseRule("shell(" + text + ")")
}
