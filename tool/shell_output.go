package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pawl/run"
)

//go:embed shell_output.md
var shellOutputText string

const shellOutputSchema = `{"type":"object","properties":{` +
	`"id":{"type":"string","description":"The job, job_1"},` +
	`"wait_seconds":{"type":"integer","description":"Wait for its end that long, at most 600"}},` +
	`"required":["id"],"additionalProperties":false}`

// ShellOutput returns the tool that tells what a background job printed.
func ShellOutput() Tool { return shellOutputTool{} }

type shellOutputTool struct{}

type shellOutputArgs struct {
	ID   string `json:"id"`
	Wait number `json:"wait_seconds"`
}

func (shellOutputTool) Spec() Spec {
	return Spec{Name: "shell_output", Description: strings.TrimSpace(shellOutputText), Schema: json.RawMessage(shellOutputSchema)}
}

func (shellOutputTool) parse(args json.RawMessage) (a shellOutputArgs, wait time.Duration, err error) {
	if a, err = decode[shellOutputArgs](args); err != nil {
		return a, 0, err
	}
	seconds, err := a.Wait.bounded("wait_seconds", 0, 0, maxTimeLimit)
	return a, time.Duration(seconds) * time.Second, err
}

// Look does not look for the job: after a restart it is gone, and Run says so.
func (t shellOutputTool) Inspect(_ Env, args json.RawMessage) (Intent, error) {
	a, wait, err := t.parse(args)
	if err != nil {
		return Intent{}, err
	}
	return Intent{Class: run.Reads, Polls: wait >= 5*time.Second, Title: "output of " + clip(a.ID, 40)}, nil
}

func (t shellOutputTool) Run(ctx context.Context, env Env, c Call) (Result, error) {
	a, wait, err := t.parse(c.Args)
	if err != nil {
		return Result{}, err
	}
	state := &env.Session.shell
	j, err := state.find(a.ID)
	if err != nil {
		return failed(err), nil
	}
	if wait > 0 && j.running() {
		limited, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		show := time.NewTicker(progressEvery)
		defer show.Stop()
		for waiting := true; waiting; {
			select {
			case <-j.process.Done():
				waiting = false
			case <-limited.Done():
				waiting = false
			case <-show.C:
				if c.Progress == nil {
					continue
				}
				if lines, fresh := j.printed.news(5); fresh {
					c.Progress(lines)
				}
			}
		}
	}
	return jobResult(state, j), nil
}

//go:embed shell_stop.md
var shellStopText string

const shellStopSchema = `{"type":"object","properties":{` +
	`"id":{"type":"string","description":"The job, job_1"}},` +
	`"required":["id"],"additionalProperties":false}`

// ShellStop returns the tool that ends a background job.
func ShellStop() Tool { return shellStopTool{} }

type shellStopTool struct{}

func (shellStopTool) Spec() Spec {
	return Spec{Name: "shell_stop", Description: strings.TrimSpace(shellStopText), Schema: json.RawMessage(shellStopSchema)}
}

// Look classes it as reading: it ends nothing but what the run itself started,
// and may be done twice.
func (shellStopTool) Inspect(_ Env, args json.RawMessage) (Intent, error) {
	a, err := decode[shellOutputArgs](args)
	if err != nil {
		return Intent{}, err
	}
	return Intent{Class: run.Reads, Title: fmt.Sprintf("stop %s", clip(a.ID, 40))}, nil
}

func (shellStopTool) Run(_ context.Context, env Env, c Call) (Result, error) {
	a, err := decode[shellOutputArgs](c.Args)
	if err != nil {
		return Result{}, err
	}
	state := &env.Session.shell
	j, err := state.find(a.ID)
	if err != nil {
		return failed(err), nil
	}
	j.process.Stop("by shell_stop")
	j.wait(stopPatience)
	return jobResult(state, j), nil
}
