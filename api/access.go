package api

import (
	"context"
	"net/http"
)

// accessOperations registers what makes and ends access.
func (s *Server) accessOperations() {
	handle(s, operation{method: http.MethodPost, path: "/login-links", id: "create-login-link", tag: "access", status: http.StatusCreated,
		summary: "Make an address that logs a browser in", more: "It works once, for five minutes."},
		func(_ context.Context, _ *struct{}) (Link, error) {
			return NewLink(s.ws.State, s.guard.origins[0], s.guard.now())
		})
	s.guard.open["POST "+Prefix+"/sessions"] = true
	handle(s, operation{method: http.MethodPost, path: "/sessions", id: "create-session", tag: "access", status: http.StatusCreated,
		summary: "Exchange the code of a login link for a session", more: "It needs no token. What it returns is sent as Authorization: Bearer; it ends with the server."},
		func(_ context.Context, in *struct{ Body loginCode }) (Session, error) {
			if takeLink(s.ws.State, in.Body.Code, s.guard.now()) {
				return s.newSession(s.guard.now()), nil
			}
			if !s.guard.failures.take(s.guard.now()) {
				return Session{}, tooMany("there are too many codes that do not count: wait a moment")
			}
			return Session{}, &Problem{Status: http.StatusUnauthorized, Code: "LINK_EXPIRED", Message: "the link was used before, or is too old: `pawl serve link` makes a new one"}
		})
}

// A loginCode is the code of a login link.
type loginCode struct {
	Code string `json:"code" maxLength:"100"`
}
