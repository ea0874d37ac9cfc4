package gitcopy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/text"
	"pawl/internal/visible"
)

// left returns the commit that is checked out in the copy, and the tree of what is there,
// with what is not committed.
func (c Copy) left(ctx context.Context) (head, tree string, err error) {
	return c.leftWith(ctx, math.MaxInt64, func(string) error { return nil })
}

// leftWith is left without the changes of files of more bytes than largest, for which it returns a [*LargeError] too. It
// calls also with the repository of what is committed in the copy.
func (c Copy) leftWith(ctx context.Context, largest int64, also func(committed string) error) (head, tree string, err error) {
	if info, err := os.Lstat(filepath.Join(c.work(), ".git")); err != nil || !info.IsDir() {
		return "", "", stateError("the copy %s is not a repository any more: look at it, or discard it", c.work())
	}
	own := c.own()
	index, done, err := c.index()
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, done()) }()
	committed, err := c.committed(ctx)
	defer os.RemoveAll(committed) // what is left of it is of no use, and is removed with the copy
	if err == nil {
		_, err = own.run(ctx, "-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", committed, "+HEAD:refs/pawl/head")
	}
	if err == nil {
		err = also(committed)
	}
	if err != nil {
		return "", "", stateError("the commits of the copy %s cannot be read: %w", c.work(), err)
	}
	if head, err = own.run(ctx, "rev-parse", "refs/pawl/head"); err != nil {
		return "", "", err
	}
	adding := c.at(c.work())
	adding.env = []string{"GIT_DIR=" + own.dir, "GIT_WORK_TREE=" + c.work(), "GIT_INDEX_FILE=" + index,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.bare", "GIT_CONFIG_VALUE_0=false"}
	if _, err := adding.run(ctx, "read-tree", "--reset", head); err != nil {
		return "", "", err
	}
	large, err := adding.addAll(ctx, largest)
	if err != nil {
		return "", "", err
	}
	if tree, err = adding.run(ctx, "write-tree"); err == nil && len(large) > 0 {
		err = &LargeError{large}
	}
	return head, tree, err
}

// A LargeError says that files are too large to be saved. All else was.
type LargeError struct{ Names []string }

func (e *LargeError) Error() string {
	names := visible.Quote(e.Names[0])
	if n := len(e.Names) - 1; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	return names + ": larger than " + text.Size(maxSaved) + ", and not saved"
}

// index returns a copy of the index of the repository of pawl's own, so that two calls at once
// are not in each other's way and one that is killed leaves no lock. done makes it the index:
// what it knows of files need not be looked at again.
func (c Copy) index() (file string, done func() error, err error) {
	index := filepath.Join(c.own().dir, "index")
	content, err := os.ReadFile(index)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", nil, err
	}
	dir, err := os.MkdirTemp(c.own().dir, "index-")
	if err != nil {
		return "", nil, err
	}
	file = filepath.Join(dir, "index")
	if content != nil {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	return file, func() error {
		err := os.Rename(file, index)
		if errors.Is(err, os.ErrNotExist) {
			err = nil // git did not come so far
		}
		return errors.Join(err, os.RemoveAll(dir))
	}, nil
}

// addAll brings the index up to what is in the work tree. `git add` does not do: in a
// repository inside of it, it runs git status, which obeys the filters configured there. Of
// such a repository nothing is added; its commit, if there is one in the index, stays. Files of more bytes than largest
// are left as they are in the index, and returned.
func (g git) addAll(ctx context.Context, largest int64) (large []string, err error) {
	deleted, err := g.run(ctx, "ls-files", "--deleted", "-z")
	if err != nil {
		return nil, err
	}
	changed, err := g.run(ctx, "diff-files", "--name-status", "--no-renames", "--ignore-submodules=all", "-z")
	if err != nil {
		return nil, err
	}
	others, err := g.run(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	remove, add := lines(deleted), slices.DeleteFunc(lines(others), func(name string) bool { return strings.HasSuffix(name, "/") })
	for pair := range slices.Chunk(lines(changed), 2) {
		if pair[0] == "D" {
			remove = append(remove, pair[1])
		} else {
			add = append(add, pair[1])
		}
	}
	add = slices.DeleteFunc(add, func(name string) bool {
		info, err := os.Lstat(filepath.Join(g.dir, filepath.FromSlash(name)))
		if err != nil || info.Size() <= largest {
			return false
		}
		large = append(large, name)
		return true
	})
	for _, c := range []struct {
		option string
		names  []string
	}{{"--force-remove", remove}, {"--replace", add}} {
		if len(c.names) == 0 {
			continue
		}
		if _, err := g.input(ctx, strings.Join(c.names, "\x00")+"\x00", "update-index", "--add", c.option, "-z", "--stdin"); err != nil {
			return nil, err
		}
	}
	slices.Sort(large)
	return large, nil
}

// committed makes a repository of what is committed in the copy, for as long as it is needed:
// the objects and refs of the copy's .git, as hard links. Nothing else of it counts: neither
// its configuration, nor a commondir, alternates or links, which may lead to other repositories.
func (c Copy) committed(ctx context.Context) (dir string, err error) {
	dir = filepath.Join(c.Dir, "committed"+making+strings.ToLower(rand.Text()[:8]))
	own := c.own()
	format, err := own.run(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return dir, err
	}
	s := source{format: format, objects: filepath.Join(own.dir, "objects"), shallow: filepath.Join(own.dir, "shallow")}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return dir, err
	}
	if err := shared(ctx, c.at(dir), dir, s, "--bare"); err != nil {
		return dir, err
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return dir, err
	}
	defer root.Close()
	if err := root.Remove(filepath.Base(dir) + "/HEAD"); err != nil {
		return dir, err
	}
	for _, name := range []string{"HEAD", "packed-refs", "refs", "objects"} {
		err := fs.WalkDir(root.FS(), "work/.git/"+name, func(file string, e fs.DirEntry, err error) error {
			rel := strings.TrimPrefix(file, "work/.git/")
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // git packs what is loose at any time
			case err != nil:
				return err
			case rel == "objects/info":
				return fs.SkipDir
			case !e.Type().IsRegular():
				return nil
			}
			to := filepath.Base(dir) + "/" + rel
			if err := root.MkdirAll(path.Dir(to), 0o700); err != nil {
				return err
			}
			if err := root.Link(file, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if info, err := root.Lstat(to); err == nil && !info.Mode().IsRegular() {
				return root.Remove(to) // it was made another since it was listed
			}
			return nil
		})
		if err != nil {
			return dir, err
		}
	}
	return dir, nil
}
