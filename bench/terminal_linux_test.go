package bench

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/internal/screen/screentest"
)

// A terminal is the terminal agent on a pseudo-terminal of 100 columns and 30 rows.
type terminal struct {
	*testing.B
	cmd    *exec.Cmd
	master *os.File
	began  time.Time

	mu    sync.Mutex
	out   bytes.Buffer
	more  chan struct{} // closed when there is more
	ended bool
}

// startTerminal starts the binary of a rig.
func startTerminal(b *testing.B, r *rig, env ...string) *terminal {
	b.Helper()
	pty := screentest.NewPty(b, 100, 30)
	defer pty.Tty.Close()
	t := &terminal{B: b, cmd: r.command(), master: pty.Master, more: make(chan struct{})}
	t.cmd.Env = append(append(t.cmd.Env, "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=1"), env...)
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = pty.Tty, pty.Tty, pty.Tty
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	t.began = time.Now()
	if err := t.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go t.read()
	b.Cleanup(t.stop)
	return t
}

func (t *terminal) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := t.master.Read(buf)
		t.mu.Lock()
		t.out.Write(buf[:n])
		t.ended = err != nil
		close(t.more)
		t.more = make(chan struct{})
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (t *terminal) stop() {
	_ = t.cmd.Process.Kill()
	_ = t.cmd.Wait()
	_ = t.master.Close()
}

// sees waits until text has been written since mark, and returns when.
func (t *terminal) sees(mark int, text string) time.Time {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		t.mu.Lock()
		found, more, ended := bytes.Contains(t.out.Bytes()[mark:], []byte(text)), t.more, t.ended
		t.mu.Unlock()
		switch {
		case found:
			return time.Now()
		case ended:
			t.Fatalf("it has ended before it wrote %q", text)
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("it does not write %q, but at the end %q", text, t.out.Bytes()[max(0, t.mark()-1000):])
		}
	}
}

// mark returns how much was written until now.
func (t *terminal) mark() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Len()
}

func (t *terminal) types(text string) {
	t.Helper()
	if _, err := t.master.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// cpu returns the processor time that the process has used.
func (t *terminal) cpu() time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100
}

// rss returns the memory of the process in MB.
func (t *terminal) rss() float64 { return t.memory("VmRSS:") }

// anon returns the same without the pages of its file.
func (t *terminal) anon() float64 { return t.memory("RssAnon:") }

func (t *terminal) memory(field string) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), field)
	kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kb / 1024
}

// streaming is a model that says a word a number of times a second, for as long as it is asked.
func streaming(b *testing.B, r *rig, rate int) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(kind, data string) {
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
			w.(http.Flusher).Flush()
		}
		event("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`)
		event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-tick.C:
			case <-q.Context().Done():
				return
			}
			word := "word "
			if i%40 == 39 {
				word = `\n\n`
			}
			event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+word+`"}}`)
		}
	}))
	b.Cleanup(server.Close)
	b.Cleanup(server.CloseClientConnections)
	r.url = server.URL
}

const ready = "enter: send"

// BenchmarkTerminalStart: from the start of the process until the input is drawn (bar: 100 ms).
func BenchmarkTerminalStart(b *testing.B) {
	var all []time.Duration
	r := newRig(b, `{"text":"done"}`)
	for b.Loop() {
		t := startTerminal(b, r)
		all = append(all, t.sees(0, ready).Sub(t.began))
		t.stop()
	}
	b.ReportMetric(median(all), "ms/ready")
}

// BenchmarkTerminalDialog: from the request whose answer needs approval until the dialog is
// drawn, with the answer's way and two commits in between (bar: 16 ms).
func BenchmarkTerminalDialog(b *testing.B) {
	var all []time.Duration
	for b.Loop() {
		r := newRig(b, `{"calls":[{"tool":"shell","args":{"command":"touch a"}}]}`)
		t := startTerminal(b, r)
		t.sees(0, ready)
		t.types("go\r")
		drawn := t.sees(0, "Allow this time")
		all = append(all, drawn.Sub(r.server.Requests()[0].At))
		t.stop()
	}
	b.ReportMetric(median(all), "ms/dialog")
}

// BenchmarkTerminalEsc: from Esc until the connection is closed (bar: 5 ms, 99 of 100: 10 ms).
func BenchmarkTerminalEsc(b *testing.B) {
	var all []time.Duration
	for b.Loop() {
		r := newRig(b, strings.Repeat(`{"text":"on and on ","endless":true}`+"\n", 40))
		t := startTerminal(b, r)
		t.sees(0, ready)
		for range 20 {
			mark := t.mark()
			t.types("go\r")
			t.sees(mark, "on and on on and on")
			began := time.Now()
			t.types("\x1b")
			<-r.server.Left()
			all = append(all, time.Since(began))
			t.sees(mark, "say what to do next")
		}
		t.stop()
	}
	b.ReportMetric(median(all), "ms/closed")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "ms/closed-p99") // median has sorted them
}

// BenchmarkTerminalEcho: from a key until it is drawn, while 500 words a second stream (bar: 16 ms).
func BenchmarkTerminalEcho(b *testing.B) {
	var all []time.Duration
	for b.Loop() {
		r := newRig(b, `{"text":"unused"}`)
		streaming(b, r, 500)
		t := startTerminal(b, r)
		t.sees(0, ready)
		t.types("go\r")
		t.sees(0, "word word word word")
		text := ""
		for i := range 60 {
			text += string(rune('A' + i%26))
			mark, began := t.mark(), time.Now()
			t.types(text[len(text)-1:])
			all = append(all, t.sees(mark, text).Sub(began))
		}
		t.stop()
	}
	b.ReportMetric(median(all), "ms/key")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "ms/key-p99")
}

// BenchmarkTerminalLoad: the share of a processor while 50 words a second stream (bar: 10 %) and
// at rest (bar: 0), and what is written for a frame.
func BenchmarkTerminalLoad(b *testing.B) {
	var busy, idle, perFrame []float64
	for b.Loop() {
		r := newRig(b, `{"text":"unused"}`)
		streaming(b, r, 50)
		t := startTerminal(b, r)
		t.sees(0, ready)
		share := func() float64 {
			from, began := t.cpu(), time.Now()
			time.Sleep(4 * time.Second)
			return 100 * float64(t.cpu()-from) / float64(time.Since(began))
		}
		idle = append(idle, share())
		t.types("go\r")
		t.sees(0, "word word word word")
		mark := t.mark()
		busy = append(busy, share())
		t.mu.Lock()
		written := t.out.Bytes()[mark:]
		perFrame = append(perFrame, float64(len(written))/float64(max(1, bytes.Count(written, []byte("\x1b[?2026h")))))
		t.mu.Unlock()
		t.stop()
	}
	for _, m := range []struct {
		all  []float64
		unit string
	}{{busy, "%cpu-streaming"}, {idle, "%cpu-idle"}, {perFrame, "bytes/frame"}} {
		slices.Sort(m.all)
		b.ReportMetric(m.all[len(m.all)/2], m.unit)
	}
}

// BenchmarkTerminalRest: how often a second a thread of a terminal agent at rest is given a
// processor, and of its helpers (bar: 0).
func BenchmarkTerminalRest(b *testing.B) {
	const rest = 5 * time.Second
	var all []float64
	for b.Loop() {
		r := newRig(b, `{"text":"unused"}`)
		t := startTerminal(b, r)
		t.sees(0, ready)
		time.Sleep(2 * time.Second) // what a start leaves behind
		before := t.switches()
		time.Sleep(rest)
		all = append(all, float64(t.switches()-before)/rest.Seconds())
		t.stop()
	}
	slices.Sort(all)
	b.ReportMetric(all[len(all)/2], "wakeups/s")
}

// switches returns how often a thread of the process and of those below it has given up a processor.
func (t *terminal) switches() (sum int) {
	for _, pid := range append(below(t.cmd.Process.Pid), t.cmd.Process.Pid) {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		for _, thread := range threads {
			text, _ := os.ReadFile(thread) // empty: it has ended
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, "ctxt_switches") {
					fields := strings.Fields(line)
					n, _ := strconv.Atoi(fields[len(fields)-1])
					sum += n
				}
			}
		}
	}
	return sum
}

// BenchmarkTerminalMemory: memory after 100 and after 5,000 messages of a run (bar: flat).
func BenchmarkTerminalMemory(b *testing.B) {
	const steps, turns = 840, 3 // a turn has at most 1,000 calls
	for b.Loop() {
		r := newRig(b, `{"text":"I look.","calls":[{"tool":"glob","args":{"pattern":"{{count}}*"}}],"repeat":true}`)
		t := startTerminal(b, r, fmt.Sprintf("PAWL_MAX_STEPS=%d", steps))
		t.sees(0, ready)
		for n := range turns {
			mark := t.mark()
			t.types("go\r")
			if n == 0 {
				t.sees(0, "Find 50*")
				b.ReportMetric(t.rss(), "MB/early")
				b.ReportMetric(t.anon(), "MB/early-own")
			}
			t.sees(mark, "say what to do next")
		}
		time.Sleep(time.Second) // at rest
		b.ReportMetric(t.rss(), "MB/late")
		b.ReportMetric(t.anon(), "MB/late-own")
		t.stop()
	}
}
