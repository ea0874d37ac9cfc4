package jsonpath

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// A Source is where a document's bytes come from: [Bytes], [ReaderAt] or [Reopen]. It may
// be asked any number of questions, one at a time. The zero Source is an empty document.
type Source struct {
	data     []byte // Bytes
	readerAt io.ReaderAt
	size     int64
	open     func() (io.ReadCloser, error)

	window int // for tests: bytes to read at a time instead of windowSize
}

// Bytes is a document in memory. Going back costs nothing, and what is found points
// into it.
func Bytes(document []byte) Source { return Source{data: document} }

// ReaderAt is a document in a file, of size bytes. Nothing is kept in memory that
// can be read again.
func ReaderAt(r io.ReaderAt, size int64) Source { return Source{readerAt: r, size: size} }

// Reopen is a document that can be read from the beginning again, such as a compressed
// file. Going back further than [Options.Limit] opens it once more and reads up to the
// place. Everything opened is closed before Stream and Count return.
func Reopen(open func() (io.ReadCloser, error)) Source { return Source{open: open} }

// Section returns size bytes of the document from an offset on. The caller closes it.
func (s Source) Section(offset, size int64) (io.ReadCloser, error) {
	switch {
	case s.readerAt != nil:
		return io.NopCloser(io.NewSectionReader(s.readerAt, offset, size)), nil
	case s.open == nil:
		return io.NopCloser(bytes.NewReader(s.data[offset : offset+size])), nil
	}
	r, err := s.open()
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, r, offset); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(r, size), r}, nil
}

// feed reads a source's bytes in order, from wherever it is told to.
type feed struct {
	src    Source
	offset int64 // of the next byte
	stream io.ReadCloser
}

// seek makes offset the place of the next byte.
func (f *feed) seek(offset int64) error {
	switch {
	case f.src.readerAt != nil || offset == f.offset && (f.stream != nil || f.src.open == nil):
	case f.src.open != nil:
		if f.stream == nil || offset < f.offset {
			if err := f.close(); err != nil {
				return err
			}
			stream, err := f.src.open()
			if err != nil {
				return err
			}
			f.stream, f.offset = stream, 0
		}
		n, err := io.CopyN(io.Discard, f.stream, offset-f.offset)
		f.offset += n
		if err == io.EOF {
			return fmt.Errorf("the document has %d bytes at the second reading, and had at least %d at the first", f.offset, offset)
		}
		return err
	}
	f.offset = offset
	return nil
}

// read fills p as far as one reading goes; io.EOF at the end.
func (f *feed) read(ctx context.Context, p []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	var n int
	var err error
	switch {
	case f.src.readerAt != nil:
		left := f.src.size - f.offset
		if left <= 0 {
			return 0, io.EOF
		}
		n, err = f.src.readerAt.ReadAt(p[:min(int64(len(p)), left)], f.offset)
		if n > 0 {
			err = nil // met again at the next reading, if it was one
		} else if err == nil || err == io.EOF {
			err = fmt.Errorf("the file ends at byte %d, and was said to have %d", f.offset, f.src.size)
		}
	case f.src.open != nil:
		if f.stream == nil {
			if err := f.seek(f.offset); err != nil {
				return 0, err
			}
		}
		n, err = f.stream.Read(p)
	default:
		return 0, io.EOF
	}
	f.offset += int64(n)
	return n, err
}

func (f *feed) close() error {
	if f.stream == nil {
		return nil
	}
	err := f.stream.Close()
	f.stream = nil
	return err
}
