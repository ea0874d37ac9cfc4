package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"

	"pawl/internal/text"
	"pawl/llm"
	"pawl/run"
)

// An Assembler assembles an answer from the events of one stream.
type Assembler interface {
	// Take adds one event. Events without data, and the "[DONE]" that some servers send
	// last, are not passed to it. An error is an *llm.Error, one of say, or any other if
	// the stream is broken.
	Take(name string, data []byte) error
	// Done reports whether the end mark came: nothing more is read.
	Done() bool
	// Whole reports whether the answer is complete although no end marker arrived.
	Whole() bool
	// Answer returns it.
	Answer() *llm.Answer
}

// errGone ends a decode whose caller stopped the iteration; it is never shown.
var errGone = errors.New("the caller stopped the iteration")

// errNoStream is the error in an [llm.Error] for a body that is empty or not an event stream.
var errNoStream = errors.New("the response is not an event stream")

// doneMark is the data of an event that some servers send last.
const doneMark = "[DONE]"

// Decode reads a stream and returns its answer. Deltas go to emit as they come; an
// empty one says that the answer has grown by something that is not shown.
// when emit returns false, decode stops with an error of its own. Any other is an
// *llm.Error.
func Decode(r io.Reader, emit func(llm.Delta) bool, assemble func(func(llm.Delta) error) Assembler) (*llm.Answer, error) {
	delivered, any := false, false
	var usage run.Usage
	a := assemble(func(d llm.Delta) error {
		d.Call = callName(d.Call)
		switch {
		case d == llm.Delta{}:
		case d.Usage == nil:
			delivered = true
		case *d.Usage == usage:
			return nil
		default:
			usage = *d.Usage
		}
		if !emit(d) {
			return errGone
		}
		return nil
	})
	events := events{lines: lineReader{r: r}}
	for !a.Done() {
		name, data, err := events.next()
		marked := false
		if err == nil {
			switch data := bytes.TrimSpace(data); {
			case len(data) == 0:
			case string(data) == doneMark:
				marked = true
			default:
				err = a.Take(name, data)
				any = any || err == nil
			}
		}
		if err == errGone {
			return nil, err
		}
		var e *llm.Error
		if errors.As(err, &e) {
			e.Delivered, e.Usage = delivered, usage
			return nil, e
		}
		if (err != nil || marked) && a.Whole() {
			break // only the end marker is missing
		}
		if err != nil {
			e := ended(err, &events.lines, any)
			e.Delivered, e.Usage = delivered, usage
			return nil, e
		}
	}
	answer := a.Answer()
	if n := len(answer.Parts); n > maxParts {
		return nil, &llm.Error{Kind: run.ErrInvalid, Delivered: delivered, Usage: usage,
			Message: fmt.Sprintf("the response has %d calls and other parts, more than any model writes; check the server", n)}
	}
	return answer, nil
}

// maxParts bounds the parts of an answer: a run records what becomes of each call.
const maxParts = 2000

// earlyEnd says for a person why a response was not read to its end.
func earlyEnd(err error) string {
	if odd, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("cannot decode an event: %s is of type %s", cmp.Or(odd.Field, "a part"), odd.Value)
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "cannot decode an event: it is not JSON"
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return "the connection was closed"
	}
	return err.Error()
}

// ended returns the error for a stream that ended with err without a complete answer.
func ended(err error, lines *lineReader, any bool) *llm.Error {
	e := &llm.Error{Kind: run.ErrBrokenStream, Err: err}
	switch {
	case errors.Is(err, errTooBig):
		// A retry would bring as much.
		e.Kind = run.ErrInvalid
		e.Message = fmt.Sprintf("the response exceeds %d MB, more than any model writes; check the server", maxStream>>20)
		return e
	case err != io.EOF:
		e.Message = "the response ended early: " + earlyEnd(err)
	case any:
		e.Message = "the response ended early: the stream has no end marker"
	case lines.total == 0:
		e.Message, e.Err = "the answer was empty", errNoStream
	default:
		e.Message = "the response ended before it began"
	}
	if any || !lines.foreign() {
		return e
	}
	if api := ParseError(lines.head); api.Message != "" {
		e.Kind, e.Message = Kind(0, api), api.Message
		return e
	}
	// Gateways put a page or an error of their own in place of single answers, under status
	// 200: the request is retried like one whose stream breaks, a few times, and by
	// [Client.Stream] like any other fault once the server has streamed.
	e.Err = errNoStream
	why := "is the base URL that of a model's API, and is there a proxy in between?"
	if head := bytes.TrimSpace(lines.head); len(head) > 0 && (head[0] == '{' || head[0] == '[') {
		why = "it is JSON in one piece; does the server not stream, or does a proxy in between take the streaming away?"
	}
	e.Message = fmt.Sprintf("%v; it begins with %q: %s", errNoStream,
		text.Prefix(string(bytes.ToValidUTF8(lines.head, []byte("\ufffd"))), 80), why)
	return e
}
