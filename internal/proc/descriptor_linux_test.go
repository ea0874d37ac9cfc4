package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A descriptor that pawl inherited from the process that started it, a shell's or a
// supervisor's, may lead to what the command must not reach.
func TestACommandGetsNoDescriptorThatPawlInherited(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inherited")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Open(file, syscall.O_RDWR, 0) // without O_CLOEXEC, as it is after an exec
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	everywhere(t, func(t *testing.T, isolation string) {
		var out bytes.Buffer
		p, err := Start(t.Context(), Command{
			Argv: []string{"sh", "-c", "ls -l /proc/self/fd"}, Env: []string{"PATH=" + os.Getenv("PATH")}, Output: &out, Isolation: isolation,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		// Its three, and the one by which ls reads the folder.
		if listed := strings.Count(out.String(), "->"); listed != 4 || strings.Contains(out.String(), file) {
			t.Errorf("the command has %d descriptors:\n%s", listed, out.String())
		}
	})
}
