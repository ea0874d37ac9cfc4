package wire

import (
	"bytes"

	"pawl/llm"
	"pawl/run"
)

// A Doubled detects streams in which every event arrives twice, as some proxies send
// them: text and arguments would contain each piece twice, as if the model could not call
// tools. The zero value is ready.
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

// Check is given the data of each event. Its error is transient.
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
