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
			return NewLink(s.ws.State, s.guard.origins[0], s.guard.now())
		})
	s.guard.open["GET /login"] = true
	s.mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		if !takeLink(s.ws.State, r.URL.Query().Get("once"), s.guard.now()) {
			s.writeProblem(w, r, &Problem{Status: http.StatusUnauthorized, Code: "LINK_EXPIRED", Message: "the link was used before, or is too old: `pawl serve link` makes a new one"})
			return
		}
		http.SetCookie(w, s.newCookie(s.guard.now()))
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
}
