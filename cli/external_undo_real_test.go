package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pawl/external/externaltest"
)

// What an agent changes with commands of its own is undone, like what it changes with the tools that edit files: contents, files that
// it has made or removed, and folders. What a person has changed before or since, or between two commands, stays.
func TestRealAgentsCommandsAreUndone(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, kind string) {
		var s *agentSite
		s = newAgentSite(t, kind, func(r externaltest.Request) externaltest.Reply {
			if len(r.Results) == 2 {
				s.write(t, filepath.Join(s.dir, "mine"), "between\n")
			}
			return plays(agentShell(kind, "echo new >old; mkdir d; echo n >d/made; rm gone"), agentWrite(kind, filepath.Join(s.dir, "written")),
				agentShell(kind, "echo last >>old; false"))(r)
		})
		for name, text := range map[string]string{"old": "old\n", "gone": "gone\n", "mine": "before\n"} {
			s.write(t, filepath.Join(s.dir, name), text)
		}
		s.must(t, []string{"run", "-m", agentModels[kind], "--mode", "bypass", "-p", "Try."}, "I tried all.")
		s.must(t, []string{"runs", "show", "last", "--diff"}, "-old\n+new\n+last\n", "d/made")
		s.write(t, filepath.Join(s.dir, "since"), "since\n")
		s.must(t, []string{"runs", "undo", "last"}, "old: restored", "d: removed", "written: removed", "gone: created again")
		var tree string
		err := filepath.WalkDir(s.dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				tree += " " + e.Name()
				return err
			}
			b, err := os.ReadFile(path)
			tree += fmt.Sprintf(" %s=%q", e.Name(), b)
			return err
		})
		if want := ` w gone="gone\n" mine="between\n" old="old\n" since="since\n"`; err != nil || tree != want {
			t.Errorf("there is%s, %v, want%s", tree, err, want)
		}
	})
}
