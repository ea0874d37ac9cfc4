//go:build unix

package external_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/external"
	"pawl/external/externaltest"
	"pawl/mcp"
	"pawl/run"
)

func TestMain(m *testing.M) {
	switch os.Getenv("EXTERNAL_TEST_ROLE") {
	case "server":
		serveTools()
	case "agent":
		fakeAgent()
	case "hook":
		answerHook()
	case "":
		if signal.Ignored(os.Interrupt) { // in the background of a shell: programs would inherit it, and scripts cannot trap it
			signal.Notify(make(chan os.Signal, 1), os.Interrupt)
		}
		os.Exit(m.Run())
	}
	os.Exit(0)
}

// serveTools is an MCP server whose one tool writes its arguments to a file.
func serveTools() {
	s := &mcp.Server{Name: "pawl", Version: "1",
		Tools: func() ([]mcp.Tool, error) {
			return []mcp.Tool{{Name: "planner_output", Description: "Submits the plan.", Schema: json.RawMessage(`{"type":"object","properties":{"type":{"type":"string"}},"required":["type"]}`)}}, nil
		},
		Call: func(_ context.Context, c mcp.Call) (mcp.Result, error) {
			err := os.WriteFile(os.Getenv("EXTERNAL_TEST_FILE"), []byte(os.Getenv("PAWL_RUN_TOKEN")+" "+string(c.Arguments)), 0o600)
			return mcp.Result{Text: "The result was accepted."}, err
		}}
	_ = s.Serve(context.Background(), os.Stdin, os.Stdout)
}

// answerHook is a hook that denies ls and fails at what it does not know. It writes the folder
// that it was told of to a file.
func answerHook() {
	var asked struct {
		Tool  string `json:"tool_name"`
		Use   string `json:"tool_use_id"`
		Dir   string `json:"cwd"`
		Input struct{ Command string }
	}
	raw, _ := io.ReadAll(os.Stdin)
	_ = json.Unmarshal(bytes.Replace(raw, []byte(`"tool_input"`), []byte(`"Input"`), 1), &asked)
	_ = os.WriteFile(os.Getenv("EXTERNAL_TEST_FILE"), []byte(asked.Tool+" in "+asked.Dir), 0o600)
	switch {
	case asked.Use == "" || strings.HasPrefix(asked.Input.Command, "id"):
		os.Exit(3)
	case strings.HasPrefix(asked.Input.Command, "ls"):
		fmt.Println(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"ls is denied"}}`)
	}
}

// An outcome is what a turn yielded.
type outcome struct {
	conversation string
	parts        []run.Part
	notices      []string
	usage        run.Usage
	final        run.Payload
}

func (o outcome) String() string {
	var b strings.Builder
	for _, p := range o.parts {
		switch {
		case p.Call != nil:
			fmt.Fprintf(&b, "call %s %s\n", p.Call.Tool, p.Call.Arguments)
		case p.Result != nil:
			fmt.Fprintf(&b, "result error=%v %s\n", p.Result.IsError, run.PlainText(p.Result.Content))
		default:
			fmt.Fprintf(&b, "%s %s\n", p.Type, p.Text)
		}
	}
	switch f := o.final.(type) {
	case run.Replied:
		fmt.Fprintf(&b, "replied %s %s\n", f.Stop, run.PlainText(f.Parts))
	case run.RequestFailed:
		fmt.Fprintf(&b, "failed %s %s\n", f.Kind, f.Reason)
	}
	return b.String()
}

func perform(ctx context.Context, t *testing.T, turn external.Turn) outcome {
	t.Helper()
	var o outcome
	for p, err := range turn.Events(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		seen, ok := p.(run.Observed)
		if !ok {
			o.final = p
			break
		}
		if seen.Conversation != "" {
			o.conversation = seen.Conversation
		}
		o.parts, o.notices = append(o.parts, seen.Parts...), append(o.notices, seen.Notices...)
		o.usage = o.usage.Add(seen.Usage)
	}
	switch f := o.final.(type) {
	case run.Replied:
		o.usage = o.usage.Add(f.Usage)
	case run.RequestFailed:
		o.usage = o.usage.Add(f.Usage)
	}
	return o
}

// real returns a turn of a real program with a scripted model.
func real(t *testing.T, kind string, answer func(externaltest.Request) externaltest.Reply) (external.Turn, *externaltest.Model) {
	k, _, _ := external.Split(kind)
	program := externaltest.Program(t, kind)
	m := externaltest.NewModel(t, answer)
	dir := t.TempDir()
	turn := external.Turn{Kind: k, Program: program, Env: m.Env(t, kind), Run: "r", Workspace: dir, State: t.TempDir(), Model: external.DefaultModel, Mode: "bypass",
		System: "SYSTEM-WORDS: be brief.", Message: []run.Part{run.Text("- plan the task")}}
	switch kind {
	case "claude-code":
		turn.Model = "claude-sonnet-4-5"
	case "gemini-cli":
		turn.Model = "gemini-2.5-flash"
	}
	return turn, m
}

var kinds = []string{"claude-code", "codex", "gemini-cli", "opencode"}

// The real programs, against a model on loopback: a call of pawl's tool over MCP, in mode plan too, the
// conversation continued, a conversation that is not known any more. Their own tools that ask at a terminal are off.
func TestRealProgramsWorkInAConversation(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			submitted := filepath.Join(t.TempDir(), "submitted")
			k, _, _ := external.Split(kind)
			tool := k.ToolName("planner_output")
			turn, m := real(t, kind, func(r externaltest.Request) externaltest.Reply {
				switch {
				case strings.Contains(r.Words, "AGAIN"):
					return externaltest.Reply{Text: "Continued."}
				case len(r.Results) == 0:
					return externaltest.Reply{Tool: tool, Args: `{"type":"plan"}`}
				}
				return externaltest.Reply{Text: "The plan is submitted."}
			})
			turn.Mode = "plan"
			turn.Server = external.Server{Command: []string{os.Args[0]}, Tools: []string{"planner_output"},
				Env: map[string]string{"EXTERNAL_TEST_ROLE": "server", "EXTERNAL_TEST_FILE": submitted, "PAWL_RUN_TOKEN": "secret-1"}}
			first := perform(t.Context(), t, turn)
			if got := first.String(); got != "replied end_turn The plan is submitted.\n" {
				t.Fatalf("got %s; the model saw %d requests, the last: %.3000s", got, len(m.Requests()), last(m))
			}
			if b, err := os.ReadFile(submitted); err != nil || !strings.HasPrefix(string(b), `secret-1 {"type":"plan"`) {
				t.Errorf("submitted %q, %v", b, err)
			}
			all := m.Requests()
			if q := all[len(all)-1]; !strings.Contains(q.Body, "SYSTEM-WORDS") || !strings.Contains(q.Words, "- plan the task") || first.conversation == "" || first.usage.Total() == 0 {
				t.Errorf("the model was asked %.2000s; conversation %q, usage %+v", q.Body, first.conversation, first.usage)
			}

			turn.Mode = "bypass"
			turn.Conversation, turn.Message = first.conversation, []run.Part{run.Text("AGAIN")}
			second := perform(t.Context(), t, turn)
			if got := second.String(); got != "replied end_turn Continued.\n" {
				t.Errorf("got %s", got)
			}
			if words := last(m); !strings.Contains(words, "- plan the task") {
				t.Errorf("the conversation does not have its beginning: %.2000s", words)
			}

			turn.Conversation, turn.Summary = "6f1d2a34-0000-4000-8000-000000000001", "SUMMARY-WORDS"
			if kind == "opencode" {
				turn.Conversation = "ses_e0588c9e3ffeXwIyAfst2qeCiR"
			}
			third := perform(t.Context(), t, turn)
			if got := third.String(); got != "replied end_turn Continued.\n" {
				t.Errorf("got %s", got)
			}
			if third.conversation == "" || third.conversation == turn.Conversation || !strings.Contains(last(m), "SUMMARY-WORDS") {
				t.Errorf("conversation %q, asked %.2000s", third.conversation, last(m))
			}
			for _, q := range m.Requests() {
				for _, tool := range q.Tools {
					if slices.Contains([]string{"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "request_user_input", "ask_user", "enter_plan_mode", "exit_plan_mode", "question"}, tool) {
						t.Errorf("the model has the tool %s, which asks at the program's own terminal", tool)
					}
				}
			}
		})
	}
}

func last(m *externaltest.Model) string {
	all := m.Requests()
	for i := len(all) - 1; i >= 0; i-- {
		if len(all[i].Tools) > 0 {
			return all[i].Words + " " + all[i].Body
		}
	}
	return "nothing"
}

// Claude Code allows some commands and all reading by itself: it asks the hook before these,
// too, whatever the person's settings say of hooks, and a hook that fails is a denial.
func TestRealClaudeCodeAsksTheHookBeforeEveryTool(t *testing.T) {
	t.Parallel()
	var turn external.Turn
	turn, _ = real(t, "claude-code", func(r externaltest.Request) externaltest.Reply {
		switch len(r.Results) {
		case 0:
			return externaltest.Reply{Tool: "Bash", Args: `{"command":"ls"}`}
		case 1:
			return externaltest.Reply{Tool: "Bash", Args: `{"command":"id"}`}
		case 2:
			return externaltest.Reply{Tool: "Bash", Args: `{"command":"cd sub"}`}
		case 3:
			return externaltest.Reply{Tool: "Read", Args: `{"file_path":"` + filepath.Join(turn.Workspace, "sub", "a.txt") + `"}`}
		}
		return externaltest.Reply{Text: "Done."}
	})
	home := ""
	for _, v := range turn.Env {
		if value, ok := strings.CutPrefix(v, "HOME="); ok {
			home = value
		}
	}
	for path, content := range map[string]string{
		filepath.Join(home, ".claude", "settings.json"): `{"disableAllHooks":true}`,
		filepath.Join(turn.Workspace, "sub", "a.txt"):   "CONTENT",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := filepath.Join(t.TempDir(), "seen")
	turn.Env = append(turn.Env, "EXTERNAL_TEST_ROLE=hook", "EXTERNAL_TEST_FILE="+seen)
	turn.Server = external.Server{Hook: []string{os.Args[0]}}
	o := perform(t.Context(), t, turn)
	got := o.String()
	for _, want := range []string{"ls is denied\n", "result error=true PreToolUse:Bash hook error", "CONTENT", "replied end_turn Done."} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in %s", want, got)
		}
	}
	if b, err := os.ReadFile(seen); err != nil || string(b) != "Read in "+filepath.Join(turn.Workspace, "sub") {
		t.Errorf("the hook was last asked about %q, %v", b, err)
	}
}

func TestRealProgramsThatCannotStartPawlsServerHaveFailed(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			turn, _ := real(t, kind, func(externaltest.Request) externaltest.Reply { return externaltest.Reply{Text: "Done."} })
			turn.Server = external.Server{Command: []string{filepath.Join(t.TempDir(), "no-pawl")}, Env: map[string]string{"PAWL_RUN_TOKEN": "secret-1"}, Tools: []string{"planner_output"}}
			o := perform(t.Context(), t, turn)
			if f, ok := o.final.(run.RequestFailed); !ok || f.Kind != run.ErrInvalid || !strings.Contains(f.Reason, "server") && !strings.Contains(f.Reason, "MCP") {
				t.Errorf("got %s", o)
			}
		})
	}
}

// What goes wrong with a request is said by its kind, in the program's words where it has some. Where a program makes the
// request again, for minutes or for ever, people are told of that, and the turn ends with what the request has failed of.
func TestRealProgramsSayWhatWentWrongWithARequest(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]run.ErrorKind{400: run.ErrInvalid, 401: run.ErrAuth, 429: run.ErrRateLimited, 500: run.ErrOverloaded} {
		for _, kind := range kinds {
			t.Run(fmt.Sprint(status, "/", kind), func(t *testing.T) {
				t.Parallel()
				words := fmt.Sprintf("boom-%d", status)
				if status == http.StatusTooManyRequests {
					words = "Too Many Requests: " + words
				}
				turn, _ := real(t, kind, func(externaltest.Request) externaltest.Reply {
					return externaltest.Reply{Status: status, Text: words}
				})
				turn.Server.Hook = []string{os.Args[0]} // OpenCode has its plugin with it
				turn.Retry = 20 * time.Second
				o := perform(t.Context(), t, turn)
				f, ok := o.final.(run.RequestFailed)
				said := strings.Contains(f.Reason, words) || kind == "codex" && status > 401 // which has words of its own
				if !ok || f.Kind != want || !said {
					t.Errorf("got %s", o)
				}
				again := status > 401 && !(kind == "codex" && status == 429) // which makes no other request then
				if told := strings.Join(o.notices, "\n"); status == 400 && told != "" || again && !strings.Contains(told, "it tries again") {
					t.Errorf("people were told %q", told)
				}
			})
		}
	}
}

// A limit of the provider that lasts longer than a program waits ends the turn, with the time that is left of it. Each
// program says that in its own way: Claude Code, of a subscription, with an event, Gemini CLI on standard error, and of those
// that would wait for it without a word OpenCode to pawl's plugin, and Codex in its log.
func TestRealProgramsSayWhenALimitEnds(t *testing.T) {
	t.Parallel()
	replies := map[string]externaltest.Reply{
		"claude-code": {Text: "Too many.", Header: fmt.Sprintf("anthropic-ratelimit-unified-status: rejected\nanthropic-ratelimit-unified-representative-claim: five_hour\n"+
			"anthropic-ratelimit-unified-reset: %d", time.Now().Add(2*time.Hour).Unix())},
		"codex":               {Error: fmt.Sprintf(`{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_at":%d}}`, time.Now().Add(2*time.Hour).Unix())},
		"codex of a provider": {Text: "Too many.", Header: "retry-after: 7200"},
		"gemini-cli": {Error: `{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 7200.5s.","status":"RESOURCE_EXHAUSTED","details":[
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
			{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7200s"}]}}`},
		"opencode": {Text: "Too many.", Header: "retry-after: 7200"},
	}
	for name, reply := range replies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, _, _ := strings.Cut(name, " ")
			reply.Status = http.StatusTooManyRequests
			turn, _ := real(t, kind, func(externaltest.Request) externaltest.Reply { return reply })
			turn.Env = append(slices.DeleteFunc(turn.Env, func(v string) bool { return strings.HasPrefix(v, "ANTHROPIC_API_KEY=") }), "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-dummy")
			turn.Server, turn.Silence = external.Server{Hook: []string{os.Args[0]}}, 5*time.Minute
			o := perform(t.Context(), t, turn)
			f, ok := o.final.(run.RequestFailed)
			if !ok || f.Kind != run.ErrRateLimited || f.Asked < time.Hour || f.Asked > 3*time.Hour {
				t.Errorf("asked to wait %v, of %s", f.Asked, o)
			}
		})
	}
}

// A stream that ends in the middle is asked for again by the program, and the turn goes on; Gemini CLI ends it, and
// a new conversation goes on: it stores none whose first request has failed.
func TestRealProgramsGoOnAfterAStreamWasCut(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cut := false
			turn, m := real(t, kind, func(externaltest.Request) externaltest.Reply {
				if !cut {
					cut = true
					return externaltest.Reply{Cut: true, Text: "I AM HALF"}
				}
				return externaltest.Reply{Text: "I AM WHOLE"}
			})
			o := perform(t.Context(), t, turn)
			if f, ok := o.final.(run.RequestFailed); ok && kind == "gemini-cli" && strings.Contains(f.Reason, "terminated") {
				turn.Conversation, turn.Summary, turn.Message = o.conversation, "I was told: - plan the task", []run.Part{run.Text("Continue.")}
				o = perform(t.Context(), t, turn)
			}
			if got := o.String(); got != "replied end_turn I AM WHOLE\n" {
				t.Errorf("got %s", got)
			}
			if words := last(m); !strings.Contains(words, "- plan the task") {
				t.Errorf("the conversation does not have its beginning: %.2000s", words)
			}
		})
	}
}

// What a person had said to a program, and what it did then, is read from where the program keeps it.
func TestRealProgramsKeepConversations(t *testing.T) {
	t.Parallel()
	calls := map[string]externaltest.Reply{
		"claude-code": {Tool: "Bash", Args: `{"command":"echo listed"}`},
		"codex":       {Tool: "exec_command", Args: `{"cmd":"echo listed"}`},
		"gemini-cli":  {Tool: "run_shell_command", Args: `{"command":"echo listed"}`},
		"opencode":    {Tool: "glob", Args: `{"pattern":"*.listed"}`},
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			turn, _ := real(t, kind, func(r externaltest.Request) externaltest.Reply {
				switch {
				case strings.Contains(r.Words, "AGAIN"):
					return externaltest.Reply{Text: "Still three."}
				case len(r.Results) == 0 && len(r.Tools) > 0:
					return calls[kind]
				}
				return externaltest.Reply{Text: "There are three."}
			})
			env := func(name string) string {
				for _, v := range turn.Env {
					if value, ok := strings.CutPrefix(v, name+"="); ok {
						return value
					}
				}
				return ""
			}
			k, _, _ := external.Split(kind)
			if all, err := k.Keeps(env, turn.Workspace); len(all) > 0 || err != nil {
				t.Fatalf("it keeps %+v, %v before anything was said", all, err)
			}
			turn.System = ""
			if got := perform(t.Context(), t, turn); !strings.Contains(got.String(), "replied end_turn There are three.") {
				t.Fatal(got)
			} else {
				turn.Conversation, turn.Message = got.conversation, []run.Part{run.Text("AGAIN")}
			}
			perform(t.Context(), t, turn)

			all, err := k.Keeps(env, turn.Workspace)
			if err != nil || len(all) != 1 || all[0].ID != turn.Conversation || all[0].Words != "- plan the task" || time.Since(all[0].Last) > time.Hour {
				t.Fatalf("it keeps %+v, %v; the conversation is %s", all, err, turn.Conversation)
			}
			turns, err := all[0].Turns()
			if err != nil || len(turns) != 2 || !turns[0].Began.Equal(all[0].Began) {
				t.Fatalf("turns %+v, %v", turns, err)
			}
			var first outcome
			for _, o := range turns[0].Observed {
				first.parts = append(first.parts, o.Parts...)
			}
			if got := first.String(); turns[0].Words != "- plan the task" || turns[0].Answer != "There are three." ||
				!strings.Contains(got, "call "+calls[kind].Tool) || !strings.Contains(got, "result error=false") || !strings.Contains(got, "listed") {
				t.Errorf("the first turn: %s%+v", got, turns[0])
			}
			if turns[1].Words != "AGAIN" || turns[1].Answer != "Still three." || turns[1].Ended.Before(turns[1].Began) {
				t.Errorf("the second turn: %+v", turns[1])
			}
			if all, err := k.Keeps(env, t.TempDir()); len(all) > 0 || err != nil {
				t.Errorf("of another folder it keeps %+v, %v", all, err)
			}
		})
	}
}
