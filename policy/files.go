package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"pawl/internal/inside"
)

// A ConfigFile is one file of the workspace's own configuration, trusted or not.
type ConfigFile struct {
	Name    string // relative to the workspace, with slashes
	Content []byte // the very bytes that were compared with what a person was shown
	Trusted bool   // they are what a person has trusted
	Problem string // why there is no content; such a file does not count
}

// ConfigFiles returns the files in a folder of the workspace's configuration, as .pawl/agents, and
// in the folders there, by name. What a file that is not trusted says may be shown to
// the model as text, and counts for nothing else.
func (p *Policy) ConfigFiles(folder string) ([]ConfigFile, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	root, record, err := p.trusted()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var names []string
	seen := 0
	if err := namesIn(root, folder, maxDepth, &names, &seen); err != nil {
		return nil, err
	}
	if len(names) > maxFiles || seen > maxFiles {
		return nil, fmt.Errorf("%s has more than %d files or folders", folder, maxFiles)
	}
	slices.Sort(names)
	var files []ConfigFile
	total := 0
	for _, name := range names {
		g := readConfigFile(root, name)
		if g == nil {
			continue // it was removed meanwhile
		}
		if total += len(g.content); total > maxTotal {
			return nil, fmt.Errorf("%s has more than %d MB", folder, maxTotal>>20)
		}
		files = append(files, ConfigFile{Name: name, Content: g.content, Problem: g.problem,
			Trusted: g.problem == "" && (g.sum == record.sumOf(name) || g.sum == p.repo.trustedHere[name])})
	}
	return files, nil
}

// namesIn adds the paths of the files in a folder below the root and in those there, so many levels deep; none if it is
// not there. Past the bounds of files and folders it stops; seen counts the folders.
func namesIn(root *os.Root, folder string, levels int, names *[]string, seen *int) error {
	dir, err := root.OpenFile(folder, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	defer dir.Close()
	if info, err := dir.Stat(); err != nil || !info.IsDir() {
		return err
	}
	entries, err := dir.ReadDir(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for _, e := range entries {
		at := path.Join(folder, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case len(*names) > maxFiles || *seen > maxFiles:
			return nil
		case !e.IsDir():
			*names = append(*names, at)
		case levels > 1:
			*seen++
			if err := namesIn(root, at, levels-1, names, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// ReplaceFile writes a file of the workspace's configuration, which a person has made, and
// trusts it; nil content removes it. One that is there has to be trusted as it is: who
// replaces it without having seen it does not know what they remove.
func (p *Policy) ReplaceFile(name string, content []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !strings.HasPrefix(path.Clean(name), folderName+"/") || name == rulesName {
		return fmt.Errorf("%s is no file that can be replaced here", name)
	}
	if NotText(content) {
		return fmt.Errorf("%s: %s", name, notTextProblem)
	}
	return p.changeFile(name, func(full string, there bool, _ []byte) ([]byte, error) {
		if content == nil && !there {
			return nil, fmt.Errorf("%s: %w", full, fs.ErrNotExist)
		}
		return content, nil
	})
}

// changeFile replaces a file of the workspace's configuration by what do makes of it, and
// trusts what it wrote; nil removes the file. One that is there has to be trusted as it is. The
// caller holds the lock.
func (p *Policy) changeFile(name string, do func(full string, there bool, content []byte) ([]byte, error)) error {
	return inside.Locked(p.o.StateDir, lockFile, func() error {
		root, record, err := p.trusted()
		if err != nil {
			return err
		}
		defer root.Close()
		full := filepath.Join(p.o.Workspace, filepath.FromSlash(name))
		var content []byte
		mode := fs.FileMode(0o644) // it is meant for git, not for this user alone
		g := readConfigFile(root, name)
		switch {
		case g == nil:
		case g.problem != "":
			return fmt.Errorf("%s: %s; remove it", p.o.Workspace, g.problem)
		case g.sum != record.sumOf(name):
			return fmt.Errorf("%s is not trusted as it is, and changing it here would be trusting it: look at it with `pawl trust` first", full)
		default:
			content = g.content
			if info, err := root.Stat(name); err == nil {
				mode = info.Mode().Perm()
			}
		}
		now, err := do(full, g != nil, content)
		if err != nil {
			return err
		}
		if now == nil {
			err = root.Remove(name)
		} else if err = root.MkdirAll(path.Dir(name), 0o755); err == nil {
			err = replaceIn(root, name, now, mode)
		}
		if err != nil {
			return fmt.Errorf("%s could not be changed: %w", full, err)
		}
		return p.record(record.Owner, []Change{{File: name, Now: now, Removed: now == nil}})
	})
}
