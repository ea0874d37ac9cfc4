package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/external/externaltest"
)

// A peer is a terminal agent that is measured in the same way as pawl.
type peer struct {
	name, program, install string
	// setup writes the configuration, and returns arguments and the environment.
	setup  func(b *testing.B, home, dir, url string) (args, env []string)
	ready  string // is seen when it takes keys
	dialog string // is seen when it asks; "": it does not ask
	chrome string // is drawn below what is finished; what has scrolled off of it is left of a dead frame
	again  string // is seen after the first Esc, where it needs two
	full   bool   // it draws on the alternate screen, which has no scrollback
}

var peers = []peer{
	{name: "pawl", ready: "enter: send", dialog: "Allow this time", chrome: "esc: interrupt",
		setup: func(b *testing.B, home, dir, url string) (args, env []string) {
			return nil, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PAWL_STATE_DIR=" + filepath.Join(home, "state"),
				"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=k", "PAWL_MODEL=anthropic/m"}
		}},
	{name: "claude-code", program: "claude", install: "npm install @anthropic-ai/claude-code", ready: "shortcuts", dialog: "Do you want to proceed", chrome: "esc to interrupt",
		setup: func(b *testing.B, home, dir, url string) (args, env []string) {
			env = known(b, "claude-code", &home, url)
			writeJSON(b, filepath.Join(home, ".claude.json"), object{"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": object{"approved": []string{"dummy"}},
				"projects": object{dir: object{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}})
			return []string{"--model", "claude-sonnet-4-5"}, append(env, "DISABLE_AUTOUPDATER=1")
		}},
	{name: "codex", program: "codex", install: "npm install @openai/codex", ready: "for shortcuts", dialog: "Would you like to run", chrome: "mock-model default",
		setup: func(b *testing.B, home, dir, url string) (args, env []string) {
			env = known(b, "codex", &home, url)
			config := filepath.Join(home, ".codex/config.toml")
			content, err := os.ReadFile(config)
			if err == nil {
				err = os.WriteFile(config, fmt.Appendf([]byte("approval_policy=\"on-request\"\nsandbox_mode=\"read-only\"\ncheck_for_update_on_startup=false\n"), "%s\n[projects.%q]\ntrust_level=\"trusted\"\n", content, dir), 0o600)
			}
			if err != nil {
				b.Fatal(err)
			}
			return nil, env
		}},
	{name: "opencode", program: "opencode", install: "npm install opencode-ai", ready: "Ask anything", dialog: "Permission required", chrome: "esc interrupt", again: "again to interrupt", full: true,
		setup: func(b *testing.B, home, dir, url string) (args, env []string) {
			env = known(b, "opencode", &home, url)
			writeJSON(b, filepath.Join(dir, "opencode.json"), object{"permission": object{"bash": "ask"}, "autoupdate": false, "share": "disabled"})
			return nil, append(env, "OPENCODE_DISABLE_AUTOUPDATE=1")
		}},
	{name: "pi", program: "pi", install: "npm install @mariozechner/pi-coding-agent", ready: "(auto)", chrome: "Working",
		setup: func(b *testing.B, home, dir, url string) (args, env []string) {
			writeJSON(b, filepath.Join(home, ".pi/agent/models.json"), object{"providers": object{"mock": object{"baseUrl": url, "api": "anthropic-messages", "apiKey": "x",
				"models": []object{{"id": "m"}}}}})
			return []string{"--provider", "mock", "--model", "m"}, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1"}
		}},
}

type object = map[string]any

func writeJSON(b *testing.B, path string, v any) {
	b.Helper()
	content, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		b.Fatal(err)
	}
}

// known returns the environment that the tests of external agents give a program, and its home.
func known(b *testing.B, kind string, home *string, url string) []string {
	env := (&externaltest.Model{URL: url}).Env(b, kind)
	for _, v := range env {
		if dir, ok := strings.CutPrefix(v, "HOME="); ok {
			*home = dir
		}
	}
	return env
}

// A peerModel answers the main requests of any peer, on the wire that each uses. Requests without
// tools, such as for a title, get a word.
type peerModel struct {
	mu     sync.Mutex
	answer int
	rate   int            // words a second; 0: the call of a command
	first  time.Time      // when the request came
	left   chan time.Time // when its connection was closed
}

// answers sets what the next requests get.
func (m *peerModel) answers(rate int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rate, m.first, m.left = rate, time.Time{}, make(chan time.Time, 16)
	m.answer++
}

// word returns what finds the words of the answer, with their numbers.
func (m *peerModel) word() *regexp.Regexp {
	m.mu.Lock()
	defer m.mu.Unlock()
	return regexp.MustCompile(fmt.Sprintf(`n%03d(\d{6})`, m.answer))
}

func (m *peerModel) asked() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first
}

// A wire is how a peer is answered: the events of text, of a call and of the end.
type wire struct {
	begin, text, end string
	call             func(tool, args string) string
}

// say returns the event of a piece of text.
func (w wire) say(text string) string {
	return strings.Replace(w.text, `"WORD"`, strconv.Quote(text), 1)
}

func sse(events ...string) string {
	var out strings.Builder
	for _, e := range events {
		var kind struct{ Type string }
		_ = json.Unmarshal([]byte(e), &kind) // the events are those below
		if kind.Type != "" {
			fmt.Fprintf(&out, "event: %s\n", kind.Type)
		}
		fmt.Fprintf(&out, "data: %s\n\n", e)
	}
	return out.String()
}

var wires = map[string]wire{
	"/messages": {
		begin: sse(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
		text: sse(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"WORD"}}`),
		end:  sse(`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`, `{"type":"message_stop"}`),
		call: func(tool, args string) string {
			return sse(`{"type":"content_block_stop","index":0}`, fmt.Sprintf(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":%q,"input":{}}}`, tool),
				fmt.Sprintf(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":%q}}`, args),
				`{"type":"content_block_stop","index":1}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}`, `{"type":"message_stop"}`)
		}},
	"/chat/completions": {
		begin: sse(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`),
		text:  sse(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"WORD"},"finish_reason":null}]}`),
		end:   sse(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, `[DONE]`),
		call: func(tool, args string) string {
			return sse(fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":%q,"arguments":%q}}]},"finish_reason":null}]}`, tool, args),
				`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, `[DONE]`)
		}},
	"/responses": {
		begin: sse(`{"type":"response.created","response":{"id":"r","object":"response","status":"in_progress","model":"m","output":[]}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}}`,
			`{"type":"response.content_part.added","item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}`),
		text: sse(`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"WORD"}`),
		end: sse(`{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"done","annotations":[]}]}}`,
			`{"type":"response.completed","response":{"id":"r","object":"response","status":"completed","model":"m","output":[],"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":2}}}`),
		call: func(tool, args string) string {
			return sse(fmt.Sprintf(`{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":%q,"arguments":%q,"status":"completed"}}`, tool, args),
				`{"type":"response.completed","response":{"id":"r","object":"response","status":"completed","model":"m","output":[],"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":2}}}`)
		}},
}

// commandTools are the tools of the peers that run a command, with arguments for one that has to be approved.
var commandTools = [][2]string{
	{"shell", `{"command":"touch a"}`}, {"Bash", `{"command":"touch a","description":"makes a file"}`}, {"bash", `{"command":"touch a","description":"makes a file"}`},
	{"exec_command", `{"cmd":"touch a","sandbox_permissions":"require_escalated","justification":"May I?"}`}, {"shell_command", `{"command":"touch a","sandbox_permissions":"require_escalated","justification":"May I?"}`},
}

func (m *peerModel) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var q struct {
		Tools []struct {
			Name     string
			Function struct{ Name string }
		}
	}
	if err != nil || r.Method != http.MethodPost || json.Unmarshal(body, &q) != nil {
		return
	}
	var w wire
	for path, known := range wires {
		if strings.HasSuffix(r.URL.Path, path) {
			w = known
		}
	}
	if w.begin == "" {
		http.NotFound(out, r)
		return
	}
	send := func(text string) {
		_, _ = io.WriteString(out, text) // a peer that has gone is noticed below
		out.(http.Flusher).Flush()
	}
	out.Header().Set("Content-Type", "text/event-stream")
	if len(q.Tools) == 0 {
		send(w.begin + w.say("title") + w.end)
		return
	}
	m.mu.Lock()
	if m.first.IsZero() {
		m.first = time.Now()
	}
	rate, left, answer := m.rate, m.left, m.answer
	m.mu.Unlock()
	if rate == 0 {
		for _, t := range q.Tools {
			for _, c := range commandTools {
				if c[0] == t.Name || c[0] == t.Function.Name {
					send(w.begin + w.call(c[0], c[1]))
					return
				}
			}
		}
		send(w.begin + w.say("no tool runs a command") + w.end)
		return
	}
	send(w.begin)
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-tick.C:
		case <-r.Context().Done():
			select {
			case left <- time.Now():
			default:
			}
			return
		}
		word := fmt.Sprintf("n%03d%06d ", answer, i)
		if i%50 == 49 {
			word = fmt.Sprintf("n%03d%06d.\n\n", answer, i)
		}
		send(w.say(word))
	}
}

// A pane is a peer in tmux, seen as tmux shows it.
type pane struct {
	*testing.B
	peer
	model   *peerModel
	missed  int // times that Esc had no effect
	began   time.Time
	id      string
	pid     int
	socket  string
	control *exec.Cmd
	in      io.Writer
	reply   chan []string // of a command of tmux
	wrote   chan struct{} // the peer has written
}

// openPane starts a peer in a tmux of its own, that is talked to through one connection: a process
// for each look would take longer than what is measured.
func openPane(b *testing.B, p peer) *pane {
	b.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		b.Skip("needs tmux")
	}
	var program string
	var err error
	if p.program == "" {
		program, err = build()
	} else if program, err = exec.LookPath(p.program); err != nil {
		b.Skipf("needs %s: %s, and PATH with its node_modules/.bin", p.program, p.install)
	}
	if err != nil {
		b.Fatal(err)
	}
	top, err := os.MkdirTemp("", "peer-") // paths of sockets are limited
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(top) })
	dir, home := filepath.Join(top, "project"), filepath.Join(top, "home")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	t := &pane{B: b, peer: p, model: &peerModel{}, reply: make(chan []string, 1), wrote: make(chan struct{}, 1)}
	t.model.answers(50)
	server := httptest.NewServer(t.model)
	b.Cleanup(server.Close)
	b.Cleanup(server.CloseClientConnections)
	args, env := p.setup(b, home, dir, server.URL)
	config := filepath.Join(top, "tmux.conf")
	options := "set -g status off\nset -g history-limit 100000\nset -s escape-time 0\nset -g remain-on-exit on\nset -g default-terminal tmux-256color\n"
	if err := os.WriteFile(config, []byte(options), 0o600); err != nil {
		b.Fatal(err)
	}
	tmux := exec.Command("tmux", "-u", "-S", filepath.Join(top, "s"), "-f", config, "-C", "new-session", "-x", "100", "-y", "30", "-c", dir, "exec cat")
	env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "TERM=") })
	tmux.Env = append(env, "SHELL=/bin/sh", "LC_ALL=C.UTF-8", "COLORTERM=truecolor")
	if t.in, err = tmux.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := tmux.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := tmux.Start(); err != nil {
		b.Fatal(err)
	}
	t.socket, t.control = filepath.Join(top, "s"), tmux
	b.Cleanup(t.close)
	go t.read(out)
	<-t.reply // of new-session
	t.id = t.tmux("display-message -p '#{pane_id}'")[0]
	t.tmux("resize-window -t " + t.id + " -x 100 -y 30")
	var line []string
	for _, a := range append([]string{program}, args...) {
		line = append(line, "'"+a+"'")
	}
	script := filepath.Join(top, "start")
	if err := os.WriteFile(script, []byte("exec "+strings.Join(line, " ")+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	t.began = time.Now()
	t.tmux("respawn-pane -k -t " + t.id + " 'exec sh " + script + "'")
	if t.pid, err = strconv.Atoi(t.tmux("display-message -p -t " + t.id + " '#{pane_pid}'")[0]); err != nil {
		b.Fatal(err)
	}
	return t
}

func (t *pane) read(from io.Reader) {
	lines := bufio.NewReader(from)
	var block []string
	inside := false
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			close(t.reply)
			return
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case inside && (strings.HasPrefix(line, "%end ") || strings.HasPrefix(line, "%error ")):
			inside = false
			t.reply <- block
		case inside:
			block = append(block, line)
		case strings.HasPrefix(line, "%begin "):
			block, inside = nil, true
		case strings.HasPrefix(line, "%output "):
			select {
			case t.wrote <- struct{}{}:
			default:
			}
		}
	}
}

// tmux performs a command of tmux.
func (t *pane) tmux(command string) []string {
	t.Helper()
	if _, err := io.WriteString(t.in, command+"\n"); err != nil {
		t.Fatal(err)
	}
	block, ok := <-t.reply
	if !ok {
		t.Fatalf("tmux has ended at %q", command)
	}
	return block
}

func (t *pane) types(keys ...string) { t.tmux("send-keys -t " + t.id + " " + strings.Join(keys, " ")) }

func (t *pane) text() string { return strings.Join(t.tmux("capture-pane -p -t "+t.id), "\n") }

func (t *pane) all() string { return strings.Join(t.tmux("capture-pane -p -J -S - -t "+t.id), "\n") }

// until waits for a condition of the screen, and returns when it held.
func (t *pane) until(what string, holds func(screen string) bool) time.Time {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		screen := t.text()
		if holds(screen) {
			return time.Now()
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not show %s, but\n%s", t.name, what, screen)
		}
		select {
		case <-t.wrote:
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (t *pane) sees(text string) time.Time {
	t.Helper()
	return t.until(text, func(screen string) bool { return strings.Contains(screen, text) })
}

// says sends words to the agent.
func (t *pane) says(text string) {
	t.Helper()
	t.types("-l", "'"+text+"'")
	t.sees(text)
	time.Sleep(100 * time.Millisecond) // some take a key that follows at once for a paste
	t.types("Enter")
}

// streams begins an answer.
func (t *pane) streams(rate int) {
	t.Helper()
	t.model.answers(rate)
	t.says("go")
	word := t.model.word()
	t.until("text that streams", func(screen string) bool { return len(word.FindAllString(screen, -1)) >= 5 })
}

// stops interrupts the answer and returns how long it took until the connection was closed. An Esc
// without an effect is counted, and pressed again.
func (t *pane) stops() time.Duration {
	t.Helper()
	for range 3 {
		if t.again != "" {
			t.types("Escape")
			t.sees(t.again)
		}
		began := time.Now()
		t.types("Escape")
		select {
		case at := <-t.model.left:
			return at.Sub(began)
		case <-time.After(5 * time.Second):
			t.missed++
		}
	}
	t.Fatalf("%s does not stop:\n%s", t.name, t.text())
	return 0
}

// rests waits until nothing changes on the screen, and clears the input.
func (t *pane) rests() {
	t.Helper()
	for before := ""; ; {
		time.Sleep(300 * time.Millisecond)
		now := t.text()
		if now == before {
			break
		}
		before = now
	}
	t.types("C-u")
	time.Sleep(50 * time.Millisecond)
}

// cpu returns the processor time of the peer with all its processes.
func (t *pane) cpu() (sum time.Duration) {
	for _, used := range t.processes() {
		sum += used
	}
	return sum
}

// processes returns the processes of the peer, with the processor time of each.
func (t *pane) processes() map[int]time.Duration {
	parents, used := map[int]int{}, map[int]time.Duration{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is one
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		parents[pid], _ = strconv.Atoi(fields[1])
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		used[pid] = time.Duration(user+system) * 10 * time.Millisecond
	}
	for pid := range used {
		p := pid
		for p > 1 && p != t.pid {
			p = parents[p]
		}
		if p != t.pid {
			delete(used, pid)
		}
	}
	return used
}

// close ends tmux and all processes of the peer.
func (t *pane) close() {
	all := t.processes()
	_ = exec.Command("tmux", "-S", t.socket, "kill-server").Run() // it may have ended
	_ = t.control.Wait()
	for pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	for range 100 {
		alive := 0
		for pid := range all {
			if syscall.Kill(pid, 0) == nil {
				alive++
			}
		}
		if alive == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (t *pane) share() float64 {
	from, began := t.cpu(), time.Now()
	time.Sleep(5 * time.Second)
	return 100 * float64(t.cpu()-from) / float64(time.Since(began))
}

func percentile(ds []time.Duration, of int) float64 {
	slices.Sort(ds)
	return float64(ds[min(len(ds)-1, len(ds)*of/100)].Microseconds()) / 1000
}

// BenchmarkPeers measures terminal agents in one sitting, one after the other, each in tmux and with the same
// answers: until the input is drawn, from a key to its echo while 500 words a second stream, from Esc to the
// closed connection, from the request to the dialog, the processor while 50 words a second stream and at rest, and
// what 30 resizes leave in the scrollback. Agents that are not in PATH are skipped.
func BenchmarkPeers(b *testing.B) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			for range b.N {
				measurePeer(b, p)
			}
		})
	}
}

func measurePeer(b *testing.B, p peer) {
	var starts []time.Duration
	var t *pane
	for range 5 {
		if t != nil {
			t.close()
		}
		t = openPane(b, p)
		starts = append(starts, t.sees(p.ready).Sub(t.began))
	}
	b.ReportMetric(median(starts), "ms/ready")
	time.Sleep(5 * time.Second) // some are still starting
	t.rests()
	b.ReportMetric(t.share(), "%cpu-idle")

	t.streams(50)
	b.ReportMetric(t.share(), "%cpu-streaming")
	t.stops()
	t.rests()

	t.streams(500)
	var keys []time.Duration
	text := ""
	for i := range 50 {
		text += string(rune('A' + i%26))
		began := time.Now()
		t.types("-l", text[len(text)-1:])
		keys = append(keys, t.sees(text).Sub(began))
		time.Sleep(20 * time.Millisecond)
	}
	t.types("C-u")
	b.ReportMetric(median(keys), "ms/key")
	b.ReportMetric(percentile(keys, 99), "ms/key-p99")
	time.Sleep(300 * time.Millisecond)
	t.stops()
	t.rests()

	var closed []time.Duration
	for range 50 {
		t.streams(20)
		closed = append(closed, t.stops())
		t.rests()
	}
	b.ReportMetric(median(closed), "ms/closed")
	b.ReportMetric(percentile(closed, 99), "ms/closed-p99")
	b.ReportMetric(float64(t.missed), "esc-missed")

	if !p.full {
		t.close()
		t = openPane(b, p)
		t.sees(p.ready)
		t.rests()
		t.streams(500)
		word := t.model.word()
		t.until("a full window", func(screen string) bool {
			all := word.FindAllStringSubmatch(screen, -1)
			if len(all) == 0 {
				return false
			}
			n, _ := strconv.Atoi(all[len(all)-1][1])
			return n > 600
		})
		for i := range 30 {
			t.tmux(fmt.Sprintf("resize-window -t %s -x %d -y %d", t.id, 60+(i*37)%50, 20+(i*13)%16))
			time.Sleep(300 * time.Millisecond)
		}
		t.stops()
		t.rests()
		all := t.all()
		count, most := map[string]int{}, 0
		for _, w := range word.FindAllStringSubmatch(all, -1) {
			count[w[1]]++
			n, _ := strconv.Atoi(w[1])
			most = max(most, n)
		}
		twice := 0
		for _, n := range count {
			if n > 1 {
				twice++
			}
		}
		b.ReportMetric(float64(most+1), "words")
		b.ReportMetric(float64(most+1-len(count)), "words-lost")
		b.ReportMetric(float64(twice), "words-repeated")
		b.ReportMetric(float64(strings.Count(all, p.chrome)-strings.Count(t.text(), p.chrome)), "rows-left")
		if name := os.Getenv("PAWL_BENCH_SCREENS"); name != "" {
			if err := os.WriteFile(filepath.Join(name, p.name), []byte(all), 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}

	if p.dialog != "" {
		var dialogs []time.Duration
		for range 5 {
			t.close()
			t = openPane(b, p)
			t.sees(p.ready)
			t.rests()
			t.model.answers(0)
			t.says("make a file")
			drawn := t.sees(p.dialog)
			dialogs = append(dialogs, drawn.Sub(t.model.asked()))
		}
		b.ReportMetric(median(dialogs), "ms/dialog")
	}
}
