package console

import (
	"bytes"
	"io"
	"sync"
)

// A HeldWriter holds what is written to it while a prompt is open, and writes it when that has ended: what a
// person has typed in the meantime cannot be drawn again, so nothing may be printed into its line.
type HeldWriter struct {
	To io.Writer

	mu   sync.Mutex
	open bool
	held bytes.Buffer
}

func (h *HeldWriter) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open {
		return h.held.Write(p)
	}
	return h.To.Write(p)
}

// prompt writes what a prompt says. What others write is held from now on, until resume.
func (h *HeldWriter) prompt(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = true
	_, _ = io.WriteString(h.To, text) // a terminal
}

// resume ends a prompt, after the text that ends its line.
func (h *HeldWriter) resume(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = false
	_, _ = io.WriteString(h.To, text+h.held.String())
	h.held.Reset()
}
