package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/golden"
	"pawl/run"
)

// recorded are streams of the real programs.
const recorded = "../../shared/cases/cli-streams"

// play returns what a stream says.
func play(kind string, content []byte) string {
	k, _, _ := Split(kind)
	s, r := k.adapter.stream(), newReport()
	for line := range lines(bytes.NewReader(content)) {
		s.line(line, r)
	}
	s.end(r)
	var b strings.Builder
	fmt.Fprintf(&b, "conversation %s\n", r.conversation)
	for _, o := range r.take() {
		j, _ := json.Marshal(o.Parts) // what goes into the log
		fmt.Fprintf(&b, "%s\n", j)
	}
	fmt.Fprintf(&b, "said %q done %v usage %+v\n", r.said.String(), r.done, r.usage)
	if r.fail != nil {
		fmt.Fprintf(&b, "failed %s: %s\n", r.fail.Kind, r.fail.Reason)
	}
	return b.String()
}

func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(recorded + "/*.stdout")
	if err != nil || len(files) == 0 {
		t.Skip("needs the recorded streams in " + recorded)
	}
	kinds := map[string]string{"claude": "claude-code", "codex": "codex", "gemini": "gemini-cli", "opencode": "opencode"}
	var all strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		program, _, _ := strings.Cut(name, "_")
		fmt.Fprintf(&all, "== %s\n%s", name, play(kinds[program], content))
	}
	golden.Compare(t, "streams.golden", []byte(all.String()))
}

// A limit that is over counts no more, and one that ends soon is waited for by the program.
func TestWhatStreamsSayOfALimit(t *testing.T) {
	t.Parallel()
	soon, later := time.Now().Add(time.Minute), time.Now().Add(time.Hour).Truncate(time.Second)
	claude := `{"type":"rate_limit_event","rate_limit_info":{"status":%q,"resetsAt":%d}}`
	opencode := `{"sessionID":"s","status":{"type":%q,"attempt":1,"message":"Too many.","next":%d},"type":"pawl_status"}`
	for _, c := range []struct {
		kind   string
		lines  []string
		resets time.Time
		waits  bool
	}{
		{"claude-code", []string{fmt.Sprintf(claude, "rejected", later.Unix())}, later, false},
		{"claude-code", []string{fmt.Sprintf(claude, "rejected", later.Unix()), fmt.Sprintf(claude, "allowed_warning", later.Unix())}, time.Time{}, false},
		{"claude-code", []string{fmt.Sprintf(claude, "rejected", 0)}, time.Time{}, false},
		{"opencode", []string{fmt.Sprintf(opencode, "retry", later.UnixMilli())}, later, true},
		{"opencode", []string{fmt.Sprintf(opencode, "retry", soon.UnixMilli()), fmt.Sprintf(opencode, "busy", later.UnixMilli())}, time.Time{}, false},
	} {
		k, _, _ := Split(c.kind)
		s, r := k.adapter.stream(), newReport()
		for _, line := range c.lines {
			s.line([]byte(line), r)
		}
		if !r.resets.Equal(c.resets) || r.waits != c.waits || (r.fail != nil) != c.waits {
			t.Errorf("%s: %v: resets %v, waits %v, failed %v", c.kind, c.lines, r.resets, r.waits, r.fail)
		}
	}
}

// The sessions of sub-agents of OpenCode are not the conversation, though the plugin tells what they do.
func TestASubAgentOfOpenCodeIsNotTheConversation(t *testing.T) {
	t.Parallel()
	r := newReport()
	for _, line := range []string{`{"type":"step_start","sessionID":"s"}`, `{"sessionID":"sub","status":{"type":"busy"},"type":"pawl_status"}`} {
		opencode{}.stream().line([]byte(line), r)
	}
	if r.conversation != "s" {
		t.Errorf("the conversation is %s", r.conversation)
	}
}

// What Codex logs of a wait ends it where that is too long, however the log is cut.
func TestCodexIsStoppedWhenItWaitsForTooLong(t *testing.T) {
	t.Parallel()
	const log = "WARN codex_core::responses_retry: stream disconnected - retrying sampling request (%d/5 in %ss)... turn_id=1 sampling_error=%s\n"
	stopped := 0
	stderr := &tail{waits: codexWait, tooLong: func() { stopped++ }}
	fmt.Fprintf(stderr, log, 1, "7200", "exceeded retry limit, last status: 503 Service Unavailable")
	fmt.Fprintf(stderr, log, 2, "10.998037708", "exceeded retry limit, last status: 429 Too Many Requests")
	if stopped != 0 || !stderr.resets().IsZero() {
		t.Errorf("it was stopped %d times, until %v", stopped, stderr.resets())
	}
	for _, b := range []byte(fmt.Sprintf(log, 3, "7199.5", "exceeded retry limit, last status: 429 Too Many Requests")) {
		if _, err := stderr.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if left := time.Until(stderr.resets()); stopped != 1 || left < time.Hour || left > 2*time.Hour {
		t.Errorf("it was stopped %d times, with %v left", stopped, left)
	}
}

// What is not known, cut or not JSON is passed over, in every stream.
func TestStreamsPassOverWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	unlike := map[string]string{ // ends of turns in another form
		"claude-code": `{"type":"result","subtype":"success","is_error":"no"}`,
		"codex":       `{"type":"turn.completed","usage":7}`,
		"gemini-cli":  `{"type":"result","status":"success","stats":7}`,
		"opencode":    `{"type":"step_finish","sessionID":"s","part":{"reason":"stop","cost":"0"}}`,
	}
	for _, k := range Kinds {
		got := play(k.Name, []byte(unlike[k.Name]+"\n{\nnull\n[]\n17\n\"x\"\n{\"type\":\"news\",\"x\":[1]}\n{\"type\":5}\n\x00\xff\n{\"type\":\"assistant\",\"message\":{\"content\":7}}\n"+strings.Repeat("x", maxLine+10)+"\n"))
		if want := fmt.Sprintf("conversation \nsaid \"\" done false usage %+v\n", run.Usage{}); got != want {
			t.Errorf("%s: got %q", k.Name, got)
		}
	}
}

func TestAStreamCutAnywhereIsNoSuccess(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(recorded + "/*_mcp.stdout")
	if len(files) == 0 {
		t.Skip("needs the recorded streams in " + recorded)
	}
	kinds := map[string]string{"claude": "claude-code", "codex": "codex", "gemini": "gemini-cli", "opencode": "opencode"}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		program, _, _ := strings.Cut(filepath.Base(file), "_")
		whole := len(bytes.TrimSpace(content))
		for n := 0; n < whole; n++ {
			if n < whole-300 { // every byte of the end, and some of what is before it
				n += 16
			}
			if got := play(kinds[program], content[:n]); strings.Contains(got, "done true") {
				t.Fatalf("%s cut at byte %d of %d is a success:\n%s", file, n, whole, got)
			}
		}
	}
}

func FuzzStreams(f *testing.F) {
	f.Add([]byte(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Bash","input":{}}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, k := range Kinds {
			play(k.Name, b)
		}
	})
}
