package tool

import (
	"context"
	_ "embed"
	"time"

	"pawl/run"
)

//go:embed shell_output.md
var shellOutputText string

const shellOutputSchema = `{"type":"object","properties":{` +
	`"id":{"type":"string"},` +
	`"wait_seconds":{"type":"integer"}},` +
	`"required":["id"],"additionalProperties":false}`

// ShellOutput returns the tool that tells what a background job printed.
func ShellOutput() Tool {
	return &builtin{briefly(NewSpec("shell_output", shellOutputText, shellOutputSchema)), func() arguments { return &shellOutputArgs{} }}
}

type shellOutputArgs struct {
	ID   string `json:"id"`
	Wait number `json:"wait_seconds"`

	wait time.Duration
}

func (a *shellOutputArgs) check(Env) error {
	seconds, err := a.Wait.bounded("wait_seconds", 0, 0, maxTimeLimit)
	a.wait = time.Duration(seconds) * time.Second
	return err
}

// inspect does not look for the job: after a restart it is gone, and run says so.
func (a *shellOutputArgs) inspect(Env) (Intent, error) {
	return Intent{Class: run.Reads, Polls: a.wait >= 5*time.Second, Title: "output of " + clip(a.ID, 40)}, nil
}

func (a *shellOutputArgs) run(ctx context.Context, env Env, c Call) (Result, error) {
	state := &env.Session.shell
	j, err := state.find(a.ID)
	if err != nil {
		return failed(err), nil
	}
	if a.wait > 0 && j.running() {
		j.wait(ctx, a.wait, c.Progress)
	}
	return jobResult(state, j), nil
}

//go:embed shell_stop.md
var shellStopText string

const shellStopSchema = `{"type":"object","properties":{` +
	`"id":{"type":"string"}},` +
	`"required":["id"],"additionalProperties":false}`

// ShellStop returns the tool that ends a background job.
func ShellStop() Tool {
	return &builtin{briefly(NewSpec("shell_stop", shellStopText, shellStopSchema)), func() arguments { return &shellStopArgs{} }}
}

type shellStopArgs struct {
	ID string `json:"id"`
}

// inspect classes it as reading: it ends nothing but what the run itself started,
// and may be done twice.
func (a *shellStopArgs) inspect(Env) (Intent, error) {
	return Intent{Class: run.Reads, Title: "stop " + clip(a.ID, 40)}, nil
}

func (a *shellStopArgs) run(ctx context.Context, env Env, _ Call) (Result, error) {
	state := &env.Session.shell
	j, err := state.find(a.ID)
	if err != nil {
		return failed(err), nil
	}
	j.process.Stop("by shell_stop")
	j.wait(context.WithoutCancel(ctx), stopPatience, nil)
	return jobResult(state, j), nil
}
