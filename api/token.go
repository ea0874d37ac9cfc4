package api

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pawl/config"
	"pawl/internal/atomicfile"
	"pawl/internal/inside"
	"pawl/run"
)

// LoadToken returns the token that a person authenticates with, from the state folder of
// the workspace. The first call makes it. The file can be read by its owner alone; one that
// others can read is an error.
func LoadToken(state string) (string, error) {
	file := filepath.Join(state, "serve-token")
	b, err := atomicfile.Once(file, func() []byte { return []byte("pawl_" + strings.ToLower(rand.Text()) + "\n") })
	token := strings.TrimSpace(string(b))
	switch _, exposed := errors.AsType[*atomicfile.ExposedError](err); {
	case exposed:
		return "", err
	case err != nil:
		return "", notWritten(file, err)
	case len(token) < minToken:
		return "", fmt.Errorf("%s has no token: remove it, and a new one is made", file)
	}
	return token, nil
}

// notWritten says that the token cannot be stored, and what to do.
func notWritten(file string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return config.Errorf("the token cannot be written to %s: the disk is full: free some space there and start again", file)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return config.Errorf("the token cannot be written to %s (%w): make the folder writable for this user, or name another state folder with PAWL_STATE_DIR", file, rootCause(err))
	}
	return fmt.Errorf("the token cannot be written to %s: %w", file, rootCause(err))
}

// rootCause returns what the system refused, without the name of the temporary file.
func rootCause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

const minToken = 20 // bytes

// equal compares two secrets in a time that does not depend on where they differ.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// sign returns a signature of parts by the server's token.
func (s *Server) sign(parts ...string) string {
	m := hmac.New(sha256.New, []byte(s.opt.Token))
	for _, p := range parts {
		fmt.Fprintf(m, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(m.Sum(nil))
}

// runPrefix begins the token of a run.
const runPrefix = "pawlrun_"

// RunToken returns the token of a run for one of its assignments. It reaches the tools of
// that run and nothing else, and ends with the assignment. It is the same after a restart
// of the server.
func (s *Server) RunToken(id run.ID, assignment int) string {
	n := strconv.Itoa(assignment)
	return runPrefix + string(id) + "." + n + "." + s.sign("run", string(id), n)
}

// callerOfRun returns the caller whose token it is.
func (s *Server) callerOfRun(token string) (caller, bool) {
	id, rest, ok := strings.Cut(strings.TrimPrefix(token, runPrefix), ".")
	number, _, ok2 := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if !ok || !ok2 || err != nil || n < 1 || !equal(token, s.RunToken(run.ID(id), n)) {
		return caller{}, false
	}
	return caller{run: run.ID(id), assignment: n}, true
}

// A Link is an address that logs the browser in that opens it. It works once. The code stands
// in its fragment, which browsers send to no server.
type Link struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires_at"`
}

// linkLife is how long a link can be opened, and sessionLife how long a session may last.
const (
	linkLife    = 5 * time.Minute
	sessionLife = 7 * 24 * time.Hour
	maxLinks    = 100 // that are open at once
)

// NewLink makes a link to the server at url whose workspace has the state folder. The code
// is kept there, hashed, so that any process of the person can make one.
func NewLink(state, url string, now time.Time) (Link, error) {
	dir := filepath.Join(state, linkDir)
	if err := atomicfile.MkdirAll(dir, atomicfile.NoSync); err != nil {
		return Link{}, err
	}
	files, err := inside.ReadDir(state, dir)
	if err != nil {
		return Link{}, err
	}
	open := 0
	for _, f := range files {
		if info, err := f.Info(); err == nil && now.Sub(info.ModTime()) >= linkLife {
			_ = inside.Remove(state, filepath.Join(dir, f.Name())) // it does not count in any case
		} else {
			open++
		}
	}
	if open >= maxLinks {
		return Link{}, tooMany("there are too many login links that were not opened: wait some minutes")
	}
	code := strings.ToLower(rand.Text())
	f, err := inside.OpenFile(state, filepath.Join(dir, hash(code)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Link{}, err
	}
	return Link{url + "/#code=" + code, now.Add(linkLife).UTC().Round(0)}, f.Close()
}

const linkDir = "login-links"

// takeLink reports whether a code is that of a link that can be opened, and closes it: of two
// callers one is told so, the one that removes the file.
func takeLink(state, code string, now time.Time) bool {
	file := filepath.Join(state, linkDir, hash(code))
	info, err := os.Stat(file)
	return err == nil && inside.Remove(state, file) == nil && now.Sub(info.ModTime()) < linkLife
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// sessionPrefix begins the token of a page's session, and keptPrefix what a browser keeps of it.
const (
	sessionPrefix = "pawlses_"
	keptPrefix    = "pawlkept_"
)

// A Session is what a page has for the code of a link: a token that counts as the person's.
type Session struct {
	Token string `json:"token" doc:"For a page to hold in its memory alone"`
	// Kept is for other pages of the same browser. It counts for this process alone: pages of a program that has the
	// address after it are of the same origin, and can read what the browser keeps.
	Kept    string    `json:"kept" doc:"For the browser to keep: a code for another session, until the server ends"`
	Expires time.Time `json:"expires_at"`
	User    string    `json:"user,omitempty" doc:"Whose it is, of those of a shared database"`
	Role    Role      `json:"role" enum:"see,answer,start,administer" doc:"What the user may do: each may do what those before it may"`
	Workers bool      `json:"workers,omitempty" doc:"Tasks are worked on by other processes: GET /workers has them"`
}

// newSession returns a session. It outlives the server, for seven days or until the token is another one. A page
// asks for a proof before it sends it to a server that was away: another program may serve the same address by then.
func (s *Server) newSession(of caller, expires time.Time) Session {
	expires = expires.UTC().Truncate(time.Second)
	id := strconv.FormatInt(expires.Unix(), 10) + "." + strings.ToLower(rand.Text())
	if of.name != "" {
		id += userMark + of.name
	}
	session, kept := sessionPrefix+id, keptPrefix+id
	return Session{session + "." + s.sign("session", session), kept + "." + s.sign("kept", kept, s.process), expires, of.name, of.role, s.opt.Workers != nil}
}

// userMark stands in the token of a session before the name of its user.
const userMark = "~"

// enter returns the session that a code is good for: that of a link, what a browser keeps, or the token of a session or
// of a user. For any other code the error is errNobody.
func (s *Server) enter(ctx context.Context, code string, now time.Time) (Session, error) {
	name, until, ok := s.signed(code, keptPrefix, now, "kept", s.process)
	if !ok {
		name, until, ok = s.signed(code, sessionPrefix, now, "session")
	}
	c, err := caller{}, errNobody
	switch {
	case ok:
		c, err = s.named(ctx, name)
	case strings.HasPrefix(code, userPrefix):
		until = now.Add(sessionLife)
		c, err = s.person(ctx, code, now)
	case takeLink(s.ws.State, code, now):
		c, until, err = owner, now.Add(sessionLife), nil
	}
	if err != nil {
		return Session{}, err
	}
	return s.newSession(c, until), nil
}

// signed returns whose a token is that [Server.newSession] has made, and how long it counts, if it does.
func (s *Server) signed(token, prefix string, now time.Time, kind string, more ...string) (name string, until time.Time, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || !strings.HasPrefix(token, prefix) || !equal(parts[2], s.sign(append([]string{kind, parts[0] + "." + parts[1]}, more...)...)) {
		return "", time.Time{}, false
	}
	_, name, _ = strings.Cut(parts[1], userMark)
	n, err := strconv.ParseInt(strings.TrimPrefix(parts[0], prefix), 10, 64)
	until = time.Unix(n, 0)
	return name, until, err == nil && now.Before(until)
}

// proof shows who knows the session with an id, and is the server at an address, that it is this one. It is of no use
// at another address, so that a program which stands there cannot get it from this server.
func (s *Server) proof(id, nonce, host string) string {
	m := hmac.New(sha256.New, []byte(id+"."+s.sign("session", id)))
	_, _ = io.WriteString(m, host+" "+nonce) // a hash takes everything
	return hex.EncodeToString(m.Sum(nil))
}
