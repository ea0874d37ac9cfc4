// Package mcp speaks the Model Context Protocol with other programs: as a client with servers
// of tools that a person has configured, and as a server with external agents that reach
// tools of pawl.
//
// [Servers] are the configured servers of a workspace. Their tools are [tool.Tool]s: what may
// run is decided like any call, and results go where all results go. A server on this machine
// runs in the sandbox, is started when it is first called, and is started again after it has
// ended. The list of its tools is remembered, so that a run which uses none waits for none.
//
// The package reads no configuration files and asks no person: it is given [Definition]s, and
// functions for the rest.
//
// The protocol is that of github.com/modelcontextprotocol/go-sdk. Source of what it does not
// decide: modelcontextprotocol.io, specification 2025-11-25 and 2026-07-28, read 2026-11-26.
package mcp
