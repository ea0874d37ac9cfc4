package worker

import (
	"encoding/json"
	"strings"

	"pawl/run"
	"pawl/tool"
)

// equip returns the tools of the run: the worker's, and the one that hands in the
// result if there is one to be handed in.
func (d *Driver) equip(c run.Output) (*tool.Registry, *tool.Submission) {
	if c.Schema == "" {
		return d.w.Tools, nil
	}
	if d.submission == nil || d.equipped != c {
		// A schema that is none was refused when it was given; of a log that says
		// otherwise, nothing can be handed in and the run says so.
		s, err := tool.NewSubmission(c.Tool, json.RawMessage(c.Schema))
		if err != nil {
			d.w.debug("the output's schema", "run", d.id, "error", err)
			return d.w.Tools, nil
		}
		d.submission, d.equipped, d.tools = &s, c, d.w.Tools.With(s)
	}
	return d.tools, d.submission
}

// handIn returns the next fact of a call that hands in the result. It does nothing
// to the world, so all of them go in one append.
func (d *Driver) handIn(s run.State, c run.CallState) run.Fact {
	switch {
	case c.Status == run.CallMay:
		return run.CallStarted{Call: c.ID, Attempt: c.Attempt + 1}
	case s.Submission().Call == c.ID:
		return settled(c.ID, tool.TextResult("The result was accepted. Nothing more is to be done."), run.OK)
	case s.Submission().Value != "":
		return settled(c.ID, tool.ErrorResult("A result was handed in already; this one does not count. Nothing more is to be done."), run.Failed)
	}
	_, submission := d.equip(s.Config.Output)
	args := d.arguments(c.Call)
	value, err := "", args.err
	if err == nil {
		value, err = submission.Value(args.json)
	}
	if err != nil { // it fitted when the call was looked at
		return settled(c.ID, tool.ErrorResult(err.Error()), run.Failed)
	}
	return run.Submitted{Assignment: s.Assignment(), Call: c.ID, Value: value}
}

// handsIn reports whether a call hands in the result.
func (d *Driver) handsIn(s run.State, c run.Call) bool {
	_, submission := d.equip(s.Config.Output)
	return submission != nil && c.Tool == s.Config.Output.Tool
}

// handing reports whether a result is being handed in: what an interrupt finds started
// of that is settled first, in the same append, because nobody else will.
func (d *Driver) handing(s run.State) bool {
	for _, c := range s.Turn.Calls {
		if c.Status == run.CallRuns && d.handsIn(s, c.Call) {
			return true
		}
	}
	return false
}

// answered returns what an answer that was asked for by the result's schema is:
// handed in, or refused with what is wrong; nil when it is none yet.
func (d *Driver) answered(s run.State, f run.Replied) run.Fact {
	switch f.Stop {
	case run.StopMaxTokens, run.StopPause, run.StopToolUse, run.StopFiltered, run.StopRefusal, run.StopGuardrail:
		return nil // any other, also one that nobody knows, is an end
	}
	for _, part := range f.Parts {
		if part.Type == run.CallPart {
			return nil
		}
	}
	text := strings.TrimSpace(run.PlainText(f.Parts))
	if text == "" {
		return nil // the run's own remedy for an empty answer comes first
	}
	tools, submission := d.equip(s.Config.Output)
	if submission == nil {
		return nil
	}
	if !json.Valid([]byte(text)) {
		return run.SubmissionRefused{Problem: "What came is not JSON."}
	}
	if err := tools.Validate(s.Config.Output.Tool, json.RawMessage(text)); err != nil {
		what := strings.TrimPrefix(err.Error(), "wrong arguments for "+s.Config.Output.Tool+": ") // nobody called it
		return run.SubmissionRefused{Problem: "What came does not fit: " + what + "."}
	}
	value, err := submission.Value(json.RawMessage(text))
	if err != nil {
		return run.SubmissionRefused{Problem: err.Error()}
	}
	return run.Submitted{Assignment: s.Assignment(), Value: value}
}
