package tool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"pawl/tool/journal"
	"pawl/tool/tree"
)

// maxFile is how much of one file the tools that change files take. Larger files are for the shell.
const maxFile = journal.MaxFile

// A place is where a file of the workspace is or would be: the open folder it
// is in, and its name there. What is done at a place cannot reach anything
// outside that folder, whatever is moved around it meanwhile.
type place struct {
	rel     string   // as [Resolve] has it, no link in it
	dir     *os.Root // the deepest folder on the way that exists
	missing []string // folders between dir and the file that do not
	name    string
}

// locate opens the folder that path is in. The caller closes the place.
func locate(env Env, path string) (*place, error) {
	rel, err := inside(env, path)
	if err != nil {
		return nil, err
	}
	root, _, rest, err := env.rootOf(rel)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("the workspace %s cannot be opened: %w", root, tree.InWords(err))
	}
	names := strings.Split(rest, "/")
	p := &place{rel: rel, dir: dir, name: names[len(names)-1]}
	for i, name := range names[:len(names)-1] {
		next, err := tree.Descend(p.dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			p.missing = names[i : len(names)-1]
			break
		}
		p.dir.Close()
		if err != nil {
			return nil, fmt.Errorf("%s cannot be opened: %w", rel, tree.InWords(err))
		}
		p.dir = next
	}
	return p, nil
}

// Close frees the place.
func (p *place) Close() { p.dir.Close() }

// tempPrefix begins the names of temporary files, which become the file when they are complete.
const tempPrefix = ".pawl-"

// removeLeft removes the temporary file of a change that a kill has left. Usually it was renamed long ago. A journal that
// names another file is not pawl's.
func (p *place) removeLeft(e journal.Entry) {
	if len(p.missing) == 0 && strings.HasPrefix(e.Temp, tempPrefix) && !strings.Contains(e.Temp, "/") {
		_ = p.dir.Remove(e.Temp)
	}
}

// stat looks at what is at p; the error is fs.ErrNotExist when nothing is.
func (p *place) stat() (fs.FileInfo, error) {
	if len(p.missing) > 0 {
		return nil, fs.ErrNotExist
	}
	return p.dir.Lstat(p.name)
}

// read returns the content of the regular file at p, at most maxFile bytes.
// fs.ErrNotExist means that there is none; every other error is a sentence.
func (p *place) read() ([]byte, fs.FileInfo, error) {
	if len(p.missing) > 0 {
		return nil, nil, fs.ErrNotExist
	}
	f, info, err := tree.OpenRegular(p.dir, p.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read: %w", p.rel, tree.InWords(err))
	}
	defer f.Close()
	if info.Size() > maxFile {
		return nil, nil, fmt.Errorf("%s is too large for this tool: it has %s, and the limit is %s; use the shell", p.rel, size(info.Size()), size(maxFile))
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read: %w", p.rel, tree.InWords(err))
	}
	if len(content) > maxFile {
		return nil, nil, fmt.Errorf("%s grows while it is read: it has more than %s; use the shell", p.rel, size(maxFile))
	}
	return content, info, nil
}

// makeFolders makes the folders that are missing and moves p into the last.
func (p *place) makeFolders() error {
	for len(p.missing) > 0 {
		name := p.missing[0]
		if err := p.dir.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("the folder %s cannot be made: %w", name, tree.InWords(err))
		}
		p.sync()
		next, err := tree.Descend(p.dir, name)
		if err != nil {
			return fmt.Errorf("the folder %s cannot be opened: %w", name, tree.InWords(err))
		}
		p.dir.Close()
		p.dir, p.missing = next, p.missing[1:]
	}
	return nil
}

// sync makes the names in the folder durable. Where a file system cannot sync a
// folder there is nothing better to do, and what was done is done.
func (p *place) sync() {
	if d, err := p.dir.Open("."); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
