package fake

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"pawl/llm/script"
	"pawl/run"
)

// gemini is the format of the Gemini API.
type gemini struct{}

// geminiPath stands for the paths of all models.
const geminiPath = "/v1beta/models/{model}:streamGenerateContent"

// geminiModel returns the model that a path names.
func geminiModel(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, "/v1beta/models/")
	if !ok {
		return "", false
	}
	model, ok := strings.CutSuffix(rest, ":streamGenerateContent")
	return model, ok && model != ""
}

// route returns a path, without the model that it may name.
func route(path string) string {
	if _, ok := geminiModel(path); ok {
		return geminiPath
	}
	return path
}

func (gemini) check(r *http.Request, body []byte) (asked, error) {
	switch {
	case r.URL.Query().Has("key"):
		return asked{}, fmt.Errorf("pawl sends no key in an address, where proxies log it")
	case r.Header.Get("x-goog-api-key") == "":
		return asked{}, script.Error{Status: 403, Message: "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."}
	case r.URL.Query().Get("alt") != "sse":
		return asked{}, fmt.Errorf("alt: this server only streams events")
	}
	model, _ := geminiModel(r.URL.Path) // it is how the request got here
	request, err := checkGemini(model, r.Header, body)
	if err != nil {
		return asked{}, err
	}
	// The provider caches by itself what requests begin with.
	return asked{request.conversation(), model, request.pieces(), true}, nil
}

func (gemini) refuse(w http.ResponseWriter, e script.Error) {
	body := bodyGemini(e)
	e.RetryAfter = 0 // it is in the body
	refuseJSON(w, e, body)
}

// bodyGemini returns an error as Google has it, a google.rpc.Status. A type as
// Anthropic names it is translated, so that one script goes over every wire.
// ai.google.dev/gemini-api/docs/troubleshooting, read 2026-11-20.
func bodyGemini(e script.Error) object {
	kind, message := e.Words()
	words, ok := map[string]struct {
		code   int
		status string
	}{
		"invalid_request_error": {400, "INVALID_ARGUMENT"},
		"authentication_error":  {401, "UNAUTHENTICATED"},
		"permission_error":      {403, "PERMISSION_DENIED"},
		"not_found_error":       {404, "NOT_FOUND"},
		"request_too_large":     {413, "INVALID_ARGUMENT"},
		"rate_limit_error":      {429, "RESOURCE_EXHAUSTED"},
		"overloaded_error":      {503, "UNAVAILABLE"},
		"timeout_error":         {504, "DEADLINE_EXCEEDED"},
		"api_error":             {500, "INTERNAL"},
	}[kind]
	if !ok {
		words.code, words.status = 500, kind
	}
	if e.Status > 200 {
		words.code = e.Status
	}
	said := object{"code": words.code, "message": message, "status": words.status}
	if e.RetryAfter > 0 {
		said["details"] = []object{{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%gs", e.RetryAfter)}}
	}
	return object{"error": said}
}

func (gemini) play(s *sse, r script.Reply, place int, model string, usage script.Usage) error {
	return (&geminiStream{sse: s, id: fmt.Sprintf("response_%d", place), model: model, usage: usage}).play(r)
}

// A geminiStream writes a reply as server-sent events.
type geminiStream struct {
	*sse
	id, model string
	usage     script.Usage
}

// part writes one event with one part; last is the finish reason, if it is the end.
func (s *geminiStream) part(part object, last string) error {
	input := s.usage.Input + s.usage.CacheRead + s.usage.CacheWrite
	usage := object{"promptTokenCount": input, "totalTokenCount": input}
	candidate := object{"content": object{"parts": []object{part}, "role": "model"}, "index": 0}
	if last != "" {
		candidate["finishReason"] = last
		usage["candidatesTokenCount"] = s.usage.Output
		usage["totalTokenCount"] = input + s.usage.Output
		if s.usage.CacheRead > 0 {
			usage["cachedContentTokenCount"] = s.usage.CacheRead
		}
	}
	return s.send("", object{"candidates": []object{candidate}, "usageMetadata": usage, "modelVersion": s.model, "responseId": s.id})
}

// play writes the whole reply or as much of it as the script wants. When it
// returns nil early, the stream just ends there.
func (s *geminiStream) play(r script.Reply) error {
	thought := r.Thinking
	if r.Cut == "thinking" {
		thought = script.Half(thought)
	}
	for _, piece := range script.Pieces(thought) {
		if err := s.part(object{"text": piece, "thought": true}, ""); err != nil {
			return err
		}
	}
	if r.Cut == "thinking" {
		return nil
	}
	if r.Redacted != "" {
		if err := s.part(object{"text": "", "thoughtSignature": r.Redacted}, ""); err != nil {
			return err
		}
	}
	if done, err := s.text(r); err != nil || done {
		return err
	}
	for i, c := range r.Calls {
		cut := r.Cut == "call" && i == len(r.Calls)-1
		if err := s.part(geminiCall(c, i == 0, cut), ""); err != nil || cut {
			return err
		}
	}
	return s.part(object{"text": ""}, geminiFinish.of(r.StopReason()))
}

// text writes the text and what goes wrong around it; done means that the stream
// ends there.
func (s *geminiStream) text(r script.Reply) (done bool, err error) {
	text := r.Text
	fails := r.Error != nil || r.Cut == "text" || r.Cut == "reset"
	if fails {
		text = script.Half(text)
	}
	for _, piece := range script.Pieces(text) {
		if err := s.part(object{"text": piece}, ""); err != nil {
			return true, err
		}
	}
	switch {
	case r.Error != nil:
		return true, s.send("", bodyGemini(*r.Error))
	case r.Endless:
		for script.Pause(s.ctx, time.Millisecond) { // as fast as it comes, but not busier than a model
			if err := s.part(object{"text": r.Text}, ""); err != nil {
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

// geminiCall returns a call as a part. The first of an answer is signed, as Gemini 3
// does. Arguments that are no object come as a string, as from a gateway that does
// not read them: Google itself cannot send such.
func geminiCall(c script.Call, first, cut bool) object {
	call := object{}
	for name, value := range map[string]string{"id": c.ID, "name": c.Tool} {
		if value != "" {
			call[name] = value
		}
	}
	text := c.Arguments()
	switch {
	case cut:
		call["args"], call["willContinue"] = script.Half(text), true
	case text == "":
	case wholeObject(text):
		call["args"] = json.RawMessage(text)
	default:
		call["args"] = text
	}
	part := object{"functionCall": call}
	if first {
		part["thoughtSignature"] = signCall(c.Tool, text)
	}
	return part
}

func wholeObject(s string) bool {
	return json.Valid([]byte(s)) && strings.HasPrefix(strings.TrimSpace(s), "{")
}

// signCall returns the signature of a call. It is over what the arguments say, not
// over how they are written.
func signCall(name, arguments string) string {
	if arguments == "" {
		arguments = "{}"
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(arguments)))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) == nil {
		if canonical, err := json.Marshal(value); err == nil {
			arguments = string(canonical)
		}
	}
	return sign(name + "\x00" + arguments)
}

var geminiFinish = wireNames{
	run.StopEndTurn: "STOP", run.StopToolUse: "STOP", run.StopSequence: "STOP",
	run.StopMaxTokens: "MAX_TOKENS", run.StopFiltered: "SAFETY",
}

// conversation returns what the script looks at. Contents of one role are one message.
func (r *geminiRequest) conversation() script.Conversation {
	c := script.Conversation{System: r.system(), Tools: len(r.Tools) > 0 && r.ToolConfig == nil}
	for _, content := range r.Contents {
		role := run.User
		if content.Role == "model" {
			role = run.Assistant
		}
		if n := len(c.Messages); n == 0 || c.Messages[n-1].Role != role {
			c.Messages = append(c.Messages, script.Message{Role: role})
		}
		seen := &c.Messages[len(c.Messages)-1]
		for _, p := range content.Parts {
			switch is := p.is; {
			case is.FunctionResponse != nil:
				seen.Results = append(seen.Results, cmp.Or(is.FunctionResponse.Response.Error, is.FunctionResponse.Response.Output))
			case is.FunctionCall != nil:
				seen.Blocks++
			case !is.Thought && strings.TrimSpace(is.Text) != "":
				seen.Words = joined(seen.Words, is.Text)
				seen.Blocks++
			}
		}
	}
	return c
}
