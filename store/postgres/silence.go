package postgres

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// impatient returns a configuration whose connections end when the server is asked something and says nothing for so long.
// A network that is cut ends no connection: without a bound a query would wait until the system gives the connection up, on
// Linux after a quarter of an hour. A server that is silent for longer than a lease has renewed none.
func impatient(config *pgx.ConnConfig, silence time.Duration) *pgx.ConnConfig {
	bounded := config.Copy()
	dial := bounded.DialFunc
	bounded.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &impatientConn{Conn: conn, silence: silence}, nil
	}
	return bounded
}

// An impatientConn is a connection of which each read ends after a silence, unless the reader has set another deadline. It is
// read while something is awaited alone: connections that nobody uses stay open.
type impatientConn struct {
	net.Conn
	mu      sync.Mutex
	set     time.Time // by the reader; zero: none
	silence time.Duration
}

func (c *impatientConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	var err error
	if c.set.IsZero() {
		err = c.Conn.SetReadDeadline(time.Now().Add(c.silence))
	}
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c *impatientConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = t
	return c.Conn.SetReadDeadline(t)
}

func (c *impatientConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = t
	return c.Conn.SetDeadline(t)
}

// wait lets the server be silent for longer, as while it waits for a lock, until what it returns is called.
func wait(conn *pgx.Conn, silence time.Duration) (restore func()) {
	c := conn.PgConn().Conn()
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	bounded, ok := c.(*impatientConn)
	if !ok {
		return func() {}
	}
	swap := func(d time.Duration) time.Duration {
		bounded.mu.Lock()
		defer bounded.mu.Unlock()
		was := bounded.silence
		bounded.silence = d
		return was
	}
	was := swap(silence)
	return func() { swap(was) }
}
