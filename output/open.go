package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"pawl/internal/diskuse"
)

// An Output is a stored output that is open.
type Output struct {
	Meta
	*Document
	frames *frameReader
}

// Close closes the file.
func (o *Output) Close() error { return o.frames.close() }

func openFile(name string) (*Output, error) {
	f, err := os.Open(name)
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
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	at, metaAt, end, err := readParts(f, info.Size())
	if err != nil {
		return nil, err
	}
	o := &Output{}
	b, err := readSkippable(f, metaAt, end)
	if err == nil {
		err = json.Unmarshal(b, &o.Meta)
	}
	if err != nil {
		return nil, err
	}
	o.Meta.Stored = diskuse.Of(info)
	var index fileIndex
	if b, err = readSkippable(f, at, metaAt); err == nil {
		err = json.Unmarshal(b, &index)
	}
	if err != nil {
		return nil, err
	}
	o.frames = &frameReader{f: f, frames: index.Frames, end: index.End, size: o.Text.Bytes, latest: -1}
	o.Document = &Document{
		Name: string(o.ID), format: o.Meta.Format, problem: o.Problem, raw: o.frames, size: o.Text.Bytes, text: &o.Meta.Text,
		frames: index.Frames, analysis: index.Parsed,
	}
	return o, nil
}

func readMeta(name string) (Meta, error) {
	f, err := os.Open(name)
	if err != nil {
		return Meta{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Meta{}, err
	}
	_, at, end, err := readParts(f, info.Size())
	if err != nil {
		return Meta{}, err
	}
	b, err := readSkippable(f, at, end)
	if err != nil {
		return Meta{}, err
	}
	m := Meta{Stored: diskuse.Of(info)}
	return m, json.Unmarshal(b, &m)
}
