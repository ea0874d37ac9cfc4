package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/run"
	"pawl/tool"
)

// notRequired are scenarios of the suite that pawl's client does not pass, with the reason. All are of extensions, which
// the suite does not score.
var notRequired = map[string]string{
	"auth/client-credentials-jwt":           "for programs without a person: a header with a token does it",
	"auth/client-credentials-basic":         "for programs without a person: a header with a token does it",
	"auth/wif-jwt-bearer":                   "for programs without a person, whose platform gives them a token",
	"auth/enterprise-managed-authorization": "for companies that decide with their own login which servers are used",
	"auth/dpop":                             "tokens bound to a key; the library does not have it",
	"auth/dpop-nonce":                       "tokens bound to a key; the library does not have it",
}

// The real suite of the protocol's authors, @modelcontextprotocol/conformance, against pawl's client.
func TestRealConformanceOfTheClient(t *testing.T) {
	suite, err := exec.LookPath("conformance")
	if err != nil {
		t.Skip("needs the npm package @modelcontextprotocol/conformance in PATH, and node 22")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), suite, "client", "--command", self, "--suite", "all", "-o", out)
	cmd.Env, cmd.Dir = append(os.Environ(), "SERVER=conformance"), out
	said, _ := cmd.CombinedOutput() // its exit code counts scenarios that are not required too
	files, err := filepath.Glob(out + "/*/checks.json")
	if err == nil {
		var further []string
		further, err = filepath.Glob(out + "/*/*/checks.json")
		files = append(files, further...)
	}
	if err != nil || len(files) < 40 {
		t.Fatalf("%d scenarios have run: %v\n%s", len(files), err, said)
	}
	passed, all, odd := 0, 0, 0
	const timed = "sse-retry"
	again := func() bool { // alone: the suite starts all at once, and bounds by the clock when a client connects again
		cmd := exec.CommandContext(t.Context(), suite, "client", "--command", self, "--scenario", timed, "-o", t.TempDir())
		cmd.Env = append(os.Environ(), "SERVER=conformance")
		return cmd.Run() == nil
	}
	for _, file := range files {
		var checks []struct{ ID, Status, ErrorMessage string }
		content, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(content, &checks)
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(file, out+"/")))
		reason := ""
		for scenario, why := range notRequired {
			if strings.Contains(name, strings.ReplaceAll(scenario, "/", "-")) || strings.Contains(name, scenario) {
				reason = why
			}
		}
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				passed++
				all++
			case "FAILURE":
				all++
				if strings.HasPrefix(name, timed) && again() {
					passed++
				} else if reason == "" {
					t.Errorf("%s: %s: %s", name, c.ID, c.ErrorMessage)
				} else {
					odd++
				}
			}
		}
	}
	t.Logf("%d of %d checks of %d scenarios pass; %d that do not are of scenarios that are not required", passed, all, len(files), odd)
}

// conform is the client that the suite starts, with the address of its server. It does what a run does: it lists
// tools and calls each, and a person logs in where the server wants that.
func conform() error {
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Calls  []struct {
			Name      string
			Arguments json.RawMessage
		} `json:"toolCalls"`
	}
	_ = json.Unmarshal([]byte(cmp.Or(os.Getenv("MCP_CONFORMANCE_CONTEXT"), "{}")), &given)
	d := Definition{Name: "suite", URL: os.Args[len(os.Args)-1], ClientID: given.ID, ClientSecret: given.Secret}
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") == "auth/basic-cimd" {
		d.ClientID = "https://conformance-test.local/client-metadata.json"
	}
	s := NewServers([]Definition{d}, Options{Workspace: os.TempDir(), Getenv: os.LookupEnv, Environ: os.Environ, Version: "test"})
	defer s.Close()
	ctx, r := context.Background(), s.Get("suite")
	login := func() error {
		_, err := r.Login(ctx, Login{Show: func(link string) { go func() { _ = follows(link) }() }})
		return err
	}
	if _, err := r.List(ctx); err != nil {
		if err := login(); err != nil {
			return err
		}
	}
	tools, _ := s.Tools()
	schemas := map[string]json.RawMessage{}
	for _, t := range tools {
		schemas[t.Spec().Name] = t.Spec().Schema
	}
	for _, t := range tools {
		args := json.RawMessage("{}")
		switch t.Spec().Name {
		case "mcp__suite__add_numbers":
			args = json.RawMessage(`{"a":5,"b":3}`)
		case "mcp__suite__json_schema_echo":
			args = fmt.Appendf(nil, `{"schema":%s}`, schemas["mcp__suite__json_schema_2020_12_tool"])
		}
		for _, c := range given.Calls {
			if t.Spec().Name == Name("suite", c.Name) {
				args = c.Arguments
			}
		}
		for try := range 3 {
			res, err := t.Run(ctx, tool.Env{}, tool.Call{Args: args, Ask: func(_ context.Context, _ string, options ...string) (string, error) {
				if slices.Contains(options, "accept") {
					return "accept", nil
				}
				return leavesOut, nil
			}})
			text := run.PlainText(res.Content)
			if err != nil || !res.IsError {
				break
			}
			if !strings.Contains(text, "pawl mcp login") || try == 2 {
				return fmt.Errorf("%s", text)
			}
			if err := login(); err != nil {
				return err
			}
		}
	}
	return nil
}
