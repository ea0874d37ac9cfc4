package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/config"
	"pawl/sandbox"
)

// dirs returns the further folders of the settings, absolute and with links resolved. With
// given, only those given for this process count. A relative path starts in the folder that
// pawl was started in; in the user's file, where none is meant, it is an error.
func (w *Workspace) dirs(s *settings, given bool) ([]string, error) {
	var dirs []string
	for _, v := range s.Values("add_dirs") {
		if given && v.Source != config.FromFlag {
			continue
		}
		dir := v.Text
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = filepath.Join(w.env.Get("HOME"), rest)
		}
		if strings.HasPrefix(v.Source, config.FromUser) && !filepath.IsAbs(dir) {
			return nil, config.Errorf("add_dirs (%s): %s must be absolute, or begin with ~/", v.Source, v.Text)
		}
		real, err := sandbox.CheckFolder(dir, w.Dir, w.sandboxOptions(s.sockets))
		if err != nil {
			return nil, config.Errorf("--add-dir: %w", err)
		}
		if !slices.Contains(dirs, real) && real != w.Dir && !strings.HasPrefix(real, w.Dir+"/") {
			dirs = append(dirs, real)
		}
	}
	return dirs, nil
}

// confineDirs returns what confines the commands of a run that works in dir with further
// folders, which of them can be used, and why not all. A folder that is now another one, or
// behind a link, is not the one that was added.
func (w *Workspace) confineDirs(s *settings, dir string, dirs []string) (confined *sandbox.Policy, usable []string, note string) {
	var notes []string
	o := w.sandboxOptions(s.sockets)
	for _, dir := range dirs {
		switch real, err := sandbox.CheckFolder(dir, w.Dir, o); {
		case err != nil:
			notes = append(notes, err.Error())
		case real != dir:
			notes = append(notes, "the folder "+dir+" is not used: it leads to "+real+" now")
		default:
			usable = append(usable, dir)
		}
	}
	alone, err := w.confineIn(s, dir)
	if err != nil {
		return s.confinement, nil, err.Error() // unreachable unless the copy was removed: it does not let commands into it
	}
	if alone == nil || len(usable) == 0 {
		return alone, usable, strings.Join(notes, "; ")
	}
	p, err := w.confined(s, dir, usable)
	if err != nil {
		return alone, nil, err.Error()
	}
	return p, usable, strings.Join(notes, "; ")
}

// confineIn returns what confines the commands of a run that works in dir: in the workspace,
// or in the copy of a task.
func (w *Workspace) confineIn(s *settings, dir string) (*sandbox.Policy, error) {
	if _, ok := w.copyAt(dir); !ok || s.confinement == nil {
		return s.confinement, nil
	}
	return w.confined(s, dir, nil)
}

// confined returns the sandbox for dir and further folders. There is one for each.
func (w *Workspace) confined(s *settings, dir string, dirs []string) (*sandbox.Policy, error) {
	w.confining.Lock()
	defer w.confining.Unlock()
	at := func(f folderSandbox) bool { return f.dir == dir && slices.Equal(f.dirs, dirs) }
	if i := slices.IndexFunc(s.withDirs, at); i >= 0 {
		f := s.withDirs[i]
		s.withDirs = append(slices.Delete(s.withDirs, i, i+1), f)
		return f.policy, nil
	}
	o := w.folderOptions(dir, s.sockets)
	o.Folders = dirs
	p, err := sandbox.For(dir, o)
	if err != nil {
		return nil, err
	}
	if o.Copy {
		if err := w.putBack(p); err != nil {
			p.Close()
			return nil, err
		}
	}
	for _, f := range s.withDirs[:max(0, len(s.withDirs)-maxFolderSandboxes+1)] {
		f.policy.Close()
	}
	s.withDirs = append(s.withDirs[max(0, len(s.withDirs)-maxFolderSandboxes+1):], folderSandbox{dir, slices.Clone(dirs), p})
	return p, nil
}

// folderOptions returns what the sandbox of a folder is made from: of the workspace, or of the copy of a task. sockets
// is the folder of pawl's own.
func (w *Workspace) folderOptions(dir, sockets string) sandbox.Options {
	o := w.sandboxOptions(sockets)
	if c, ok := w.copyAt(dir); ok {
		o.Copy, o.Objects = true, c.Objects()
	}
	return o
}

// A folderSandbox is the sandbox of runs in a copy or with further folders. It holds a helper
// process, watches of files and descriptors, which it takes again if it is used when closed.
type folderSandbox struct {
	dir    string
	dirs   []string
	policy *sandbox.Policy
}

// maxFolderSandboxes bounds how many are open: far more than runs usually work at once, and far
// fewer than what a user may watch (fs.inotify.max_user_instances is 128 on many machines).
const maxFolderSandboxes = 16

// closeSandboxes closes the sandboxes that which selects. A command that runs in one of them
// keeps its file tree until it ends.
func (w *Workspace) closeSandboxes(s *settings, which func(folderSandbox) bool) {
	w.confining.Lock()
	defer w.confining.Unlock()
	s.withDirs = slices.DeleteFunc(s.withDirs, func(f folderSandbox) bool {
		if which(f) {
			f.policy.Close()
			return true
		}
		return false
	})
}

// CloseGone closes the sandboxes of copies that another process has removed.
func (w *Workspace) CloseGone() {
	w.mu.Lock()
	s := w.settings
	w.mu.Unlock()
	if s == nil {
		return
	}
	w.closeSandboxes(s, func(f folderSandbox) bool {
		_, err := os.Stat(f.dir)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// dirsPrompt tells the model of further folders; "": there are none.
func dirsPrompt(dirs []string) string {
	if len(dirs) == 0 {
		return ""
	}
	return "\nFurther folders that you read and change as the workspace, by absolute paths: " + strings.Join(dirs, ", ") + "\n"
}
