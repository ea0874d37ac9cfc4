package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/atomicfile"
	"pawl/internal/inside"
	"pawl/run"
)

// Files are the paths of a workspace as they were last looked at, relative to it, with slashes.
type Files map[string]File

// A File is a path of [Files].
type File struct {
	Mode  uint32 // kind and permission bits, as in git: 0o100644
	Size  int64
	Mtime int64 // in nanoseconds, as the next
	Ctime int64
	Inode uint64
	Hash  string // of the content; of a link, of where it leads. Empty: it is not known, or there is none
	// Git is the object of the repository that has the content; Kept: it is in the journal. Where
	// neither is so it cannot be restored.
	Git  string
	Kept bool
}

// Kind returns the kind of a path: KindFile, KindDir or KindLink.
func (f File) Kind() uint32 { return f.Mode & KindMask }

// Kinds of paths in [File.Mode], as in stat(2).
const (
	KindMask = 0o170000
	KindDir  = 0o040000
	KindFile = 0o100000
	KindLink = 0o120000
)

// ModeOf returns the kind and the permission bits of a path, as git has them; 0 for what is none of the three kinds.
func ModeOf(info fs.FileInfo) uint32 {
	perm := uint32(info.Mode().Perm())
	switch info.Mode().Type() {
	case 0:
		return KindFile | perm
	case fs.ModeDir:
		return KindDir | perm
	case fs.ModeSymlink:
		return KindLink | 0o777
	}
	return 0
}

// Octal returns a mode as changes have it.
func Octal(mode uint32) string { return fmt.Sprintf("%06o", mode) }

// filesVersion is that of the form of [Files] on disk; another one is not read. It is written for each command that changes
// something, so it is made by hand: encoding/gob takes ten times as long.
const filesVersion = 2

// appendFiles appends what is known of a workspace: the version and the name, each path with its numbers and hashes, and at
// last their count.
func appendFiles(b []byte, workspace string, files Files) []byte {
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	b = binary.AppendUvarint(b, filesVersion)
	text(workspace)
	for path, f := range files {
		text(path)
		b = binary.AppendUvarint(b, uint64(f.Mode))
		for _, n := range []int64{f.Size, f.Mtime, f.Ctime} {
			b = binary.AppendVarint(b, n)
		}
		b = binary.AppendUvarint(b, f.Inode)
		text(f.Hash)
		text(f.Git)
		kept := byte(0)
		if f.Kept {
			kept = 1
		}
		b = append(b, kept)
	}
	return binary.LittleEndian.AppendUint64(b, uint64(len(files)))
}

// parseFiles is the inverse of appendFiles; false for what is incomplete or of another version.
func parseFiles(b []byte) (files Files, ok bool) {
	if len(b) < 8 {
		return nil, false
	}
	count := binary.LittleEndian.Uint64(b[len(b)-8:])
	b, ok = b[:len(b)-8], true
	unsigned := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			b, ok = nil, false
			return 0
		}
		b = b[size:]
		return n
	}
	signed := func() int64 {
		n, size := binary.Varint(b)
		if size <= 0 {
			b, ok = nil, false
			return 0
		}
		b = b[size:]
		return n
	}
	cut := func(n uint64) []byte {
		if n > uint64(len(b)) {
			b, ok = nil, false
			return nil
		}
		first := b[:n]
		b = b[n:]
		return first
	}
	one := func() byte {
		if first := cut(1); ok {
			return first[0]
		}
		return 0
	}
	if unsigned() != filesVersion {
		return nil, false
	}
	cut(unsigned()) // the workspace, for who looks into the file
	files = Files{}
	for ok && len(b) > 0 {
		path := string(cut(unsigned()))
		files[path] = File{Mode: uint32(unsigned()), Size: signed(), Mtime: signed(), Ctime: signed(), Inode: unsigned(),
			Hash: string(cut(unsigned())), Git: string(cut(unsigned())), Kept: one() == 1}
	}
	return files, ok && uint64(len(files)) == count
}

func (j Journal) files() string { return filepath.Join(j.dir, "files") }

func (j Journal) filesOf(workspace string) string {
	return filepath.Join(j.files(), Hash([]byte(workspace))[:32])
}

// filesEnding ends the names of files in the folder of a run with [Files] as they were before a command.
const filesEnding = ".files"

func (j Journal) before(id run.ID, call string) string {
	return filepath.Join(j.RunDir(id), fileName(call)+filesEnding)
}

// WriteFiles stores what is known of a workspace, and returns the file it is in. It is not synced: without it everything is looked at again.
func (j Journal) WriteFiles(workspace string, files Files) (fs.FileInfo, error) {
	if err := atomicfile.Write(j.filesOf(workspace), appendFiles(make([]byte, 0, 200*len(files)), workspace, files), atomicfile.NoSync); err != nil {
		return nil, fmt.Errorf("store what is known of %s: %w", workspace, err)
	}
	return j.StatFiles(workspace)
}

// StatFiles returns the file that WriteFiles has last written, by whichever process.
func (j Journal) StatFiles(workspace string) (fs.FileInfo, error) {
	return os.Lstat(j.filesOf(workspace))
}

// ReadFiles returns what is known of a workspace; nil if nothing.
func (j Journal) ReadFiles(workspace string) Files { return readFiles(j.filesOf(workspace)) }

func readFiles(file string) Files {
	b, err := atomicfile.Read(file)
	if err != nil {
		return nil
	}
	files, ok := parseFiles(b)
	if !ok {
		return nil
	}
	return files
}

// KeepFiles keeps what WriteFiles has last written as what was before a command.
func (j Journal) KeepFiles(workspace string, id run.ID, call string) error {
	file := j.before(id, call)
	err := os.Link(j.filesOf(workspace), file)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	} else if err != nil { // some file systems have no links
		var b []byte
		if b, err = atomicfile.Read(j.filesOf(workspace)); err == nil {
			err = atomicfile.Write(file, b, atomicfile.NoSync)
		}
	}
	return err
}

// FilesBefore returns the paths as they were before a command; nil if that is not known.
func (j Journal) FilesBefore(id run.ID, call string) Files {
	return readFiles(j.before(id, call))
}

// ForgetFiles removes what was kept for a command.
func (j Journal) ForgetFiles(id run.ID, call string) { _ = inside.Remove(j.dir, j.before(id, call)) }

// knownFor is how long what is known of a workspace is kept when it is not used: contents that only it
// refers to are kept as long.
const knownFor = 7 * 24 * time.Hour

// addKnown adds the contents that what is known of workspaces refers to, and removes what was not used for long.
func (j Journal) addKnown(contents map[string]bool) {
	var files []string
	known, _ := j.readDir(j.files())
	for _, f := range known {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > knownFor {
			_ = inside.Remove(j.dir, filepath.Join(j.files(), f.Name()))
			continue
		}
		files = append(files, filepath.Join(j.files(), f.Name()))
	}
	runs, _ := j.runs()
	for _, name := range runs {
		entries, _ := j.readDir(filepath.Join(j.entries(), name))
		for _, f := range entries {
			if strings.HasSuffix(f.Name(), filesEnding) {
				files = append(files, filepath.Join(j.entries(), name, f.Name()))
			}
		}
	}
	for _, file := range files {
		for _, f := range readFiles(file) {
			if f.Kept {
				contents[f.Hash] = true
			}
		}
	}
}
