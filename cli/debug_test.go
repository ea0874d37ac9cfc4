package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pawl/cli/command"
)

// Only one CPU profile and one trace are possible at a time in a process: no other test makes
// one.
func TestACommandIsProfiled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) (code int, out, errors string) {
		var stdout, stderr bytes.Buffer
		code = Main(append([]string{"debug", "profile"}, args...), command.Process{Stdin: &bytes.Buffer{}, Stdout: &stdout, Stderr: &stderr,
			Env: func(string) (string, bool) { return "", false }})
		return code, stdout.String(), stderr.String()
	}
	events, cpu := filepath.Join(dir, "trace"), filepath.Join(dir, "cpu")
	code, out, errors := run("--trace", events, "--cpu", cpu, "--", "version", "--json")
	if code != command.ExitDone || !bytes.HasPrefix([]byte(out), []byte("{")) || errors != "" {
		t.Errorf("exit code %d: %s%s", code, out, errors)
	}
	for path, begins := range map[string]string{cpu: "\x1f\x8b", events: "go 1."} {
		if data, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(data, []byte(begins)) {
			t.Errorf("%s begins with %.8q, %v", path, data, err)
		}
	}
	if code, _, errors := run("--cpu", cpu, "--", "version", "--no-such-flag"); code != command.ExitUsage || errors == "" {
		t.Errorf("a command that fails ends with %d: %s", code, errors)
	}
	if code, _, _ := run("--trace", filepath.Join(dir, "missing", "trace"), "--", "version"); code != command.ExitFailed {
		t.Errorf("a profile that cannot be written ends with %d", code)
	}
	if code, _, _ := run("--", "version"); code != command.ExitUsage {
		t.Errorf("no profile to make ends with %d", code)
	}
}
