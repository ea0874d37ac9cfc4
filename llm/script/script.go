// Package script is the scripted model: it plays replies that a person wrote. It
// is a real provider (see [New]) and a server on HTTP (see [NewServer]) that
// speaks the wire formats of real ones, so that the demo and the tests cross the
// network code too, and so that a bug report can be "here is the script that does it".
//
// A script is JSON Lines: one reply a line, in the order they are given. Blank
// lines and lines that begin with # are passed over.
//
//	# The model reads a file, runs into a busy server, and answers.
//	{"text": "I look at it.", "calls": [{"tool": "read", "args": {"path": "a.go"}}]}
//	{"error": {"status": 529}, "times": 2}
//	{"thinking": "A typo.", "text": "Line 3 has a typo: {{last_result}}"}
//	{"when": {"contains": "thank"}, "text": "You are welcome.", "repeat": true}
//
// The fields of a reply are those of [Reply]. Which reply a request gets is read
// from the conversation that it sends, so a client that was killed and resumes gets the
// next one:
//
//   - A reply with "when" is given to the first request that it matches, before
//     all replies without; among several the first in the script.
//   - Any other reply is given in its turn: each assistant message of the
//     conversation has used up one.
//   - A reply is given once, or any number of times with "repeat".
//   - A reply that leaves no trace in the conversation (an error, a cut, an empty
//     one) is given once, or "times" often, at its place; the player counts these in
//     memory and forgets them when it ends.
//
// A conversation whose older messages were compacted away starts over in its
// script; "when" is the way to write for it.
//
// In text, thinking and arguments {{last_result}} stands for the text of the
// newest result, {{prompt}} for the newest words of the user, and {{count}} for how
// many replies the player has given, this one included: what a script of thousands
// of steps can vary by.
package script

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"pawl/run"
)

// A Script is replies in order.
type Script []Reply

// A Reply is what the model answers to one request: thinking, text, calls, in
// this order, and then, perhaps, something goes wrong.
type Reply struct {
	When   *When `json:"when,omitempty"`
	Repeat bool  `json:"repeat,omitempty"` // is never used up
	Times  int   `json:"times,omitempty"`  // of a reply that leaves no trace; 0: once

	DelayMS  int            `json:"delay_ms,omitempty"` // before the first byte
	Thinking string         `json:"thinking,omitempty"`
	Redacted string         `json:"redacted,omitempty"` // thinking that only the provider can read
	Text     string         `json:"text,omitempty"`
	Calls    []Call         `json:"calls,omitempty"`
	Stop     run.StopReason `json:"stop,omitempty"` // empty: tool_use with calls, end_turn without
	Usage    *Usage         `json:"usage,omitempty"`

	// Error is given instead of an answer; with status 200 (or none) it comes
	// inside the stream, after half of the text.
	Error *Error `json:"error,omitempty"`
	// Cut ends the stream too early: inside the "thinking", the "text" or the last
	// "call", or there with a "reset" of the connection.
	Cut     string `json:"cut,omitempty"`
	Hang    bool   `json:"hang,omitempty"`    // says the text and then nothing, until the client goes
	Endless bool   `json:"endless,omitempty"` // says the text again and again, until the client goes
	Body    string `json:"body,omitempty"`    // answers with this page instead of a stream
	Split   int    `json:"split,omitempty"`   // bytes to a network write; 0: an event to a write
}

// A Call is a call in a reply.
type Call struct {
	ID   string          `json:"id,omitempty"` // the provider's; empty: one is made
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args,omitempty"` // an object; missing: {}
	// RawArgs are the arguments as text, whatever they are; "" sends none at all.
	RawArgs *string `json:"raw_args,omitempty"`
}

// An Error is a provider's error.
type Error struct {
	Status     int     `json:"status,omitempty"`
	Type       string  `json:"type,omitempty"`        // as the wire names it; empty: by status
	Message    string  `json:"message,omitempty"`     // empty: by status
	RetryAfter float64 `json:"retry_after,omitempty"` // seconds; 0: not said
}

// A Usage is what a reply says it cost, in tokens.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// When says which requests a reply is for; all that is set must hold.
type When struct {
	Contains string `json:"contains,omitempty"` // the newest user message has this, in words or results
	First    string `json:"first,omitempty"`    // the first user message has this
	System   string `json:"system,omitempty"`   // the system prompt has this
	Tools    *bool  `json:"tools,omitempty"`    // the request offers tools
}

func (e Error) Error() string { return e.Message }

// Words returns an error's type and message as Anthropic has them.
// platform.claude.com/docs/en/api/errors, read 2026-11-20.
func (e Error) Words() (kind, message string) {
	kind, message = e.Type, e.Message
	known := map[int][2]string{
		400: {"invalid_request_error", "invalid request"},
		401: {"authentication_error", "invalid x-api-key"},
		403: {"permission_error", "Your API key does not have permission to use the specified resource"},
		404: {"not_found_error", "model not found"},
		413: {"request_too_large", "Request exceeds the maximum size"},
		429: {"rate_limit_error", "This request would exceed your rate limit"},
		529: {"overloaded_error", "Overloaded"},
	}
	words, ok := known[e.Status]
	if !ok {
		words = [2]string{"api_error", "Internal server error"}
	}
	if kind == "" {
		kind = words[0]
	}
	if message == "" {
		message = words[1]
	}
	return kind, message
}

// Parse reads a script. A field it does not know is an error, with its line.
func Parse(r io.Reader) (Script, error) {
	var s Script
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		var reply Reply
		err := dec.Decode(&reply)
		if err == nil && dec.More() {
			err = errors.New("more than one reply on a line")
		}
		if err == nil {
			err = reply.check()
		}
		if err != nil {
			return nil, fmt.Errorf("script, line %d: %s", n, wrong(err))
		}
		s = append(s, reply)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return s, nil
}

// wrong says why a line cannot be read as a reply.
func wrong(err error) string {
	odd, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case ok:
		return fmt.Sprintf("%s cannot be of type %s", cmp.Or(odd.Field, "a reply"), odd.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the JSON object has no end"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// check returns what is wrong with a reply.
func (r Reply) check() error {
	switch r.Cut {
	case "", "thinking", "text", "call", "reset":
	default:
		return fmt.Errorf("cut %q: it is one of thinking, text, call, reset", r.Cut)
	}
	if r.Cut == "call" && len(r.Calls) == 0 {
		return errors.New("cut in a call, but there is no call")
	}
	if r.Endless && r.Text == "" {
		return errors.New("endless needs a text to repeat")
	}
	for _, c := range r.Calls {
		if c.RawArgs != nil && c.Args != nil {
			return fmt.Errorf("call of %s: args and raw_args", c.Tool)
		}
		if c.Args != nil && (len(c.Args) == 0 || c.Args[0] != '{') {
			return fmt.Errorf("call of %s: args is not an object; raw_args takes any text", c.Tool)
		}
	}
	return nil
}

// Arguments returns the arguments as they are sent.
func (c Call) Arguments() string {
	switch {
	case c.RawArgs != nil:
		return *c.RawArgs
	case c.Args != nil:
		return string(c.Args)
	}
	return "{}"
}

// StopReason returns why the reply ends.
func (r Reply) StopReason() run.StopReason {
	switch {
	case r.Stop != "":
		return r.Stop
	case len(r.Calls) > 0:
		return run.StopToolUse
	}
	return run.StopEndTurn
}

// blocks counts what the reply leaves in a conversation: thinking does not count,
// because a client may drop it.
func (r Reply) blocks() int {
	n := len(r.Calls)
	if strings.TrimSpace(r.Text) != "" {
		n++
	}
	return n
}

// traceless reports whether a conversation never shows that r was given.
func (r Reply) traceless() bool {
	return r.Error != nil || r.Cut != "" || r.Body != "" || r.blocks() == 0
}

// Interruptible reports whether r ends only when the client goes, and so may or
// may not leave a trace.
func (r Reply) Interruptible() bool { return r.Hang || r.Endless }

// filled returns r with the placeholders replaced.
func (r Reply) filled(c Conversation, count int) Reply {
	values := map[string]string{"{{last_result}}": c.lastResult(), "{{prompt}}": c.lastWords(), "{{count}}": strconv.Itoa(count)}
	for name, value := range values {
		r.Text = strings.ReplaceAll(r.Text, name, value)
		r.Thinking = strings.ReplaceAll(r.Thinking, name, value)
	}
	calls := make([]Call, len(r.Calls))
	for i, call := range r.Calls {
		for name, value := range values {
			quoted, _ := json.Marshal(value) // a string can always be encoded
			call.Args = bytes.ReplaceAll(call.Args, []byte(name), quoted[1:len(quoted)-1])
		}
		if len(call.Args) == 0 {
			call.Args = nil
		}
		if call.RawArgs != nil {
			raw := *call.RawArgs
			for name, value := range values {
				raw = strings.ReplaceAll(raw, name, value)
			}
			call.RawArgs = &raw
		}
		calls[i] = call
	}
	r.Calls = calls
	return r
}
