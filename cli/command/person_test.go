package command

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A command of a run that removes PAWL_RUN for what it starts is still known as one, by what
// started it.
func TestACommandOfARunIsKnownByWhatStartedIt(t *testing.T) {
	t.Parallel()
	type process struct {
		parent           int
		environ, cmdline string
	}
	for name, c := range map[string]struct {
		processes map[int]process
		want      bool
	}{
		"a person's shell":         {map[int]process{9: {5, "HOME=/h\x00", "bash"}, 5: {1, "TERM=x", "sshd"}, 1: {0, "", "init"}}, false},
		"env -u in a run's shell":  {map[int]process{9: {5, "HOME=/h\x00", "env"}, 5: {1, "A=b\x00PAWL_RUN=r\x00", "bash"}}, true},
		"exec env -u":              {map[int]process{9: {5, "HOME=/h", "pawl\x00__proc\x00sweep"}, 5: {1, "", "pawl\x00run"}}, true},
		"by a process that is odd": {map[int]process{9: {5, "", "x) 1 (y"}, 5: {1, "PAWL_PROC=x", ""}}, true},
		"an empty variable":        {map[int]process{9: {0, "PAWL_RUN=\x00", ""}}, false},
		"another's":                {map[int]process{9: {0, "XPAWL_RUN=a\x00", ""}}, false},
		"one that has ended":       {nil, false},
		"a circle":                 {map[int]process{9: {5, "", ""}, 5: {9, "", ""}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proc := t.TempDir()
			for pid, p := range c.processes {
				dir := filepath.Join(proc, strconv.Itoa(pid))
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				stat := strconv.Itoa(pid) + " (" + strings.ReplaceAll(p.cmdline, "\x00", " ") + ") S " + strconv.Itoa(p.parent) + " 1 1"
				for file, text := range map[string]string{"environ": p.environ, "cmdline": p.cmdline, "stat": stat} {
					if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := findRunAbove(proc, 9); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}
