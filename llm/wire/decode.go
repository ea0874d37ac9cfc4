package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"pawl/llm"
	"pawl/run"
)

// An Assembler puts an answer together from the events of one stream.
type Assembler interface {
	// Take takes one event in. Events without data, and the "[DONE]" that some
	// servers send behind everything, do not get here. An error is an *llm.Error,
	// one of say, or anything else: the stream is broken there.
	Take(name string, data []byte) error
	// Done reports whether the end mark came: nothing more is read.
	Done() bool
	// Whole reports whether what came is an answer although no end mark did.
	Whole() bool
	// Answer returns it.
	Answer() *llm.Answer
}

// errGone ends a decode whose caller has broken off; it is never shown.
var errGone = errors.New("the caller broke off")

// doneMark is the data of an event that some servers send behind everything.
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
			break // what is missing is the end mark alone
		}
		if err != nil {
			e := ended(err, &events.lines, any)
			e.Delivered, e.Usage = delivered, usage
			return nil, e
		}
	}
	return a.Answer(), nil
}

// ended says why a stream that ended with err was no answer.
func ended(err error, lines *lineReader, any bool) *llm.Error {
	e := &llm.Error{Kind: run.ErrBrokenStream, Err: err}
	switch {
	case errors.Is(err, errTooBig):
		// Trying again would bring as much.
		e.Kind = run.ErrInvalid
		e.Message = fmt.Sprintf("the answer did not end within %d MB, more than any model says: is the server in order?", maxStream>>20)
		return e
	case err != io.EOF:
		e.Message = fmt.Sprintf("the answer broke off: %v", err)
	case any:
		e.Message = "the answer broke off: the stream ended without its end mark"
	case lines.total == 0:
		e.Message = "the answer was empty"
	default:
		e.Message = "the answer broke off before it began"
	}
	if any || !lines.foreign() {
		return e
	}
	if api := ParseError(lines.head); api.Message != "" {
		e.Kind, e.Message = Kind(0, api), api.Message
		return e
	}
	// Trying again would bring the same page.
	e.Kind = run.ErrInvalid
	why := "is the base URL that of a model's API, and is there a proxy in between?"
	if head := bytes.TrimSpace(lines.head); len(head) > 0 && (head[0] == '{' || head[0] == '[') {
		why = "it is JSON in one piece; does the server not stream, or does a proxy in between take the streaming away?"
	}
	e.Message = fmt.Sprintf("the answer is no event stream but begins with %q: %s",
		prefix(string(bytes.ToValidUTF8(lines.head, []byte("\ufffd"))), 80), why)
	return e
}
