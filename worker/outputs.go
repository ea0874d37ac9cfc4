package worker

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"iter"
	"slices"
	"strings"

	"pawl/output"
	"pawl/run"
	"pawl/store"
	"pawl/tool"
	"pawl/tool/outputs"
)

// modeArgument is the argument with which a call asks how its result is delivered. It
// is every tool's whose results are stored, and no tool sees it.
const modeArgument = "output_mode"

const modeSchema = `"` + modeArgument + `":{"type":"string","enum":["auto","inline","persist"]}`

// withMode adds the argument to the schema of a tool's arguments.
func withMode(schema json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(schema))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return schema
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return schema
		}
		if name != "properties" {
			var skipped json.RawMessage
			if dec.Decode(&skipped) != nil {
				return schema
			}
			continue
		}
		if t, err := dec.Token(); err != nil || t != json.Delim('{') {
			return schema
		}
		at, more := dec.InputOffset(), modeSchema
		if dec.More() {
			more += ","
		}
		return slices.Concat(schema[:at], json.RawMessage(more), schema[at:])
	}
	return schema
}

// arguments are what a call's tool gets, and how its result is delivered.
type arguments struct {
	of   string // the arguments as the call has them
	json json.RawMessage
	mode output.Mode
	err  error // for the model
}

// arguments returns a call's arguments with the outputs put in for their handles. It
// is what rules and people are shown. It does so once for each call: an output never
// changes, and may be large.
func (r *Runner) arguments(c run.Call) arguments {
	if r.w.Outputs == nil {
		return arguments{json: json.RawMessage(c.Arguments), mode: output.Auto}
	}
	if a, ok := r.resolved[c.ID]; ok && a.of == c.Arguments {
		return a
	}
	a := arguments{of: c.Arguments, json: json.RawMessage(c.Arguments), mode: output.Auto}
	t, ok := r.tool(c.Tool)
	if ok && !t.Spec().Unstored && strings.Contains(c.Arguments, modeArgument) {
		a.json, a.mode, a.err = takeMode(a.json)
	}
	if a.err == nil && ok {
		a.json, _, a.err = output.Resolve(context.Background(), a.json, t.Spec().Schema, func(id string) (*output.Output, error) {
			return r.w.Outputs.Find(r.env.Scope(), id)
		})
	}
	r.resolved[c.ID] = a
	return a
}

// takeMode takes the argument that says how a result is delivered out of the others.
func takeMode(args json.RawMessage) (json.RawMessage, output.Mode, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil || fields[modeArgument] == nil {
		return args, output.Auto, nil // whoever validates the arguments says what is wrong with them
	}
	var mode output.Mode
	if err := json.Unmarshal(fields[modeArgument], &mode); err != nil {
		return args, "", fmt.Errorf("%s must be one of auto, inline, persist", modeArgument)
	}
	switch mode {
	case "":
		mode = output.Auto
	case output.Auto, output.Inline, output.Persist:
	default:
		return args, "", fmt.Errorf("%s must be one of auto, inline, persist, got %q", modeArgument, mode)
	}
	delete(fields, modeArgument)
	rest, err := json.Marshal(fields)
	return rest, mode, err
}

// A resultWriter stores what a call returns. It makes the output with the first byte: most
// calls write nothing while they run.
type resultWriter struct {
	create func() (*output.Writer, error)
	w      *output.Writer
	sum    hash.Hash
	err    error
}

func (k *resultWriter) Write(p []byte) (int, error) {
	if k.w == nil && k.err == nil {
		k.w, k.err = k.create()
		k.sum = sha256.New()
	}
	if k.err == nil {
		_, k.err = k.w.Write(p)
	}
	if k.err != nil {
		return 0, k.err
	}
	k.sum.Write(p)
	return len(p), nil
}

func (k *resultWriter) abort() {
	if k.w != nil {
		k.w.Abort()
	}
}

// resultWriter returns what stores the result of a call; nil where nothing is stored.
func (r *Runner) resultWriter(c run.CallState) *resultWriter {
	t, ok := r.tool(c.Tool)
	if r.w.Outputs == nil || !ok || t.Spec().Unstored {
		return nil
	}
	return r.resultWriterOf(c.ID, c.Tool, r.core.State.MessageOf(c.ID))
}

func (r *Runner) resultWriterOf(id run.CallID, tool, message string) *resultWriter {
	return &resultWriter{create: func() (*output.Writer, error) {
		return r.w.Outputs.Create(output.Key{Conversation: r.env.Conversation, Run: r.id, Call: id}, tool, message)
	}}
}

// deliver stores a result and returns it as the model gets it, in a fact that settles
// the call.
func (r *Runner) deliver(k *resultWriter, c run.CallState, mode output.Mode, res tool.Result) run.CallSettled {
	fact := settled(c.ID, res)
	if k == nil {
		return fact
	}
	if len(images(res.Content)) > 0 { // pictures are content blocks, and in the log
		k.abort()
		return fact
	}
	defer k.abort()
	text := run.PlainText(res.Content)
	if !res.Written && mode != output.Persist && len(text) <= r.limits().Inline {
		if text != "" { // the fact is where it is stored
			fact.Delivery, fact.Size = string(output.Inlined), int64(len(text))
		}
		return fact
	}
	if !res.Written { // Content is the result: what it wrote, and what there is to say beside it
		k.abort()
		k.w = nil
	}
	if k.w == nil && k.err == nil && text != "" {
		_, _ = k.Write([]byte(text)) // an error stays in k
	}
	if k.w == nil && k.err == nil {
		return fact
	}
	var stored *output.Output
	err := k.err
	if err == nil {
		k.w.Mode, k.w.Limits = mode, r.limits()
		stored, err = k.w.Commit(run.Succeeded(res.IsError, res.ExitCode))
	}
	if err == nil {
		defer stored.Close()
		fact.Size = stored.Bytes()
	}
	var parts []run.Part
	delivery := output.Failed
	if res.Written && err != nil { // no one has it any more
		parts = []run.Part{run.Text(fmt.Sprintf("The tool ran, but its result is too large to show and could not be stored: %v. Run it again so that it prints less, or writes to a file.", err))}
	} else {
		parts, delivery = output.Deliver(output.Result{Output: stored, Text: text, Cause: err, Tools: outputs.Available()}, mode, r.limits())
	}
	if res.Written {
		parts = append(parts, res.Content...)
		fact.Key = resultKey(append([]run.Part{run.Text(hex.EncodeToString(k.sum.Sum(nil)))}, res.Content...), res.IsError)
	}
	fact.Content, fact.Delivery = parts, string(delivery)
	if err != nil {
		fact.Delivery = "" // also of one that is inline, with a warning: it is stored nowhere
	}
	if delivery == output.Failed {
		fact.IsError = true
		if fact.Outcome == run.OK {
			fact.Outcome = run.Failed
		}
	}
	return fact
}

// Logs are the logs of a store as [output.Store.With] takes them.
func Logs(st store.Store) output.Logs { return logs{st} }

type logs struct{ store store.Store }

func (l logs) Events(id run.ID) iter.Seq2[run.Event, error] {
	return l.store.Events(context.Background(), id, 0)
}

func (l logs) RunsOf(conversation run.ID) (ids []run.ID, err error) {
	runs, err := l.store.Conversation(context.Background(), conversation)
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids, err
}

func (r *Runner) limits() output.Limits { return cmp.Or(r.w.OutputLimits, output.DefaultLimits) }
