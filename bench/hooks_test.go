package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkHooks: what hooks of the person add to a call, from the end of an answer to the next request: twenty that match
// nothing (bar: nothing), and one that runs (bar: 3 ms beyond a bare bash). By turns with calls without hooks, in the same
// run.
func BenchmarkHooks(b *testing.B) {
	const calls = 20
	run := func(hooks ...string) func() []time.Duration {
		type group map[string]any
		var groups []group
		for _, matcher := range hooks {
			groups = append(groups, group{"matcher": matcher, "hooks": []group{{"type": "command", "command": ":"}}})
		}
		content, err := json.Marshal(group{"hooks": group{"PreToolUse": groups}})
		if err != nil {
			b.Fatal(err)
		}
		config, dir := b.TempDir(), b.TempDir()
		if err := os.MkdirAll(filepath.Join(config, "pawl"), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(config, "pawl", "hooks.json"), content, 0o600); err != nil {
			b.Fatal(err)
		}
		return func() []time.Duration {
			var replies strings.Builder
			for i := range calls {
				fmt.Fprintf(&replies, `{"calls":[{"tool":"glob","args":{"pattern":"*.%d"}}]}`+"\n", i)
			}
			r := newRig(b, replies.String()+`{"text":"done"}`)
			r.dir = dir
			h := r.timed(b)
			cmd := r.command("run", "-p", "hi")
			cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+config)
			if out, err := cmd.CombinedOutput(); err != nil || h.count() != calls+1 {
				b.Fatalf("%v after %d requests\n%s", err, h.count(), out)
			}
			return h.gaps()[1:] // with the first call the helper starts
		}
	}
	var other []string
	for i := range 20 {
		other = append(other, fmt.Sprintf("Other%d", i))
	}
	none, idle, one := run(), run(other...), run("*")
	var plain, unmatched, hooked, bare []time.Duration
	for b.Loop() {
		plain, unmatched, hooked = append(plain, none()...), append(unmatched, idle()...), append(hooked, one()...)
		for range calls {
			began := time.Now()
			if err := exec.Command("bash", "-c", ":").Run(); err != nil {
				b.Fatal(err)
			}
			bare = append(bare, time.Since(began))
		}
	}
	b.ReportMetric(median(plain), "ms/call")
	b.ReportMetric(median(unmatched)-median(plain), "ms/20-that-match-nothing")
	b.ReportMetric(median(hooked)-median(plain)-median(bare), "ms/hook-beyond-bash")
	b.ReportMetric(least(hooked)-least(plain)-least(bare), "ms/hook-beyond-bash-least")
	b.ReportMetric(median(bare), "ms/bare-bash")
}
