//go:build !linux

package sandbox

// There is no watcher here: the workspace is read each time.
type watcher struct{}

func newWatcher(*index) *watcher { return nil }
func (*watcher) add(string) bool { return true }
func (*watcher) drain() bool     { return false }
func (*watcher) close()          {}

func (*watcher) wait(stop <-chan struct{}) bool {
	<-stop
	return false
}
