package text

import "bytes"

// A Head keeps the beginning of what is written to it.
type Head struct {
	bytes.Buffer
	Room int  // bytes that are still kept
	Cut  bool // there was more
}

func (h *Head) Write(b []byte) (int, error) {
	kept := b[:min(len(b), h.Room)]
	h.Room, h.Cut = h.Room-len(kept), h.Cut || len(kept) < len(b)
	h.Buffer.Write(kept)
	return len(b), nil
}
