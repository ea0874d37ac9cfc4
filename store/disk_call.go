package store

import "pawl/run"

// The forms of a call's life: received, asked, allowed or refused, started, settled.

type callReceived struct {
	Call call `json:"call"`
}

func (d callReceived) fact() run.CallReceived { return run.CallReceived{Call: run.Call(d.Call)} }

type callAsked struct {
	Call     run.CallID `json:"call"`
	Tool     string     `json:"tool,omitempty"`
	Class    run.Class  `json:"class,omitempty"`
	Priority int        `json:"priority,omitempty"`
	Key      string     `json:"key,omitempty"`
	Waits    bool       `json:"waits,omitempty"`
	Ask      bool       `json:"ask,omitempty"`
	Problem  string     `json:"problem,omitempty"`
}

type decision struct {
	Answer  run.Answer      `json:"answer"`
	Rule    string          `json:"rule,omitempty"`
	Source  string          `json:"source,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	By      string          `json:"by,omitempty"`
	Sandbox run.Confinement `json:"sandbox,omitempty"`
	Digest  string          `json:"digest,omitempty"`
}

type callAllowed struct {
	Call     run.CallID `json:"call"`
	Decision decision   `json:"decision"`
}

func (d callAllowed) fact() run.CallAllowed {
	return run.CallAllowed{Call: d.Call, Decision: run.Decision(d.Decision)}
}

type callRefused struct {
	Call     run.CallID `json:"call"`
	Decision decision   `json:"decision"`
	Content  string     `json:"content,omitempty"`
}

func (d callRefused) fact() run.CallRefused {
	return run.CallRefused{Call: d.Call, Decision: run.Decision(d.Decision), Content: d.Content}
}

type decisionVoided struct {
	Call   run.CallID `json:"call"`
	Reason string     `json:"reason"`
}

type callStarted struct {
	Call    run.CallID `json:"call"`
	Attempt int        `json:"attempt,omitempty"`
}

type callLost struct {
	Call run.CallID `json:"call"`
}

type callSettled struct {
	Call    run.CallID   `json:"call"`
	Outcome run.Outcome  `json:"outcome"`
	Content []part       `json:"content,omitempty"`
	IsError bool         `json:"is_error,omitempty"`
	Change  run.Change   `json:"change,omitempty"`
	Files   []fileChange `json:"files,omitempty"`
	Key     string       `json:"key,omitempty"`
	JobRuns bool         `json:"job_runs,omitempty"`

	Delivery string `json:"delivery,omitempty"`
	Size     int64  `json:"size,omitempty"`
}

type fileChange struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

func callSettledForm(f run.CallSettled) callSettled {
	d := callSettled{
		Call: f.Call, Outcome: f.Outcome, Content: partForms(f.Content), IsError: f.IsError,
		Change: f.Change, Key: f.Key, JobRuns: f.JobRuns, Delivery: f.Delivery, Size: f.Size,
	}
	for _, c := range f.Files {
		d.Files = append(d.Files, fileChange(c))
	}
	return d
}

func (d callSettled) fact() run.CallSettled {
	f := run.CallSettled{
		Call: d.Call, Outcome: d.Outcome, Content: runParts(d.Content), IsError: d.IsError,
		Change: d.Change, Key: d.Key, JobRuns: d.JobRuns, Delivery: d.Delivery, Size: d.Size,
	}
	for _, c := range d.Files {
		f.Files = append(f.Files, run.FileChange(c))
	}
	return f
}

type callNoted struct {
	Call run.CallID `json:"call"`
	Text string     `json:"text,omitempty"`
}
