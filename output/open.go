package output

import (
	"errors"
	"fmt"
	"io"
	"os"

	"pawl/internal/atomicfile"
	"pawl/internal/diskuse"
)

// An Output is a stored output that is open.
type Output struct {
	Meta
	*Document
	frames *frameReader // nil: it is in a log, and in memory
}

// Close closes the file, if the output is one.
func (o *Output) Close() error {
	if o.frames == nil {
		return nil
	}
	return o.frames.close()
}

func openFile(name string) (*Output, error) {
	f, err := atomicfile.Open(name)
	if err != nil {
		return nil, err
	}
	o, err := openLocal(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Join(err, f.Close()))
	}
	return o, nil
}

// openLocal is openOutput for a file of this machine.
func openLocal(f *os.File) (*Output, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	o, err := openOutput(f, info.Size())
	if err == nil {
		o.Stored = diskuse.Of(info)
	}
	return o, err
}

// openOutput returns the output that a file of size bytes has. It takes the file only if there is no
// error.
func openOutput(f io.ReaderAt, size int64) (*Output, error) {
	m, at, end, err := metaOf(f, size)
	if err != nil {
		return nil, err
	}
	var index fileIndex
	if err := readPart(f, at, end, &index); err != nil {
		return nil, err
	}
	o := &Output{Meta: m, frames: &frameReader{f: f, frames: index.Frames, end: index.End, size: m.Text.Bytes, latest: -1}}
	o.Document = &Document{
		Name: string(m.ID), format: m.Format, problem: m.Problem, raw: o.frames, size: m.Text.Bytes, text: &o.Meta.Text,
		frames: index.Frames, analysis: index.Parsed,
	}
	return o, nil
}

// metaOf returns the meta of a file, and from where to where its index is.
func metaOf(f io.ReaderAt, size int64) (m Meta, index, end int64, err error) {
	index, at, end, err := readParts(f, size)
	if err == nil {
		err = readPart(f, at, end, &m)
	}
	return m, index, at, err
}

func readMeta(name string) (Meta, error) {
	f, err := atomicfile.Open(name)
	if err != nil {
		return Meta{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Meta{}, err
	}
	m, _, _, err := metaOf(f, info.Size())
	m.Stored = diskuse.Of(info)
	return m, err
}
