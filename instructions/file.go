package instructions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"pawl/internal/inside"
	"pawl/internal/owner"
	"pawl/internal/visible"
)

// maxRead bounds what is read of one file, in bytes. It is more than [MaxBytes], because
// what is removed from a text is not counted there.
const maxRead = MaxBytes + 8<<10

// openTree opens a folder. The user's own may be reached through links.
func openTree(dir string, user bool) (*tree, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	return &tree{dir: real, given: dir, root: root, user: user}, nil
}

// outside is why a file of another place is not read.
func (t *tree) outside() error {
	if t.user {
		return errors.New("outside the folder of the user's own instructions")
	}
	return errors.New("outside the repository")
}

// resolve returns the name in the tree of a file that the file by imports.
func (t *tree) resolve(by, imported, home string) (name string, err error) {
	if rest, ok := strings.CutPrefix(imported, "~/"); ok {
		if home == "" {
			return "", t.outside()
		}
		imported = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(imported) && !strings.HasPrefix(imported, "/") {
		name = path.Join(path.Dir(by), imported)
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return "", t.outside()
		}
		return name, nil
	}
	for _, dir := range []string{t.dir, t.given} {
		if rel, err := filepath.Rel(dir, imported); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), nil
		}
	}
	return "", t.outside()
}

// read returns the beginning of a file of the tree, whether there is more of it, and
// its path with links resolved, which is empty when it has none in the tree.
func (t *tree) read(name string) (content []byte, more bool, resolved string, err error) {
	real, err := filepath.EvalSymlinks(filepath.Join(t.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, false, "", err
	}
	rel, err := filepath.Rel(t.dir, real)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, false, "", t.outside()
	}
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if strings.EqualFold(part, ".git") {
			return nil, false, "", errors.New("in .git")
		}
	}
	if t.refuse != nil {
		if why := t.refuse(filepath.ToSlash(rel)); why != "" {
			return nil, false, "", errors.New(why)
		}
	}
	f, err := inside.OpenChecked(t.root, rel, t.root.Lstat, t.check)
	if err != nil {
		return nil, false, "", err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, maxRead+1))
	if err != nil {
		return nil, false, "", err
	}
	if len(content) > maxRead {
		more = true // clean drops the byte that is too many, with its line
	}
	return content, more, real, nil
}

func (t *tree) check(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("a folder")
	case !info.Mode().IsRegular():
		return errors.New("not a regular file")
	case !mine(info, t.owner):
		uid, _ := owner.Of(info)
		return fmt.Errorf("belongs to user %d", uid)
	}
	return nil
}

// mine reports whether a file belongs to this user, to root or to the user other. In
// a folder that everyone can write to, anyone could leave instructions.
func mine(info fs.FileInfo, other int) bool {
	uid, known := owner.Of(info)
	return !known || uid == os.Getuid() || uid == 0 || uid == other
}

// clean returns the content of a file as text: valid UTF-8, lines that end with LF, no
// blank lines at either end, and none of the characters that a person does not see and a
// model does; hidden is how many those were. More says that the file has more, so that the
// last line and the last character may be incomplete: they are dropped.
func clean(content []byte, more bool) (text string, hidden int, err error) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	if bytes.IndexByte(content, 0) >= 0 { // as git tells binary files
		return "", 0, errors.New("not text in UTF-8")
	}
	if more {
		content = content[:lineEnd(content, len(content)-1)]
	}
	text = strings.ToValidUTF8(string(content), "\uFFFD")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	all := utf8.RuneCountInString(text)
	text = visible.Strip(text)
	hidden = all - utf8.RuneCountInString(text)
	if text = strings.TrimRight(strings.TrimLeft(text, "\n"), " \t\n"); strings.TrimSpace(text) == "" {
		return "", 0, errors.New("empty")
	}
	return text, hidden, nil
}

// lineEnd returns the length of the longest beginning of a text of at most n bytes that
// ends with a line, or with a character if it has no end of a line.
func lineEnd[T string | []byte](text T, n int) int {
	if n >= len(text) {
		n = len(text)
	}
	for i := n; i > 0; i-- {
		if text[i-1] == '\n' {
			return i
		}
	}
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// reason returns an error without the path, which stands beside it.
func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "not found"
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return err.Error()
}
