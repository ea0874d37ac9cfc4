// Package socket carries what is not an event between the process that owns a run and those that look
// at it: a viewer wakes the owner, which then reads its inbox, and the owner broadcasts deltas of an
// answer in progress. Correctness does not depend on it: events and inbox are in the store, which both
// sides also poll.
package socket

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"pawl/store"
)

const (
	// wakeLine is what a viewer sends; the owner sends any other lines.
	wakeLine = "wake"
	// maxPending bounds what waits for one viewer, and so the longest line. A
	// viewer that falls behind by more misses lines.
	maxPending = 1 << 20 // bytes
	// maxAddr is what fits into sockaddr_un on every system (104 bytes on macOS,
	// 108 on Linux: unix(7), read 2026-11-20).
	maxAddr = 103
	// staleAfter is how old a socket without a listener must be before it is removed: a
	// newer one may be between bind and listen.
	staleAfter = time.Minute
)

// A Listener is the socket of an owner. It is safe for concurrent use.
type Listener struct {
	addr string
	ln   net.Listener
	wake chan struct{}
	wait sync.WaitGroup

	// count is len(viewers), so that a broadcast without viewers costs one load.
	count   atomic.Int32
	mu      sync.Mutex
	viewers map[*viewerConn]struct{} // nil once closed
	greet   func() [][]byte
}

// Listen creates a socket in dir, which must be private to this user (see [Dir]),
// and removes the sockets of dead processes there.
func Listen(dir string) (*Listener, error) {
	if tidied.due(dir, time.Now()) {
		Tidy(dir, staleAfter)
	}
	addr := filepath.Join(dir, fmt.Sprintf("%d-%.6s.sock", os.Getpid(), rand.Text()))
	if len(addr) > maxAddr {
		return nil, fmt.Errorf("listen: the path %s is longer than the %d bytes a socket may have; choose a shorter folder", addr, maxAddr)
	}
	ln, err := net.Listen("unix", addr)
	if err != nil {
		return nil, store.FileFault(dir, err)
	}
	if err := os.Chmod(addr, 0o600); err != nil {
		return nil, errors.Join(store.FileFault(addr, err), ln.Close())
	}
	l := &Listener{addr: addr, ln: ln, wake: make(chan struct{}, 1), viewers: map[*viewerConn]struct{}{}}
	l.wait.Go(l.accept)
	return l, nil
}

// sweeps say when this process has looked for the sockets of dead processes in each folder: that
// takes as long as there are sockets, and a process that drives a thousand runs has as many.
type sweeps struct {
	mu   sync.Mutex
	last map[string]time.Time
}

var tidied sweeps

// due reports whether a folder is to be swept now: once in staleAfter.
func (s *sweeps) due(dir string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.last[dir]; ok && now.Sub(last) < staleAfter {
		return false
	}
	if s.last == nil {
		s.last = map[string]time.Time{}
	}
	s.last[dir] = now
	return true
}

// Tidy removes the sockets in dir, as of [Dir], of processes that were killed:
// those that are older than age, of which a minute is enough, and have no listener. It
// returns how many.
func Tidy(dir string, age time.Duration) (removed int) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil {
		return 0 // unreachable: the pattern is well formed unless dir has brackets, and then nothing matches
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || time.Since(info.ModTime()) < age {
			continue
		}
		conn, err := net.Dial("unix", path)
		if err == nil {
			conn.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) && os.Remove(path) == nil { // else the next owner tries again
			removed++
		}
	}
	return removed
}

// Addr returns the socket's address, for [store.Store.Own] and [Dial].
func (l *Listener) Addr() string { return l.addr }

// Wake returns the channel on which wake-ups arrive. Those that were not received yet are
// merged into one: the receiver reads the whole inbox.
func (l *Listener) Wake() <-chan struct{} { return l.wake }

// Broadcast sends line, which must not contain a newline, to every viewer. It does not
// block: a viewer that is too far behind misses the line. It does not retain line.
func (l *Listener) Broadcast(line []byte) {
	if l.count.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for v := range l.viewers {
		v.offer(line)
	}
}

// Greet sets the function that returns the lines which a viewer is sent when it connects,
// before anything that is broadcast afterwards. It must not call the listener.
func (l *Listener) Greet(lines func() [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.greet = lines
}

// Viewers returns how many are connected.
func (l *Listener) Viewers() int { return int(l.count.Load()) }

// Close disconnects all viewers, removes the socket, and waits for the listener's
// goroutines. It may be called twice.
func (l *Listener) Close() error {
	err := l.ln.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	l.mu.Lock()
	for v := range l.viewers {
		v.conn.Close()
	}
	l.viewers = nil
	l.mu.Unlock()
	l.wait.Wait()
	return err
}

func (l *Listener) accept() {
	for {
		conn, err := l.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// For example too many open files. Retry: until then viewers poll the
			// database.
			time.Sleep(50 * time.Millisecond)
			continue
		}
		v := &viewerConn{conn: conn, more: make(chan struct{}, 1), gone: make(chan struct{})}
		if !l.add(v) {
			conn.Close()
			return
		}
		l.wait.Go(func() { l.listen(v) })
		l.wait.Go(v.send)
	}
}

func (l *Listener) add(v *viewerConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.viewers == nil {
		return false
	}
	if l.greet != nil {
		for _, line := range l.greet() {
			v.offer(line)
		}
	}
	l.viewers[v] = struct{}{}
	l.count.Store(int32(len(l.viewers)))
	return true
}

func (l *Listener) remove(v *viewerConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.viewers, v)
	l.count.Store(int32(len(l.viewers)))
}

// listen receives the wake-ups of one viewer until it disconnects. Its buffer bounds what
// the viewer can make the owner store.
func (l *Listener) listen(v *viewerConn) {
	defer func() {
		l.remove(v)
		v.conn.Close()
		close(v.gone)
	}()
	lines := bufio.NewScanner(v.conn)
	lines.Buffer(make([]byte, 64), 64)
	for lines.Scan() {
		if lines.Text() != wakeLine {
			return // not one of ours
		}
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// viewerConn is the owner's connection to a viewer.
type viewerConn struct {
	conn net.Conn
	more chan struct{} // something is pending
	gone chan struct{} // closed when the viewer has disconnected

	mu      sync.Mutex
	pending []byte // whole lines
}

func (v *viewerConn) offer(line []byte) {
	v.mu.Lock()
	fits := len(v.pending)+len(line) < maxPending
	if fits {
		v.pending = append(append(v.pending, line...), '\n')
	}
	v.mu.Unlock()
	if fits {
		select {
		case v.more <- struct{}{}:
		default:
		}
	}
}

// send writes what is pending until the viewer disconnects.
func (v *viewerConn) send() {
	var out []byte
	for {
		select {
		case <-v.more:
		case <-v.gone:
			return
		}
		v.mu.Lock()
		out, v.pending = v.pending, out[:0]
		v.mu.Unlock()
		if _, err := v.conn.Write(out); err != nil {
			return // the viewer has gone; what it has sent before is still read by listen
		}
	}
}
