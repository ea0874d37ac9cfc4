package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"pawl/llm"
	"pawl/llm/anthropic"
	"pawl/llm/chat"
	"pawl/llm/gemini"
	"pawl/llm/responses"
	"pawl/llm/wire"
	"pawl/run"
)

// listPatience bounds the question which models a provider has.
const listPatience = 5 * time.Second

var ErrNoList = errors.New("it has no list of models to ask for")

// list returns the models that a site says it has, without those that cannot hold a
// conversation, as far as that can be told.
func (s Site) list(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	var names []string
	var err error
	switch s.Wire {
	case chat.Wire, responses.Wire: // OpenAI's list is one for both
		names, err = chat.New(chat.Options{BaseURL: s.Address, Key: s.Key, Dialect: s.dialect()}).Models(ctx)
	case anthropic.Wire:
		names, err = s.listAnthropic(ctx)
	case gemini.Wire:
		names, err = s.listGemini(ctx)
	default:
		return nil, ErrNoList
	}
	var e *llm.Error
	if errors.As(err, &e) && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) {
		return nil, ErrNoList // gateways have what they pass on and often nothing else
	}
	return slices.DeleteFunc(names, speechless), err
}

// dialect returns how the server of the wire chat differs; nil: its address tells.
func (s Site) dialect() *chat.Dialect {
	if s.Dialect == "" {
		return nil
	}
	d := chat.Find(s.Dialect, "")
	return &d
}

// speechless reports whether a model is one for vectors, pictures or sound, which
// servers list among the others.
func speechless(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"embed", "minilm", "bge-", "rerank", "whisper", "tts", "transcribe", "moderation", "dall-e", "-image", "imagen", "veo-"},
		func(s string) bool { return strings.Contains(name, s) })
}

// listAnthropic asks GET /v1/models (platform.claude.com/docs/en/api/models-list; at
// most 1,000 a page, and there are some dozens; read 2026-11-20).
func (s Site) listAnthropic(ctx context.Context) ([]string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	header := http.Header{"X-Api-Key": {s.Key}, "Anthropic-Version": {"2023-06-01"}}
	err := s.get(ctx, strings.TrimSuffix(strings.TrimRight(s.Address, "/"), "/v1"), "/v1/models?limit=1000", header, &list)
	var names []string
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	slices.Sort(names)
	return names, err
}

// listGemini asks GET /v1beta/models (ai.google.dev/api/models, at most 1,000 a page;
// read 2026-11-20).
func (s Site) listGemini(ctx context.Context) ([]string, error) {
	var list struct {
		Models []struct {
			Name    string   `json:"name"`
			Methods []string `json:"supportedGenerationMethods"`
		} `json:"models"`
	}
	base := strings.TrimSuffix(strings.TrimRight(s.Address, "/"), "/v1beta")
	err := s.get(ctx, base, "/v1beta/models?pageSize=1000", http.Header{"X-Goog-Api-Key": {s.Key}}, &list)
	var names []string
	for _, m := range list.Models {
		if len(m.Methods) == 0 || slices.Contains(m.Methods, "generateContent") {
			names = append(names, strings.TrimPrefix(m.Name, "models/"))
		}
	}
	slices.Sort(names)
	return names, err
}

func (s Site) get(ctx context.Context, base, path string, header http.Header, to any) error {
	client := wire.New(wire.Options{BaseURL: base, Example: s.BaseURL, Key: s.Key})
	header.Set("Accept", "application/json")
	body, err := client.Get(ctx, listPatience, path, header)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, to); err != nil {
		return &llm.Error{Kind: run.ErrInvalid, Err: err, Message: "the response is not a list of models: is the base URL that of a model's API?"}
	}
	return nil
}
