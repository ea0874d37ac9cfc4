//go:build linux

package main

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A change replaces a text of a source file, which is named from the root of the module or of Go on.
type change struct{ file, old, new string }

// build returns pawl-fleet as it is after changes to its sources or to those of Go's library.
func build(t testing.TB, changes ...change) (program string) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for _, c := range changes {
		file := filepath.Join("../..", c.file)
		if _, err := os.Stat(file); err != nil {
			root, err := exec.Command("go", "env", "GOROOT").Output()
			if err != nil {
				t.Skip("another pawl is built with Go: ", err)
			}
			file = filepath.Join(strings.TrimSpace(string(root)), c.file)
		}
		file, err := filepath.Abs(file)
		ok(t, err)
		b, err := os.ReadFile(cmp.Or(replace[file], file))
		ok(t, err)
		if strings.Count(string(b), c.old) != 1 {
			t.Fatalf("%s does not have %q once", c.file, c.old)
		}
		changed := filepath.Join(dir, filepath.Base(file))
		ok(t, os.WriteFile(changed, []byte(strings.Replace(string(b), c.old, c.new, 1)), 0o600))
		replace[file] = changed
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	program = filepath.Join(dir, "pawl-fleet")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pawl-fleet cannot be built: %v\n%s", err, out)
	}
	return program
}

// aMinuteAhead makes the clock that a program sees go a minute ahead.
var aMinuteAhead = change{"src/time/time.go", "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {", "\tsec, nsec, mono := runtimeNow()\n\tsec += 60\n\tif mono == 0 {"}
