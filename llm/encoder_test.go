package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/llm"
	"pawl/run"
)

// A counter is a provider that counts what it encodes.
type counter struct {
	encoded []string
	fails   bool
}

func (c *counter) Wire() string { return "counter" }

func (c *counter) EncodeTool(llm.Tool) (json.RawMessage, error)          { return nil, nil }
func (c *counter) EncodeOutput(json.RawMessage) (json.RawMessage, error) { return nil, nil }

func (c *counter) Encode(m run.Message) (json.RawMessage, error) {
	c.encoded = append(c.encoded, m.ID)
	if c.fails {
		return nil, errors.New("no room")
	}
	if len(m.Parts) == 0 {
		return nil, nil
	}
	return json.RawMessage(fmt.Sprintf(`"%s.%d"`, m.ID, m.Rev)), nil
}

func (c *counter) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] { return nil }

func message(id string, rev int) run.Message {
	return run.Message{ID: id, Role: run.User, Rev: rev, Parts: []run.Part{run.Text("x")}}
}

func TestOnlyWhatIsNewIsEncoded(t *testing.T) {
	t.Parallel()
	a, b, c := message("a", 0), message("b", 0), message("c", 0)
	empty := run.Message{ID: "empty", Role: run.User}
	c2, summary, d := message("c", 1), message("summary", 0), message("d", 0)
	counted := &counter{}
	e := llm.NewEncoder(counted, llm.Names{})
	for _, step := range []struct {
		name         string
		conversation []run.Message
		encoded      []string
		sent         []string
	}{
		{"at first all", []run.Message{a, empty, b}, []string{"a", "empty", "b"}, []string{`"a.0"`, `"b.0"`}},
		{"then what was added", []run.Message{a, empty, b, c}, []string{"c"}, []string{`"a.0"`, `"b.0"`, `"c.0"`}},
		{"nothing when it is repeated", []run.Message{a, empty, b, c}, nil, []string{`"a.0"`, `"b.0"`, `"c.0"`}},
		{"what was rewritten", []run.Message{a, empty, b, c2, d}, []string{"c", "d"}, []string{`"a.0"`, `"b.0"`, `"c.1"`, `"d.0"`}},
		{"the summary, when the rest moves up", []run.Message{summary, c2, d}, []string{"summary"}, []string{`"summary.0"`, `"c.1"`, `"d.0"`}},
		{"what was let go, when it is back", []run.Message{summary, b, c2, d}, []string{"b"}, []string{`"summary.0"`, `"b.0"`, `"c.1"`, `"d.0"`}},
	} {
		counted.encoded = nil
		messages, err := e.Messages(step.conversation)
		if err != nil {
			t.Fatal(err)
		}
		var sent []string
		for _, m := range messages {
			sent = append(sent, string(m.Body))
		}
		if diff := cmp.Diff(step.encoded, counted.encoded); diff != "" {
			t.Errorf("%s: encoded (-want +got):\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.sent, sent); diff != "" {
			t.Errorf("%s: sent (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestAMessageThatCannotBeEncodedIsNamed(t *testing.T) {
	t.Parallel()
	if _, err := llm.NewEncoder(&counter{fails: true}, llm.Names{}).Messages([]run.Message{message("m_5", 0)}); err == nil || err.Error() != "message m_5: no room" {
		t.Errorf("got %v", err)
	}
}
