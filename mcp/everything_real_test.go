package mcp

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl/run"
	"pawl/tool"
)

// The server with which the protocol's authors show all of it, @modelcontextprotocol/server-everything, over each transport.
func TestRealServerWithEverything(t *testing.T) {
	t.Parallel()
	server, err := exec.LookPath("mcp-server-everything")
	if err != nil {
		t.Skip("needs the npm package @modelcontextprotocol/server-everything in PATH, and node 22")
	}
	for name, d := range map[string]func(t *testing.T) Definition{
		"stdio": func(*testing.T) Definition { return Definition{Name: "e", Command: server, Args: []string{"stdio"}} },
		"streamableHttp": func(t *testing.T) Definition {
			return Definition{Name: "e", URL: listening(t, server, "streamableHttp") + "/mcp"}
		},
		"sse": func(t *testing.T) Definition {
			return Definition{Name: "e", URL: listening(t, server, "sse") + "/sse", SSE: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := d(t)
			definition.Required, definition.StartTimeout = true, time.Minute
			s := play(t, Options{}, definition)
			if err := s.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			for tool, want := range map[string][2]string{
				"echo":                     {`{"message":"hi"}`, "Echo: hi"},
				"get-sum":                  {`{"a":2,"b":3}`, "5"},
				"get-structured-content":   {`{"location":"Chicago"}`, `{"conditions":"`},
				"get-tiny-image":           {`{}`, "logo"},
				"get-annotated-message":    {`{"messageType":"error","includeImage":false}`, "Error"},
				"get-resource-links":       {`{"count":2}`, "[resource demo://resource/"},
				"get-resource-reference":   {`{"resourceType":"Text","resourceId":1}`, "demo://resource/dynamic/text/1"},
				"gzip-file-as-resource":    {`{"name":"a","data":"data:text/plain,abc","outputType":"resource"}`, "application/gzip"},
				"get-roots-list":           {`{}`, filepath.Base(s.opt.Workspace)},
				"simulate-research-query":  {`{"topic":"x"}`, "# Research Report: x"}, // as a task
				"toggle-simulated-logging": {`{}`, "logging"},
			} {
				if _, text := s.call(t.Context(), "mcp__e__"+tool, want[0], toolCall(nil)); !strings.Contains(text, want[1]) {
					t.Errorf("%s says %.300q; told %q", tool, text, s.told)
				}
			}
			var steps []string
			s.call(t.Context(), "mcp__e__trigger-long-running-operation", `{"duration":1,"steps":4}`, toolCall(func(line string) { steps = append(steps, line) }))
			if !slices.Contains(steps, "2 of 4") {
				t.Errorf("its progress was %q", steps)
			}
			asked := toolCall(nil)
			asked.Ask = func(_ context.Context, question string, options ...string) (string, error) {
				if i := slices.Index(options, "accept"); i >= 0 {
					return options[i], nil
				}
				if strings.Contains(strings.ToLower(question), "name") {
					return "Ada", nil
				}
				return leavesOut, nil
			}
			if _, text := s.call(t.Context(), "mcp__e__trigger-elicitation-request", `{}`, asked); !strings.Contains(text, "Ada") {
				t.Errorf("what was answered came back as %.300q", text)
			}
			prompts := s.Prompts()
			i := slices.IndexFunc(prompts, func(p Prompt) bool { return strings.HasSuffix(p.Command, "args-prompt") })
			if i < 0 {
				t.Fatalf("it has the prompts %v", prompts)
			}
			if parts, err := prompts[i].Get(t.Context(), "Oslo"); err != nil || !strings.Contains(run.PlainText(parts), "Oslo") {
				t.Errorf("its prompt is %v, %v", parts, err)
			}
			resources := s.Resources()
			if len(resources) == 0 {
				t.Fatal("it has no resources")
			}
			if parts, err := s.Get("e").Read(t.Context(), strings.TrimPrefix(resources[0], "e:")); err != nil || len(run.PlainText(parts)) == 0 {
				t.Errorf("its resource %s is %v, %v", resources[0], parts, err)
			}
		})
	}
}

func toolCall(progress func(string)) tool.Call { return tool.Call{Progress: progress} }

// listening starts a server on a port of its own, and returns its address when it takes connections.
func listening(t *testing.T, server, transport string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.CommandContext(t.Context(), server, transport)
	cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(port))
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "on port") {
	}
	go func() {
		for lines.Scan() { // what it says must go somewhere
		}
	}()
	return "http://localhost:" + strconv.Itoa(port)
}
