package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"pawl/run"
)

// maxRequest bounds the body of a request; the API's own limit is 32 MB
// (platform.claude.com/docs/en/api/errors, read 2026-11-20).
const maxRequest = 32 << 20

// serveAnthropic answers POST /v1/messages.
func (s *Server) serveAnthropic(w http.ResponseWriter, r *http.Request) {
	got := Request{At: time.Now(), Header: r.Header.Clone(), Reply: -1}
	refuse := func(e Error) {
		got.Status, got.Wrong = e.Status, e.Message
		s.keep(got)
		e.writeAnthropic(w)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	got.Body = body
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(Error{Status: 413, Message: "Request exceeds the maximum size"})
		return
	case err != nil:
		return // the client went away while it sent
	case r.Method != http.MethodPost:
		refuse(Error{Status: 405, Type: "invalid_request_error", Message: "Method Not Allowed"})
		return
	case r.Header.Get("x-api-key") == "":
		refuse(Error{Status: 401, Message: "x-api-key header is required"})
		return
	}
	request, err := checkAnthropic(r.Header, body)
	if err != nil {
		refuse(Error{Status: 400, Message: err.Error()})
		return
	}
	reply, place, err := s.player.Next(request.conversation())
	if err != nil {
		refuse(Error{Status: 400, Message: err.Error()})
		return
	}
	got.Reply, got.Status = place, http.StatusOK
	if reply.Error != nil && reply.Error.Status > 200 {
		got.Status = reply.Error.Status
	}
	s.keep(got)

	if !pause(r.Context(), time.Duration(reply.DelayMS)*time.Millisecond) {
		s.noteLeft()
		return
	}
	switch {
	case got.Status != http.StatusOK:
		reply.Error.writeAnthropic(w)
	case reply.Body != "":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, reply.Body)
	default:
		usage := reply.Usage
		if usage == nil {
			usage = s.guess(request, reply)
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		stream := &anthropicStream{ctx: r.Context(), w: w, split: reply.Split}
		err := stream.play(reply, place, request.Model, *usage)
		if errors.Is(err, errClientLeft) {
			s.noteLeft()
		}
		if reply.Cut == "reset" {
			panic(http.ErrAbortHandler) // how a handler resets its connection
		}
	}
}

// guess returns what a request costs: four bytes to a token.
func (s *Server) guess(request *anthropicRequest, reply Reply) *Usage {
	const perToken = 4
	pieces := request.pieces()
	u := Usage{Output: int64(len(reply.Thinking)+len(reply.Text))/perToken + 1}
	for _, c := range reply.Calls {
		u.Output += int64(len(c.text())) / perToken
	}
	if request.caches() {
		read, written := s.cache(pieces)
		u.Input, u.CacheRead, u.CacheWrite = 1, read/perToken, written/perToken
		return &u
	}
	for _, piece := range pieces {
		u.Input += int64(len(piece)) / perToken
	}
	return &u
}

// words returns an error's type and message as Anthropic has them.
// platform.claude.com/docs/en/api/errors, read 2026-11-20.
func (e Error) words() (kind, message string) {
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

func (e Error) bodyAnthropic() object {
	kind, message := e.words()
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

func (e Error) writeAnthropic(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if e.RetryAfter > 0 {
		w.Header().Set("retry-after", strconv.FormatFloat(e.RetryAfter, 'f', -1, 64))
	}
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(e.bodyAnthropic()) // whom it fails to reach has gone
}

// An anthropicStream writes a reply as server-sent events.
type anthropicStream struct {
	ctx   context.Context
	w     http.ResponseWriter
	split int
	index int
}

type object = map[string]any

// event writes one event.
func (s *anthropicStream) event(kind string, fields object) error {
	if s.ctx.Err() != nil {
		return errClientLeft
	}
	fields["type"] = kind
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	text := fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, data)
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

// play writes the whole reply or as much of it as the script wants. When it
// returns nil early, the stream just ends there.
func (s *anthropicStream) play(r Reply, place int, model string, usage Usage) error {
	err := s.event("message_start", object{"message": object{
		"id": fmt.Sprintf("msg_%d", place), "type": "message", "role": "assistant", "model": model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": usage.Input, "output_tokens": 1,
			"cache_read_input_tokens": usage.CacheRead, "cache_creation_input_tokens": usage.CacheWrite},
	}})
	if err == nil {
		err = s.event("ping", object{})
	}
	if err != nil {
		return err
	}
	if r.Thinking != "" {
		if err := s.thinking(r); err != nil || r.Cut == "thinking" {
			return err
		}
	}
	if r.Redacted != "" {
		if err := s.block(object{"type": "redacted_thinking", "data": r.Redacted}, "", "", nil, true); err != nil {
			return err
		}
	}
	if done, err := s.text(r); err != nil || done {
		return err
	}
	for i, c := range r.Calls {
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("toolu_%d_%d", place, i)
		}
		text, last := c.text(), i == len(r.Calls)-1
		if last && r.Cut == "call" {
			text = text[:len(text)/2]
		}
		whole := !last || r.Cut != "call"
		err := s.block(object{"type": "tool_use", "id": id, "name": c.Tool, "input": object{}},
			"input_json_delta", "partial_json", pieces(text), whole)
		if err != nil || !whole {
			return err
		}
	}
	err = s.event("message_delta", object{
		"delta": object{"stop_reason": r.stop(), "stop_sequence": nil},
		"usage": object{"output_tokens": usage.Output},
	})
	if err != nil {
		return err
	}
	return s.event("message_stop", object{})
}

func (s *anthropicStream) thinking(r Reply) error {
	text := r.Thinking
	whole := r.Cut != "thinking"
	if !whole {
		text = half(text)
	}
	start := object{"type": "thinking", "thinking": "", "signature": ""}
	if err := s.block(start, "thinking_delta", "thinking", pieces(text), false); err != nil || !whole {
		return err
	}
	err := s.event("content_block_delta", object{"index": s.index, "delta": object{"type": "signature_delta", "signature": sign(text)}})
	if err != nil {
		return err
	}
	return s.stop()
}

// text writes the text and what goes wrong around it; done means that the stream
// ends there.
func (s *anthropicStream) text(r Reply) (done bool, err error) {
	text := r.Text
	fails := r.Error != nil || r.Cut == "text" || r.Cut == "reset"
	if fails {
		text = half(text)
	}
	ends := fails || r.interruptible()
	if text != "" {
		if err := s.block(object{"type": "text", "text": ""}, "text_delta", "text", pieces(text), !ends); err != nil {
			return true, err
		}
	}
	switch {
	case r.Error != nil:
		return true, s.event("error", r.Error.bodyAnthropic())
	case r.Endless:
		for pause(s.ctx, time.Millisecond) { // as fast as it comes, but not busier than a model
			if err := s.event("content_block_delta", object{"index": s.index, "delta": object{"type": "text_delta", "text": r.Text}}); err != nil {
				return true, err
			}
		}
		return true, errClientLeft
	case r.Hang:
		<-s.ctx.Done()
		return true, errClientLeft
	}
	return ends, nil
}

// block writes a content block; without whole it stays open.
func (s *anthropicStream) block(start object, delta, field string, fragments []string, whole bool) error {
	if err := s.event("content_block_start", object{"index": s.index, "content_block": start}); err != nil {
		return err
	}
	for _, piece := range fragments {
		if err := s.event("content_block_delta", object{"index": s.index, "delta": object{"type": delta, field: piece}}); err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	return s.stop()
}

func (s *anthropicStream) stop() error {
	err := s.event("content_block_stop", object{"index": s.index})
	s.index++
	return err
}

// conversation returns what the script looks at.
func (r *anthropicRequest) conversation() Conversation {
	c := Conversation{System: r.system, Tools: len(r.Tools) > 0 && r.ToolChoice.Type != "none"}
	for _, m := range r.Messages {
		seen := Message{Role: run.Role(m.Role)}
		for _, b := range m.blocks {
			switch b.Type {
			case "text":
				seen.Words = joined(seen.Words, b.Text)
				seen.Blocks++
			case "tool_use":
				seen.Blocks++
			case "tool_result":
				seen.Results = append(seen.Results, b.resultText)
			}
		}
		c.Messages = append(c.Messages, seen)
	}
	return c
}
