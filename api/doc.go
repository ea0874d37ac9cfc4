// Package api serves a workspace over HTTP: tasks, runs and what belongs to them as JSON
// under /api/v1, and what happens to them as server-sent events. It decides nothing: it
// checks who calls and what was sent, calls package app, and writes what app returns in the
// forms of docs/json.md.
//
// # Requests
//
// [Server.Handler] applies, in this order: a request id, the checks of [guard] (Host, Origin,
// method, token, content type, rate), idempotency keys, and then the operation. An
// operation is a function from an input struct to a form; [handle] registers it with its
// OpenAPI description. It returns errors of package app as they are: [problemOf] gives each
// its status and code.
//
// # Callers
//
// A person presents the server's token, as a bearer token or as the token of a session made by a
// one-time link. An external agent presents the token of its run, which reaches the tools
// of that run and nothing else.
package api
