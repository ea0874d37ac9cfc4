package cli

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// serve is the command of stories for servers that do not behave: it answers every
// request with a file, a whole response as it goes over the wire but for its line
// ends. Of several files a request gets the one that is called as the end of its
// path (models.http for GET /v1/models), else the last one. A file that ends in
// "(hang)" leaves the connection open there. The address is in $NAME.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: serve NAME FILE…")
	}
	files, last := map[string]string{}, ""
	for _, file := range args[1:] {
		head, body, _ := strings.Cut(ts.ReadFile(file), "\n\n")
		last = strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n" + body
		files[strings.TrimSuffix(path.Base(file), ".http")] = last
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed at the end of the story
			}
			done.Go(func() {
				stop := context.AfterFunc(ctx, func() { conn.Close() })
				defer stop()
				defer conn.Close()
				in := bufio.NewReader(conn)
				req, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				if _, err := in.Discard(int(req.ContentLength)); err != nil {
					return
				}
				answer, ok := files[path.Base(req.URL.Path)]
				if !ok {
					answer = last
				}
				answer, hang := strings.CutSuffix(strings.TrimSpace(answer), "(hang)")
				// A client that has gone is why the story is told.
				if _, err := conn.Write([]byte(answer + "\r\n\r\n")); err == nil && hang {
					_, _ = in.ReadByte() // returns when the client goes
				}
			})
		}
	})
	ts.Defer(func() { l.Close(); cancel(); done.Wait() })
	ts.Setenv(args[0], "http://"+l.Addr().String())
}
