// Package golden compares what a test made with a file that a person has read.
//
// UPDATE=1 go test ./... rewrites the files; read the diff before committing
// it, because a golden file that nobody reads proves nothing. It is an
// environment variable and not a flag: a flag fails in every package that does
// not define it.
package golden

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/atomicfile"
)

// Compare fails t when got differs from testdata/name. With UPDATE set in the
// environment it writes the file instead, see [File].
func Compare(t testing.TB, name string, got []byte) {
	t.Helper()
	File(t, filepath.Join("testdata", filepath.FromSlash(name)), got)
}

// File is Compare for a file at any path. It writes only what differs and replaces the file as a whole, so
// that a test which reads the file at the same time finds all of it.
func File(t testing.TB, path string, got []byte) {
	t.Helper()
	update := os.Getenv("UPDATE") != ""
	want, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case update && (missing || err == nil && !bytes.Equal(want, got)):
		if err := atomicfile.Write(path, got, atomicfile.NoSync); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	case missing:
		t.Fatalf("%s is not there; UPDATE=1 go test writes it", path)
	case err != nil:
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs (-want +got); UPDATE=1 go test rewrites it:\n%s", path, difference(string(want), string(got)))
	}
}
