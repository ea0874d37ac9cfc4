package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/config"
)

func TestAStateFolderThatCannotBeWrittenIsAnErrorOfUsage(t *testing.T) {
	t.Parallel()
	w := openIn(t, t.TempDir(), t.TempDir())
	if err := errors.Join(os.MkdirAll(filepath.Dir(w.State), 0o700), os.WriteFile(w.State, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err := w.writing()
	if !errors.As(err, new(*config.Error)) || !strings.Contains(err.Error(), "make the folder and its files writable") {
		t.Errorf("got %v, want an error of usage that says what to do", err)
	}
}
