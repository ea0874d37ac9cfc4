package fake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"pawl/llm/script"
	"pawl/run"
)

// A format is a wire format as the server of it speaks.
type format interface {
	// check reads a request. An error is that of the API, or, where the API corrects what
	// pawl should not send, a stricter one. An error that is not a [script.Error] is an
	// HTTP 400.
	check(r *http.Request, body []byte) (asked, error)
	refuse(w http.ResponseWriter, e script.Error)
	// play writes the reply, or as much of it as the script wants. When it returns
	// nil early, the stream just ends there.
	play(s *sse, r script.Reply, place int, model string, usage script.Usage) error
}

// asked is what counts of a request.
type asked struct {
	conversation script.Conversation
	model        string
	pieces       [][]byte // its parts in order, to play the prompt cache and to count tokens
	caches       bool     // the provider keeps what it has read
}

// maxRequest bounds the body of a request; Anthropic's own limit is 32 MB
// (platform.claude.com/docs/en/api/errors, read 2026-11-20).
const maxRequest = 32 << 20

// serve answers one request.
func (s *Server) serve(f format, w http.ResponseWriter, r *http.Request) {
	got := Request{At: time.Now(), Path: r.URL.Path, Header: r.Header.Clone(), Reply: -1}
	refuse := func(e script.Error) {
		got.Status, got.Wrong = e.Status, e.Message
		s.keep(got)
		f.refuse(w, e)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	got.Body = body
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(script.Error{Status: 413, Message: "Request exceeds the maximum size"})
		return
	case err != nil:
		return // the client went away while it sent
	case r.Method != http.MethodPost:
		refuse(script.Error{Status: 405, Type: "invalid_request_error", Message: "Method Not Allowed"})
		return
	}
	request, err := f.check(r, body)
	var said script.Error
	switch {
	case errors.As(err, &said):
		refuse(said)
		return
	case err != nil:
		refuse(script.Error{Status: 400, Message: err.Error()})
		return
	}
	reply, place, err := s.player.Next(request.conversation)
	if err != nil {
		refuse(script.Error{Status: 400, Message: err.Error()})
		return
	}
	got.Reply, got.Status = place, http.StatusOK
	if reply.Error != nil && reply.Error.Status > 200 {
		got.Status = reply.Error.Status
	}
	s.keep(got)

	if !script.Pause(r.Context(), time.Duration(reply.DelayMS)*time.Millisecond) {
		s.noteLeft()
		return
	}
	switch {
	case got.Status != http.StatusOK:
		f.refuse(w, *reply.Error)
	case reply.Body != "":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, reply.Body)
	default:
		usage := reply.Usage
		if usage == nil {
			usage = s.guess(request, reply)
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		err := f.play(&sse{ctx: r.Context(), w: w, split: reply.Split}, reply, place, request.model, *usage)
		if errors.Is(err, errClientLeft) {
			s.noteLeft()
		}
		if reply.Cut == "reset" {
			panic(http.ErrAbortHandler) // how a handler resets its connection
		}
	}
}

// guess returns what a request costs: four bytes to a token.
func (s *Server) guess(request asked, reply script.Reply) *script.Usage {
	const perToken = 4
	u := script.Usage{Output: int64(len(reply.Thinking)+len(reply.Text))/perToken + 1}
	for _, c := range reply.Calls {
		u.Output += int64(len(c.Arguments())) / perToken
	}
	if request.caches {
		read, written := s.cache(request.pieces)
		u.Input, u.CacheRead, u.CacheWrite = 1, read/perToken, written/perToken
		return &u
	}
	for _, piece := range request.pieces {
		u.Input += int64(len(piece)) / perToken
	}
	return &u
}

// refuseJSON answers with an error's status and a body.
func refuseJSON(w http.ResponseWriter, e script.Error, body object) {
	w.Header().Set("Content-Type", "application/json")
	if e.RetryAfter > 0 {
		w.Header().Set("retry-after", strconv.FormatFloat(e.RetryAfter, 'f', -1, 64))
	}
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the client has gone
}

type object = map[string]any

// An sse writes server-sent events to one client.
type sse struct {
	ctx   context.Context
	w     http.ResponseWriter
	split int // bytes to a write; 0: an event
}

// send writes one event with data as JSON; without a name, the event has none.
func (s *sse) send(name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return s.raw(name, string(text))
}

// raw writes one event with data as it is.
func (s *sse) raw(name, data string) error {
	if s.ctx.Err() != nil {
		return errClientLeft
	}
	text := fmt.Appendf(nil, "data: %s\n\n", data)
	if name != "" {
		text = append(fmt.Appendf(nil, "event: %s\n", name), text...)
	}
	size := s.split
	if size <= 0 {
		size = len(text)
	}
	for len(text) > 0 {
		n := min(size, len(text))
		if _, err := s.w.Write(text[:n]); err != nil {
			return errClientLeft
		}
		text = text[n:]
		if err := http.NewResponseController(s.w).Flush(); err != nil {
			return errClientLeft
		}
	}
	return nil
}

// wireNames are the names that a wire has for stop reasons.
type wireNames map[run.StopReason]string

// of returns the name of a stop reason; a reason without one is sent as it is.
func (n wireNames) of(stop run.StopReason) string { return cmp.Or(n[stop], string(stop)) }
