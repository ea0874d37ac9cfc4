package output

import (
	"errors"
	"fmt"
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
	o, err := openOutput(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Join(err, f.Close()))
	}
	return o, nil
}

// openOutput returns the output that a file has. It takes the file only if there is no
// error.
func openOutput(f *os.File) (*Output, error) {
	m, at, end, err := metaOf(f)
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
func metaOf(f *os.File) (m Meta, index, end int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return m, 0, 0, err
	}
	index, at, end, err := readParts(f, info.Size())
	if err == nil {
		err = readPart(f, at, end, &m)
	}
	m.Stored = diskuse.Of(info)
	return m, index, at, err
}

func readMeta(name string) (Meta, error) {
	f, err := atomicfile.Open(name)
	if err != nil {
		return Meta{}, err
	}
	defer f.Close()
	m, _, _, err := metaOf(f)
	return m, err
}
