//go:build !linux

package tool

// A changesWatch is not had here: everything is looked at each time.
type changesWatch struct{}

func newChangesWatch(string) *changesWatch { return nil }

func (w *changesWatch) add(string) {}

func (w *changesWatch) drain() (touched map[string]bool, ok bool) { return map[string]bool{}, false }

func (w *changesWatch) close() {}
