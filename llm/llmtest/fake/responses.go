package fake

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"pawl/llm/script"
	"pawl/run"
)

// responses is the format of OpenAI's Responses API.
type responses struct{}

func (responses) check(r *http.Request, body []byte) (asked, error) {
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !ok || strings.TrimSpace(key) == "" {
		return asked{}, script.Error{Status: 401, Message: "You didn't provide an API key."}
	}
	request, err := checkResponses(r.Header, body)
	if err != nil {
		return asked{}, err
	}
	return asked{request.conversation(), request.Model, request.pieces(), request.PromptCacheKey != ""}, nil
}

func (responses) refuse(w http.ResponseWriter, e script.Error) {
	kind, code, message := wordsOpenAI(e)
	refuseJSON(w, e, object{"error": object{"message": message, "type": kind, "param": nil, "code": code}})
}

func (responses) play(s *sse, r script.Reply, place int, model string, usage script.Usage) error {
	p := &responsesStream{sse: s, id: fmt.Sprintf("resp_%d", place), place: place, model: model, output: []object{}}
	return p.play(r, usage)
}

// wordsOpenAI returns an error's type, code and message as OpenAI has them. A type as
// Anthropic names it is translated, so that one script goes over every wire; any other
// is the code. platform.openai.com/docs/guides/error-codes and the recorded errors of
// the test data, read 2026-11-20.
func wordsOpenAI(e script.Error) (kind string, code any, message string) {
	words, ok := map[int][3]string{
		400: {"invalid_request_error", "", "Invalid request."},
		401: {"invalid_request_error", "invalid_api_key", "Incorrect API key provided."},
		403: {"invalid_request_error", "unsupported_country_region_territory", "Country, region, or territory not supported"},
		404: {"invalid_request_error", "model_not_found", "The model does not exist or you do not have access to it."},
		413: {"invalid_request_error", "", "Request entity too large"},
		429: {"tokens", "rate_limit_exceeded", "Rate limit reached."},
		503: {"service_unavailable_error", "server_is_overloaded", "Our servers are currently overloaded. Please try again later."},
		529: {"service_unavailable_error", "server_is_overloaded", "Our servers are currently overloaded. Please try again later."},
	}[e.Status]
	if !ok {
		words = [3]string{"server_error", "server_error", "The server had an error while processing your request. Sorry about that!"}
	}
	kind, named, message := words[0], words[1], words[2]
	if e.Type != "" {
		kind, named = "invalid_request_error", e.Type
	}
	switch e.Type {
	case "overloaded_error":
		kind, named = "service_unavailable_error", "server_is_overloaded"
	case "rate_limit_error":
		kind, named = "tokens", "rate_limit_exceeded"
	case "api_error":
		kind, named = "server_error", "server_error"
	case "authentication_error", "permission_error":
		named = "invalid_api_key"
	case "not_found_error":
		named = "model_not_found"
	case "invalid_request_error":
		named = ""
	}
	if e.Message != "" {
		message = e.Message
	}
	if named == "" {
		return kind, nil, message
	}
	return kind, named, message
}

// A responsesStream writes a reply as server-sent events. What is said in them and in
// which order: the recorded streams of the test data.
type responsesStream struct {
	*sse
	id       string
	place    int // of the reply
	model    string
	sequence int
	output   []object // items that are done
}

// event writes one event.
func (s *responsesStream) event(kind string, fields object) error {
	fields["type"] = kind
	fields["sequence_number"] = s.sequence
	s.sequence++
	return s.send(kind, fields)
}

// about writes an event about the item that is being written.
func (s *responsesStream) about(kind, item string, fields object) error {
	fields["item_id"] = item
	fields["output_index"] = len(s.output)
	return s.event(kind, fields)
}

func (s *responsesStream) response(status string) object {
	return object{"id": s.id, "object": "response", "status": status, "model": s.model, "store": false,
		"error": nil, "incomplete_details": nil, "usage": nil, "output": s.output}
}

// play writes the whole reply or as much of it as the script wants. When it
// returns nil early, the stream just ends there.
func (s *responsesStream) play(r script.Reply, usage script.Usage) error {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		if err := s.event(kind, object{"response": s.response("in_progress")}); err != nil {
			return err
		}
	}
	if r.Thinking != "" {
		if err := s.thinking(r); err != nil || r.Cut == "thinking" {
			return err
		}
	}
	if r.Redacted != "" {
		id := fmt.Sprintf("rs_%d_r", s.place)
		if err := s.added(object{"id": id, "type": "reasoning", "summary": []any{}}); err != nil {
			return err
		}
		if err := s.done(object{"id": id, "type": "reasoning", "summary": []any{}, "encrypted_content": r.Redacted}); err != nil {
			return err
		}
	}
	if done, err := s.text(r); err != nil || done {
		return err
	}
	for i, c := range r.Calls {
		if whole, err := s.call(r, c, i); err != nil || !whole {
			return err
		}
	}
	return s.end(r, usage)
}

// end writes the event at the end.
func (s *responsesStream) end(r script.Reply, usage script.Usage) error {
	kind, response := "response.completed", s.response("completed")
	switch stop := r.StopReason(); stop {
	case run.StopToolUse, run.StopEndTurn, run.StopRefusal: // there is no word for them here
	default:
		reason := wireNames{run.StopMaxTokens: "max_output_tokens", run.StopFiltered: "content_filter"}.of(stop)
		kind, response = "response.incomplete", s.response("incomplete")
		response["incomplete_details"] = object{"reason": reason}
	}
	response["usage"] = object{
		"input_tokens":         usage.Input + usage.CacheRead + usage.CacheWrite,
		"input_tokens_details": object{"cached_tokens": usage.CacheRead, "cache_write_tokens": usage.CacheWrite},
		"output_tokens":        usage.Output, "output_tokens_details": object{"reasoning_tokens": int64(len(r.Thinking)) / 4},
		"total_tokens": usage.Input + usage.CacheRead + usage.CacheWrite + usage.Output,
	}
	return s.event(kind, object{"response": response})
}

func (s *responsesStream) added(item object) error {
	return s.event("response.output_item.added", object{"output_index": len(s.output), "item": item})
}

// done ends the item that is being written.
func (s *responsesStream) done(item object) error {
	err := s.event("response.output_item.done", object{"output_index": len(s.output), "item": item})
	s.output = append(s.output, item)
	return err
}

// encrypt returns what stands for reasoning that only the provider can read.
func encrypt(thinking string) string { return "gAAA" + sign(thinking) }

func (s *responsesStream) thinking(r script.Reply) error {
	id, text := fmt.Sprintf("rs_%d", s.place), r.Thinking
	whole := r.Cut != "thinking"
	if !whole {
		text = script.Half(text)
	}
	// What is encrypted at first is another thing than at the end, as at OpenAI.
	err := s.added(object{"id": id, "type": "reasoning", "summary": []any{}, "encrypted_content": encrypt("")})
	if err != nil {
		return err
	}
	if err := s.about("response.reasoning_summary_part.added", id, object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}}); err != nil {
		return err
	}
	for _, piece := range script.Pieces(text) {
		if err := s.about("response.reasoning_summary_text.delta", id, object{"summary_index": 0, "delta": piece}); err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	if err := s.about("response.reasoning_summary_text.done", id, object{"summary_index": 0, "text": text}); err != nil {
		return err
	}
	summary := object{"type": "summary_text", "text": text}
	if err := s.about("response.reasoning_summary_part.done", id, object{"summary_index": 0, "part": summary}); err != nil {
		return err
	}
	return s.done(object{"id": id, "type": "reasoning", "summary": []any{summary}, "encrypted_content": encrypt(text)})
}

// text writes the text and what goes wrong around it; done means that the stream
// ends there.
func (s *responsesStream) text(r script.Reply) (done bool, err error) {
	id, text := fmt.Sprintf("msg_%d", s.place), r.Text
	fails := r.Error != nil || r.Cut == "text" || r.Cut == "reset"
	if fails {
		text = script.Half(text)
	}
	ends := fails || r.Interruptible()
	kind, field, delta := "output_text", "text", "response.output_text"
	if r.StopReason() == run.StopRefusal {
		kind, field, delta = "refusal", "refusal", "response.refusal"
	}
	say := func(piece string) error {
		return s.about(delta+".delta", id, object{"content_index": 0, "delta": piece})
	}
	content := func(text string) object {
		part := object{"type": kind, field: text}
		if kind == "output_text" {
			part["annotations"] = []any{}
		}
		return part
	}
	message := object{"id": id, "type": "message", "role": "assistant", "status": "in_progress", "content": []any{}}
	if text != "" {
		if err := s.added(message); err != nil {
			return true, err
		}
		if err := s.about("response.content_part.added", id, object{"content_index": 0, "part": content("")}); err != nil {
			return true, err
		}
		for _, piece := range script.Pieces(text) {
			if err := say(piece); err != nil {
				return true, err
			}
		}
	}
	switch {
	case r.Error != nil:
		_, code, words := wordsOpenAI(*r.Error)
		return true, s.event("error", object{"code": code, "message": words, "param": nil})
	case r.Endless:
		for script.Pause(s.ctx, time.Millisecond) { // as fast as it comes, but not busier than a model
			if err := say(r.Text); err != nil {
				return true, err
			}
		}
		return true, errClientLeft
	case r.Hang:
		<-s.ctx.Done()
		return true, errClientLeft
	case ends || text == "":
		return ends, nil
	}
	if err := s.about(delta+".done", id, object{"content_index": 0, field: text}); err != nil {
		return true, err
	}
	if err := s.about("response.content_part.done", id, object{"content_index": 0, "part": content(text)}); err != nil {
		return true, err
	}
	return false, s.done(object{"id": id, "type": "message", "role": "assistant", "status": "completed", "content": []any{content(text)}})
}

// call writes a call, the i-th of the reply; not whole means that the stream ends
// inside it.
func (s *responsesStream) call(r script.Reply, c script.Call, i int) (whole bool, err error) {
	id, callID := fmt.Sprintf("fc_%d_%d", s.place, i), c.ID
	if callID == "" {
		callID = fmt.Sprintf("call_%d_%d", s.place, i)
	}
	text, last := c.Arguments(), i == len(r.Calls)-1
	whole = !last || r.Cut != "call"
	if !whole {
		text = script.Half(text)
	}
	item := func(status, arguments string) object {
		return object{"id": id, "type": "function_call", "status": status, "call_id": callID, "name": c.Tool, "arguments": arguments}
	}
	if err := s.added(item("in_progress", "")); err != nil {
		return false, err
	}
	for _, piece := range script.Pieces(text) {
		if err := s.about("response.function_call_arguments.delta", id, object{"delta": piece}); err != nil {
			return false, err
		}
	}
	if !whole {
		return false, nil
	}
	if err := s.about("response.function_call_arguments.done", id, object{"arguments": text}); err != nil {
		return false, err
	}
	status := "completed"
	if last && r.StopReason() == run.StopMaxTokens && !wholeObject(text) {
		status = "incomplete"
	}
	return true, s.done(item(status, text))
}

// conversation returns what the script looks at: items of one side that stand beside
// each other are one message.
func (r *responsesRequest) conversation() script.Conversation {
	c := script.Conversation{System: r.Instructions, Tools: len(r.Tools) > 0 && r.ToolChoice != "none"}
	for _, p := range r.Input {
		item, role := p.is, run.User
		if item.ofModel() {
			role = run.Assistant
		}
		if n := len(c.Messages); n == 0 || c.Messages[n-1].Role != role {
			c.Messages = append(c.Messages, script.Message{Role: role})
		}
		m := &c.Messages[len(c.Messages)-1]
		switch item.Type {
		case "message":
			for _, text := range item.Content {
				m.Words = joined(m.Words, text)
				m.Blocks++
			}
		case "function_call":
			m.Blocks++
		case "function_call_output":
			m.Results = append(m.Results, strings.TrimPrefix(item.Output.String(), responsesErrorMark))
		}
	}
	return c
}

// responsesErrorMark is how pawl marks a result as an error, for which the API has no
// field: a script sees the result without it, as on the other wires.
const responsesErrorMark = "Error: "
