package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"pawl/api"
)

// Connections that say nothing, or begin a request and do not end it, keep no other from being served, however many they
// are; those that have a request stay.
func TestConnectionsWithoutARequestMakeRoomForOthers(t *testing.T) {
	t.Parallel()
	begun, end := make(chan bool), make(chan bool)
	h := &http.Server{ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			begun <- true
			<-end
		}
		fmt.Fprint(w, "done")
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go func() { _ = h.Serve(api.Bounded(h, l, 4)) }()
	defer h.Close()
	dial := func(says string) net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		must(t, err)
		t.Cleanup(func() { c.Close() })
		must(t, c.SetDeadline(time.Now().Add(patience)))
		_, err = io.WriteString(c, says)
		must(t, err)
		return c
	}
	answered := func(c net.Conn) {
		t.Helper()
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		must(t, err)
		defer res.Body.Close()
		if b, err := io.ReadAll(res.Body); err != nil || string(b) != "done" {
			t.Errorf("%s, %v", b, err)
		}
	}
	var slow []net.Conn
	for range 3 {
		slow = append(slow, dial("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"))
		<-begun
	}
	for i := range 20 {
		dial([]string{"", "GET / HT"}[i%2])
	}
	answered(dial("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	// While all connections have a request, the next one waits.
	slow = append(slow, dial("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"))
	<-begun
	next := dial("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	close(end)
	for _, c := range append(slow, next) {
		answered(c)
	}
}
