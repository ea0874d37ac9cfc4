package api

import (
	"context"
	"net/http"
)

// accessOperations registers what makes and ends access.
func (s *Server) accessOperations() {
	handle(s, operation{method: http.MethodPost, path: "/login-links", id: "create-login-link", tag: "access", status: http.StatusCreated,
		summary: "Make an address that logs a browser in", more: "It works once, for five minutes; the browser then has a cookie instead of the token."},
		func(_ context.Context, _ *struct{}) (Link, error) {
			code, until, err := s.guard.links.add()
			return Link{URL: s.guard.origins[0] + "/login?once=" + code, Expires: until.UTC()}, err
		})
	s.guard.open["GET /login"] = true
	s.mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		if !s.guard.links.take(r.URL.Query().Get("once")) {
			s.writeProblem(w, r, &Problem{Status: http.StatusUnauthorized, Code: "LINK_EXPIRED", Message: "the link was used before, or is too old: `pawl serve link` makes a new one"})
			return
		}
		http.SetCookie(w, s.newCookie(s.guard.now()))
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
}

// atWork returns why the token of a run does not count any more.
func (s *Server) atWork(ctx context.Context, c caller) *Problem {
	ended := &Problem{Status: http.StatusUnauthorized, Code: "TOKEN_EXPIRED", Message: "the run of this token has ended, or was given something else to do"}
	id, err := s.ws.TaskOf(ctx, c.run)
	if err != nil || id == "" {
		return ended
	}
	state, err := s.ws.LoadTask(ctx, id)
	if err != nil {
		return ended
	}
	r, ok := state.Run(c.run)
	if !ok || r.Ended || len(r.Assignments) != c.assignment {
		return ended
	}
	return nil
}
