// Package fake is a model provider on this machine, for tests: it plays a
// script ([script.Script]) over HTTP in every wire format, and checks each request as
// strictly as the real servers do.
package fake

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"pawl/llm/script"
)

// A Server plays a script over HTTP. Each wire format has its path, as at the
// real provider:
//
//	POST /v1/messages            Anthropic Messages
//	POST /v1/chat/completions    OpenAI Chat Completions
//	POST /v1/responses           OpenAI Responses
//	POST /v1beta/models/{model}:streamGenerateContent    Gemini
//
// It checks every request as strictly as the real one, and more strictly where the real
// one corrects requests: the provider accepts every request that this server accepts. It is safe for concurrent use.
type Server struct {
	player *script.Player
	record bool

	mu       sync.Mutex
	requests []Request
	left     chan struct{}
	cached   map[[32]byte]bool // beginnings of requests that the provider would have kept
}

// A Request is one that a server got.
type Request struct {
	At     time.Time
	Path   string
	Header http.Header
	Body   []byte
	Status int    // of the answer
	Reply  int    // its place in the script; -1 for a request that was refused
	Wrong  string // why it was refused as invalid
}

// New returns a server that plays s. With record it keeps every request,
// for tests.
func New(s script.Script, record bool) *Server {
	return &Server{player: script.NewPlayer(s), record: record, left: make(chan struct{}, 64), cached: map[[32]byte]bool{}}
}

// Listen starts the server on a free port of this machine and returns its base
// URL. stop ends it and closes every connection.
func (s *Server) Listen() (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(l) }) // ends with ErrServerClosed
	return "http://" + l.Addr().String(), func() {
		_ = server.Close() // nothing is written that could be lost
		done.Wait()
	}, nil
}

// Requests returns the recorded requests, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Left receives a value whenever a client went away before its answer was over.
func (s *Server) Left() <-chan struct{} { return s.left }

// ServeHTTP answers a request in the wire format of its path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var f format
	switch route(r.URL.Path) {
	case "/v1/messages":
		f = anthropic{}
	case "/v1/chat/completions":
		f = &chat{}
	case "/v1/responses":
		f = responses{}
	case geminiPath:
		f = gemini{}
	default:
		http.NotFound(w, r)
		return
	}
	s.serve(f, w, r)
}

func (s *Server) keep(r Request) {
	if !s.record {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// cache plays the provider's prompt cache: pieces are a request's parts in order,
// what can be read from earlier requests is a beginning of them. It returns sizes
// in bytes and keeps this request's beginning for the next.
func (s *Server) cache(pieces [][]byte) (read, written int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const most = 10_000 // beginnings to keep
	if len(s.cached) > most {
		clear(s.cached)
	}
	hash, total := sha256.New(), int64(0)
	var sum [32]byte
	for _, piece := range pieces {
		hash.Write(piece)
		total += int64(len(piece))
		hash.Sum(sum[:0])
		if s.cached[sum] {
			read = total
		}
	}
	s.cached[sum] = true
	return read, total - read
}

// sign returns the signature over thinking. It needs no memory, so that thinking
// from before a restart of the server is known again.
func sign(thinking string) string {
	sum := sha256.Sum256([]byte("pawl scripted thinking\x00" + thinking))
	return hex.EncodeToString(sum[:])
}

var errClientLeft = errors.New("the client went away")

// joined puts a line break between two texts.
func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// noteLeft sends to Left if someone receives from it.
func (s *Server) noteLeft() {
	select {
	case s.left <- struct{}{}:
	default:
	}
}
