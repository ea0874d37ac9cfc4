package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/config"
)

// Without the key that they were sealed with logs are not continued, so nothing advises to remove it where chmod is enough.
func TestALogKeyThatOthersCanReadOrThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := config.Env(func(string) (string, bool) { return dir, true })
	if key, err := env.LogKey(false); key != nil || err != nil {
		t.Fatalf("before there is one: %q, %v", key, err)
	}
	made, err := env.LogKey(true)
	if read, err2 := env.LogKey(false); err != nil || err2 != nil || string(read) != string(made) {
		t.Fatalf("made %q, read %q: %v, %v", made, read, err, err2)
	}
	file := filepath.Join(dir, "log-key")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := env.LogKey(false); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("of others: %v", err)
	}
	if err := errors.Join(os.Chmod(file, 0o600), os.Truncate(file, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := env.LogKey(true); err == nil {
		t.Error("an empty one was used")
	}
}
