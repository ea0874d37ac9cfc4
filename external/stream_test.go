package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		if len(o.Notices) > 0 {
			fmt.Fprintf(&b, "told %q\n", o.Notices)
			continue
		}
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
		if r.resets.Sub(c.resets).Abs() > time.Second || r.waits != c.waits || (r.fail != nil) != c.waits {
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

// What Codex and Gemini CLI print of a request that they make again is read once, however it is cut.
func TestRetriesAreReadFromStandardError(t *testing.T) {
	t.Parallel()
	codex := func(n int, wait, why string) string {
		return fmt.Sprintf("WARN codex_core::responses_retry: stream disconnected - retrying sampling request (%d/5 in %s)... turn_id=1 sampling_error=%s\n", n, wait, why)
	}
	for kind, c := range map[string]struct {
		printed string
		want    []retry
	}{
		"codex": {codex(1, "199.5ms", "last status: 503") + "another line\n" + codex(2, "7199.5s", "429 Too Many Requests") + codex(3, "1..2s", "x") + "retrying sampling request (4/5 in 1s)",
			[]retry{{"last status: 503", 199500 * time.Microsecond}, {"429 Too Many Requests", 7199500 * time.Millisecond}, {"x", 0}}},
		"gemini-cli": {"YOLO mode is enabled.\nAttempt 1 failed with status 500. Retrying with backoff... _ApiError: {\"error\":{\"code\":500,\"message\":\"boom\"}}\n    at f (file:1:2)\n" +
			"Attempt 2 failed: Quota. Please retry in 20s.\nSuggested retry after 20s.. Retrying after 21277ms...\nAttempt 3 failed. Retrying with backoff...\n" +
			"Attempt 4 failed with status 503. Retrying with backoff... Error: high demand\nAttempt 5 failed with status 500. Retry",
			[]retry{{"status 500: boom", 0}, {"Quota. Please retry in 20s.\nSuggested retry after 20s.", 21277 * time.Millisecond}, {"status 503: high demand", 0}}},
	} {
		k, _, _ := Split(kind)
		for _, size := range []int{1, 7, len(c.printed)} {
			got := make(chan retry, 9)
			stderr := &tail{retry: k.retry, retries: got}
			for piece := range slices.Chunk([]byte(strings.Repeat("x\n", maxStderr)+c.printed), size) {
				if _, err := stderr.Write(piece); err != nil {
					t.Fatal(err)
				}
			}
			close(got)
			var all []retry
			for again := range got {
				all = append(all, again)
			}
			if !slices.Equal(all, c.want) {
				t.Errorf("%s in pieces of %d: got %+v, want %+v", kind, size, all, c.want)
			}
		}
	}
}

// A program makes a failed request again for as long as pawl would. People are told of it once a minute, and the turn ends with
// what the request has failed of; an answer ends the trouble.
func TestARequestIsMadeAgainForSoLong(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for _, c := range []struct {
		again  []time.Duration // after began
		wait   time.Duration
		reason string
		told   int
		kind   run.ErrorKind // of the end; empty: there is none
		resets bool
	}{
		{[]time.Duration{0, time.Second, 59 * time.Second, 61 * time.Second}, time.Second, "500", 2, "", false},
		{[]time.Duration{0, 9 * time.Minute, 10*time.Minute + time.Second}, 0, "500", 2, run.ErrOverloaded, false},
		{[]time.Duration{0, 9 * time.Minute}, 2 * time.Minute, "a limit:\n429", 1, run.ErrRateLimited, false},
		{[]time.Duration{0}, 2 * time.Hour, "Too many.", 0, run.ErrRateLimited, true},
		{[]time.Duration{0, 11 * time.Minute}, 0, "odd", 1, run.ErrOverloaded, false},
	} {
		r := newReport()
		for _, at := range c.again {
			r.retry(retry{c.reason, c.wait}, began.Add(at))
		}
		var kind run.ErrorKind
		if r.fail != nil {
			kind = r.fail.Kind
		}
		if len(r.take()) != c.told || kind != c.kind || r.waits != (c.kind != "") || r.resets.IsZero() == c.resets {
			t.Errorf("%+v: waits %v, kind %s, resets %v", c, r.waits, kind, r.resets)
		}
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
