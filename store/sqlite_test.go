package store_test

import (
	"testing"

	"pawl/store"
	"pawl/store/storetest"
)

// open opens the store in dir until the test ends.
func open(t testing.TB, dir string) store.Database {
	t.Helper()
	st, err := store.Open(dir, store.Options{Version: "0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func TestSQLitePassesTheSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) (store.Store, func() store.Store) {
		dir := t.TempDir()
		return open(t, dir), func() store.Store { return open(t, dir) }
	})
}
