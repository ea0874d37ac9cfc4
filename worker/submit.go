package worker

import (
	"encoding/json"
	"strings"

	"pawl/run"
	"pawl/tool"
)

// A kit is the tools of a run that has to hand in a result: the worker's, and the one
// that hands it in.
type kit struct {
	output     run.Output     // that it is for
	base       *tool.Registry // without that one
	tools      *tool.Registry
	submission *tool.Submission
}

// tools returns the tools of the run, and the one among them that hands in the
// result; nil if none is required.
func (d *Runner) tools(c run.Output) (*tool.Registry, *tool.Submission) {
	base := d.w.registry()
	if c.Schema == "" {
		return base, nil
	}
	d.kits.Lock()
	defer d.kits.Unlock()
	if d.kit.submission == nil || d.kit.output != c || d.kit.base != base {
		// A schema that is not one was refused when it was given; if a log says
		// otherwise nothing can be submitted, and the run reports that.
		s, err := tool.NewSubmission(c.Tool, json.RawMessage(c.Schema))
		if err != nil {
			d.w.debug("the output's schema", "run", d.id, "error", err)
			return base, nil
		}
		d.kit = kit{output: c, base: base, tools: base.With(s), submission: &s}
	}
	return d.kit.tools, d.kit.submission
}

// submits reports whether a call hands in the result.
func (d *Runner) submits(o run.Output, c run.Call) bool {
	_, submission := d.tools(o)
	return submission != nil && c.Tool == o.Tool
}

// bySchema interprets an answer that was asked for by the result's schema: it is the
// result, or there is something wrong with it, or (both empty) it is not one yet. An
// answer in several pieces is read as one.
func (d *Runner) bySchema(s run.State, p run.Replied) (value, problem string) {
	switch p.Stop {
	case run.StopMaxTokens, run.StopPause, run.StopToolUse, run.StopFiltered, run.StopRefusal, run.StopGuardrail:
		return "", "" // any other, also an unknown one, is an end
	}
	for _, part := range p.Parts {
		if part.Type == run.CallPart {
			return "", ""
		}
	}
	text := strings.TrimSpace(s.Unfinished() + run.PlainText(p.Parts))
	tools, submission := d.tools(s.Config.Output)
	if text == "" || submission == nil { // the run's own remedy for an empty answer comes first
		return "", ""
	}
	if !json.Valid([]byte(text)) {
		return "", "The answer is not JSON."
	}
	if err := tools.Validate(s.Config.Output.Tool, json.RawMessage(text)); err != nil {
		what := strings.TrimPrefix(err.Error(), "wrong arguments for "+s.Config.Output.Tool+": ") // it was not called
		return "", "The answer does not fit the schema: " + what + "."
	}
	value, err := submission.Value(json.RawMessage(text))
	if err != nil {
		return "", err.Error()
	}
	return value, ""
}
