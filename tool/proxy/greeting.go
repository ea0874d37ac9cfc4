package proxy

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// tlsHandshake is the first byte of a connection with TLS; RFC 8446, section 5.1.
const tlsHandshake = 0x16

// greeting reads the first message of a client that speaks TLS, and returns it with the name of the server in it. If the
// client speaks something else it reads nothing and returns nil; with must that is an error.
func greeting(r *bufio.Reader, must bool) (read []byte, name string, err error) {
	first, err := r.Peek(1)
	switch {
	case err == io.EOF: // it sends nothing
		return nil, "", nil
	case err != nil:
		return nil, "", err
	case first[0] != tlsHandshake && must:
		return nil, "", errors.New("what it sends is not TLS")
	case first[0] != tlsHandshake:
		return nil, "", nil
	}
	c := &taped{from: r}
	understood := false
	err = tls.Server(c, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		name, understood = hello.ServerName, true
		return nil, errRead
	}}).Handshake()
	if !understood {
		return nil, "", errors.Join(errors.New("its greeting of TLS cannot be read"), err)
	}
	return c.tape.Bytes(), name, nil
}

var errRead = errors.New("the greeting was read")

// A taped connection keeps what is read from it, and takes nothing.
type taped struct {
	from io.Reader
	tape bytes.Buffer
}

func (t *taped) Read(b []byte) (int, error) {
	n, err := t.from.Read(b)
	t.tape.Write(b[:n])
	return n, err
}

func (t *taped) Write(b []byte) (int, error)      { return len(b), nil }
func (t *taped) Close() error                     { return nil }
func (t *taped) LocalAddr() net.Addr              { return nil }
func (t *taped) RemoteAddr() net.Addr             { return nil }
func (t *taped) SetDeadline(time.Time) error      { return nil }
func (t *taped) SetReadDeadline(time.Time) error  { return nil }
func (t *taped) SetWriteDeadline(time.Time) error { return nil }
