package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Of a file that changed a moment ago the signature is not believed.
func TestASignatureIsBelievedOnceTheFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(ago time.Duration) int64 { return now.Add(-ago).UnixNano() }
	for name, c := range map[string]struct {
		sig  signature
		want bool
	}{
		"not there":                      {signature{}, true},
		"long ago":                       {signature{found: true, modified: at(time.Hour), change: at(time.Hour)}, true},
		"one tick of FAT ago":            {signature{found: true, modified: at(2 * time.Second), change: at(2 * time.Second)}, false},
		"longer ago than that":           {signature{found: true, modified: at(2*time.Second + 1), change: at(2*time.Second + 1)}, true},
		"just now":                       {signature{found: true, modified: at(time.Second), change: at(time.Second)}, false},
		"its time set back just now":     {signature{found: true, modified: at(time.Hour), change: at(time.Second)}, false},
		"from a clock that is too early": {signature{found: true, modified: at(-time.Hour), change: at(-time.Hour)}, false},
	} {
		if got := c.sig.settled(now); got != c.want {
			t.Errorf("%s: believed: %t, want %t", name, got, c.want)
		}
	}
}

// A file that is as it was is not read again; one that cannot be looked at is, each time.
func TestAFileIsReadAgainWhenItChanged(t *testing.T) {
	t.Parallel()
	d := disk{path: filepath.Join(t.TempDir(), "f")}
	for i, want := range []bool{true, false, false} {
		if content, fresh, err := d.read(); content != nil || fresh != want || err != nil {
			t.Errorf("look %d at no file: %q, %t, %v", i, content, fresh, err)
		}
	}
	d.path = filepath.Join(filepath.Dir(d.path), strings.Repeat("n", 300))
	for range 2 {
		if _, fresh, err := d.read(); !fresh || err == nil {
			t.Errorf("a name that is too long: %t, %v", fresh, err)
		}
	}
}

// A record of trust that another process has spoiled since it was looked at is not replaced by one
// that knows nothing of the other workspaces.
func TestASpoiledRecordOfTrustIsNotReplaced(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"too long": strings.Repeat(" ", maxFile+1), "no record": "{"} {
		dir := t.TempDir()
		store := trustStore{dir: dir, disk: disk{path: filepath.Join(dir, "trust.json"), owners: owners{os.Getuid()}}}
		if err := os.WriteFile(store.path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := store.change("/w", 0, nil, func(r *Record) { r.Files = []TrustedFile{{File: "f", SHA256: "s"}} })
		if err == nil {
			t.Errorf("%s: the trust is stored", name)
		}
		if got, err := os.ReadFile(store.path); err != nil || string(got) != content {
			t.Errorf("%s: the file has become %.100q: %v", name, got, err)
		}
	}
}
