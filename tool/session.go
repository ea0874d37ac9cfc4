package tool

import "sync"

// A Session is what the tools of one run keep between calls, in memory: losing
// it costs a re-read, never correctness. The zero value is ready.
type Session struct {
	mu   sync.Mutex
	seen map[string]string // workspace path -> SHA-256 as last read or written here
	dir  string            // the shell's folder; empty: the workspace
}
