package fake

import (
	"fmt"
	"net/http"
	"time"

	"pawl/llm/script"
	"pawl/run"
)

// anthropic is the format of the Messages API.
type anthropic struct{}

func (anthropic) check(r *http.Request, body []byte) (asked, error) {
	if r.Header.Get("x-api-key") == "" {
		return asked{}, script.Error{Status: 401, Message: "x-api-key header is required"}
	}
	request, err := checkAnthropic(r.Header, body)
	if err != nil {
		return asked{}, err
	}
	return asked{request.conversation(), request.Model, request.pieces(), request.CacheControl != nil}, nil
}

func (anthropic) refuse(w http.ResponseWriter, e script.Error) {
	refuseJSON(w, e, bodyAnthropic(e))
}

func (anthropic) play(s *sse, r script.Reply, place int, model string, usage script.Usage) error {
	return (&anthropicStream{sse: s}).play(r, place, model, usage)
}

func bodyAnthropic(e script.Error) object {
	kind, message := e.Words()
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

// An anthropicStream writes a reply as server-sent events.
type anthropicStream struct {
	*sse
	index int
}

// event writes one event.
func (s *anthropicStream) event(kind string, fields object) error {
	fields["type"] = kind
	return s.send(kind, fields)
}

// play writes the whole reply or as much of it as the script wants. When it
// returns nil early, the stream just ends there.
func (s *anthropicStream) play(r script.Reply, place int, model string, usage script.Usage) error {
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
		text, last := c.Arguments(), i == len(r.Calls)-1
		if last && r.Cut == "call" {
			text = text[:len(text)/2]
		}
		whole := !last || r.Cut != "call"
		err := s.block(object{"type": "tool_use", "id": id, "name": c.Tool, "input": object{}},
			"input_json_delta", "partial_json", script.Pieces(text), whole)
		if err != nil || !whole {
			return err
		}
	}
	err = s.event("message_delta", object{
		"delta": object{"stop_reason": r.StopReason(), "stop_sequence": nil},
		"usage": object{"output_tokens": usage.Output},
	})
	if err != nil {
		return err
	}
	return s.event("message_stop", object{})
}

func (s *anthropicStream) thinking(r script.Reply) error {
	text := r.Thinking
	whole := r.Cut != "thinking"
	if !whole {
		text = script.Half(text)
	}
	start := object{"type": "thinking", "thinking": "", "signature": ""}
	if err := s.block(start, "thinking_delta", "thinking", script.Pieces(text), false); err != nil || !whole {
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
func (s *anthropicStream) text(r script.Reply) (done bool, err error) {
	text := r.Text
	fails := r.Error != nil || r.Cut == "text" || r.Cut == "reset"
	if fails {
		text = script.Half(text)
	}
	ends := fails || r.Interruptible()
	if text != "" {
		if err := s.block(object{"type": "text", "text": ""}, "text_delta", "text", script.Pieces(text), !ends); err != nil {
			return true, err
		}
	}
	switch {
	case r.Error != nil:
		return true, s.event("error", bodyAnthropic(*r.Error))
	case r.Endless:
		for script.Pause(s.ctx, time.Millisecond) { // as fast as it comes, but not busier than a model
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
func (r *anthropicRequest) conversation() script.Conversation {
	c := script.Conversation{System: r.System.is.String(), Tools: len(r.Tools) > 0 && r.ToolChoice.Type != "none"}
	for _, m := range r.Messages {
		seen := script.Message{Role: run.Role(m.Role)}
		var words texts
		for _, b := range m.Content {
			switch b.is.Type {
			case "text":
				words = append(words, b.is.Text)
				seen.Blocks++
			case "tool_use":
				seen.Blocks++
			case "tool_result":
				seen.Results = append(seen.Results, b.is.Result.String())
			}
		}
		seen.Words = words.String()
		c.Messages = append(c.Messages, seen)
	}
	return c
}
