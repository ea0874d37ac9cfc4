package wire

import (
	"bytes"

	"pawl/llm"
	"pawl/run"
)

// A Doubled looks for streams in which every event comes twice, as some proxies send
// them: text and arguments would be put together from pieces that are there twice,
// and look like a model that cannot call tools. The zero value is ready.
//
// It decides by the first three pairs: no answer begins with three different events
// that each come exactly twice.
type Doubled struct {
	last   []byte
	odd    bool // last is the first of a pair
	pairs  int
	differ bool // not all pairs are the same
	not    bool // decided: they do not
}

// Check takes the data of the next event. The error is one that may pass.
func (d *Doubled) Check(data []byte) error {
	switch {
	case d.not:
		return nil
	case !d.odd:
		d.differ = d.differ || d.pairs > 0 && !bytes.Equal(d.last, data)
		d.last, d.odd = append(d.last[:0], data...), true
		return nil
	case !bytes.Equal(d.last, data):
		d.not, d.last = true, nil
		return nil
	}
	d.odd, d.pairs = false, d.pairs+1
	if d.pairs < 3 || !d.differ {
		return nil
	}
	return &llm.Error{Kind: run.ErrBrokenStream, Message: "every event of the answer came twice: is there a proxy in between?"}
}
