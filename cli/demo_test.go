package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pawl/llm/llmtest/fake"
)

// demoWires are the variables of a scripted model at an address, by wire format.
var demoWires = map[string]func(address string) []string{
	"anthropic": func(at string) []string {
		return []string{"PAWL_MODEL=anthropic/scripted", "ANTHROPIC_API_KEY=demo", "ANTHROPIC_BASE_URL=" + at}
	},
	"responses": func(at string) []string {
		return []string{"PAWL_MODEL=openai/scripted", "OPENAI_API_KEY=demo", "OPENAI_BASE_URL=" + at + "/v1"}
	},
	"chat": func(at string) []string {
		return []string{"PAWL_MODEL=openai-chat/scripted", "OPENAI_API_KEY=demo", "OPENAI_BASE_URL=" + at + "/v1"}
	},
	"gemini": func(at string) []string {
		return []string{"PAWL_MODEL=gemini/scripted", "GEMINI_API_KEY=demo", "GOOGLE_GEMINI_BASE_URL=" + at}
	},
}

// repaired lets the built binary repair the demo's bug with the model at an address,
// and fails the test when it does not.
func repaired(t *testing.T, wire, control, address string) {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Skipf("needs the go command, to build the binary: %v", err)
	}
	d := &demo{out: io.Discard, control: control}
	if err := d.prepare(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(strings.TrimSuffix(d.folder, "/basket")) })
	d.self, d.model = bin, demoWires[wire](address)
	cmd := d.pawl(t.Context(), d.runArgs("-p", demoPrompt)...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Both bugs") {
		t.Fatalf("%v\n%s", err, out)
	}
	if after := d.test(t.Context()); !after.passed {
		t.Error(after.output)
	}
}

// TestTheDemosBugIsRepairedOverEveryWire: the same binary, over HTTP, in both ways in
// which a model can say what to do.
func TestTheDemosBugIsRepairedOverEveryWire(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command: the demo repairs a Go project")
	}
	for _, wire := range few(slices.Sorted(maps.Keys(demoWires)), 2) {
		for _, control := range few([]string{"native", "controller"}, 2) {
			t.Run(wire+", "+control, func(t *testing.T) {
				t.Parallel()
				replies, err := demoScript("script", control)
				if err != nil {
					t.Fatal(err)
				}
				model := fake.New(replies, true)
				address, stop, err := model.Listen()
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
				repaired(t, wire, control, address)
				for _, r := range model.Requests() {
					if r.Wrong != "" {
						t.Errorf("the server refused a request: %s", r.Wrong)
					}
				}
				if n := len(model.Requests()); n < 5 {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

// TestAServerThatOffersNeitherToolsNorSchemasIsEnough: the demo's bug is repaired
// with a server that refuses whatever it does not know.
func TestAServerThatOffersNeitherToolsNorSchemasIsEnough(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command: the demo repairs a Go project")
	}
	replies, err := demoScript("script", "controller")
	if err != nil {
		t.Fatal(err)
	}
	model := fake.New(replies, false)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var fields map[string]json.RawMessage
		if err != nil || json.Unmarshal(body, &fields) != nil {
			http.Error(w, "no JSON", http.StatusBadRequest)
			return
		}
		for _, unknown := range []string{"tools", "tool_choice", "response_format", "functions"} {
			if fields[unknown] != nil {
				t.Errorf("the request has %s", unknown)
				http.Error(w, fmt.Sprintf(`{"error":{"message":"unknown field %s"}}`, unknown), http.StatusBadRequest)
				return
			}
		}
		asked.Add(1)
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	}))
	defer server.Close()

	repaired(t, "chat", "controller", server.URL)
	if asked.Load() < 5 {
		t.Errorf("%d requests", asked.Load())
	}
}
