package api

import (
	"crypto/ecdh"
	"net"
	"net/http"
	"slices"
	"time"

	"pawl/run"
)

// SetSlowest sets how long a client may take to accept what was sent.
func SetSlowest(s *Server, d time.Duration) { s.slowest = d }

// SetNow sets the clock of links and sessions.
func SetNow(s *Server, now func() time.Time) { s.guard.now = now }

// NewHTTP returns the server with its bounds on what clients do.
func NewHTTP(s *Server) *http.Server { return newHTTP(s) }

// Bounded returns a listener for a server, with at most so many connections.
func Bounded(h *http.Server, l net.Listener, max int) net.Listener {
	c := newConnections(l, max)
	c.serve(h)
	return c
}

// CheckAddress returns an error unless the address may be served.
func CheckAddress(o ServeOptions) error { return checkAddress(o) }

// NotWritten is the error of a token that cannot be stored.
func NotWritten(file string, err error) error { return notWritten(file, err) }

// Knows reports whether a session of a run is known to be driven here.
func (s *Server) Knows(id run.ID) bool {
	session, _ := s.sessions.get(id)
	return session != nil
}

// Streams returns how many event streams are open.
func (s *Server) Streams() int {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.feed.streams
}

// A Need is an operation and what it needs.
type Need struct {
	ID, Method string
	Role       Role
}

// Needs returns what each operation needs.
func (s *Server) Needs() (all []Need) {
	for pattern, o := range s.operations {
		all = append(all, Need{o.id, o.method, o.role(pattern)})
	}
	return all
}

// Listed returns the operations that are listed for a role.
func Listed() []string { return slices.Concat(answerers, starters, readers) }

// SetPush sets how often it is looked whether something waits, the least time between two push messages, and what sends
// them; nil: as it is. It is called before there is a subscription.
func SetPush(s *Server, every, pause time.Duration, transport http.RoundTripper) {
	s.push.every, s.push.pause = every, pause
	if transport != nil {
		s.push.client.Transport = transport
	}
}

// PushClient returns a client for push services.
func PushClient() *http.Client { return pushClient() }

// Seal encrypts a push message.
func Seal(message []byte, keys PushKeys, sender *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	receiver, auth, err := keys.decode()
	if err != nil {
		return nil, err
	}
	return seal(message, receiver, auth, sender, salt)
}

// SetUsers makes some users those of the database, and returns their tokens.
func SetUsers(s *Server, roles ...Role) (tokens []string) {
	s.users.mu.Lock()
	defer s.users.mu.Unlock()
	for _, r := range roles {
		u, token := NewUser("user-"+string(r), r, time.Now())
		s.users.all, tokens = append(s.users.all, u), append(tokens, token)
	}
	s.users.read = time.Now().Add(time.Hour)
	return tokens
}
