package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pawl/internal/atomicfile"
	"pawl/internal/inside"
)

// keyHeader names the key of a request, so that repeats of it have no second effect.
const keyHeader = "Idempotency-Key"

const (
	maxKey       = 200            // bytes
	keyLife      = 24 * time.Hour // how long an answer is kept
	sweepEvery   = time.Hour
	maxKept      = 1 << 20 // bytes of an answer that is kept; of a larger one it is known that it was given
	intentSuffix = ".started"
)

// A keyStore keeps the answers to requests with keys, in files of the state folder: one
// that says that the request was started, and one with the answer. A request whose server
// was killed between the two has no answer: what came of it is unknown, and its repeat is
// told so and not performed.
type keyStore struct {
	dir string
	now func() time.Time

	mu    sync.Mutex
	busy  map[string]chan struct{} // keys of requests that are being served
	swept time.Time
}

// A storedAnswer is an answer in its file.
type storedAnswer struct {
	// Request is the hash of the method, the path and the body.
	Request string      `json:"request"`
	At      time.Time   `json:"at"`
	Status  int         `json:"status"`
	Header  http.Header `json:"header"`
	Body    string      `json:"body"`
	Cut     bool        `json:"cut,omitempty"` // the body was too large to be kept
}

func openKeys(state string) (*keyStore, error) {
	k := &keyStore{dir: filepath.Join(state, "answers"), now: time.Now, busy: map[string]chan struct{}{}}
	if err := atomicfile.MkdirAll(k.dir, atomicfile.Durable); err != nil {
		return nil, err
	}
	return k, k.sweep()
}

// sweep removes answers that are too old. It does nothing if it has just done it.
func (k *keyStore) sweep() error {
	k.mu.Lock()
	now := k.now()
	due := now.Sub(k.swept) >= sweepEvery
	if due {
		k.swept = now
	}
	k.mu.Unlock()
	if !due {
		return nil
	}
	files, err := inside.ReadDir(filepath.Dir(k.dir), k.dir)
	for _, f := range files {
		info, ierr := f.Info()
		if ierr == nil && now.Sub(info.ModTime()) > keyLife {
			err = errors.Join(err, inside.Remove(filepath.Dir(k.dir), filepath.Join(k.dir, f.Name())))
		}
	}
	return err
}

// begin waits until no other request with the key is served here, and reserves it. The
// caller calls end.
func (k *keyStore) begin(ctx context.Context, name string) (end func(), err error) {
	for {
		k.mu.Lock()
		other := k.busy[name]
		if other == nil {
			done := make(chan struct{})
			k.busy[name] = done
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.busy, name)
				k.mu.Unlock()
				close(done)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (k *keyStore) read(file string) (storedAnswer, bool, error) {
	b, err := atomicfile.Read(filepath.Join(k.dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return storedAnswer{}, false, nil
	} else if err != nil {
		return storedAnswer{}, false, err
	}
	var a storedAnswer
	if err := json.Unmarshal(b, &a); err != nil {
		return storedAnswer{}, false, fmt.Errorf("%s: %w", file, err)
	}
	return a, k.now().Sub(a.At) <= keyLife, nil
}

func (k *keyStore) write(file string, a storedAnswer) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(k.dir, file), b, atomicfile.Durable)
}

// serveOnce serves a request with a key: the first one is performed, its repeats get the
// answer of the first.
func (s *Server) serveOnce(w http.ResponseWriter, r *http.Request) {
	k, req := s.keys, requestOf(r.Context())
	key := r.Header.Get(keyHeader)
	if len(r.Header[keyHeader]) > 1 || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c < '!' || c > '~' }) {
		s.writeProblem(w, r, invalid(keyHeader, fmt.Sprintf("it is 1 to %d printable characters without spaces", maxKey)))
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.writeProblem(w, r, s.problem(r.Context(), err))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	req.key = hash(string(req.caller.run) + req.caller.name + "\n" + key)
	request := hash(r.Method + " " + r.URL.RequestURI() + "\n" + hash(string(body)))
	if err := k.sweep(); err != nil {
		s.log.Warn("old answers were not removed", "error", err)
	}
	end, err := k.begin(r.Context(), req.key)
	if err != nil {
		s.writeProblem(w, r, s.problem(r.Context(), err))
		return
	}
	defer end()
	done, p, err := k.known(req.key, request)
	switch {
	case err != nil:
		p = s.problem(r.Context(), err)
	case p != nil && p.Code == codeUnknown && s.repeatable(r):
		p = nil // the operation finds out by itself what came of it
	}
	if p != nil {
		s.writeProblem(w, r, p)
		return
	}
	if done != nil {
		for name, values := range done.Header {
			w.Header()[name] = values
		}
		w.Header().Set("Idempotent-Replayed", "true")
		w.WriteHeader(done.Status)
		_, _ = io.WriteString(w, done.Body) // a client that is gone asks again
		return
	}
	if err := k.write(req.key+intentSuffix, storedAnswer{Request: request, At: k.now()}); err != nil {
		s.writeProblem(w, r, s.problem(r.Context(), err))
		return
	}
	// The client may go; what it has asked for is done and its answer kept.
	c := &capture{header: http.Header{}, status: http.StatusOK}
	s.mux.ServeHTTP(c, r.WithContext(context.WithoutCancel(r.Context())))
	a := storedAnswer{Request: request, At: k.now(), Status: c.status, Header: http.Header{}, Body: c.body.String()}
	if t := c.header["Content-Type"]; t != nil {
		a.Header["Content-Type"] = t
	}
	if req.repeats != nil {
		var b bytes.Buffer
		if err := strictJSON.Marshal(&b, req.repeats); err != nil {
			panic(err) // a form of this program
		}
		a.Body = b.String()
	}
	if a.Cut = len(a.Body) > maxKept; a.Cut {
		a.Body = ""
	}
	if c.status < http.StatusInternalServerError && c.status != http.StatusTooManyRequests {
		err = k.write(req.key, a)
	}
	if err == nil {
		err = inside.Remove(filepath.Dir(k.dir), filepath.Join(k.dir, req.key+intentSuffix))
	}
	if err != nil {
		s.log.Error("the answer to a request was not kept", "request", req.id, "error", err)
	}
	for name, values := range c.header {
		w.Header()[name] = values
	}
	w.WriteHeader(c.status)
	_, _ = w.Write(c.body.Bytes()) // a client that is gone asks again
}

const codeUnknown = "OUTCOME_UNKNOWN"

// known returns what is known of a request with a key: its answer, why it is not served, or
// nothing.
func (k *keyStore) known(name, request string) (*storedAnswer, *Problem, error) {
	reused := &Problem{Status: http.StatusUnprocessableEntity, Code: "IDEMPOTENCY_KEY_REUSED", Message: "another request had this " + keyHeader + ": use a new key for each request"}
	a, ok, err := k.read(name)
	switch {
	case err != nil:
		return nil, nil, err
	case ok && a.Request != request:
		return nil, reused, nil
	case ok && a.Cut:
		return nil, &Problem{Status: http.StatusConflict, Code: "ALREADY_DONE", Message: "the request was performed, and its answer was too large to be kept: get the resource"}, nil
	case ok:
		return &a, nil, nil
	}
	a, ok, err = k.read(name + intentSuffix)
	switch {
	case err != nil:
		return nil, nil, err
	case ok && a.Request != request:
		return nil, reused, nil
	case ok:
		return nil, &Problem{Status: http.StatusConflict, Code: codeUnknown,
			Message: "the request was started, and the server was stopped before it answered: get the resource, then send what is missing with a new key"}, nil
	}
	return nil, nil, nil
}

// repeatable reports whether the operation of a request is safe to be performed again with
// the same key: it makes the id of what it creates out of the key, or hands the key on.
func (s *Server) repeatable(r *http.Request) bool {
	_, pattern := s.mux.Handler(r)
	return s.operations[pattern].keyed
}

// A capture is a response in memory.
type capture struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (c *capture) Header() http.Header { return c.header }

func (c *capture) WriteHeader(status int) {
	if !c.wrote {
		c.status, c.wrote = status, true
	}
}

func (c *capture) Write(b []byte) (int, error) {
	c.wrote = true
	return c.body.Write(b)
}
