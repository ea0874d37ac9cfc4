package output

import (
	"errors"
	"fmt"
	"iter"

	"pawl/internal/stable"
	"pawl/run"
)

// Stored returns what is known of the outputs of a run that are not in its log, the oldest first.
func (s *Store) Stored(conversation, owner run.ID) ([]Meta, error) {
	all, err := s.metas(conversation, owner)
	stable.Sort(all, compareAge)
	return all, err
}

// Parts yields a stored output as it is stored, in parts that are a zstd frame each, for [Writer.WritePart]. An error is the
// last thing that it yields.
func (o *Output) Parts() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if o.frames == nil {
			yield(nil, fmt.Errorf("output %s of run %s is in the log", o.ID, o.Run))
			return
		}
		for n := range o.frames.frames {
			part, err := o.frames.packed(n)
			if !yield(part, err) || err != nil {
				return
			}
		}
	}
}

// UnpackPart returns what a part of an output has, at most 1 MiB.
func UnpackPart(part []byte) ([]byte, error) {
	b, err := decompress(nil, part)
	if err == nil && len(b) > frameSize {
		err = fmt.Errorf("%w: a part has %d bytes", errDamaged, len(b))
	}
	return b, err
}

// ErrDiffers says that an output is not what is said of it.
var ErrDiffers = errors.New("its content is not what is said of it")

// Restore begins an output that was stored elsewhere, in place of one that is here. Its content is analyzed again: of m, what cannot
// be known from the content counts, and Commit returns [ErrDiffers] if the numbers of bytes, characters and lines are others.
func (s *Store) Restore(m Meta) (*Writer, error) {
	w, err := s.Create(Key{m.Conversation, m.Run, m.ID}, m.Tool, m.Message)
	if err == nil {
		w.meta.Created, w.meta.Inline, w.restored = m.Created, m.Inline, &m.Text
	}
	return w, err
}

// WritePart adds a part of a stored output.
func (w *Writer) WritePart(part []byte) error {
	b, err := UnpackPart(part)
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// checkRestored returns [ErrDiffers] if the text is not the one that is restored.
func (w *Writer) checkRestored() error {
	want, have := w.restored, w.meta.Text
	if have.Bytes != want.Bytes || have.Characters != want.Characters || have.Lines != want.Lines {
		return fmt.Errorf("%w: it has %d bytes, %d characters and %d lines, not %d, %d and %d", ErrDiffers,
			have.Bytes, have.Characters, have.Lines, want.Bytes, want.Characters, want.Lines)
	}
	return nil
}
