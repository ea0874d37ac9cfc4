package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pawl/internal/proc"
	"pawl/run"
)

//go:embed shell_output.md
var shellOutputText string

//go:embed shell_stop.md
var shellStopText string

const shellOutputSchema = `{"type":"object","properties":{` +
	`"id":{"type":"string","description":"The job, such as job_1"},` +
	`"wait_seconds":{"type":"integer","description":"Wait up to this long for it to end; 0 if left out, at most 300"}},` +
	`"required":["id"],"additionalProperties":false}`

const shellStopSchema = `{"type":"object","properties":{` +
	`"id":{"type":"string","description":"The job, such as job_1"}},` +
	`"required":["id"],"additionalProperties":false}`

const (
	maxJobs    = 20
	maxJobWait = 300 // seconds
	// settleTime is how long a new job is watched before its call returns: what
	// fails at once is told at once.
	settleTime = 150 * time.Millisecond
)

// A job is a command in the background. It lives as long as the process that
// drives the run, and no longer.
type job struct {
	id      string
	command string
	started time.Time
	process *proc.Process
	out     *output
}

func (j *job) running() bool {
	select {
	case <-j.process.Done():
		return false
	default:
		return true
	}
}

// state says in a line how the job is doing.
func (j *job) state() string {
	if j.running() {
		return fmt.Sprintf("(%s runs, since %v)", j.id, time.Since(j.started).Round(time.Second))
	}
	status, err := j.process.Wait()
	switch {
	case err != nil:
		return fmt.Sprintf("(%s broke: %v)", j.id, err)
	case status.Stopped != "":
		return fmt.Sprintf("(%s was stopped)", j.id)
	}
	return fmt.Sprintf("(%s ended, exit code %d)", j.id, status.Code)
}

func (j *job) report() string {
	text := strings.TrimRight(j.out.text(), "\n")
	if text == "" {
		text = "(no output)"
	}
	return text + "\n" + j.state()
}

func startJob(env Env, command string) (Result, error) {
	s := &env.Session.shell
	running := 0
	for _, j := range s.all() {
		if j.running() {
			running++
		}
	}
	if running >= maxJobs {
		return Result{}, tell("%d jobs run already: stop one with shell_stop", running)
	}
	out := &output{}
	// Not the call's context: a job goes on when its call has returned. An
	// interrupt leaves it; the end of the process does not.
	p, err := startCommand(context.Background(), env, command, out, nil)
	if err != nil {
		return Result{}, err
	}
	s.mu.Lock()
	j := &job{id: fmt.Sprintf("job_%d", len(s.jobs)+1), command: command, started: time.Now(), process: p, out: out}
	s.jobs = append(s.jobs, j)
	s.mu.Unlock()
	select {
	case <-p.Done():
	case <-time.After(settleTime):
	}
	res := TextResult(j.report())
	res.Change = run.MayChange
	return res, nil
}

// find returns a job by its id; the error names those there are.
func (s *shellState) find(id string) (*job, error) {
	var there []string
	for _, j := range s.all() {
		if j.id == id {
			return j, nil
		}
		there = append(there, j.id+" ("+shortLine(j.command, 60)+")")
	}
	if len(there) == 0 {
		return nil, tell("there is no job %q: none was started since this process drives the run; jobs end with the process", id)
	}
	return nil, tell("there is no job %q; there are: %s", id, strings.Join(there, ", "))
}

func shortLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

type shellOutput struct{}

type jobArgs struct {
	ID   string `json:"id"`
	Wait int    `json:"wait_seconds"`
}

func (shellOutput) Spec() Spec {
	return Spec{Name: "shell_output", Description: strings.TrimSpace(shellOutputText), Schema: json.RawMessage(shellOutputSchema)}
}

func (shellOutput) Look(_ Env, args json.RawMessage) (Intent, error) {
	a, err := decode[jobArgs](args)
	if err == nil && (a.Wait < 0 || a.Wait > maxJobWait) {
		err = tell("wait_seconds is %d, and may be 0 to %d", a.Wait, maxJobWait)
	}
	return Intent{Class: run.Reads, Waits: a.Wait >= 5, Title: "output of " + a.ID}, err
}

func (shellOutput) Run(ctx context.Context, env Env, c Call) (Result, error) {
	a, err := decode[jobArgs](c.Args)
	if err != nil {
		return Result{}, err
	}
	j, err := env.Session.shell.find(a.ID)
	if err != nil {
		return Result{}, err
	}
	if a.Wait > 0 {
		t := time.NewTimer(time.Duration(min(a.Wait, maxJobWait)) * time.Second)
		defer t.Stop()
		select {
		case <-j.process.Done():
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return TextResult(j.report()), nil
}

type shellStop struct{}

func (shellStop) Spec() Spec {
	return Spec{Name: "shell_stop", Description: strings.TrimSpace(shellStopText), Schema: json.RawMessage(shellStopSchema)}
}

// Look calls it reading: it ends what the run itself has started, and ending it
// twice is ending it once.
func (shellStop) Look(_ Env, args json.RawMessage) (Intent, error) {
	a, err := decode[jobArgs](args)
	return Intent{Class: run.Reads, Title: "stop " + a.ID}, err
}

func (shellStop) Run(ctx context.Context, env Env, c Call) (Result, error) {
	a, err := decode[jobArgs](c.Args)
	if err != nil {
		return Result{}, err
	}
	j, err := env.Session.shell.find(a.ID)
	if err != nil {
		return Result{}, err
	}
	j.process.Stop("the agent")
	select {
	case <-j.process.Done():
	case <-ctx.Done():
	}
	return TextResult(j.report()), nil
}
