package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pawl/internal/text"
	"pawl/llm"
	"pawl/run"
)

// maxMessage bounds a provider's message, in bytes.
const maxMessage = 500

// An APIError is an error as a provider reports it, in a body or in a stream.
type APIError struct {
	Type    string
	Code    string // if there is one beside the type: a word, or a number as text
	Message string
	// Params are the parts of the request that the error is about, as
	// "stream_options" or "reasoning.summary"; empty if it does not say.
	Params []string
}

// Error returns the error for a response with a status other than 200.
func (c *Client) Error(res *http.Response, body []byte) *llm.Error {
	api, status := ParseError(body), res.StatusCode
	message := api.Message
	switch {
	case message != "":
	case status >= 300 && status < 400:
		message = fmt.Sprintf("%s redirects to another address; set that as the provider's base URL", c.address)
	case status == http.StatusNotFound && res.Request != nil:
		// A missing model has a message of its own.
		message = fmt.Sprintf("%s has no %s: set the provider's base URL to the address of its API, as %s", res.Request.URL.Host, res.Request.URL.Path, c.example)
	case len(bytes.TrimSpace(body)) > 0:
		message = fmt.Sprintf("%s answered %s: %s", c.address, statusText(status), strings.Join(strings.Fields(string(bytes.ToValidUTF8(body, []byte("\ufffd")))), " "))
	default:
		message = fmt.Sprintf("%s answered %s", c.address, statusText(status))
	}
	e := &llm.Error{Kind: Kind(status, api), Status: status, Wait: waitInHeader(res.Header, time.Now()), Message: c.clean(message)}
	if e.Wait == 0 && (e.Kind == run.ErrRateLimited || e.Kind == run.ErrOverloaded) {
		e.Wait = waitInBody(body, api.Message)
	}
	return e
}

// StreamError returns the error that an event of a stream reports.
func StreamError(data []byte) *llm.Error { return streamError(data, ParseError(data)) }

// StreamErrorOf is StreamError for an error that has been parsed.
func StreamErrorOf(api APIError) *llm.Error { return streamError(nil, api) }

func streamError(data []byte, api APIError) *llm.Error {
	if api.Message == "" {
		api.Message = strings.TrimSpace("an error without a message " + strings.TrimSpace(api.Type+" "+api.Code))
	}
	return &llm.Error{Kind: Kind(0, api), Message: api.Message, Wait: waitInBody(data, api.Message)}
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
}

// ParseError parses an error of a provider. Most send {"error":{"type":…,
// "code":…,"message":…,"param":…}}, Google adds a status as a word, some gateways send
// {"error":"…"} or {"message":"…"}, FastAPI sends {"detail":[{"loc":…,"msg":…}]},
// Gemini wraps it in a list, OpenRouter has the message of the upstream provider in
// metadata.raw, and in streams of OpenAI the fields stand without {"error":…}.
func ParseError(body []byte) APIError {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var envelope struct {
		Error   json.RawMessage `json:"error"`
		Code    json.RawMessage `json:"code"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &envelope) != nil {
		return APIError{}
	}
	var e struct {
		Type     string          `json:"type"`
		Status   string          `json:"status"`
		Code     json.RawMessage `json:"code"`
		Message  json.RawMessage `json:"message"`
		Param    string          `json:"param"`
		Metadata json.RawMessage `json:"metadata"`
		Details  json.RawMessage `json:"details"`
	}
	api := APIError{}
	if len(envelope.Error) > 0 && json.Unmarshal(envelope.Error, &e) == nil {
		api = APIError{Type: e.Type, Code: textOf(e.Code), Message: textOf(e.Message)}
		if api.Type == "" {
			api.Type = e.Status
		}
		if e.Param != "" {
			api.Params = []string{e.Param}
		}
		var metadata struct {
			Raw string `json:"raw"`
		}
		if json.Unmarshal(e.Metadata, &metadata) == nil && metadata.Raw != "" {
			api.Message = strings.TrimPrefix(api.Message+": "+metadata.Raw, ": ")
		}
		api.addFields(e.Details)
	} else {
		api.Message = textOf(envelope.Error)
	}
	if api.Code == "" {
		api.Code = textOf(envelope.Code)
	}
	for _, other := range []json.RawMessage{envelope.Message, envelope.Detail} {
		if api.Message == "" {
			api.Message = textOf(other)
		}
		api.addFields(other)
	}
	return api
}

// addFields reads a list of errors in fields of a request: FastAPI's, Google's, or an
// object with one under "detail". Anything else is ignored.
func (e *APIError) addFields(raw json.RawMessage) {
	var wrapped struct {
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(raw, &wrapped) == nil && len(wrapped.Detail) > 0 {
		raw = wrapped.Detail
	}
	var list []struct {
		Loc        []json.RawMessage `json:"loc"`
		Msg        string            `json:"msg"`
		Type       string            `json:"type"`
		Violations []struct {
			Field string `json:"field"`
		} `json:"fieldViolations"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	var messages []string
	for _, problem := range list {
		for _, v := range problem.Violations {
			e.Params = append(e.Params, v.Field)
		}
		var path []string
		for _, step := range problem.Loc {
			if name := textOf(step); name != "body" {
				path = append(path, name)
			}
		}
		if len(path) > 0 {
			e.Params = append(e.Params, strings.Join(path, "."))
		}
		if problem.Msg != "" {
			messages = append(messages, strings.TrimPrefix(strings.Join(path, ".")+": "+problem.Msg, ": "))
			if e.Code == "" {
				e.Code = problem.Type
			}
		}
	}
	if e.Message == "" {
		e.Message = strings.Join(messages, "; ")
	}
}

// Rejects reports whether an error says that the server does not know a parameter, or
// does not support it. An error that is about a parameter's value, or that only
// quotes the request, does not.
func (e APIError) Rejects(param string) bool {
	message := strings.ToLower(e.Message)
	named := slices.ContainsFunc(e.Params, func(p string) bool {
		rest, ok := strings.CutPrefix(p, param)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
	if len(e.Params) == 0 {
		const quotesNothing = 300 // bytes: a longer message repeats the request
		named = len(message) <= quotesNothing && containsWord(message, param)
	}
	return named && (containsAny(e.Code, "unsupported", "unknown", "forbidden", "unrecognized") ||
		containsAny(message, "unsupported", "unknown", "unrecognized", "unexpected", "not support", "not permitted", "not allowed", "extra field"))
}

func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// containsWord reports whether s contains a name as a whole word.
func containsWord(s, word string) bool { return replaceWord(s, word, "") != s }

// replaceWord replaces a name where it is a whole word of s.
func replaceWord(s, word, by string) string {
	var b strings.Builder
	last := utf8.RuneError // the character before rest
	for rest := s; ; {
		before, after, found := strings.Cut(rest, word)
		if !found {
			b.WriteString(rest)
			return b.String()
		}
		if before != "" {
			last, _ = utf8.DecodeLastRuneInString(before)
		}
		next, _ := utf8.DecodeRuneInString(after)
		b.WriteString(before)
		if isNameRune(last) || isNameRune(next) {
			b.WriteString(word)
		} else {
			b.WriteString(by)
		}
		last, _ = utf8.DecodeLastRuneInString(word)
		rest = after
	}
}

func isNameRune(r rune) bool {
	return r == '_' || r == '-' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// textOf returns a JSON string's text, or a number as it is written.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// statusOf returns the HTTP status that an error inside a stream has as its code; 0 if it
// has none.
func statusOf(code string) int {
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
		return n
	}
	return 0
}

// bound returns at most n bytes of s, marked where it was cut.
func bound(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return text.Prefix(s, n-len(text.Mark)) + text.Mark
}
