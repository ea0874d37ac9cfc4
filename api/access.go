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
		summary: "Exchange the code of a login link for a session", more: "It needs no token. What it returns is sent as Authorization: Bearer; it ends after seven days. What is to be kept of a session, and its token, are codes as well: what they are exchanged for ends when that one does."},
		func(ctx context.Context, in *struct{ Body loginCode }) (Session, error) {
			session, err := s.enter(ctx, in.Body.Code, s.guard.now())
			if err != errNobody {
				return session, err
			}
			if !s.guard.failures.take(s.guard.now()) {
				return Session{}, tooMany("there are too many codes that do not count: wait a moment")
			}
			return Session{}, &Problem{Status: http.StatusUnauthorized, Code: "LINK_EXPIRED", Message: "the link was used before, or is too old, or the server was started again: `pawl serve link` makes a new one"}
		})
	s.guard.open["POST "+Prefix+"/sessions/proof"] = true
	handle(s, operation{method: http.MethodPost, path: "/sessions/proof", id: "prove-session", tag: "access",
		summary: "Prove to a page that this is the server of its session", more: "It needs no token. The proof is the HMAC-SHA-256 of the host and port of the address, a blank and the nonce, with the token of the session as the key."},
		func(ctx context.Context, in *struct{ Body proofInput }) (Proof, error) {
			return Proof{s.proof(in.Body.Session, in.Body.Nonce, requestOf(ctx).host)}, nil
		})
}

// A proofInput is what a page sends before it trusts a server that was away.
type proofInput struct {
	Session string `json:"session" maxLength:"150" doc:"The token of the session without its last part"`
	Nonce   string `json:"nonce" minLength:"32" maxLength:"100" doc:"Random"`
}

// A Proof is the answer to it.
type Proof struct {
	Proof string `json:"proof"`
}

// A loginCode is the code of a login link.
type loginCode struct {
	Code string `json:"code" maxLength:"200"`
}
