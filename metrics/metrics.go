// Package metrics counts what runs do, from the events that have become durable in this
// process, and writes the figures in the text format of Prometheus. A run that is resumed is
// not counted again: only events that are appended here are.
//
// The format is written here and not by a library: client_golang adds 2.9 MB to the program,
// and the histograms of VictoriaMetrics/metrics are not those of Prometheus.
package metrics

import (
	"io"
	"strings"
	"sync/atomic"
	"time"

	"pawl/run"
)

// Metrics are the figures of one process. It is safe for concurrent use.
type Metrics struct {
	turns, decisions, interrupts, retries, reminders, submissions, outputBytes *counter

	interruptSeconds, turnSteps, requestSeconds *histogram
}

// New returns figures that are all zero.
func New() *Metrics {
	m := &Metrics{
		turns:       newCounter("pawl_turns_total", "Turns that have ended, by how they ended.", "end"),
		decisions:   newCounter("pawl_decisions_total", "Decisions on calls, by answer, tool and what decided.", "answer", "tool", "source"),
		interrupts:  newCounter("pawl_interrupts_total", "Turns that were interrupted, by cause.", "cause"),
		retries:     newCounter("pawl_retries_total", "Model requests that failed and are made again, by the kind of the error.", "kind"),
		reminders:   newCounter("pawl_reminders_total", "Reminders to agents that ended their turn without the required result."),
		submissions: newCounter("pawl_submissions_total", "Required results that were submitted, by what became of them.", "result"),
		outputBytes: newCounter("pawl_output_bytes_total", "Bytes of results that are stored, by the form in which the model was given them.", "delivery"),

		interruptSeconds: newHistogram("pawl_interrupt_seconds", "Time from an interrupt to the end of its turn, when nothing runs any more.",
			.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5),
		turnSteps: newHistogram("pawl_turn_steps", "Model requests, or turns of an external agent, of a turn, without retries.", 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144),
		requestSeconds: newHistogram("pawl_model_request_seconds", "Time of a model request, from its start to its last byte or its error.",
			.1, .25, .5, 1, 2.5, 5, 10, 25, 50, 100, 250),
	}
	for _, end := range []run.End{run.Completed, run.Asked, run.EndInterrupted, run.LimitReached, run.GuardrailStopped, run.LoopStopped, run.EndRefused, run.EndFailed} {
		m.turns.add(0, string(end))
	}
	for _, cause := range []run.Cause{run.ByPerson, run.ByWait, run.ByTimeout, run.ByShutdown, run.ByParent, run.ByRequest, run.ByPolicy, run.ByPause} {
		m.interrupts.add(0, string(cause))
	}
	for _, result := range []Result{Accepted, Duplicate, Invalid, Refused} {
		m.submissions.add(0, string(result))
	}
	m.reminders.add(0)
	return m
}

// A Result is what became of a submission.
type Result string

const (
	Accepted  Result = "accepted"
	Duplicate Result = "duplicate" // the same request again: it was accepted before
	Invalid   Result = "invalid"   // it does not fit its schema, and can be submitted again
	Refused   Result = "refused"   // another one was accepted, or it is not this run's to submit
)

// Submission counts a submission that was answered without an event in the log of its run.
func (m *Metrics) Submission(r Result) { m.submissions.add(1, string(r)) }

// A Run counts what one run does while one process drives it.
type Run struct {
	m *Metrics

	stopping atomic.Int64 // when an interrupt was accepted, in Unix nanoseconds; 0: none was

	// The fields below belong to the goroutine that records.
	requested   time.Time // when the request in flight started; zero: none is, or not in this process
	interrupted time.Time // when the interrupt was recorded
}

// Run returns what counts a run that begins or is resumed in this process.
func (m *Metrics) Run() *Run { return &Run{m: m} }

// Stopping says that an interrupt was accepted, before it is recorded. It may be called from
// any goroutine.
func (r *Run) Stopping(at time.Time) { r.stopping.CompareAndSwap(0, at.UnixNano()) }

// Recorded counts events that have become durable. before is the state that they follow.
func (r *Run) Recorded(before run.State, events []run.Event) {
	m := r.m
	turn := before.Turn.TurnSummary
	tools, submits := map[run.CallID]string{}, map[run.CallID]bool{}
	tool := func(id run.CallID) string {
		if name, ok := tools[id]; ok {
			return name
		}
		c, _ := before.Turn.Call(id)
		return c.Tool
	}
	for _, e := range events {
		interrupting := turn.Interrupt.Cause != ""
		turn.Add(e.Payload)
		switch p := e.Payload.(type) {
		case run.RequestStarted:
			r.requested = e.At
		case run.Replied:
			r.answered(e.At)
			if p.Unfit != "" {
				m.Submission(Invalid)
			}
		case run.RequestFailed:
			r.answered(e.At)
			if p.RetryAfter > 0 {
				m.retries.add(1, string(p.Kind))
			}
		case run.CallInspected:
			if tools[p.Call] = p.Tool; p.Problem != "" {
				tools[p.Call] = "" // there may be no such tool
			}
			submits[p.Call] = p.Submits
			if p.Problem != "" && p.Tool != "" && p.Tool == before.Config.Output.Tool {
				m.Submission(Invalid)
			}
		case run.CallDecided:
			m.decisions.add(1, string(p.Decision.Answer), tool(p.Call), sourceClass(p.Decision.Source))
		case run.CallSettled:
			if c, ok := before.Turn.Call(p.Call); p.Outcome == run.Failed && (submits[p.Call] || ok && c.Submits) {
				m.Submission(Refused)
			}
			if p.Delivery != "" {
				m.outputBytes.add(float64(p.Size), p.Delivery)
			}
		case run.Submitted:
			m.Submission(Accepted)
		case run.Told:
			if p.Reason == run.TellOutput {
				m.reminders.add(1)
			}
		case run.Interrupted:
			if interrupting {
				continue // a second one, which only takes back the words of the first
			}
			r.interrupted = e.At
			m.interrupts.add(1, string(p.Cause))
			if p.Cause == run.ByWait && p.Call != "" {
				m.decisions.add(1, string(run.Wait), tool(p.Call), "person")
			}
			r.answered(e.At)
		case run.Ended:
			m.turns.add(1, string(p.End))
			m.turnSteps.add(float64(turn.Steps))
			r.ended(e.At)
		}
	}
}

// answered takes the end of the request in flight in.
func (r *Run) answered(at time.Time) {
	if !r.requested.IsZero() {
		r.m.requestSeconds.add(max(0, at.Sub(r.requested).Seconds()))
	}
	r.requested = time.Time{}
}

// ended takes the end of a turn in.
func (r *Run) ended(at time.Time) {
	began := r.interrupted
	if stopping := r.stopping.Swap(0); stopping != 0 && !began.IsZero() {
		began = time.Unix(0, stopping)
	}
	if !began.IsZero() {
		r.m.interruptSeconds.add(max(0, at.Sub(began).Seconds()))
	}
	r.interrupted = time.Time{}
}

// sourceClass returns what decided on a call without the file or variable that it is named
// in: the values of a label are few.
func sourceClass(source string) string {
	switch class, _, _ := strings.Cut(source, " "); class {
	case "person", "hook", "judge", "mode", "default", "built-in", "policy", "configuration", "inspection", "flag", "environment",
		"run", "workspace", "repository", "user", "managed":
		return class
	}
	return "rule"
}

// Write writes all figures, and the gauges.
func (m *Metrics) Write(w io.Writer, gauges ...Gauge) error {
	var b strings.Builder
	for _, c := range []*counter{m.turns, m.decisions, m.interrupts, m.retries, m.reminders, m.submissions, m.outputBytes} {
		c.write(&b)
	}
	for _, h := range []*histogram{m.interruptSeconds, m.turnSteps, m.requestSeconds} {
		h.write(&b)
	}
	for _, g := range gauges {
		g.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
