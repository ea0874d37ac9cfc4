package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// A sized file is what any part of can be read.
type sized struct {
	io.ReaderAt
	name  string
	size  int64 // bytes
	close func() error
}

// Close closes the file, and removes it if it was made for the question.
func (s *sized) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// openFile opens a file, or standard input for -. What cannot be read twice, such as a
// pipe, is kept: in memory if it is small, else in a temporary file.
func (a *app) openFile(name string) (*sized, error) {
	if name == "-" {
		const shown = "standard input"
		f, ok := a.stdin.(*os.File)
		if !ok {
			return spool(shown, a.stdin)
		}
		info, err := f.Stat()
		switch {
		case err != nil:
			return nil, fmt.Errorf("standard input: %w", err)
		case info.Mode()&os.ModeCharDevice != 0 && isTerminal(info):
			fmt.Fprintln(a.stderr, "pawl: reads standard input; end it with Ctrl-D, or name a --file")
		case info.Mode().IsRegular():
			// Whoever started pawl may have read some of it already.
			at, err := f.Seek(0, io.SeekCurrent)
			if err != nil {
				return nil, fmt.Errorf("standard input: %w", err)
			}
			size := max(0, info.Size()-at)
			return &sized{ReaderAt: io.NewSectionReader(f, at, size), name: shown, size: size}, nil
		}
		return spool(shown, f)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usage("the file cannot be read: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	case info.IsDir():
		return nil, errors.Join(usage("%s is a folder: name a file", name), f.Close())
	case info.Mode().IsRegular():
		return &sized{ReaderAt: f, name: name, size: info.Size(), close: f.Close}, nil
	}
	defer f.Close()
	return spool(name, f)
}

// isTerminal reports whether a character device may be one: /dev/null ends at once and
// nobody has to be told.
func isTerminal(info os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// maxSpooled is how much of a pipe is kept in memory, in bytes: of the 64 MiB that a
// question may take, what it does not need itself.
const maxSpooled = 8 << 20

// spool keeps what r yields.
func spool(name string, r io.Reader) (*sized, error) {
	var head bytes.Buffer
	n, err := io.Copy(&head, io.LimitReader(r, maxSpooled))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	if n < maxSpooled {
		return &sized{ReaderAt: bytes.NewReader(head.Bytes()), name: name, size: n}, nil
	}
	f, err := os.CreateTemp("", "pawl-")
	if err != nil {
		return nil, fmt.Errorf("%s is too large for memory, and there is no place for it: %w", name, err)
	}
	// Where the system lets it, the file is gone from its folder at once, so that
	// nothing is left behind whatever becomes of the process.
	early := os.Remove(f.Name())
	s := &sized{ReaderAt: f, name: name, close: func() error {
		err := f.Close()
		if early != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
		return err
	}}
	s.size, err = io.Copy(f, io.MultiReader(&head, r))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be kept in a temporary file: %w", name, err), s.Close())
	}
	return s, nil
}
