package socket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"syscall"
)

// A Viewer is a connection to an owner's socket.
type Viewer struct{ conn net.Conn }

// Dial connects to the owner that listens on addr. It fails if the owner has died.
func Dial(ctx context.Context, addr string) (*Viewer, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", addr)
	if err != nil {
		return nil, fmt.Errorf("connect to the owner of the run: %w", err)
	}
	return &Viewer{conn}, nil
}

// Wake tells the owner to read its inbox.
func (v *Viewer) Wake() error {
	_, err := io.WriteString(v.conn, wakeLine+"\n")
	return err
}

// Lines yields what the owner broadcasts from now on, line by line without the
// newline, until the owner or Close ends the connection; any other end is an error.
// A line is valid until the next. It can be ranged over once.
func (v *Viewer) Lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(v.conn)
		lines.Buffer(make([]byte, 0, 4<<10), maxPending+1)
		for lines.Scan() {
			if !yield(lines.Bytes(), nil) {
				return
			}
		}
		err := lines.Err()
		if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, syscall.ECONNRESET) {
			yield(nil, err)
		}
	}
}

// Close ends the connection, and a Lines that waits. It may be called twice.
func (v *Viewer) Close() error {
	if err := v.conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
