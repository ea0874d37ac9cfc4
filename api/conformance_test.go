package api_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"

	"pawl/api"
	"pawl/mcp"
)

// What pawl's MCP server has, of what the suite of the protocol's authors tries with servers: it offers tools with
// answers of text, and neither resources nor prompts, logs nor completions.
var scenariosOfTheServer = []string{"server-initialize", "ping", "tools-list", "tools-call-simple-text", "tools-call-error", "json-schema-2020-12", "dns-rebinding-protection",
	"server-session-lifecycle", "server-sse-multiple-streams", "http-header-validation", "caching", "input-required-result-unsupported-methods"}

// The real suite, @modelcontextprotocol/conformance, against the MCP server at /mcp, with the tools that the suite
// calls. It sends no token, which is added on the way.
func TestRealConformanceOfTheServer(t *testing.T) {
	t.Parallel()
	suite, err := exec.LookPath("conformance")
	if err != nil {
		t.Skip("needs the npm package @modelcontextprotocol/conformance in PATH, and node 22")
	}
	tools := &mcp.Server{Name: "pawl", Version: "1", Tools: func() ([]mcp.Tool, error) {
		return []mcp.Tool{
			{Name: "test_simple_text", Description: "Says a text.", Schema: json.RawMessage(`{"type":"object"}`)},
			{Name: "test_error_handling", Description: "Fails.", Schema: json.RawMessage(`{"type":"object"}`)},
			{Name: "json_schema_2020_12_tool", Description: "Has a schema of 2020-12.", Schema: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
				`"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
				`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`)},
		}, nil
	}, Call: func(_ context.Context, c mcp.Call) (mcp.Result, error) {
		if c.Tool == "test_error_handling" {
			return mcp.Result{Text: "This tool intentionally returns an error for testing", IsError: true}, nil
		}
		return mcp.Result{Text: "This is a simple text response for testing."}, nil
	}}
	s := serve(t, "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server, err := api.New(s.ws, api.Options{Token: token, Hosts: api.HostsOf(l.Addr()), MCP: tools.Handler(), Rate: 1 << 20})
	must(t, err)
	defer server.Close()
	web := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		server.Handler().ServeHTTP(w, r)
	})}}
	web.Start()
	defer web.Close()
	for _, scenario := range scenariosOfTheServer {
		if said, err := exec.CommandContext(t.Context(), suite, "server", "--url", web.URL+"/mcp", "--scenario", scenario, "-o", t.TempDir()).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", scenario, err, said)
		}
	}
}
