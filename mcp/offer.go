package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// tokenPatience is how long a client may take to say its token.
const tokenPatience = 10 * time.Second

// Offer serves tools on loopback, to clients that begin with a token and a line end: those of the server that
// of returns for it. stop ends that.
func Offer(of func(token string) (*Server, error)) (address string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return // it was closed
			}
			clients.Go(func() {
				defer c.Close()
				defer context.AfterFunc(ctx, func() { c.Close() })()
				r := bufio.NewReader(c)
				_ = c.SetReadDeadline(time.Now().Add(tokenPatience))
				token, err := r.ReadSlice('\n')
				_ = c.SetReadDeadline(time.Time{})
				if err != nil {
					return
				}
				server, err := of(strings.TrimSpace(string(token)))
				if err == nil {
					_ = server.Serve(ctx, r, c) // an error is of the client that has gone
				}
			})
		}
	})
	return listener.Addr().String(), func() { cancel(); listener.Close(); clients.Wait() }, nil
}

// dialOffer connects to what [Offer] serves.
func dialOffer(ctx context.Context, address, token string) (*net.TCPConn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the tools of the run cannot be reached: %w", err)
	}
	if _, err := io.WriteString(c, token+"\n"); err != nil {
		c.Close()
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// Pass passes a session on to what [Offer] serves at an address.
func Pass(ctx context.Context, address, token string, in io.Reader, out io.Writer) error {
	c, err := dialOffer(ctx, address, token)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	go func() {
		_, _ = io.Copy(c, in) // what follows is the end of the session
		_ = c.CloseWrite()
	}()
	_, err = io.Copy(out, c)
	return err
}

// CallAt calls one tool that [Offer] serves at an address and returns its answer. The error is the tool's own, or
// says why the tool could not be called.
func CallAt(ctx context.Context, address, token, tool string, arguments json.RawMessage) (string, error) {
	c, err := dialOffer(ctx, address, token)
	if err != nil {
		return "", err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	answer, err := callOnce(ctx, c, tool, arguments)
	if err == nil && answer.IsError {
		err = errors.New(answer.Text)
	}
	return answer.Text, err
}
