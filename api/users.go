package api

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/config"
	"pawl/store"
)

// A Role says what a user of a shared database may do at its servers. Each may do what those before it may.
type Role string

const (
	See        Role = "see"        // read everything
	Answer     Role = "answer"     // answer questions and calls, say something, interrupt
	Start      Role = "start"      // add, change, start and end tasks and runs, merge
	Administer Role = "administer" // rules, trust, agents, modes, access, and what removes tasks and runs
)

// Roles are all roles, the least first.
var Roles = []Role{See, Answer, Start, Administer}

func (r Role) may(need Role) bool { return slices.Index(Roles, r) >= slices.Index(Roles, need) }

// answerers and starters are the operations that need a role of these. Others need See if they only read, and else Administer.
var (
	answerers = []string{"decide-task-call", "decide-call", "answer-task", "answer-question", "say-to-task", "review-task", "withdraw-from-task",
		"steer-run", "queue-message", "withdraw-message", "interrupt-run", "pause-task", "resume-task", "continue-run", "subscribe-device", "unsubscribe-device"}
	starters = []string{"create-task", "edit-task", "plan-task", "start-task", "hand-off-task", "complete-task", "fail-task", "cancel-task", "retry-task", "reopen-task",
		attachID, "detach-from-task", "merge-task", "discard-task", "start-run", "fork-run", "prompt-run", "undo-run"}
	readers = []string{"explain-call", "read-output", "stats-output", "search-output", "extract-output", "sample-output", "count-output", "aggregate-output"}
)

// role returns what is needed for an operation, or for the path of a pattern that is none.
func (o operation) role(pattern string) Role {
	switch {
	case strings.HasPrefix(pattern, http.MethodGet+" "), slices.Contains(readers, o.id):
		return See
	case slices.Contains(answerers, o.id):
		return Answer
	case slices.Contains(starters, o.id), pattern == "POST /mcp":
		return Start
	}
	return Administer
}

// needs returns a problem unless the caller has a role.
func needs(ctx context.Context, need Role, what string) *Problem {
	c := requestOf(ctx).caller
	if c.role.may(need) {
		return nil
	}
	return forbidden("FORBIDDEN_ROLE", what+" needs the role "+string(need)+", and "+c.name+" has the role "+string(c.role)+": ask an administrator of the server")
}

// by names the caller of a request, for the log.
func by(ctx context.Context) string {
	if name := requestOf(ctx).caller.name; name != "" {
		return name
	}
	return config.Person()
}

// userPrefix begins the token of a user.
const userPrefix = "pawlusr_"

// NewUser returns a user with a new token, which only its hash is kept of.
func NewUser(name string, role Role, now time.Time) (u store.User, token string) {
	token = userPrefix + strings.ToLower(rand.Text())
	return store.User{Name: name, Role: string(role), Token: hash(token), Since: now}, token
}

// ValidUser reports whether a name may be a user's: letters, digits, - and _, at most 40. It is in tokens and in logs.
func ValidUser(name string) bool {
	return name != "" && len(name) <= 40 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// users are those of the database, as they were a moment ago.
type users struct {
	mu   sync.Mutex
	all  []store.User
	read time.Time
}

// UsersAge is for how long what was read of users counts: one who was removed is let in for so long.
const UsersAge = 2 * time.Second

// errNobody is returned for a token or a name that belongs to no user. Any other error means that the users could not be read.
var errNobody = errors.New("it belongs to no user")

// user returns the user for whom is reports true, as a caller. Without one the error is errNobody.
func (s *Server) user(ctx context.Context, is func(store.User) bool) (caller, error) {
	s.users.mu.Lock()
	defer s.users.mu.Unlock()
	if now := time.Now(); now.Sub(s.users.read) >= UsersAge {
		all, err := s.readUsers(ctx)
		if err != nil {
			return caller{}, err // who was a user before may not be one now
		}
		s.users.all, s.users.read = all, now
	}
	i := slices.IndexFunc(s.users.all, is)
	if i < 0 {
		return caller{}, errNobody
	}
	u := s.users.all[i]
	return caller{person: true, name: u.Name, role: Role(u.Role)}, nil
}

func (s *Server) readUsers(ctx context.Context) ([]store.User, error) {
	tasks, err := s.ws.Tasks()
	if err != nil {
		return nil, err
	}
	shared, ok := tasks.Store.(store.Users)
	if !ok {
		return nil, nil
	}
	return shared.Users(ctx)
}

// person returns who has a token: the owner of the server's, a user, or who has the session of one. Without one the error is
// errNobody.
func (s *Server) person(ctx context.Context, token string, now time.Time) (caller, error) {
	if equal(token, s.opt.Token) {
		return owner, nil
	}
	if strings.HasPrefix(token, userPrefix) {
		given := hash(token)
		return s.user(ctx, func(u store.User) bool { return equal(u.Token, given) })
	}
	name, until, ok := s.signed(token, sessionPrefix, now, "session")
	if !ok {
		return caller{}, errNobody
	}
	c, err := s.named(ctx, name)
	c.until = until
	return c, err
}

// named returns the caller with the name of a session; without a name it is the owner's.
func (s *Server) named(ctx context.Context, name string) (caller, error) {
	if name == "" {
		return owner, nil
	}
	return s.user(ctx, func(u store.User) bool { return u.Name == name })
}

// owner is who has the token of the server.
var owner = caller{person: true, role: Administer}
