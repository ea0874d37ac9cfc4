//go:build !linux

package changes

// A watch is not had here: everything is looked at each time.
type watch struct{}

func newWatch(string) *watch { return nil }

func (w *watch) add(string) {}

func (w *watch) drain() (touched map[string]bool, ok bool) { return map[string]bool{}, false }

func (w *watch) close() {}
