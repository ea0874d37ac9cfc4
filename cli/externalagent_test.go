package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/mcp"
)

// scriptedAgent is a program in the place of Claude Code, with its flags, its stream and its
// MCP client. The n-th time that it is started it plays the n-th line of $AGENT, a list of
// steps, and writes what it was given to $AGENT.log.
func scriptedAgent() {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("2.1.197 (Claude Code)")
		return
	}
	if slices.Equal(os.Args[1:], []string{"auth", "status"}) {
		if os.Getenv("LOGGED_OUT") != "" {
			fmt.Println(`{"loggedIn": false}`)
			os.Exit(1)
		}
		return
	}
	must := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "the scripted agent:", err)
			os.Exit(1)
		}
	}
	script, err := os.ReadFile(os.Getenv("AGENT"))
	must(err)
	log, err := os.OpenFile(os.Getenv("AGENT")+".log", os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	must(err)
	before, err := io.ReadAll(log)
	must(err)
	turn := strings.Count(string(before), "\nEND OF TURN")
	given, err := io.ReadAll(os.Stdin)
	must(err)
	flag := func(name string) string {
		if i := slices.Index(os.Args, name); i >= 0 && i+1 < len(os.Args) {
			return os.Args[i+1]
		}
		return ""
	}
	how, session := "new", flag("--session-id")
	if session == "" {
		how, session = "resumed", flag("--resume")
	}
	fmt.Fprintf(log, "%s conversation in %s: %s\nEND OF TURN\n", how, filepath.Base(os.Getenv("PWD")), given)
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(script), "WORKSPACE", os.Getenv("PWD"))), "\n")
	if turn >= len(lines) {
		must(fmt.Errorf("it was started %d times", turn+1))
	}
	var steps []struct {
		Say        string
		Call       string
		Args       json.RawMessage
		Permission json.RawMessage // the input of Tool
		Tool       string          // empty: Bash
		Use        json.RawMessage // the input of the hook: its answer decides, or else the program allows it
		Fail       string
		Wait       bool
		Until      string // waits until there is this file
	}
	must(json.Unmarshal([]byte(lines[turn]), &steps))
	emit := func(kind string, v map[string]any) {
		v["type"], v["session_id"] = kind, session
		b, _ := json.Marshal(v) // of strings
		fmt.Println(string(b))
	}
	block := func(kind string, v map[string]any) {
		emit(kind, map[string]any{"message": map[string]any{"content": []any{v}}})
	}
	emit("system", map[string]any{"subtype": "init", "mcp_servers": []any{map[string]any{"name": "pawl", "status": "connected"}}})
	tools, stop, err := connectTools(flag("--mcp-config"))
	must(err)
	defer stop()
	for i, s := range steps {
		id := fmt.Sprintf("toolu_%d_%d", turn, i)
		switch {
		case s.Say != "":
			block("assistant", map[string]any{"type": "text", "text": s.Say})
		case s.Call != "":
			block("assistant", map[string]any{"type": "tool_use", "id": id, "name": "mcp__pawl__" + s.Call, "input": s.Args})
			answer, err := tools(s.Call, s.Args)
			must(err)
			block("user", map[string]any{"type": "tool_result", "tool_use_id": id, "content": answer})
			fmt.Fprintf(log, "%s: %s\n", s.Call, answer)
		case len(s.Use) > 0:
			answer, err := askHook(flag("--settings"), bytes.Replace(s.Use, []byte(`{`), []byte(`{"tool_use_id":"`+id+`",`), 1))
			if err != nil {
				answer = fmt.Sprint("denied: ", err)
			}
			fmt.Fprintf(log, "hook: %s\n", answer)
			if strings.Contains(answer, `"ask"`) || len(s.Permission) > 0 {
				var use map[string]any
				must(json.Unmarshal(s.Use, &use))
				args, _ := json.Marshal(map[string]any{"tool_name": use["tool_name"], "input": use["tool_input"], "tool_use_id": id}) // it was JSON
				answer, err := tools("permission", args)
				must(err)
				fmt.Fprintf(log, "permission: %s\n", answer)
			}
		case len(s.Permission) > 0:
			block("assistant", map[string]any{"type": "tool_use", "id": id, "name": cmp.Or(s.Tool, "Bash"), "input": s.Permission})
			args, _ := json.Marshal(map[string]any{"tool_name": cmp.Or(s.Tool, "Bash"), "input": s.Permission, "tool_use_id": id}) // it was JSON
			answer, err := tools("permission", args)
			must(err)
			allowed := strings.Contains(answer, `"behavior":"allow"`)
			block("user", map[string]any{"type": "tool_result", "tool_use_id": id, "content": "done", "is_error": !allowed})
			fmt.Fprintf(log, "permission: %s\n", answer)
		case s.Wait:
			fmt.Fprintf(log, "waits %d\n", turn) // from here on it writes nothing to pawl
			for {
				time.Sleep(time.Hour) // until it is stopped
			}
		case s.Until != "":
			for _, err := os.Stat(s.Until); err != nil; _, err = os.Stat(s.Until) {
				time.Sleep(10 * time.Millisecond)
			}
		case s.Fail != "":
			emit("result", map[string]any{"subtype": "success", "is_error": true, "result": s.Fail})
			os.Exit(1)
		}
	}
	emit("result", map[string]any{"subtype": "success", "stop_reason": "end_turn", "total_cost_usd": 0.25, "usage": map[string]any{"input_tokens": 10, "output_tokens": 5}})
}

// askHook runs the hook in a file of settings as Claude Code does.
func askHook(settings string, input []byte) (string, error) {
	var s struct {
		DisableAllHooks *bool
		Hooks           struct {
			PreToolUse []struct {
				Matcher string
				Hooks   []struct{ Type, Command string }
			}
		}
	}
	b, err := os.ReadFile(settings)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return "", err
	}
	cmd := exec.Command("/bin/sh", "-c", s.Hooks.PreToolUse[0].Hooks[0].Command)
	cmd.Stdin = bytes.NewReader(input)
	answer, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() != 2 {
		return "", nil // the program continues
	}
	return strings.TrimSpace(string(answer)), err
}

// connectTools starts the server in an MCP configuration, and returns what calls its tools.
func connectTools(config string) (call func(tool string, args json.RawMessage) (string, error), stop func(), err error) {
	var c struct {
		Servers map[string]struct {
			Command string            `json:"command"`
			Args    []string          `json:"args"`
			Env     map[string]string `json:"env"`
		} `json:"mcpServers"`
	}
	b, err := os.ReadFile(config)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		return nil, nil, err
	}
	server := c.Servers["pawl"]
	cmd := exec.Command(server.Command, server.Args...)
	for name, v := range server.Env {
		cmd.Env = append(cmd.Env, name+"="+v)
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, 1<<24)
	n := 0
	request := func(method string, params any) (json.RawMessage, error) {
		n++
		b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": n, "method": method, "params": params})
		if err != nil {
			return nil, err
		}
		if _, err := in.Write(append(b, '\n')); err != nil {
			return nil, err
		}
		if !answers.Scan() {
			return nil, fmt.Errorf("the server has ended: %v", answers.Err())
		}
		return slices.Clone(answers.Bytes()), nil
	}
	for _, method := range []string{"initialize", "tools/list"} {
		if _, err := request(method, map[string]any{"protocolVersion": "2025-06-18"}); err != nil {
			return nil, nil, err
		}
	}
	return func(tool string, args json.RawMessage) (string, error) {
			b, err := request("tools/call", map[string]any{"name": tool, "arguments": args})
			if err != nil {
				return "", err
			}
			var answer struct {
				Result struct {
					Content []struct {
						Text string `json:"text"`
					} `json:"content"`
				} `json:"result"`
				Error *struct{ Message string } `json:"error"`
			}
			if err := json.Unmarshal(b, &answer); err != nil {
				return "", err
			}
			if answer.Error != nil {
				return answer.Error.Message, nil
			}
			return answer.Result.Content[0].Text, nil
		}, func() {
			in.Close()
			_ = cmd.Wait() // its result does not matter
		}, nil
}

// noteServer is an MCP server of a person's own: its two tools append their text to the file that it is given.
func noteServer() {
	var tools []mcp.Tool
	for _, name := range []string{"note", "other"} {
		tools = append(tools, mcp.Tool{Name: name, Description: "Writes a note.", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)})
	}
	for i := range 100 { // of a server that has many, with an argument beside the file
		if len(os.Args) > 2 {
			tools = append(tools, mcp.Tool{Name: fmt.Sprintf("shelf%d", i), Description: "Puts a book on the shelf. " + strings.Repeat("Ask the librarian. ", 60),
				Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)})
		}
	}
	s := &mcp.Server{Name: "mine", Version: "1", Tools: func() ([]mcp.Tool, error) { return tools, nil },
		Call: func(ctx context.Context, c mcp.Call) (mcp.Result, error) {
			var args struct{ Text string }
			f, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err = errors.Join(err, json.Unmarshal(c.Arguments, &args)); err == nil {
				_, err = fmt.Fprintln(f, args.Text)
			}
			if err = errors.Join(err, f.Close()); args.Text == "slowly" {
				<-ctx.Done()
			}
			return mcp.Result{Text: "Noted."}, err
		}}
	_ = s.Serve(context.Background(), os.Stdin, os.Stdout)
}
