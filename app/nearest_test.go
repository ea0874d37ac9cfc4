package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"pawl/app"
	"pawl/config"
)

// Runs that cannot be read are not passed over for those of a folder above.
func TestUnreadableRunsAreNotPassedOver(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	repository := filepath.Join(home, "repo")
	sub := filepath.Join(repository, "sub")
	for _, dir := range []string{sub, filepath.Join(repository, ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := config.Env(func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": filepath.Join(home, "me"), "PAWL_STATE_DIR": filepath.Join(home, "state")}[name]
		return v, ok
	})
	damage := func(dir string) {
		t.Helper()
		state := env.WorkspaceState(dir)
		if err := os.MkdirAll(state, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(state, "pawl.db"), []byte("this is no database, and long enough to be looked at as one"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened := func() string {
		t.Helper()
		w, err := app.Open(app.Options{Dir: sub, Env: env, Nearest: true})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		return w.Dir
	}
	if got := opened(); got != sub {
		t.Errorf("without any runs %s was opened, want %s", got, sub)
	}
	damage(repository)
	if got := opened(); got != repository {
		t.Errorf("with damaged runs above %s was opened, want %s", got, repository)
	}
	damage(sub)
	if got := opened(); got != sub {
		t.Errorf("with damaged runs of its own %s was opened, want %s", got, sub)
	}
}
