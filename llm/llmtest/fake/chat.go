package fake

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"pawl/llm/script"
	"pawl/run"
)

// chat is the format of OpenAI's Chat Completions, with the fields for reasoning
// and for the cache that OpenRouter has beside.
type chat struct{ request *chatRequest }

func (c *chat) check(r *http.Request, body []byte) (asked, error) {
	key, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer || strings.TrimSpace(key) == "" {
		return asked{}, script.Error{Status: 401, Message: "You didn't provide an API key."}
	}
	request, err := checkChat(r.Header, body)
	if err != nil {
		return asked{}, err
	}
	c.request = request
	return asked{request.conversation(), request.Model, request.pieces(), true}, nil
}

func (c *chat) refuse(w http.ResponseWriter, e script.Error) { refuseJSON(w, e, bodyChat(e)) }

func bodyChat(e script.Error) object {
	kind, message := e.Words()
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": nil}}
}

func (c *chat) play(s *sse, r script.Reply, place int, model string, usage script.Usage) error {
	stream := &chatStream{sse: s, id: fmt.Sprintf("chatcmpl-%d", place), model: model}
	if whole, err := stream.play(r, place); err != nil || !whole {
		return err
	}
	if c.request.StreamOptions.IncludeUsage {
		prompt := usage.Input + usage.CacheRead + usage.CacheWrite
		err := stream.chunk([]object{}, object{"usage": object{
			"prompt_tokens": prompt, "completion_tokens": usage.Output, "total_tokens": prompt + usage.Output,
			"prompt_tokens_details": object{"cached_tokens": usage.CacheRead, "cache_write_tokens": usage.CacheWrite},
		}})
		if err != nil {
			return err
		}
	}
	return s.raw("", "[DONE]")
}

// A chatStream writes a reply as chunks.
type chatStream struct {
	*sse
	id, model string
}

func (s *chatStream) chunk(choices []object, more object) error {
	fields := object{"id": s.id, "object": "chat.completion.chunk", "created": 0, "model": s.model, "choices": choices}
	for name, value := range more {
		fields[name] = value
	}
	return s.send("", fields)
}

// delta writes an addition to the answer; without a reason it is not the last.
func (s *chatStream) delta(delta object, reason any) error {
	return s.chunk([]object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": reason}}, nil)
}

// play writes the reply up to its finish reason; whole is false when the script
// wants it to end before.
func (s *chatStream) play(r script.Reply, place int) (whole bool, err error) {
	if err := s.delta(object{"role": "assistant", "content": ""}, nil); err != nil {
		return false, err
	}
	if err := s.thinking(r); err != nil || r.Cut == "thinking" {
		return false, err
	}
	if ends, err := s.text(r); err != nil || ends {
		return false, err
	}
	for i, c := range r.Calls {
		cut := i == len(r.Calls)-1 && r.Cut == "call"
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", place, i)
		}
		err := s.delta(object{"tool_calls": []object{{"index": i, "id": id, "type": "function",
			"function": object{"name": c.Tool, "arguments": ""}}}}, nil)
		if err != nil {
			return false, err
		}
		text := c.Arguments()
		if cut {
			text = text[:len(text)/2]
		}
		for _, piece := range script.Pieces(text) {
			if err := s.delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}}, nil); err != nil {
				return false, err
			}
		}
		if cut {
			return false, nil
		}
	}
	return true, s.delta(object{}, chatFinish.of(r.StopReason()))
}

func (s *chatStream) thinking(r script.Reply) error {
	text := r.Thinking
	if r.Cut == "thinking" {
		text = script.Half(text)
	}
	entry := func(fields object) object {
		fields["type"], fields["index"], fields["format"] = "reasoning.text", 0, "anthropic-claude-v1"
		return fields
	}
	for _, piece := range script.Pieces(text) {
		if err := s.delta(object{"reasoning": piece, "reasoning_details": []object{entry(object{"text": piece})}}, nil); err != nil {
			return err
		}
	}
	if r.Cut == "thinking" {
		return nil
	}
	if text != "" {
		if err := s.delta(object{"reasoning": nil, "reasoning_details": []object{entry(object{"signature": sign(text)})}}, nil); err != nil {
			return err
		}
	}
	if r.Redacted == "" {
		return nil
	}
	return s.delta(object{"reasoning_details": []object{{"type": "reasoning.encrypted", "data": r.Redacted, "index": 1}}}, nil)
}

// text writes the text and what goes wrong around it; ends means that the stream
// is over there.
func (s *chatStream) text(r script.Reply) (ends bool, err error) {
	text, field := r.Text, "content"
	if r.StopReason() == run.StopRefusal {
		field = "refusal"
	}
	fails := r.Error != nil || r.Cut == "text" || r.Cut == "reset"
	if fails {
		text = script.Half(text)
	}
	for _, piece := range script.Pieces(text) {
		if err := s.delta(object{field: piece}, nil); err != nil {
			return true, err
		}
	}
	switch {
	case r.Error != nil:
		return true, s.send("", bodyChat(*r.Error))
	case r.Endless:
		for script.Pause(s.ctx, time.Millisecond) { // as fast as it comes, but not busier than a model
			if err := s.delta(object{field: r.Text}, nil); err != nil {
				return true, err
			}
		}
		return true, errClientLeft
	case r.Hang:
		<-s.ctx.Done()
		return true, errClientLeft
	}
	return fails, nil
}

var chatFinish = wireNames{
	run.StopEndTurn: "stop", run.StopRefusal: "stop", run.StopSequence: "stop",
	run.StopToolUse: "tool_calls", run.StopMaxTokens: "length", run.StopFiltered: "content_filter",
}

// conversation returns what the script looks at: results and the text after them
// are one message of the user there.
func (r *chatRequest) conversation() script.Conversation {
	c := script.Conversation{Tools: len(r.Tools) > 0 && r.ToolChoice != "none"}
	for i, m := range r.Messages {
		text := m.is.Content.String()
		switch m.is.Role {
		case "system", "developer":
			c.System = text
			continue
		case "assistant":
			if text == "Noted." && i > 0 && r.Messages[i-1].is.Role == "tool" {
				continue // no answer, but what pawl puts between results and words for Mistral
			}
			seen := script.Message{Role: run.Assistant, Words: text, Blocks: len(m.is.Calls)}
			if text != "" {
				seen.Blocks++
			}
			c.Messages = append(c.Messages, seen)
			continue
		}
		if n := len(c.Messages); n == 0 || c.Messages[n-1].Role != run.User {
			c.Messages = append(c.Messages, script.Message{Role: run.User})
		}
		last := &c.Messages[len(c.Messages)-1]
		if m.is.Role == "tool" {
			// The mark that a failed call's result begins with, in want of a field for it.
			last.Results = append(last.Results, strings.TrimPrefix(text, "Error: "))
			continue
		}
		last.Words = joined(last.Words, text)
		last.Blocks++
	}
	return c
}
