// Package golden compares what a test made with a file that a person has read.
//
// UPDATE=1 go test ./... rewrites the files; read the diff before committing
// it, because a golden file that nobody reads proves nothing. It is an
// environment variable and not a flag: a flag fails in every package that does
// not define it.
package golden

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Compare fails t when got differs from testdata/name. With UPDATE set in the
// environment it writes the file instead.
func Compare(t testing.TB, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is not there; UPDATE=1 go test writes it", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); UPDATE=1 go test rewrites it:\n%s", path, diff)
	}
}
