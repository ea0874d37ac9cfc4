package tool

import (
	"context"
	"fmt"
	"time"

	"pawl/internal/proc"
	"pawl/run"
	"pawl/tool/changes"
	"pawl/tool/printed"
)

// stopPatience is how long a tool waits for what it has stopped: a call returns
// within a second of being told to.
const stopPatience = 900 * time.Millisecond

// A job is a command that runs in the background, beside the run's calls. Once
// started it is safe for concurrent use.
type job struct {
	id      string
	command string // as it was asked for
	since   time.Time
	printed printed.Text
	told    bool // its end has been told to the model; guarded by the shellState
	process *proc.Process
	tracked *changes.Command
}

// start starts the job's command. It runs until it ends, is stopped, or limit
// is over (0: no limit).
func (j *job) start(c proc.Command, limit time.Duration) error {
	ctx, cancel := context.Background(), func() {}
	if limit > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, limit, timeLimit(limit))
	}
	c.Output = &j.printed
	p, err := proc.Start(ctx, c)
	if err != nil {
		cancel()
		return err
	}
	j.process, j.since = p, time.Now()
	go func() {
		<-p.Done()
		cancel()
	}()
	return nil
}

// running reports whether the job has not ended.
func (j *job) running() bool {
	select {
	case <-j.process.Done():
		return false
	default:
		return true
	}
}

// wait returns when the job has ended, or ctx has, or after d.
func (j *job) wait(ctx context.Context, d time.Duration, progress func(string)) {
	limited, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	watch(limited, j.process, &j.printed, progress, 0)
}

// ending says how the job stands.
func (j *job) ending() string {
	if j.running() {
		return "is running"
	}
	status, err := j.process.Wait()
	switch {
	case err != nil:
		return "ended: " + err.Error()
	case status.Stopped != "":
		return "was stopped: " + status.Stopped
	case status.Lost:
		return "ended: " + lostWords
	}
	return "ended: " + run.ExitWords(status.Code)
}

// lostWords says that a command was lost with the helper that held it.
const lostWords = "pawl's helper process for the command was killed, or had too little memory or too few processes or open files (ulimit -u, ulimit -n); " +
	"the command was ended with it, and may have done a part of its work or nothing"

// A timeLimit is the cause of a command's end by its time limit.
type timeLimit time.Duration

func (l timeLimit) Error() string {
	return fmt.Sprintf("its time limit of %v s was over", time.Duration(l).Seconds())
}
