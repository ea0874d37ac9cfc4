package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"pawl/internal/atomicfile"
	"pawl/internal/inside"
	"pawl/internal/stable"
	"pawl/internal/visible"
)

// The bounds of a plugin. All of it is read at each start of a run, and shown before it is trusted.
const (
	maxFiles = 2000
	maxFile  = 4 << 20
	maxBytes = 32 << 20
)

// A File is a file of a plugin.
type File struct {
	Name    string // relative to the plugin, with slashes
	Content []byte
	Exec    bool
}

// A Tree is the files of a plugin by name, and what there was beside them that is no file: links, pipes and the like,
// which are not taken.
type Tree struct {
	Files []File
	Left  []string
	size  int64 // of all files that were added
}

// add adds a file, or returns why there can be none like it.
func (t *Tree) add(name string, size int64, exec bool, read func() ([]byte, error)) error {
	hidden := strings.IndexFunc(name, func(r rune) bool { return r == '\n' || r == '\t' || visible.Hidden(r) }) >= 0
	switch {
	case !utf8.ValidString(name) || hidden || !filepath.IsLocal(name) || strings.Contains(name, `\`):
		return fmt.Errorf("the file %s has a name that cannot be used: it has characters that are not seen, or leads out of the plugin", visible.Quote(name))
	case len(t.Files) == maxFiles:
		return fmt.Errorf("it has more than %d files: is it the folder of a plugin?", maxFiles)
	case size > maxFile || t.size+size > maxBytes:
		return fmt.Errorf("it is too large at %s: a file may have %d MB, and a plugin %d MB", name, maxFile>>20, maxBytes>>20)
	}
	content, err := read()
	if err == nil {
		t.Files = append(t.Files, File{name, content, exec})
		t.size += int64(len(content))
	}
	return err
}

// leave notes what is not taken.
func (t *Tree) leave(name, what string) { t.Left = append(t.Left, name+": "+what) }

// readFolder reads the files below a folder. What git keeps there is none of them.
func readFolder(dir string) (t Tree, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return t, err
	}
	defer root.Close()
	regular := func(info fs.FileInfo) error {
		if !info.Mode().IsRegular() {
			return errors.New("it is not a regular file")
		}
		return nil
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path.Base(name) == ".git":
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			if len(t.Left) == maxFiles {
				return fmt.Errorf("it has more than %d links: is it the folder of a plugin?", maxFiles)
			}
			t.leave(name, "it is a link or no file, which a plugin cannot have")
			return nil
		}
		f, err := inside.OpenChecked(root, name, root.Lstat, regular)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return t.add(name, info.Size(), info.Mode()&0o100 != 0, func() ([]byte, error) {
			return io.ReadAll(io.LimitReader(f, info.Size())) // more that came since is of another reading
		})
	})
	t.sort()
	return t, err
}

func (t *Tree) sort() {
	stable.Sort(t.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
}

// below returns the part of a tree in a folder of it; "" or "." is all.
func (t Tree) below(folder string) (part Tree) {
	if folder = path.Clean(folder); folder == "." {
		return t
	}
	for _, f := range t.Files {
		if rest, ok := strings.CutPrefix(f.Name, folder+"/"); ok {
			part.Files = append(part.Files, File{rest, f.Content, f.Exec})
		}
	}
	for _, left := range t.Left {
		if rest, ok := strings.CutPrefix(left, folder+"/"); ok {
			part.Left = append(part.Left, rest)
		}
	}
	return part
}

// file returns the content of a file; nil: there is none.
func (t Tree) file(name string) []byte {
	if i := slices.IndexFunc(t.Files, func(f File) bool { return f.Name == name }); i >= 0 {
		return append([]byte{}, t.Files[i].Content...)
	}
	return nil
}

// digest identifies the names, the contents and what may be run of all files.
func (t Tree) digest() string {
	h := sha256.New()
	for _, f := range t.Files {
		fmt.Fprintf(h, "%q %t %d\n", f.Name, f.Exec, len(f.Content))
		h.Write(f.Content)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// write writes the files into a folder that is not there yet; they are durable when it returns nil.
func (t Tree) write(dir string) error {
	dirs := []string{dir}
	for _, f := range t.Files {
		file := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := atomicfile.MkdirAll(filepath.Dir(file), atomicfile.NoSync); err != nil {
			return err
		}
		for up := filepath.Dir(file); up != dir && !slices.Contains(dirs, up); up = filepath.Dir(up) {
			dirs = append(dirs, up)
		}
		mode := fs.FileMode(0o600)
		if f.Exec {
			mode = 0o700
		}
		out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = out.Write(f.Content)
		if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
			return err
		}
	}
	for _, d := range dirs {
		if err := atomicfile.SyncDir(d); err != nil {
			return err
		}
	}
	return nil
}
