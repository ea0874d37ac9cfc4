package llmtest

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// A Network connects a client with a server in memory, without sockets: what waits on
// it waits in the bubble of [testing/synctest], whose clock needs no time.
type Network struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Serve serves h on a network of its own until the test ends, and returns its client.
// Its address is any; "http://server" will do.
func Serve(t testing.TB, h http.Handler) *http.Client {
	t.Helper()
	n := &Network{conns: make(chan net.Conn), closed: make(chan struct{})}
	var done sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done.Add(1)
		defer done.Done()
		h.ServeHTTP(w, r)
	})}
	done.Go(func() { _ = server.Serve(n) }) // ends with ErrServerClosed
	client := &http.Client{Transport: &http.Transport{DialContext: n.dial, DisableKeepAlives: true}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		_ = server.Close() // nothing is written that could be lost
		done.Wait()
	})
	return client
}

func (n *Network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case n.conns <- theirs:
		return ours, nil
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept returns the next connection of a client.
func (n *Network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the network.
func (n *Network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

// Addr returns an address that says nothing.
func (n *Network) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

// Repeat returns a handler that begins an event stream and then writes text again and
// again, with a pause, until its client goes.
func Repeat(text string, pause time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
			select {
			case <-r.Context().Done():
			case <-time.After(pause):
			}
		}
	})
}
