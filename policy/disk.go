package policy

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl/internal/owner"
)

// maxFile bounds a configuration file, in bytes: the bound that package permission has
// for a file of rules.
const maxFile = 1 << 20

// owners are the users that a file may belong to.
type owners []int

// A disk is a file of this machine, outside of the workspace, that is looked at again
// and again and read when it changed.
type disk struct {
	path   string
	owners owners
	strict bool // an administrator's: nobody else can write it, or put another in its place
	must   bool // its absence is an error

	sig    signature
	steady bool // what was read is what sig says
}

// A signature tells one state of a file from another without reading it. It has the
// time of the last change of the file itself (ctime), which no program can set.
type signature struct {
	found                  bool
	device, inode          uint64
	size, modified, change int64
	mode                   fs.FileMode
	owner                  int
}

// settles is how long a file must have been left alone until its signature is
// believed: a file can change twice in one tick of its file system's clock, whose
// coarsest tick in use is the 2 s of FAT.
const settles = 2 * time.Second

func (s signature) settled(now time.Time) bool {
	last := max(s.modified, s.change)
	return !s.found || now.UnixNano()-last > int64(settles)
}

// read returns the content if it is not the one that was returned last time. A file
// that is not there has none.
func (d *disk) read() (content []byte, fresh bool, err error) {
	info, err := os.Stat(d.path)
	var sig signature
	if err == nil {
		sig = signatureOf(info)
	}
	if d.steady && sig == d.sig && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		return nil, false, nil
	}
	content, sig, err = d.load()
	d.sig = sig
	// An error is not remembered: it may be over.
	d.steady = err == nil && sig.settled(time.Now())
	return content, true, err
}

// load reads the file as it is now.
func (d *disk) load() ([]byte, signature, error) {
	// Without O_NONBLOCK a named pipe would wait for its writer.
	f, err := os.OpenFile(d.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) && !d.must {
		return nil, signature{}, nil
	}
	if err != nil {
		return nil, signature{}, fmt.Errorf("%w; make it readable, or remove it", err)
	}
	defer f.Close()
	content, info, err := readWhole(f, d.path)
	if err == nil {
		err = d.check(info)
	}
	if err != nil {
		return nil, signature{}, err
	}
	return content, signatureOf(info), nil
}

// check refuses a file that somebody else could have written or, of an administrator, put there.
func (d *disk) check(info fs.FileInfo) error {
	err := d.owners.check(d.path, info, d.strict)
	if err != nil || !d.strict {
		return err
	}
	folder := filepath.Dir(d.path)
	if info, err = os.Stat(folder); err != nil {
		return err
	}
	return d.owners.check(folder, info, true)
}

// readWhole reads a regular file of at most [maxFile] bytes.
func readWhole(f *os.File, name string) ([]byte, fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is %s and no file; remove it", name, kind(info.Mode()))
	}
	b := bytes.NewBuffer(make([]byte, 0, min(info.Size(), maxFile)+bytes.MinRead)) // it is read at each start
	if _, err := b.ReadFrom(io.LimitReader(f, maxFile+1)); err != nil {
		return nil, nil, err
	}
	content := b.Bytes()
	if len(content) > maxFile {
		return nil, nil, fmt.Errorf("%s has more than %d bytes, which no configuration file needs; shorten it", name, maxFile)
	}
	return content, info, nil
}

// check refuses a file that somebody else could have written.
func (o owners) check(path string, info fs.FileInfo, strict bool) error {
	uid, known := owner.Of(info)
	if !known {
		return nil // a system without owners
	}
	if !slices.Contains(o, uid) {
		if strict {
			return fmt.Errorf("%s belongs to user %d and not to the administrator (user %d), so its rules are nobody's: give it to them with chown, or remove it", path, uid, o[0])
		}
		return fmt.Errorf("%s belongs to user %d and not to you, so its rules are not yours: take it with chown, or remove it", path, uid)
	}
	mode := info.Mode().Perm()
	if strict && mode&0o022 != 0 || !strict && mode&0o002 != 0 {
		return fmt.Errorf("%s can be written by others (mode %04o): chmod go-w %s", path, mode, path)
	}
	return nil
}

// kind names what is no regular file.
func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// replace gives a file of this user new content, all of it or nothing: it is durable
// when it returns. A link is followed, because people keep their configuration
// elsewhere and link to it.
func replace(path string, content []byte) error {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	dir := filepath.Dir(path)
	err := os.MkdirAll(dir, 0o700)
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return replaceIn(root, filepath.Base(path), content, 0o600)
}

// replaceIn is replace for a file below a folder, which must be there.
func replaceIn(root *os.Root, name string, content []byte, mode fs.FileMode) (err error) {
	temp := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+strings.ToLower(rand.Text()[:8]))
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			root.Remove(temp)
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return err
	}
	dir, err := root.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
