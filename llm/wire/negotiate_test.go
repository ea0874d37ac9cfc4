package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl/llm"
	"pawl/llm/llmtest"
	"pawl/llm/wire"
	"pawl/run"
)

// A strict server knows a feature or it does not, and refuses reasoning that it has
// not made. Its state can change.
type strictServer struct {
	refusesFeature bool
	broken         bool
	foreign        string // reasoning that is refused
	got            []string
}

func (s *strictServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.got = append(s.got, string(body))
	switch {
	case s.refusesFeature && bytes.Contains(body, []byte("feature")):
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"message":"Unknown parameter: 'feature'.","param":"feature","code":"unknown_parameter"}}`)
	case s.foreign != "" && bytes.Contains(body, []byte(s.foreign)):
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"message":"this reasoning is not mine"}}`)
	case s.broken:
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"message":"nothing works"}}`)
	default:
		io.WriteString(w, "data: word\n\n")
	}
}

// An asker negotiates with a server about one feature and about reasoning.
type asker struct {
	client *wire.Client
	asks   wire.Negotiation[bool]
}

func newAsker(t *testing.T, s *strictServer) *asker {
	a := &asker{client: wire.New(wire.Options{BaseURL: "http://server", HTTPClient: llmtest.Serve(t, s)})}
	a.asks.Full = true
	a.asks.Without = func(feature bool, e wire.APIError) bool { return feature && !e.Rejects("feature") }
	a.asks.RejectsReasoning = func(e wire.APIError) bool { return strings.Contains(e.Message, "reasoning") }
	a.asks.Strip = func(body json.RawMessage) json.RawMessage { return bytes.ReplaceAll(body, []byte("R"), nil) }
	return a
}

// ask sends a conversation of these answers and returns the error's message.
func (a *asker) ask(t *testing.T, model string, answers ...string) string {
	t.Helper()
	r := llm.Request{Model: model}
	for _, answer := range answers {
		r.Messages = append(r.Messages, llm.Message{Role: run.Assistant, Body: json.RawMessage(answer)})
	}
	res, err := a.asks.Send(context.WithoutCancel(t.Context()), a.client, r, "/", nil, func(r llm.Request, feature bool) ([]byte, error) {
		body := []byte(map[bool]string{true: "feature "}[feature])
		for _, m := range r.Messages {
			body = append(body, m.Body...)
		}
		return body, nil
	})
	if err != nil {
		return llm.AsError(t.Context(), err).Message
	}
	res.Body.Close()
	return ""
}

// negotiate runs a story in a bubble.
func negotiate(t *testing.T, story func(t *testing.T, a *asker, s *strictServer)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &strictServer{}
		story(t, newAsker(t, s), s)
	})
}

func (s *strictServer) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.got, want) {
		t.Errorf("requests %q, want %q", s.got, want)
	}
	s.got = nil
}

func TestWhatAServerDoesNotSupportIsLearnedForAnHourAndAModel(t *testing.T) {
	negotiate(t, func(t *testing.T, a *asker, s *strictServer) {
		s.refusesFeature = true
		a.ask(t, "m", "1")
		a.ask(t, "m", "2")
		s.expect(t, "feature 1", "1", "2")
		a.ask(t, "other", "3")
		s.expect(t, "feature 3", "3")
		time.Sleep(time.Hour)
		s.refusesFeature = false
		a.ask(t, "m", "4")
		a.ask(t, "m", "5")
		s.expect(t, "feature 4", "feature 5")
	})
}

func TestARequestThatFailsTeachesNothing(t *testing.T) {
	negotiate(t, func(t *testing.T, a *asker, s *strictServer) {
		s.refusesFeature, s.broken = true, true
		if got, want := a.ask(t, "m", "1"), "nothing works (and before that: Unknown parameter: 'feature'.)"; got != want {
			t.Errorf("error %q, want %q", got, want)
		}
		s.refusesFeature, s.broken = false, false
		a.ask(t, "m", "2")
		s.expect(t, "feature 1", "1", "feature 2")
	})
}

func TestReasoningThatWasRefusedIsNotSentAgainAndLaterReasoningIs(t *testing.T) {
	negotiate(t, func(t *testing.T, a *asker, s *strictServer) {
		s.foreign = "R1"
		if e := a.ask(t, "m", "R1", "x"); e != "" {
			t.Fatal(e)
		}
		a.ask(t, "m", "R1", "x", "R2")
		a.ask(t, "m", "R1", "x", "R2", "R3")
		s.expect(t, "feature R1x", "feature 1x", "feature 1xR2", "feature 1xR2R3")
	})
}

func TestReasoningWithoutWhichTheRequestFailsTooIsKept(t *testing.T) {
	negotiate(t, func(t *testing.T, a *asker, s *strictServer) {
		s.foreign, s.broken = "R1", true
		if got, want := a.ask(t, "m", "R1"), "nothing works (and before that: this reasoning is not mine)"; got != want {
			t.Errorf("error %q, want %q", got, want)
		}
		s.foreign, s.broken = "", false
		a.ask(t, "m", "R1")
		s.expect(t, "feature R1", "feature 1", "feature R1")
	})
}
