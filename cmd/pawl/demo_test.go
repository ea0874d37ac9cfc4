package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"pawl/llm/script"
)

// TestAServerThatOffersNeitherToolsNorSchemasIsEnough: the demo's bug is repaired
// with a server that refuses whatever it does not know.
func TestAServerThatOffersNeitherToolsNorSchemasIsEnough(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command: the demo repairs a Go project")
	}
	bin, err := built()
	if err != nil {
		t.Skipf("needs the go command, to build the binary: %v", err)
	}
	source, err := demoFiles.ReadFile("demo/script.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	replies, err := script.Parse(bytes.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	model := script.NewServer(asObjects(replies), false)
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

	d := &demo{out: io.Discard, control: "controller", wire: demoWires[2], address: server.URL}
	if err := d.prepare(); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(strings.TrimSuffix(d.folder, "/basket"))
	d.self = bin
	cmd := d.pawl(t.Context(), d.runArgs("-p", demoPrompt)...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Both bugs") {
		t.Fatalf("%v\n%s", err, out)
	}
	if after := d.test(t.Context()); !after.passed || asked.Load() < 5 {
		t.Errorf("after %d requests:\n%s", asked.Load(), after.output)
	}
}
