package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/internal/proc/proctest"
	"pawl/llm/llmtest/fake"
	"pawl/llm/script"
)

// build returns the binary that is measured: PAWL_BENCH_BINARY, to compare two in one
// sitting, or that of this tree.
var build = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("PAWL_BENCH_BINARY"); bin != "" {
		return bin, nil
	}
	dir, err := os.MkdirTemp("", "pawl-bench-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "pawl")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "pawl/cmd/pawl") // as .ci/release
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
})

// rig is the binary, a workspace of its own, and a scripted model.
type rig struct {
	bin, dir, state string
	server          *fake.Server
	url             string
}

func newRig(b *testing.B, replies string) *rig {
	b.Helper()
	bin, err := build()
	if err != nil {
		b.Fatal(err)
	}
	s, err := script.Parse(strings.NewReader(replies))
	if err != nil {
		b.Fatal(err)
	}
	r := &rig{bin: bin, dir: b.TempDir(), state: b.TempDir(), server: fake.New(s, true)}
	url, stop, err := r.server.Listen()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(stop)
	r.url = url
	return r
}

// timed lets a heart note when requests come and answers end.
func (r *rig) timed(b *testing.B) *heart {
	h := &heart{model: r.server}
	server := httptest.NewServer(h)
	b.Cleanup(server.Close)
	r.url = server.URL
	return h
}

// count returns how many requests were answered.
func (h *heart) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.beats)
}

// gaps returns the times from the end of each answer to the next request.
func (h *heart) gaps() (gaps []time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := 1; i < len(h.beats); i++ {
		gaps = append(gaps, h.beats[i].came.Sub(h.beats[i-1].went))
	}
	return gaps
}

func (r *rig) command(args ...string) *exec.Cmd {
	cmd := exec.Command(r.bin, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "PAWL_STATE_DIR="+r.state, "ANTHROPIC_BASE_URL="+r.url, "ANTHROPIC_API_KEY=k", "PAWL_MODEL=anthropic/m")
	return cmd
}

func median(ds []time.Duration) float64 {
	slices.Sort(ds)
	return float64(ds[len(ds)/2].Microseconds()) / 1000
}

// thinking is how many milliseconds the model takes before the first byte of its first answer:
// no model takes less.
const thinking = 50

// turns is a script of n shell calls and an end.
func turns(n int, command string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"calls":[{"tool":"shell","args":{"command":%q}}],"delay_ms":%d}`+"\n", fmt.Sprintf(command, i), thinking*max(0, 1-i))
	}
	b.WriteString(`{"text":"done"}` + "\n")
	return b.String()
}

// least returns the smallest, in milliseconds: what it costs when nothing else runs.
func least(ds []time.Duration) float64 {
	return float64(slices.Min(ds).Microseconds()) / 1000
}

// cpu returns the processor time of an ended process and of its children.
func cpu(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// BenchmarkVersion: a command that needs nothing (bar: 5 ms), and the size of the binary
// (22 MB).
func BenchmarkVersion(b *testing.B) {
	bin, err := build()
	if err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(bin)
	if err != nil {
		b.Fatal(err)
	}
	var whole, used []time.Duration
	for b.Loop() {
		cmd := exec.Command(bin, "version")
		began := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		whole, used = append(whole, time.Since(began)), append(used, cpu(cmd))
	}
	b.ReportMetric(median(whole), "ms/version")
	b.ReportMetric(least(whole), "ms/version-least")
	b.ReportMetric(least(used), "ms/cpu-least")
	b.ReportMetric(float64(info.Size())/1e6, "MB/binary")
}

// BenchmarkStartWithSkills: what 200 skills add to the time until the first request (bar: 5 ms), 100 of the person and
// 100 of the repository, which are trusted; by turns with one of each.
func BenchmarkStartWithSkills(b *testing.B) {
	start := func(skills int) func() time.Duration {
		home, dir, state := b.TempDir(), b.TempDir(), b.TempDir()
		for _, folder := range []string{filepath.Join(home, ".claude"), filepath.Join(dir, ".agents")} {
			for i := range skills {
				at := filepath.Join(folder, "skills", fmt.Sprintf("skill-%d%s", i, filepath.Base(folder)[1:]))
				text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n%s", filepath.Base(at), strings.Repeat("what it is for ", 10), strings.Repeat("a line of instructions\n", 100))
				if err := errors.Join(os.MkdirAll(at, 0o755), os.WriteFile(filepath.Join(at, "SKILL.md"), []byte(text), 0o644)); err != nil {
					b.Fatal(err)
				}
			}
		}
		run := func(args ...string) time.Duration {
			r := newRig(b, `{"text":"hello"}`)
			r.dir, r.state = dir, state
			cmd := r.command(args...)
			cmd.Env = append(cmd.Env, "HOME="+home)
			began := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			if len(r.server.Requests()) == 0 {
				return 0
			}
			return r.server.Requests()[0].At.Sub(began)
		}
		run("trust", "--yes")
		return func() time.Duration { return run("run", "-p", "hi") }
	}
	many, few := start(100), start(1)
	var with, without []time.Duration
	for b.Loop() {
		with, without = append(with, many()), append(without, few())
	}
	b.ReportMetric(median(with)-median(without), "ms/200-skills")
	b.ReportMetric(least(with)-least(without), "ms/200-skills-least")
	b.ReportMetric(least(without), "ms/first-request-least")
}

// BenchmarkStartWithServers: what ten MCP servers that a run does not use add to the time until its first request (bar: 5 ms); by
// turns without any. They are pawl itself, in the folder of the run since their sandbox has no other temporary one, and were asked
// for their tools by a run before.
func BenchmarkStartWithServers(b *testing.B) {
	bin, err := build()
	if err != nil {
		b.Fatal(err)
	}
	dir, state := b.TempDir(), b.TempDir()
	program, err := os.ReadFile(bin)
	if err != nil {
		b.Fatal(err)
	}
	server := proctest.Program(b, filepath.Join(dir, "server"), string(program))
	servers := map[string]any{}
	for i := range 10 {
		servers[fmt.Sprintf("s%d", i)] = map[string]any{"command": server, "args": []string{"mcp", "serve"}}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		b.Fatal(err)
	}
	run := func(args ...string) time.Duration {
		r := newRig(b, `{"text":"hello"}`)
		r.dir, r.state = dir, state
		cmd := r.command(append([]string{"run", "-p", "hi"}, args...)...)
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		return r.server.Requests()[0].At.Sub(began)
	}
	run("--mcp-config", string(config))
	if kept, _ := filepath.Glob(filepath.Join(state, "workspaces", "*", "mcp", "*.json")); len(kept) != len(servers) {
		b.Fatalf("%d servers have listed their tools", len(kept))
	}
	var with, without []time.Duration
	for b.Loop() {
		with, without = append(with, run("--mcp-config", string(config))), append(without, run())
	}
	b.ReportMetric(median(with)-median(without), "ms/10-servers")
	b.ReportMetric(least(with)-least(without), "ms/10-servers-least")
	b.ReportMetric(least(without), "ms/first-request-least")
}

// BenchmarkParallel: four commands that sleep a second, in one message (bar: 1,015 ms
// from the end of the answer to the next request). The same four without pawl are measured
// in the same run.
func BenchmarkParallel(b *testing.B) {
	var gaps, bare []time.Duration
	call := `{"tool":"shell","args":{"command":"sleep 1"}}`
	for b.Loop() {
		r := newRig(b, fmt.Sprintf(`{"calls":[%s],"delay_ms":%d}`+"\n"+`{"text":"done"}`, strings.Join([]string{call, call, call, call}, ","), thinking))
		h := r.timed(b)
		if out, err := r.command("run", "-p", "hi").CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		gaps = append(gaps, h.gaps()...)
		began := time.Now()
		var sleepers [4]*exec.Cmd
		for i := range sleepers {
			sleepers[i] = exec.Command("bash", "-c", "sleep 1")
			if err := sleepers[i].Start(); err != nil {
				b.Fatal(err)
			}
		}
		for _, s := range sleepers {
			if err := s.Wait(); err != nil {
				b.Fatal(err)
			}
		}
		bare = append(bare, time.Since(began))
	}
	b.ReportMetric(median(gaps), "ms/turn")
	b.ReportMetric(least(gaps), "ms/turn-least")
	b.ReportMetric(least(bare), "ms/bare-least")
}

// BenchmarkInterruptStreaming: from SIGINT to the closed connection at the model
// (bar: 5 ms).
func BenchmarkInterruptStreaming(b *testing.B) {
	var closed []time.Duration
	for b.Loop() {
		r := newRig(b, `{"text":"on and on","hang":true}`)
		cmd := r.command("run", "-p", "hi", "--output", "stream-json")
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		waitFor(b, out, "on and on")
		began := time.Now()
		_ = cmd.Process.Signal(syscall.SIGINT)
		<-r.server.Left()
		closed = append(closed, time.Since(began))
		_ = cmd.Wait() // 130
	}
	b.ReportMetric(median(closed), "ms/closed")
}

// BenchmarkInterruptTool: from the signal to the death of the last process of the
// tool (bar: 50 ms).
func BenchmarkInterruptTool(b *testing.B) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		b.Run(sig.String(), func(b *testing.B) {
			var gone []time.Duration
			for b.Loop() {
				r := newRig(b, `{"calls":[{"tool":"shell","args":{"command":"echo begun > begun; trap '' TERM INT; (setsid sleep 86399 &) ; sleep 86399"}}]}`+"\n"+`{"text":"x","repeat":true}`)
				cmd := r.command("run", "-p", "hi", "--mode", "bypass", "--allow", "shell")
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				for sleepers() < 2 {
					time.Sleep(time.Millisecond)
				}
				began := time.Now()
				_ = cmd.Process.Signal(sig)
				for sleepers() > 0 {
					if time.Since(began) > 5*time.Second {
						b.Fatal("something survived")
					}
					time.Sleep(200 * time.Microsecond)
				}
				gone = append(gone, time.Since(began))
				_ = cmd.Wait()
			}
			b.ReportMetric(median(gone), "ms/gone")
		})
	}
}

// sleepers counts the processes of the tool.
func sleepers() int {
	n := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if c, err := os.ReadFile(f); err == nil && bytes.HasPrefix(c, []byte("sleep\x0086399")) {
			n++
		}
	}
	return n
}

func waitFor(b *testing.B, r interface{ Read([]byte) (int, error) }, text string) {
	var seen []byte
	buf := make([]byte, 4096)
	for !bytes.Contains(seen, []byte(text)) {
		n, err := r.Read(buf)
		seen = append(seen, buf[:n]...)
		if err != nil {
			b.Fatalf("%v after %q", err, seen)
		}
	}
	go func() { // keep the pipe empty
		for {
			if _, err := r.Read(buf); err != nil {
				return
			}
		}
	}()
}
