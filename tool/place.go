package tool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"pawl/tool/journal"
)

// maxFile is how much of one file the tools that change files hold in memory,
// several times over. Larger files are for the shell.
const maxFile = 32 << 20

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
		return nil, fmt.Errorf("the workspace %s cannot be opened: %w", root, inWords(err))
	}
	names := strings.Split(rest, "/")
	p := &place{rel: rel, dir: dir, name: names[len(names)-1]}
	for i, name := range names[:len(names)-1] {
		next, err := descend(p.dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			p.missing = names[i : len(names)-1]
			break
		}
		p.dir.Close()
		if err != nil {
			return nil, fmt.Errorf("%s cannot be opened: %w", rel, inWords(err))
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
	f, info, err := openRegular(p.dir, p.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read: %w", p.rel, inWords(err))
	}
	defer f.Close()
	if info.Size() > maxFile {
		return nil, nil, fmt.Errorf("%s is too large for this tool: it has %s, and the limit is %s; use the shell", p.rel, size(info.Size()), size(maxFile))
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read: %w", p.rel, inWords(err))
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
			return fmt.Errorf("the folder %s cannot be made: %w", name, inWords(err))
		}
		p.sync()
		next, err := descend(p.dir, name)
		if err != nil {
			return fmt.Errorf("the folder %s cannot be opened: %w", name, inWords(err))
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

// errSwapped is what opening a path says when it is not what it was a moment ago.
var errSwapped = errors.New("it was replaced while it was being opened: try again")

// A notRegularError says that something is no file with content.
type notRegularError struct{ mode fs.FileMode }

func (e *notRegularError) Error() string {
	switch e.mode.Type() {
	case fs.ModeDir:
		return "it is a folder: use list to see what is in it"
	case fs.ModeSymlink:
		return "it became a link while it was being opened: try again"
	case fs.ModeNamedPipe:
		return "it is a named pipe, not a file"
	case fs.ModeSocket:
		return "it is a socket, not a file"
	}
	return "it is a device, not a file"
}

// descend opens a folder in dir, if it is one: no link is followed. The path
// was free of links when it was resolved, so one that is there now was put
// there in between.
func descend(dir *os.Root, name string) (*os.Root, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, errSwapped
	}
	if !before.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	child, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := child.Stat(".")
	if err != nil || !os.SameFile(before, after) {
		child.Close()
		return nil, errSwapped
	}
	return child, nil
}

// openRegular opens a file in dir for reading, if it is a regular one; no link
// is followed. Opening never waits: a named pipe that nobody writes to would
// block for ever, so its kind is looked at first, and O_NONBLOCK covers what is
// swapped in between.
//
// A hard link to a file outside cannot be told from a file by its path, so it
// can be read. Writing through it is impossible: files are replaced, and the
// other name keeps its content. That is why write and edit do not refuse a file
// that has several names, as package managers (pnpm) and clones on one disk make
// them: the store that such a file is linked from stays as it is. A shell command
// writes in place and through the link, if somebody made it before; one in the
// sandbox can make none to what is outside.
func openRegular(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, &notRegularError{before.Mode()}
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	after, err := f.Stat()
	if err != nil || !os.SameFile(before, after) {
		f.Close()
		return nil, nil, errSwapped
	}
	return f, after, nil
}
