package api

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"pawl/app"
	"pawl/approval"
	"pawl/forms"
	"pawl/permission"
	"pawl/request"
	"pawl/run"
	"pawl/view"
)

// A DecisionBody is a person's answer to a call.
type DecisionBody struct {
	Answer  string `json:"answer" enum:"allow,always,wait,never,no" doc:"allow: it runs. always, never: and a rule is stored. wait: the turn is interrupted. no: it is refused once"`
	Digest  string `json:"digest" minLength:"12" doc:"That of the call as it was shown, or its first 12 characters or more: the answer is refused if the call has changed since"`
	Message string `json:"message,omitempty" doc:"Words for the model, with wait, never and no"`
	Rule    string `json:"rule,omitempty" doc:"The rule to store with always or never, instead of the one proposed"`
	Scope   string `json:"scope,omitempty" enum:"user,workspace,repository,run" doc:"Of the rule; workspace unless it is given"`
}

// DecideInput is a person's answer to a call of a run.
type DecideInput struct {
	RunInput
	CallInput
	Body DecisionBody
}

// decisionOperations registers the calls of a task that wait for a person.
func (s *Server) decisionOperations() {
	handle(s, operation{method: http.MethodGet, path: "/tasks/{task}/approvals", id: "list-task-approvals", tag: tagTasks,
		summary: "List the calls of a task that need approval", more: "Each with what it would do, why it needs approval, the rules that always would store, and the digest that an answer is bound to."},
		func(ctx context.Context, in *TaskInput) (forms.List[forms.WaitingCall], error) {
			list := forms.ListOf[forms.WaitingCall](nil)
			state, err := s.board.Load(ctx, in.Task)
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
				for _, c := range calls {
					if c.Run == r.ID { // those below it are in the chain too
						list.Items = append(list.Items, forms.WaitingCallOf(c))
					}
				}
			}
			return list, nil
		})
	type decideInTaskInput struct {
		TaskInput
		DecideInput
	}
	handle(s, operation{method: http.MethodPost, path: "/tasks/{task}/runs/{run}/calls/{call}/decision", id: "decide-task-call", tag: tagTasks, keyed: true,
		summary: "Answer a call of a task that needs approval", more: "The first answer counts."},
		func(ctx context.Context, in *decideInTaskInput) (forms.DecidedForm, error) {
			state, err := s.board.Load(ctx, in.Task)
			if err != nil {
				return forms.DecidedForm{}, err
			}
			if _, ok := state.Run(in.Run); !ok {
				return forms.DecidedForm{}, notFound("the task has no run " + string(in.Run))
			}
			return s.decide(ctx, in.Run, in.Call, in.Body)
		})
}

// approvals returns the calls of a run that need approval; none of one that has not begun.
func (s *Server) approvals(ctx context.Context, id run.ID) ([]approval.Approval, error) {
	calls, err := s.ws.Approvals(ctx, id)
	if err != nil {
		if p := problemOf(err); p != nil && p.Status == http.StatusNotFound {
			err = nil
		}
	}
	return calls, err
}

// decide hands in a person's answer to a call. A run that no process drives is driven here
// then; that of a task when its task is.
func (s *Server) decide(ctx context.Context, id run.ID, call run.CallID, b DecisionBody) (forms.DecidedForm, error) {
	events, _, err := s.ws.Load(ctx, id)
	if err != nil {
		return forms.DecidedForm{}, err
	}
	calls, err := s.ws.Approvals(ctx, id)
	if err != nil {
		return forms.DecidedForm{}, err
	}
	i := slices.IndexFunc(calls, func(a approval.Approval) bool { return a.Run == id && a.Call.ID == call })
	if i < 0 {
		if was, ok := view.DecisionOn(events, call); ok {
			return forms.DecidedForm{}, &request.DecidedError{Call: call, Was: was}
		}
		return forms.DecidedForm{}, notFound("no call " + string(call) + " of run " + string(id) + " needs approval")
	}
	a := calls[i]
	if !a.Is(b.Digest) {
		return forms.DecidedForm{}, &Problem{Status: http.StatusConflict, Code: "CALL_CHANGED", Message: "the call has changed since it was shown: look at it again"}
	}
	d := request.Decide{Call: call, Answer: run.Answer(b.Answer), By: by(ctx), Text: b.Message, Digest: a.Digest}
	if b.Answer == "no" {
		d.Answer = run.Deny
	}
	if d.Rules, err = s.rulesOf(a, b); err != nil {
		return forms.DecidedForm{}, err
	}
	if stores := b.Answer == string(run.Always) || b.Answer == string(run.Never); stores && b.Scope != string(permission.ForRun) {
		if p := needs(ctx, Administer, "a rule for more than the run"); p != nil {
			return forms.DecidedForm{}, p
		}
	}
	form := forms.DecidedForm{Run: id, Call: call, Answer: b.Answer, Rules: forms.RuleLines(d.Rules)}
	if form.Taken, err = s.ws.Decide(ctx, id, d); err != nil || form.Taken {
		return form, err
	}
	if err = s.driver.ensure(ctx, id); errors.As(err, new(*app.TaskRunError)) {
		return form, nil
	}
	form.Taken = err == nil // the inbox is read first
	return form, err
}

// rulesOf returns the rules that an answer stores.
func (s *Server) rulesOf(a approval.Approval, b DecisionBody) (permission.Rules, error) {
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
		r, err := permission.ParseTyped(b.Rule, app.ToolNames())
		if err != nil {
			return nil, invalid("rule", err.Error())
		}
		given = permission.Rules{r}
	}
	return a.Rules(run.Answer(b.Answer), scope, given)
}
