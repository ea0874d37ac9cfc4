package wire

import (
	"errors"
	"io"
	"time"
)

// The causes of a request that a watchdog cancelled.
var (
	errSilent     = errors.New("the server is silent")
	errNoProgress = errors.New("the server sends no part of an answer")
)

// A watchdog cancels a request that makes no progress for too long. Progress is a
// part of the answer: a comment or a ping is not, or a server that sends only those would
// never time out.
//
// Only the time spent waiting for the server counts, not the time between two reads. A watchdog belongs to one goroutine.
type watchdog struct {
	limit  time.Duration
	left   time.Duration // of the limit, before the read under way
	timer  *time.Timer
	cancel func(error)
	heard  bool // something came since the last progress
}

// newWatchdog returns a watchdog that waits for the response to a request.
func newWatchdog(limit time.Duration, cancel func(error)) *watchdog {
	w := &watchdog{limit: limit, left: limit, cancel: cancel}
	w.timer = time.AfterFunc(limit, func() { cancel(errSilent) })
	return w
}

// progress restarts the limit.
func (w *watchdog) progress() {
	w.timer.Stop()
	w.left, w.heard = w.limit, false
}

func (w *watchdog) stop() { w.timer.Stop() }

// over returns a body whose reads are watched.
func (w *watchdog) over(body io.ReadCloser) io.ReadCloser { return watchedBody{body, w} }

type watchedBody struct {
	io.ReadCloser
	*watchdog
}

func (b watchedBody) Read(p []byte) (int, error) {
	w, cause := b.watchdog, errSilent
	if w.heard {
		cause = errNoProgress
	}
	start := time.Now()
	w.timer = time.AfterFunc(w.left, func() { w.cancel(cause) })
	n, err := b.ReadCloser.Read(p)
	w.timer.Stop()
	w.left -= time.Since(start)
	w.heard = w.heard || n > 0
	return n, err
}
