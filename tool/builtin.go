package tool

import (
	"context"
	"encoding/json"
	"strings"
)

// A builtin is a tool of this package. An A is its arguments: decoded, checked, and completed
// with what they mean, such as the path in the workspace that a path of the model leads to.
type builtin[A any] struct {
	spec    Spec
	check   func(a *A, env Env) error // nil: there is nothing to check
	inspect func(a *A, env Env) (Intent, error)
	run     func(a *A, ctx context.Context, env Env, c Call) (Result, error)
}

// specOf returns the Spec of a tool by its .md and its schema.
func specOf(name, text, schema string) Spec {
	return Spec{Name: name, Description: strings.TrimSpace(text), Schema: json.RawMessage(schema)}
}

// briefly returns the spec of a tool whose results are bounded.
func briefly(s Spec) Spec {
	s.Brief = true
	return s
}

func (t *builtin[A]) Spec() Spec { return t.spec }

func (t *builtin[A]) parse(env Env, args json.RawMessage) (*A, error) {
	a, err := decode[A](args)
	if err == nil && t.check != nil {
		err = t.check(&a, env)
	}
	return &a, err
}

func (t *builtin[A]) Inspect(env Env, args json.RawMessage) (Intent, error) {
	a, err := t.parse(env, args)
	if err != nil {
		return Intent{}, err
	}
	return t.inspect(a, env)
}

func (t *builtin[A]) Run(ctx context.Context, env Env, c Call) (Result, error) {
	a, err := t.parse(env, c.Args)
	switch {
	case err != nil:
		return failed(err), nil
	case ctx.Err() != nil:
		return stopped(), nil
	}
	return t.run(a, ctx, env, c)
}

// A changer is a builtin that changes one file. Reconcile tells by the file's hash whether
// a killed call did.
type changer[A any] struct{ *builtin[A] }

func (changer[A]) Reconcile(env Env, c Call) (Result, bool) { return reconcile(env, c) }
