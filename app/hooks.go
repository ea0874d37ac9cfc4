package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"pawl/hook"
	"pawl/policy"
)

// OwnHooksFile is the person's own file of hooks, in the folder of the configuration.
const OwnHooksFile = "hooks.json"

// maxHooksFile bounds a file of hooks.
const maxHooksFile = 1 << 20

// hooksFound are the hooks of a workspace.
type hooksFound struct {
	all       []hook.Hook // in the order in which their files count
	problems  []string    // which do not run, and why
	untrusted []string    // files that a person has to review first
}

// Hooks returns the hooks that run here: the person's own and those of the repository that are trusted. untrusted are the
// files of the others, and problems say what else does not run, and why.
func (w *Workspace) Hooks() (all []hook.Hook, untrusted, problems []string, err error) {
	s, err := w.load()
	if err != nil {
		return nil, nil, nil, err
	}
	f := s.hooks()
	return f.all, f.untrusted, f.problems, nil
}

func (w *Workspace) findHooks(p *policy.Policy) (f hooksFound) {
	own := filepath.Join(w.env.UserDir(), OwnHooksFile)
	switch content, err := readBounded(own, maxHooksFile); {
	case err == nil:
		f.add(own, content, true)
	case !errors.Is(err, fs.ErrNotExist):
		f.problems = append(f.problems, fmt.Sprintf("%s: %v", own, err))
	}
	dirs := w.parents()
	if home := w.home(); home != "" && home != w.Dir {
		dirs = append([]string{home}, dirs...) // Claude Code's settings of the person, reviewed as a folder of its own
	}
	for _, dir := range dirs {
		for _, name := range policy.HookFiles {
			files, others := p.TrustedFilesOf(dir, name)
			for _, file := range files {
				f.add(filepath.Join(dir, filepath.FromSlash(file.Name)), file.Content, false)
			}
			for _, other := range others {
				f.untrusted = append(f.untrusted, filepath.Join(dir, filepath.FromSlash(other)))
			}
		}
	}
	return f
}

// add adds the hooks in a file.
func (f *hooksFound) add(file string, content []byte, own bool) {
	hooks, problems, err := hook.Parse(content, file, own)
	if err != nil {
		problems = append(problems, err.Error())
	}
	f.all, f.problems = append(f.all, hooks...), append(f.problems, problems...)
}

// readBounded returns the content of a file of at most most bytes.
func readBounded(file string, most int64) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > most:
		return nil, fmt.Errorf("it is no file of at most %d KB", most>>10)
	}
	return os.ReadFile(file)
}

// hookSet returns the hooks of runs in a workspace, which may be a copy; nil: there are none.
func (w *Workspace) hookSet(s *settings) *hook.Set {
	f := s.hooks()
	if len(f.all) == 0 {
		return nil
	}
	return &hook.Set{Hooks: f.all, Options: s.shellOptions(), Check: func(h *hook.Hook, workspace string) error { return w.checkHook(s.policy, h, workspace) }}
}

// checkHook returns an error if a hook of the repository would run a file of it that no one has trusted as it is.
func (w *Workspace) checkHook(p *policy.Policy, h *hook.Hook, workspace string) error {
	if h.Own {
		return nil
	}
	var changed []string
	for _, name := range hook.Files([]hook.Hook{*h}, w.Dir) {
		if !isFile(filepath.Join(workspace, name)) {
			continue
		}
		others, err := p.Unreviewed(workspace, w.Dir, []string{name})
		if err != nil {
			return err
		}
		changed = append(changed, others...)
	}
	if len(changed) > 0 {
		return fmt.Errorf("%s is not trusted as it is: review it with `pawl trust`", strings.Join(changed, ", "))
	}
	return nil
}

// hookScripts returns the files of the workspace that its hooks run, trusted or not: they are reviewed with them.
func (w *Workspace) hookScripts() (names []string) {
	for _, file := range policy.HookFiles {
		content, err := readBounded(filepath.Join(w.Dir, filepath.FromSlash(file)), maxHooksFile)
		if err != nil {
			continue
		}
		hooks, _, _ := hook.Parse(content, file, false) // what cannot be read names none
		for _, name := range hook.Files(hooks, w.Dir) {
			if isFile(filepath.Join(w.Dir, name)) {
				names = append(names, name)
			}
		}
	}
	return names
}

// isFile reports whether a path is a file and no link.
func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// hooksOnce returns what reads the hooks of a policy once.
func (w *Workspace) hooksOnce(p *policy.Policy) func() hooksFound {
	return sync.OnceValue(func() hooksFound { return w.findHooks(p) })
}
