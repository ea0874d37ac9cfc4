package editor

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A history file that is larger than this is cut to half of it, from the start, when it
// is loaded.
const maxHistoryFile = 4 << 20

// HistoryFile returns a storage in a file that only its owner can read. Where the system
// has file locks, no line of one process is lost or mixed with that of another.
func HistoryFile(name string) Storage {
	return Storage{
		Load: func() (data []byte, err error) {
			err = locked(name, os.O_RDWR, func(f *os.File) error {
				data, err = loadHistory(f)
				return err
			})
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			return data, err
		},
		Append: func(line []byte) error {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				return err
			}
			return locked(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, func(f *os.File) error {
				return appendHistory(f, line)
			})
		},
	}
}

// locked opens a file and calls f while it is locked.
func locked(name string, flags int, f func(*os.File) error) (err error) {
	file, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }() // with it goes the lock
	if err := lock(file); err != nil {
		return err
	}
	return f(file)
}

func loadHistory(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, notRegular(info, f.Name()))
	}
	if info.Size() <= maxHistoryFile {
		return io.ReadAll(f)
	}
	data := make([]byte, maxHistoryFile/2)
	if _, err := f.ReadAt(data, info.Size()-int64(len(data))); err != nil {
		return nil, err
	}
	data = data[bytes.IndexByte(data, '\n')+1:]
	// Written over the start and cut then: a kill in between leaves lines that are there
	// twice, and one that is damaged.
	if _, err := f.WriteAt(data, 0); err != nil {
		return nil, err
	}
	return data, f.Truncate(int64(len(data)))
}

func notRegular(info fs.FileInfo, name string) error {
	if info == nil || info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
}

// appendHistory adds a line, after the end of one that was left unfinished.
func appendHistory(f *os.File, line []byte) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, notRegular(info, f.Name()))
	}
	if size := info.Size(); size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte("\n"), line...)
		}
	}
	_, err = f.Write(line)
	return err
}
