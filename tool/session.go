package tool

import "sync"

// A Session is what the tools of one run keep between calls, in memory: losing
// it costs a re-read, never correctness. The zero value is ready.
type Session struct {
	mu   sync.Mutex
	seen map[string]sighting // by path relative to the workspace: files as last read or written here

	shell shellState
}
