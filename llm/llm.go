// Package llm is where model answers come from: one small interface, the kinds
// of errors, and what a request and an answer are. Each wire format is a
// package below it; nothing of an SDK's types leaves those.
//
// It does not retry, keep history, or know tools and permissions; package worker does.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"pawl/run"
)

// A Provider answers requests over one wire format at one address. It is safe
// for concurrent use.
type Provider interface {
	// Wire names the wire format: anthropic, script, …. Thinking made by another
	// wire is dropped when a message is encoded, never sent.
	Wire() string

	// Encode returns m in the form of this wire. A message is encoded once and its
	// bytes are kept by the caller; a request body is spliced from them, so that a
	// request at step 5,000 costs no more than copying its bytes. The result is nil for
	// a message without content on this wire.
	Encode(m run.Message) (json.RawMessage, error)

	// EncodeTool returns t in the form of this wire, its schema reduced to what the
	// provider accepts; the descriptions state what was removed. An error says why the
	// provider cannot be offered this tool, for people.
	EncodeTool(t Tool) (json.RawMessage, error)

	// EncodeOutput returns the JSON Schema of an answer in the form of this wire, for
	// [Request.Output]. An error says why the provider cannot guarantee an answer that
	// fits; the caller then requests it in another way.
	EncodeOutput(schema json.RawMessage) (json.RawMessage, error)

	// Stream sends r and yields deltas as they arrive, and last exactly one
	// Delta with Answer set; or an error, which is an [*Error], and nothing
	// after it. Stopping the iteration, or cancelling ctx, closes the
	// connection before Stream returns.
	Stream(ctx context.Context, r Request) iter.Seq2[Delta, error]
}

// A Request is one question to a model.
type Request struct {
	Model     string
	System    string
	Tools     []json.RawMessage // from Provider.EncodeTool, sorted by name by the caller
	NoCalls   bool              // Tools are sent, because the provider's cached prefix begins with them, but no call is wanted
	Messages  []Message         // oldest first; roles may repeat, the wire joins them
	MaxTokens int               // of the answer; 0: the wire's default
	Output    json.RawMessage   // from Provider.EncodeOutput: the answer must be JSON that fits; nil: text
	Effort    Effort            // how much the model thinks; zero: as much as it does by default
}

// An Effort is how much a model thinks before it answers, in the terms of its provider. At
// most one of Level and Budget is set; package models has them from the level that a person
// asked for.
type Effort struct {
	Level    string // a level that the model has, as its API names it; [NoThinking]: it does not think
	Budget   int    // tokens of thinking, of a model without levels
	Adaptive bool   // Anthropic: the model thinks only if the request says so, beside its Level
}

// NoThinking is the level at which a model does not think.
const NoThinking = "none"

// A Message is an encoded message.
type Message struct {
	Role run.Role
	Body json.RawMessage // from Provider.Encode
}

// A Tool is a tool as it is described to a model. Every wire accepts its Name; see
// [Names].
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of an object
}

// A Delta is a piece of an answer as it arrives. It is for viewers; the Answer is
// authoritative. At most one field is set.
type Delta struct {
	Text     string
	Thinking string
	Call     string // a call to this tool has begun
	Input    string // a fragment of its arguments
	// Part is a part that is finished, as it will stand in the Answer (its call
	// may yet turn out cut). An interrupt keeps these, and the text after them.
	Part *run.Part
	// Usage is what the request has cost so far, as soon as the provider reports it;
	// a later one replaces it. It is what is known of a request that is interrupted.
	Usage  *run.Usage
	Answer *Answer // the last one
}

// An Answer is a finished message.
type Answer struct {
	// Parts is the message as it came, in its order. Calls have their
	// ProviderID, Tool, Arguments, Fault and Raw; their ID is the caller's to give.
	Parts []run.Part
	Stop  run.StopReason // mapped; an unknown one verbatim
	Model string
	Usage run.Usage // without cost
	// Cached: the answer is from the local cache, at no cost.
	Cached bool
}

// An Error says why there is no answer.
type Error struct {
	Kind      run.ErrorKind
	Status    int           // HTTP, 0 when there was none
	Wait      time.Duration // what the provider asked to wait before the next attempt; 0: nothing
	Delivered bool          // some of an answer had been yielded
	Message   string        // the provider's own words, bounded, without keys
	Usage     run.Usage     // what the provider had reported when the response ended early; without cost
	Err       error
}

func (e *Error) Error() string {
	s := string(e.Kind)
	if e.Status != 0 {
		s = fmt.Sprintf("%s (HTTP %d)", s, e.Status)
	}
	if e.Message != "" {
		return s + ": " + e.Message
	}
	if e.Err != nil {
		return s + ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an *Error. Any other error becomes unreachable, or aborted
// when ctx is done.
func AsError(ctx context.Context, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if ctx.Err() != nil {
		return &Error{Kind: run.ErrAborted, Err: context.Cause(ctx)}
	}
	return &Error{Kind: run.ErrUnreachable, Err: err}
}
