package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"pawl/app"
	"pawl/forms"
	"pawl/permission"
	"pawl/policy"
	"pawl/run"
)

const tagRules = "permissions"

// ruleOperations registers permission rules and the trust in the workspace's own files. Rules
// are made and files are trusted by a person: the token of a run reaches none of it.
func (s *Server) ruleOperations() {
	handle(s, operation{method: http.MethodGet, path: "/permissions", id: "list-rules", tag: tagRules,
		summary: "List the permission rules of all scopes", more: "The strongest first. Those that do not count say why."},
		func(_ context.Context, in *OffsetInput) (forms.List[forms.RuleForm], error) {
			p, err := s.ws.Policy()
			if err != nil {
				return forms.List[forms.RuleForm]{}, err
			}
			return page(forms.RuleForms(p.List()), *in), nil
		})
	handle(s, operation{method: http.MethodPost, path: "/permissions", id: "add-rule", tag: tagRules, status: http.StatusCreated,
		summary: "Store a permission rule"}, s.addRule)
	handle(s, operation{method: http.MethodDelete, path: "/permissions", id: "remove-rule", tag: tagRules,
		summary: "Remove a permission rule", more: "It is named by its text, and by its effect, scope and run where several rules have the text."}, s.removeRule)
	handle(s, operation{method: http.MethodPost, path: "/permissions/explain", id: "explain-call", tag: tagRules,
		summary: "Show how a call would be decided, part by part, and by which rule"}, s.explainCall)
	handle(s, operation{method: http.MethodGet, path: "/trust", id: "list-untrusted", tag: tagRules,
		summary: "List the files of the workspace that wait for trust", more: "Each with its content, or with how it differs from what was trusted."},
		func(context.Context, *struct{}) (forms.TrustForm, error) {
			p, err := s.ws.Trust()
			if err != nil {
				return forms.TrustForm{}, err
			}
			changes, err := p.Pending()
			return forms.TrustFormOf(changes), err
		})
	handle(s, operation{method: http.MethodPost, path: "/trust", id: "trust-files", tag: tagRules,
		summary: "Trust files of the workspace as they were shown", more: "A file that is another one than the one with the hash is not trusted. The settings of a server that runs are those that it began with."}, s.trustFiles)
	handle(s, operation{method: http.MethodDelete, path: "/trust", id: "revoke-trust", tag: tagRules,
		summary: "Stop trusting this workspace", more: "Its deny and ask rules still apply."},
		func(context.Context, *struct{}) (forms.RevokeForm, error) {
			p, err := s.ws.Trust()
			if err != nil {
				return forms.RevokeForm{}, err
			}
			was, err := p.Revoke()
			return forms.RevokeForm{Workspace: s.ws.Dir, Changed: was}, err
		})
	handle(s, operation{method: http.MethodGet, path: "/trust/records", id: "list-trusted", tag: tagRules,
		summary: "List what is trusted in all workspaces"},
		func(_ context.Context, in *OffsetInput) (forms.List[forms.TrustRecord], error) {
			p, err := s.ws.Trust()
			if err != nil {
				return forms.List[forms.TrustRecord]{}, err
			}
			records, err := p.Records()
			return page(forms.TrustRecords(records), *in), err
		})
}

type addRuleInput struct {
	Body struct {
		Rule    string   `json:"rule" minLength:"1" doc:"As TOOL or TOOL(PATTERN)"`
		Effect  string   `json:"effect,omitempty" enum:"allow,ask,deny" doc:"allow unless it is given"`
		Scope   string   `json:"scope,omitempty" enum:"user,workspace,repository,run" doc:"workspace unless it is given"`
		Run     run.ID   `json:"run,omitempty" doc:"With scope run"`
		Why     string   `json:"why,omitempty" doc:"Shown when the rule decides"`
		Sandbox string   `json:"sandbox,omitempty" enum:"network,none" doc:"The weaker sandbox that an allow rule for shell grants"`
		Network []string `json:"network,omitempty" doc:"Hosts, or sets of hosts such as npm, that the commands of an allow rule for shell may reach; NAME@HOST is one with a secret of your settings"`
		Matches []string `json:"matches,omitempty" doc:"Calls that the rule must match, tested whenever it is loaded"`
		Not     []string `json:"not,omitempty" doc:"Calls that the rule must not match"`
	}
}

func (s *Server) addRule(ctx context.Context, in *addRuleInput) (forms.RuleChange, error) {
	b := in.Body
	rule, err := permission.ParseTyped(b.Rule, app.ToolNames())
	if err != nil {
		return forms.RuleChange{}, invalid("rule", err.Error())
	}
	rule.Effect = permission.Verdict(cmp.Or(b.Effect, string(permission.Allow)))
	rule.Scope, rule.Why = permission.Scope(cmp.Or(b.Scope, string(permission.ForWorkspace))), b.Why
	rule.Matches, rule.Not = b.Matches, b.Not
	if rule.Sandbox, err = permission.NetworkOf(run.Confinement(b.Sandbox), b.Network); err != nil {
		return forms.RuleChange{}, invalid("network", err.Error())
	}
	switch ofRun := rule.Scope == permission.ForRun; {
	case ofRun && b.Run == "":
		return forms.RuleChange{}, invalid("run", "scope run needs one")
	case !ofRun && b.Run != "":
		return forms.RuleChange{}, invalid("run", "it needs scope run")
	case ofRun:
		if _, err := s.ws.Run(ctx, b.Run); err != nil {
			return forms.RuleChange{}, err
		}
	}
	p, err := s.ws.Policy()
	if err != nil {
		return forms.RuleChange{}, err
	}
	is := func(l policy.Listed) bool {
		r := l.Rule
		return r.Effect == rule.Effect && r.String() == rule.String() && r.Scope == rule.Scope && r.Sandbox == rule.Sandbox && l.Run == b.Run
	}
	known := slices.ContainsFunc(p.List(), is)
	if err := p.Add(rule, b.Run); err != nil {
		return forms.RuleChange{}, invalid("rule", err.Error())
	}
	list := p.List()
	at := slices.IndexFunc(list, is)
	if at < 0 {
		return forms.RuleChange{}, conflict("NOT_STORED", "the rule was stored but does not count")
	}
	return forms.RuleChange{Rule: forms.RuleFormOf(at+1, list[at]), Changed: !known}, nil
}

type removeRuleInput struct {
	Rule   string `query:"rule" required:"true" doc:"The text of the rule"`
	Effect string `query:"effect" enum:"allow,ask,deny"`
	Scope  string `query:"scope" enum:"user,workspace,repository,run"`
	Run    run.ID `query:"run"`
}

func (s *Server) removeRule(_ context.Context, in *removeRuleInput) (forms.RuleChange, error) {
	p, err := s.ws.Policy()
	if err != nil {
		return forms.RuleChange{}, err
	}
	var found []forms.RuleForm
	var listed policy.Listed
	for i, l := range p.List() {
		if l.Rule.String() == strings.TrimSpace(in.Rule) && (in.Effect == "" || string(l.Effect) == in.Effect) && (in.Scope == "" || string(l.Scope) == in.Scope) && (in.Run == "" || l.Run == in.Run) {
			listed = l
			found = append(found, forms.RuleFormOf(i+1, l))
		}
	}
	switch {
	case len(found) == 0:
		return forms.RuleChange{}, notFound("there is no such rule")
	case len(found) > 1:
		return forms.RuleChange{}, conflict("SEVERAL_RULES", "several rules have this text: give effect, scope and run")
	case listed.File == "":
		return forms.RuleChange{}, conflict("NOT_STORED", "the rule is from "+listed.Source+": remove it there")
	}
	return forms.RuleChange{Rule: found[0], Changed: true}, p.Remove(listed.Rule, listed.Run)
}

type explainInput struct {
	Body struct {
		Call    string `json:"call" minLength:"1" doc:"A command, or with tool a path or an address"`
		Tool    string `json:"tool,omitempty" doc:"shell unless it is given"`
		Mode    string `json:"mode,omitempty" enum:"default,accept-edits,plan,auto,bypass" doc:"That of the settings unless it is given"`
		Sandbox string `json:"sandbox,omitempty" enum:"network,none"`
		Run     run.ID `json:"run,omitempty" doc:"Include the rules of this run"`
	}
}

func (s *Server) explainCall(ctx context.Context, in *explainInput) (permission.Explanation, error) {
	b := in.Body
	name := cmp.Or(b.Tool, "shell")
	if !slices.Contains(app.ToolNames(), name) && !permission.IsServerTool(name) {
		return permission.Explanation{}, invalid("tool", "there is no tool "+name)
	}
	if b.Mode == "" {
		c, err := s.ws.Config()
		if err != nil {
			return permission.Explanation{}, err
		}
		b.Mode = c.Get("mode")
	}
	if b.Run != "" {
		if _, err := s.ws.Run(ctx, b.Run); err != nil {
			return permission.Explanation{}, err
		}
	}
	return s.ws.Explain(ctx, b.Run, permission.Mode(b.Mode), name, b.Call, run.Confinement(b.Sandbox))
}

type trustInput struct {
	Body struct {
		Files []struct {
			File   string `json:"file"`
			SHA256 string `json:"sha256" doc:"That of the content that was shown; empty: the file was removed"`
		} `json:"files" minItems:"1"`
	}
}

func (s *Server) trustFiles(_ context.Context, in *trustInput) (forms.TrustForm, error) {
	p, err := s.ws.Trust()
	if err != nil {
		return forms.TrustForm{}, err
	}
	changes, err := p.Pending()
	if err != nil {
		return forms.TrustForm{}, err
	}
	var some []policy.Change
	for _, f := range in.Body.Files {
		at := slices.IndexFunc(changes, func(c policy.Change) bool { return c.File == f.File })
		switch {
		case at < 0:
			return forms.TrustForm{}, notFound("the file " + f.File + " does not wait for trust")
		case changes[at].Sum != f.SHA256:
			return forms.TrustForm{}, conflict("FILE_CHANGED", "the file "+f.File+" has changed since it was shown: look at it again")
		case changes[at].Problem != "":
			return forms.TrustForm{}, invalid("files", f.File+" cannot be trusted: "+changes[at].Problem)
		}
		some = append(some, changes[at])
	}
	if err := p.Trust(some); err != nil {
		return forms.TrustForm{}, err
	}
	changes, err = p.Pending()
	return forms.TrustFormOf(changes), err
}
