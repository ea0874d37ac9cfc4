//go:build !linux

package sandbox

import "time"

// There is no watcher here: the workspace is read each time.
type watcher struct{}

func newWatcher(*index) *watcher       { return nil }
func (*watcher) add(string, bool) bool { return true }
func (*watcher) drain() bool           { return false }
func (*watcher) close()                {}

func (*watcher) wait(stop <-chan struct{}, _ time.Duration) bool {
	<-stop
	return false
}
