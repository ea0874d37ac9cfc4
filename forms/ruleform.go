package forms

import (
	"time"

	"pawl/permission"
	"pawl/policy"
	"pawl/run"
)

// A RuleForm is a rule in the list as JSON. N is its number in the list as it is now.
type RuleForm struct {
	N       int                `json:"n,omitempty"`
	Effect  permission.Verdict `json:"effect"`
	Rule    string             `json:"rule"`
	Scope   permission.Scope   `json:"scope,omitempty"`
	Source  string             `json:"source,omitempty"`
	Run     run.ID             `json:"run,omitempty"`
	By      string             `json:"by,omitempty"`
	At      time.Time          `json:"at,omitzero"` // when it was made
	Why     string             `json:"why,omitempty"`
	Sandbox run.Confinement    `json:"sandbox,omitempty"`
	Counts  bool               `json:"counts"`
	Idle    string             `json:"idle,omitempty"` // why it does not count
}

// RuleFormOf returns the rule with number n in the list.
func RuleFormOf(n int, l policy.Listed) RuleForm {
	return RuleForm{N: n, Effect: l.Effect, Rule: l.Rule.String(), Scope: l.Scope, Source: l.Place(), Run: l.Run,
		By: l.By, At: l.When, Why: l.Why, Sandbox: l.Sandbox, Counts: l.Idle == "", Idle: l.Idle}
}

// RuleForms returns a list of rules in that form.
func RuleForms(list []policy.Listed) []RuleForm {
	forms := make([]RuleForm, len(list))
	for i, l := range list {
		forms[i] = RuleFormOf(i+1, l)
	}
	return forms
}

// A RuleChange is a rule that was stored or removed, as JSON. The number is the one in the
// list after it was stored, or before it was removed.
type RuleChange struct {
	Rule    RuleForm `json:"rule"`
	Changed bool     `json:"changed"` // false: the rule was there already
}

// A TrustChange is a change that waits for trust as JSON.
type TrustChange struct {
	File    string `json:"file"`
	Kind    string `json:"kind"` // new, changed, removed, unusable
	SHA256  string `json:"sha256,omitempty"`
	Problem string `json:"problem,omitempty"`
	Shown   string `json:"shown,omitempty"` // the content or the difference, with everything made visible
}

// A TrustForm is what waits for trust, as JSON.
type TrustForm struct {
	Trusted bool          `json:"trusted"` // nothing waits
	Items   []TrustChange `json:"items"`
}

// A RevokeForm says that a workspace is not trusted any more, as JSON.
type RevokeForm struct {
	Workspace string `json:"workspace"`
	Changed   bool   `json:"changed"` // false: it was not trusted
}

// A TrustRecord is what is trusted of one workspace, as JSON.
type TrustRecord struct {
	Workspace string        `json:"workspace"`
	Owner     *int          `json:"owner,omitempty"` // the user that the folder belonged to
	Files     []TrustedFile `json:"files"`
}

type TrustedFile struct {
	File   string    `json:"file"`
	SHA256 string    `json:"sha256"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at"`
}

// TrustRecords returns records in that form.
func TrustRecords(records []policy.Record) []TrustRecord {
	var forms []TrustRecord
	for _, r := range records {
		f := TrustRecord{Workspace: r.Workspace, Files: []TrustedFile{}}
		if r.Owner >= 0 {
			f.Owner = &r.Owner
		}
		for _, t := range r.Files {
			f.Files = append(f.Files, TrustedFile{t.File, t.SHA256, t.By, t.When})
		}
		forms = append(forms, f)
	}
	return forms
}

// TrustFormOf returns changes that wait for trust in that form.
func TrustFormOf(changes []policy.Change) TrustForm {
	form := TrustForm{Trusted: len(changes) == 0, Items: []TrustChange{}}
	for _, c := range changes {
		text, _ := c.Show(0)
		form.Items = append(form.Items, TrustChange{c.File, c.Kind(), c.Sum, c.Problem, text})
	}
	return form
}
