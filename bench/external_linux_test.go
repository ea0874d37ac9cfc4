package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkExternalRun: what pawl adds to a run of Claude Code, with a program in its place that starts pawl's server as
// Claude Code does and works for no time: from the start of the process to that of the program, and from the end of its
// stream to the end of the process (bar: 100 ms for both). Proportional memory, while the program works, of pawl (bar:
// 20 MB) and of its server; the program itself is not counted.
func BenchmarkExternalRun(b *testing.B) {
	r := newRig(b, `{"text":"unused"}`)
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	bin := b.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, standIn)); err != nil {
		b.Fatal(err)
	}
	var starts, ends, boths []time.Duration
	var own, server []float64
	for b.Loop() {
		notes := b.TempDir()
		cmd := r.command("run", "-m", "claude-code/default", "-p", "hi")
		cmd.Env = append(cmd.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "ANTHROPIC_API_KEY=k", "BENCH_NOTES="+notes)
		began := time.Now()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		for _, err := os.Stat(filepath.Join(notes, "listed")); err != nil; _, err = os.Stat(filepath.Join(notes, "listed")) {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second) // what its start has left is given back
		own = append(own, pss(cmd.Process.Pid))
		for _, p := range below(cmd.Process.Pid) {
			if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p)); strings.Contains(string(line), "mcp\x00serve") {
				server = append(server, pss(p))
			}
		}
		if err := os.WriteFile(filepath.Join(notes, "go"), nil, 0o600); err != nil {
			b.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		over := time.Now()
		at := func(name string) time.Time {
			text, err := os.ReadFile(filepath.Join(notes, name))
			if err != nil {
				b.Fatal(err)
			}
			n, _ := strconv.ParseInt(string(text), 10, 64) // as the program wrote it
			return time.Unix(0, n)
		}
		starts, ends = append(starts, at("began").Sub(began)), append(ends, over.Sub(at("ended")))
		boths = append(boths, starts[len(starts)-1]+ends[len(ends)-1])
	}
	b.ReportMetric(median(starts), "ms/start")
	b.ReportMetric(median(ends), "ms/end")
	b.ReportMetric(median(boths), "ms/both")
	b.ReportMetric(least(boths), "ms/both-least")
	b.ReportMetric(slices.Min(own), "MB/pawl-least")
	if len(server) > 0 {
		b.ReportMetric(slices.Min(server), "MB/server-least")
	}
}

// pss returns the proportional memory of a process in MB.
func pss(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) // empty: it has ended
	_, rest, _ := strings.Cut(string(text), "\nPss:")
	kb, _ := strconv.ParseFloat(strings.Fields(rest + " 0")[0], 64)
	return kb / 1000
}

// standIn is the name by which this test binary is the program in the place of Claude Code.
const standIn = "claude"

func playClaude() error {
	note := func(name string) error {
		part := filepath.Join(os.Getenv("BENCH_NOTES"), name)
		if err := os.WriteFile(part+".part", strconv.AppendInt(nil, time.Now().UnixNano(), 10), 0o600); err != nil {
			return err
		}
		return os.Rename(part+".part", part)
	}
	if slices.Contains(os.Args, "--version") {
		fmt.Println("2.1.197 (Claude Code)")
		return nil
	}
	if err := note("began"); err != nil {
		return err
	}
	flag := func(name string) string { return os.Args[slices.Index(os.Args, name)+1] }
	text, err := os.ReadFile(flag("--mcp-config"))
	if err != nil {
		return err
	}
	var config struct {
		Servers map[string]struct {
			Command string            `json:"command"`
			Args    []string          `json:"args"`
			Env     map[string]string `json:"env"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	of := config.Servers["pawl"]
	server := exec.Command(of.Command, of.Args...)
	for name, value := range of.Env {
		server.Env = append(server.Env, name+"="+value)
	}
	in, err := server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	answers := bufio.NewReader(out)
	for _, request := range []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`} {
		if _, err := io.WriteString(in, request+"\n"); err != nil {
			return err
		}
		if _, err := answers.ReadString('\n'); err != nil {
			return err
		}
	}
	session := fmt.Sprintf(`"session_id":%q`, flag("--session-id"))
	fmt.Printf(`{"type":"system","subtype":"init",%s,"mcp_servers":[{"name":"pawl","status":"connected"}]}`+"\n", session)
	if err := note("listed"); err != nil {
		return err
	}
	for _, err := os.Stat(filepath.Join(os.Getenv("BENCH_NOTES"), "go")); err != nil; _, err = os.Stat(filepath.Join(os.Getenv("BENCH_NOTES"), "go")) {
		time.Sleep(time.Millisecond)
	}
	in.Close()
	_ = server.Wait()
	if err := note("ended"); err != nil {
		return err
	}
	fmt.Printf(`{"type":"result","subtype":"success","result":"hello",%s,"usage":{"input_tokens":1,"output_tokens":1}}`+"\n", session)
	return nil
}
