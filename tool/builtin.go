package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A builtin is a tool of this package.
type builtin struct {
	spec Spec
	args func() arguments // of a call, before they are decoded
}

// A reader is a builtin that reads files: also in the folders [Env.Reads].
type reader struct{ *builtin }

func (r reader) Inspect(env Env, args json.RawMessage) (Intent, error) {
	return r.builtin.Inspect(env.reading(), args)
}

func (r reader) Run(ctx context.Context, env Env, c Call) (Result, error) {
	return r.builtin.Run(ctx, env.reading(), c)
}

// reading returns e for a tool that reads files.
func (e Env) reading() Env {
	if len(e.Reads) > 0 {
		e.Dirs = slices.Concat(e.Dirs, e.Reads)
	}
	return e
}

// arguments are those of a call: a pointer that JSON is decoded into. If it has a method
// check(Env) error, that completes them with what they mean, such as the path in the
// workspace that a path of the model leads to.
type arguments interface {
	inspect(env Env) (Intent, error)
	run(ctx context.Context, env Env, c Call) (Result, error)
}

// NewSpec returns the Spec of a tool of pawl's by its .md and its schema. A model is not told which objects have no other
// fields: it does not invent any, the words are a twentieth of all schemas, and a provider that wants them adds them.
func NewSpec(name, text, schema string) Spec {
	return Spec{Name: name, Description: strings.TrimSpace(text), Schema: json.RawMessage(schema),
		Offered: json.RawMessage(strings.ReplaceAll(schema, `,"additionalProperties":false`, ""))}
}

// briefly returns the spec of a tool whose results are bounded.
func briefly(s Spec) Spec {
	s.Brief = true
	return s
}

func (t *builtin) Spec() Spec { return t.spec }

func (t *builtin) parse(env Env, raw json.RawMessage) (arguments, error) {
	a := t.args()
	if len(raw) > 0 { // no fragment of arguments at all means {}
		if err := json.Unmarshal(raw, a); err != nil {
			return nil, fmt.Errorf("the arguments do not fit: %v", err)
		}
	}
	if c, ok := a.(interface{ check(env Env) error }); ok {
		return a, c.check(env)
	}
	return a, nil
}

func (t *builtin) Inspect(env Env, args json.RawMessage) (Intent, error) {
	a, err := t.parse(env, args)
	if err != nil {
		return Intent{}, err
	}
	return a.inspect(env)
}

func (t *builtin) Run(ctx context.Context, env Env, c Call) (Result, error) {
	a, err := t.parse(env, c.Args)
	switch {
	case err != nil:
		return failed(err), nil
	case ctx.Err() != nil:
		return stopped(), nil
	}
	return a.run(ctx, env, c)
}

// A changer is a builtin that changes one file. Reconcile tells by the file's hash whether
// a killed call did.
type changer struct{ *builtin }

// Run waits where the file is one that programs obey by themselves and a command runs that could be taken for the one
// that made it, or could change what is put in the place of the file that it is kept from.
func (t changer) Run(ctx context.Context, env Env, c Call) (Result, error) {
	var at struct{ Path string }
	_ = json.Unmarshal(c.Args, &at) // what does not fit is said below
	if rel, _, err := Resolve(env, at.Path); err == nil {
		turn, err := env.Sandbox.TurnToWrite(ctx, rel)
		if err != nil && ctx.Err() == nil {
			return failed(err), nil
		}
		defer turn.Leave()
	}
	return t.builtin.Run(ctx, env, c)
}

func (changer) Reconcile(env Env, c Call) (Result, bool) { return reconcile(env, c) }
