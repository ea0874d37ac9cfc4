package tool

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pawl/internal/lazy"
	"pawl/run"
	"pawl/submission"
)

//go:embed submit.md
var submitText string

// SubmitName is what the tool is called that hands in a run's own kind of result.
const SubmitName = "submit_result"

// A Submission is the tool with which a run hands in the result that is asked of it.
// It never runs: that it was called, with what fits, is a fact of the run.
type Submission struct {
	spec    Spec
	checker *submission.Checker
	wrapped bool
}

// NewSubmission returns the tool for results that fit a JSON Schema. Arguments are
// always an object; a schema of something else is put into one, as its field result.
// An error says what is wrong with the schema, for its author.
func NewSubmission(name string, authored json.RawMessage) (Submission, error) {
	s := Submission{spec: Spec{Name: name, Description: cmp.Or(submission.Description(name), strings.TrimSpace(submitText)), Schema: authored}}
	var root map[string]json.RawMessage
	if err := json.Unmarshal(authored, &root); err != nil || root == nil {
		return s, fmt.Errorf("the schema is not a JSON object: give a JSON Schema, such as {\"type\": \"object\", \"properties\": {…}}")
	}
	if kind := string(bytes.TrimSpace(root["type"])); kind != `"object"` {
		// Inside of another, what refers to the root would mean that one.
		if _, named := root["$id"]; named || selfReference().Match(authored) {
			return s, fmt.Errorf("the schema is not of an object and refers to itself: make it one of an object, with a field for the result")
		}
		wrapper := map[string]any{
			"type": "object", "properties": map[string]any{"result": root},
			"required": []string{"result"}, "additionalProperties": false,
		}
		for _, defs := range []string{"$defs", "definitions"} { // references to them begin at the root
			if d, ok := root[defs]; ok {
				wrapper[defs] = d
				delete(root, defs)
			}
		}
		delete(root, "$schema")
		s.spec.Schema, _ = json.Marshal(wrapper) // made of what was JSON
		s.wrapped = true
	}
	var err error
	s.checker, err = submission.NewChecker(run.Output{Tool: name, Schema: string(s.spec.Schema)})
	return s, err
}

// selfReference finds references to a schema itself, or into it but for its
// definitions, which come along.
var selfReference = lazy.Regexp(`"\$(ref|dynamicRef|recursiveRef)"\s*:\s*"#("|/[^$d"]|/\$[^d"]|/d[^e"])`)

// Unchecked returns the patterns of the schema that cannot be checked here and are
// taken as fitting.
func (s Submission) Unchecked() []string { return s.checker.Unchecked() }

// Spec says what the model is told.
func (s Submission) Spec() Spec { return s.spec }

// Inspect returns what a submission would do.
func (s Submission) Inspect(Env, json.RawMessage) (Intent, error) {
	return Intent{Class: run.Resumable, Title: "submit the result"}, nil
}

// Run is never called.
func (s Submission) Run(context.Context, Env, Call) (Result, error) {
	return Result{}, errors.New("handing in does not run: it is a fact of the run")
}

// Validate says what is wrong with arguments, for the model; see [submission.Checker].
func (s Submission) Validate(args json.RawMessage) error {
	_, err := s.checker.Check(args)
	return err
}

// Value returns the result in arguments that fit the tool's schema, in the form in which it
// is stored.
func (s Submission) Value(args json.RawMessage) (string, error) {
	value, err := s.checker.Check(args)
	if err != nil {
		return "", err
	}
	if s.wrapped {
		var wrapper struct{ Result json.RawMessage }
		if err := json.Unmarshal(value, &wrapper); err != nil {
			return "", err
		}
		value = wrapper.Result
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, value); err != nil {
		return "", err
	}
	return buf.String(), nil
}
