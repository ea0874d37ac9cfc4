//go:build linux

package main

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/store/postgres/pgtest"
	"pawl/task"
)

// A line connects a machine with a server. When it is cut, nothing passes any more, and neither end is told: connections
// stay as they are.
type line struct {
	listener net.Listener
	to       func() (net.Conn, error)

	mu   sync.Mutex
	cut  bool
	wait sync.Cond
}

// newLine returns a line to a server at an address of a network.
func newLine(t testing.TB, listen net.Listener, network, address string) *line {
	l := &line{listener: listen, to: func() (net.Conn, error) { return net.Dial(network, address) }}
	l.wait.L = &l.mu
	go func() {
		for {
			from, err := listen.Accept()
			if err != nil {
				return
			}
			go l.connect(from)
		}
	}()
	t.Cleanup(func() {
		listen.Close()
		l.set(false)
	})
	return l
}

func (l *line) connect(from net.Conn) {
	defer from.Close()
	l.pass()
	to, err := l.to()
	if err != nil {
		return // as a server that is away
	}
	defer to.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			buf := make([]byte, 32<<10)
			for {
				n, err := way[0].Read(buf)
				l.pass()
				if _, werr := way[1].Write(buf[:n]); err != nil || werr != nil {
					break
				}
			}
			ended <- struct{}{}
		}()
	}
	<-ended
}

// pass waits while the line is cut.
func (l *line) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.cut {
		l.wait.Wait()
	}
}

func (l *line) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	l.wait.Broadcast()
}

// own returns a site whose machines reach the servers of s by lines of their own.
func (s *site) own() (there *site, toDatabase, toTemporal *line) {
	s.t.Helper()
	u, err := url.Parse(s.database)
	ok(s.t, err)
	query := u.Query()
	socket := filepath.Join(query.Get("host"), ".s.PGSQL.5432")
	dir, err := os.MkdirTemp("", "line") // a name of a socket is short
	ok(s.t, err)
	s.t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, filepath.Base(socket)))
	ok(s.t, err)
	toDatabase = newLine(s.t, l, "unix", socket)
	query.Set("host", dir)
	u.RawQuery = query.Encode()

	l, err = net.Listen("tcp", "127.0.0.1:0")
	ok(s.t, err)
	toTemporal = newLine(s.t, l, "tcp", s.temporal.address)
	copied, temporal := *s, *s.temporal
	temporal.address = l.Addr().String()
	copied.database, copied.temporal = u.String(), &temporal
	return &copied, toDatabase, toTemporal
}

// pid names the process of a worker.
func pid(m *machine) string { return strconv.Itoa(m.cmd.Process.Pid) }

// A worker is cut off from the database or from Temporal, in silence and in the middle of a command. Cut off from the database it
// records nothing more, and another continues; cut off from Temporal alone, it keeps the lease and finishes its work. Each effect is
// made once.
func TestANetworkIsCut(t *testing.T) {
	t.Parallel()
	const script = planned + `{"when":{"first":"Carry out this task","contains":"unknown"},"repeat":true,"calls":[{"tool":"shell","args":{"command":"echo after >> effects"}}]}
{"when":{"first":"Carry out this task","contains":"step ended"},"repeat":true,"calls":[{"tool":"shell","args":{"command":"echo after >> effects"}}]}
{"when":{"first":"Carry out this task","contains":"exit"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}
{"when":{"first":"Carry out this task"},"calls":[{"tool":"shell","args":{"command":"echo begun >> effects; while [ ! -e go-on ]; do sleep 0.1; done; echo step ended"}}]}
{"when":{"first":"Carry out this task"},"repeat":true,"calls":[{"tool":"completion-report","args":{"status":"complete","summary":"Done."}}]}
`
	for name, fromDatabase := range map[string]bool{"from the database": true, "from Temporal": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, pgtest.Shared(t).Address(t))
			first, toDatabase, toTemporal := s.own()
			first.worker("first", script)
			id := s.add("make two effects")
			until(t, "the first effect is made", func() bool { return s.file("effects") == "begun\n" })
			second := s.worker("second", script)
			cut := toTemporal
			if fromDatabase {
				cut = toDatabase
			}
			cut.set(true)
			began := time.Now()
			if fromDatabase {
				until(t, "the second worker has it", func() bool {
					f := s.fleet()
					return len(f.Tasks) == 0 || strings.Contains(f.Tasks[0].By, pid(second))
				})
				t.Logf("another went on within %s", time.Since(began).Round(100*time.Millisecond))
			} else {
				time.Sleep(8 * time.Second) // longer than Temporal waits for a sign of life
			}
			ok(t, os.WriteFile(filepath.Join(s.dir, s.folder, "go-on"), nil, 0o600))
			until(t, "the task is completed", func() bool { return s.status(id).Status == task.Completed })
			cut.set(false)
			until(t, "the first worker takes tasks again", func() bool { return len(s.fleet().Workers) == 2 })
			if got := s.file("effects"); got != "begun\nafter\n" {
				t.Errorf("the effects are %q", got)
			}
			s.pawl("runs", "verify", "last")
		})
	}
}
