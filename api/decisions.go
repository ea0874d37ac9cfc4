package api

import (
	"context"
	"net/http"
	"slices"

	"pawl/app"
	"pawl/permission"
	"pawl/run"
	"pawl/worker"
)

// A WaitingForm is a call of a run of a task that needs a person's approval, as JSON.
type WaitingForm struct {
	Run run.ID `json:"run"`
	app.WaitingCall
}

// A DecidedForm is an answer that was handed in, as JSON.
type DecidedForm struct {
	Run    run.ID         `json:"run"`
	Call   run.CallID     `json:"call"`
	Answer string         `json:"answer"`
	Rules  []app.RuleLine `json:"rules"` // that were stored
	Taken  bool           `json:"taken"` // false: no process drives the run; it counts when it is resumed
}

// A DecisionBody is a person's answer to a call.
type DecisionBody struct {
	Answer  string `json:"answer" enum:"allow,always,wait,never,no" doc:"allow: it runs. always, never: and a rule is stored. wait: the turn is interrupted. no: it is refused once"`
	Digest  string `json:"digest" minLength:"12" doc:"That of the call as it was shown, or its first 12 characters or more: the answer is refused if the call has changed since"`
	Message string `json:"message,omitempty" doc:"Words for the model, with wait, never and no"`
	Rule    string `json:"rule,omitempty" doc:"The rule to store with always or never, instead of the one proposed"`
	Scope   string `json:"scope,omitempty" enum:"user,workspace,repository,run" doc:"Of the rule; workspace unless it is given"`
}

// decisionOperations registers the calls of a task that wait for a person.
func (s *Server) decisionOperations() {
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}/approvals", id: "list-task-approvals", tag: tagTasks,
		summary: "List the calls of a task that need approval", more: "Each with what it would do, why it needs approval, the rules that always would store, and the digest that an answer is bound to."},
		func(ctx context.Context, in *TaskInput) (app.List[WaitingForm], error) {
			list := app.ListOf[WaitingForm](nil)
			state, err := s.ws.LoadTask(ctx, in.Task)
			if err != nil {
				return list, err
			}
			for _, r := range state.Chain {
				if r.Ended {
					continue
				}
				calls, err := s.approvals(ctx, r.ID)
				if err != nil {
					return list, err
				}
				for _, a := range calls {
					list.Items = append(list.Items, WaitingForm{r.ID, a.Waiting()})
				}
			}
			return list, nil
		})
	type decideInput struct {
		TaskInput
		Run  run.ID     `path:"run" maxLength:"100"`
		Call run.CallID `path:"call" maxLength:"100"`
		Body DecisionBody
	}
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/runs/{run}/calls/{call}/decision", id: "decide-task-call", tag: tagTasks,
		summary: "Answer a call of a task that needs approval", more: "The first answer counts."},
		func(ctx context.Context, in *decideInput) (DecidedForm, error) {
			state, err := s.ws.LoadTask(ctx, in.Task)
			if err != nil {
				return DecidedForm{}, err
			}
			if _, ok := state.Run(in.Run); !ok {
				return DecidedForm{}, notFound("the task has no run " + string(in.Run))
			}
			return s.decide(ctx, in.Run, in.Call, in.Body)
		})
}

// approvals returns the calls of a run that need approval; none of one that has not begun.
func (s *Server) approvals(ctx context.Context, id run.ID) ([]app.Approval, error) {
	calls, err := s.ws.Approvals(ctx, id)
	if err != nil {
		if p := problemOf(err); p != nil && p.Status == http.StatusNotFound {
			err = nil
		}
	}
	return calls, err
}

// decide hands in a person's answer to a call.
func (s *Server) decide(ctx context.Context, id run.ID, call run.CallID, b DecisionBody) (DecidedForm, error) {
	events, _, err := s.ws.Load(ctx, id)
	if err != nil {
		return DecidedForm{}, err
	}
	calls, err := s.ws.Approvals(ctx, id)
	if err != nil {
		return DecidedForm{}, err
	}
	i := slices.IndexFunc(calls, func(a app.Approval) bool { return a.Call.ID == call })
	if i < 0 {
		if was, ok := app.DecisionOn(events, call); ok {
			return DecidedForm{}, &app.DecidedError{Call: call, Was: was}
		}
		return DecidedForm{}, notFound("no call " + string(call) + " of run " + string(id) + " needs approval")
	}
	a := calls[i]
	if !a.Is(b.Digest) {
		return DecidedForm{}, &Problem{Status: http.StatusConflict, Code: "CALL_CHANGED", Message: "the call has changed since it was shown: look at it again"}
	}
	d := worker.Decision{Call: call, Answer: run.Answer(b.Answer), Text: b.Message, Digest: a.Preview.Digest}
	if b.Answer == "no" {
		d.Answer = run.Deny
	}
	if d.Rules, err = s.rulesOf(a, b); err != nil {
		return DecidedForm{}, err
	}
	taken, err := s.ws.Decide(ctx, id, d)
	return DecidedForm{id, call, b.Answer, app.RuleLines(d.Rules), taken}, err
}

// rulesOf returns the rules that an answer stores.
func (s *Server) rulesOf(a app.Approval, b DecisionBody) (permission.Rules, error) {
	if b.Answer != string(run.Always) && b.Answer != string(run.Never) {
		if b.Rule != "" || b.Scope != "" {
			return nil, invalid("rule", "a rule is stored with always and never alone")
		}
		return nil, nil
	}
	scope := permission.Scope(b.Scope)
	if scope == "" {
		scope = permission.ForWorkspace
	}
	var given permission.Rules
	if b.Rule != "" {
		r, err := permission.ParseTyped(b.Rule, s.ws.Tools())
		if err != nil {
			return nil, invalid("rule", err.Error())
		}
		given = permission.Rules{r}
	}
	return a.Rules(run.Answer(b.Answer), scope, given)
}
