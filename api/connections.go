package api

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// connections are a listener with at most a number of open connections. One too many closes the one that has been
// without a request for the longest time; while all have one, it waits until one has not.
type connections struct {
	net.Listener
	max int

	mu      sync.Mutex
	changed sync.Cond  // a connection was closed or has no request any more
	open    int        // connections
	idle    *list.List // those without a request, *connection; the first for the longest time
}

func newConnections(l net.Listener, max int) *connections {
	s := &connections{Listener: l, max: max, idle: list.New()}
	s.changed.L = &s.mu
	return s
}

// A connection is one of connections.
type connection struct {
	net.Conn
	of       *connections
	at       *list.Element // in of.idle; nil: it is not there
	requests int           // being served
	closed   bool
}

func (s *connections) Accept() (net.Conn, error) {
	accepted, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted, of: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.open >= s.max {
		if first := s.idle.Front(); first != nil {
			_ = first.Value.(*connection).shut() // its client notices
		} else {
			s.changed.Wait()
		}
	}
	s.open++
	c.at = s.idle.PushBack(c)
	return c, nil
}

func (c *connection) Close() error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return c.shut()
}

// shut is Close; of.mu is held.
func (c *connection) shut() error {
	if !c.closed {
		c.closed = true
		c.of.open--
		c.settle()
	}
	return c.Conn.Close()
}

// settle brings the list up to what the connection is, when that has changed; of.mu is held.
func (c *connection) settle() {
	switch idle := c.requests == 0 && !c.closed; {
	case idle && c.at == nil:
		c.at = c.of.idle.PushBack(c)
	case !idle && c.at != nil:
		c.of.idle.Remove(c.at)
		c.at = nil
	}
	c.of.changed.Broadcast()
}

// serve lets the server tell which connections have requests.
func (s *connections) serve(h *http.Server) {
	type key struct{}
	next := h.Handler
	h.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if over, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
			c = over.NetConn()
		}
		return context.WithValue(ctx, key{}, c)
	}
	count := func(r *http.Request, n int) {
		if c, ok := r.Context().Value(key{}).(*connection); ok {
			s.mu.Lock()
			defer s.mu.Unlock()
			c.requests += n
			c.settle()
		}
	}
	h.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count(r, 1)
		defer count(r, -1)
		next.ServeHTTP(w, r)
	})
}
