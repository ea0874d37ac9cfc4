package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// turnModel calls the tool that runs commands for a number of turns, and notes when requests
// came and answers ended.
type turnModel struct {
	turns int

	mu         sync.Mutex
	came, went []time.Time
}

func (m *turnModel) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	came := time.Now()
	var q struct{ Tools []struct{ Name string } }
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.came)
	w := wires["/messages"]
	answer := w.begin + w.say("done") + w.end
	for _, t := range q.Tools {
		if n < m.turns && slices.ContainsFunc(commandTools, func(c [2]string) bool { return c[0] == t.Name }) {
			answer = strings.Replace(w.begin+w.call(t.Name, fmt.Sprintf(`{"command":"echo %d"}`, n)), "toolu_1", fmt.Sprint("toolu_", n), 1)
		}
	}
	out.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(out, answer) // a peer that has gone asks no more
	out.(http.Flusher).Flush()
	m.came, m.went = append(m.came, came), append(m.went, time.Now())
}

// BenchmarkTurnBesidePi: a turn of pawl, sandboxed and durable, beside one of pi, which has no
// sandbox and syncs nothing (bar: at most half). Both run the same twenty commands without a
// terminal, by turns; the first turn of each run does not count.
func BenchmarkTurnBesidePi(b *testing.B) {
	runs := []struct {
		peer    peer
		program string
		args    []string
		gaps    []time.Duration
		cpu     []time.Duration
	}{
		{args: []string{"run", "-p", "go", "--mode", "bypass", "--allow", "shell(echo *)"}},
		{args: []string{"-p", "go"}},
	}
	for i, name := range []string{"pawl", "pi"} {
		r := &runs[i]
		r.peer = peers[slices.IndexFunc(peers, func(p peer) bool { return p.name == name })]
		var err error
		if name == "pawl" {
			r.program, err = build()
		} else if r.program, err = exec.LookPath(r.peer.program); err != nil {
			b.Skipf("needs %s: %s, and PATH with its node_modules/.bin", r.peer.program, r.peer.install)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	const turns = 20
	for b.Loop() {
		for i := range runs {
			r := &runs[i]
			m := &turnModel{turns: turns}
			server := httptest.NewServer(m)
			dir := b.TempDir()
			args, env := r.peer.setup(b, b.TempDir(), dir, server.URL)
			cmd := exec.Command(r.program, append(args, r.args...)...)
			cmd.Dir, cmd.Env = dir, append(env, "SHELL=/bin/bash") // as a terminal has it: else bash looks the user up
			out, err := cmd.CombinedOutput()
			server.Close()
			if err != nil || len(m.came) != turns+1 {
				b.Fatalf("%s: %v after %d requests\n%s", r.peer.name, err, len(m.came), out)
			}
			for k := 2; k <= turns; k++ {
				r.gaps = append(r.gaps, m.came[k].Sub(m.went[k-1]))
			}
			r.cpu = append(r.cpu, cpu(cmd))
		}
	}
	for i := range runs {
		r := &runs[i]
		b.ReportMetric(least(r.gaps), "ms/"+r.peer.name+"-least")
		b.ReportMetric(median(r.gaps), "ms/"+r.peer.name)
		b.ReportMetric(least(r.cpu), "ms/"+r.peer.name+"-cpu-least")
	}
	b.ReportMetric(median(runs[0].gaps)/median(runs[1].gaps), "ratio")
}
