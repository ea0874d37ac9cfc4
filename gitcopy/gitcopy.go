// Package gitcopy makes copies of git repositories, in which agents work apart from the
// person's own tree.
//
// A copy shares the objects of the repository, as one of `git clone --shared` does, and has a
// configuration, refs and hooks of its own:
//
//	DIR/work   the copy; agents may change all of it, its .git included
//	DIR/git    a bare repository of pawl's own, which agents do not see
//
// What an agent leaves in DIR/work is not trusted. pawl runs no command in it that obeys its
// configuration, hooks or filters: commits are fetched into DIR/git, which checks their
// objects, and what is not committed is added and committed there. The person's repository
// then fetches from DIR/git, and nothing is forced.
//
// The objects of the commit that a copy was made from are kept in the person's repository by
// a ref, refs/pawl/copies/NAME, for as long as the copy exists, so that no gc removes them.
// A copy that is being made has another name, so a process that is killed leaves none.
package gitcopy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/atomicfile"
	"pawl/internal/visible"
)

// A Copy is a copy of a repository.
type Copy struct {
	Dir        string // absolute; its last element is the copy's name
	Repository string // the folder that it is a copy of: absolute, in the person's repository
	// Remote is the address of the repository that machines share, for git. The copy is made of what is checked out there, is
	// saved there ([Copy.Save]) and is merged there; Repository is a clone of it. Empty: there is none.
	Remote string
	// Revision is the branch, tag or whole id of a commit that a copy is made of; empty: what is checked out.
	Revision string
}

// Made says what a copy was made from.
type Made struct {
	Branch string // that the copy is on
	Base   string // the commit
	From   string // the branch of the person that was at Base; empty: none was checked out
	Folder string // the folder in the copy that corresponds to Repository: absolute
	// Changed are files of the person's that are not in the copy because they are not committed.
	Changed []string
	// Notes are sentences on what else is different in the copy.
	Notes []string
}

// An UnsuitableError says why no copy can be made of a folder.
type UnsuitableError struct {
	Folder string
	Why    string
}

func (e *UnsuitableError) Error() string {
	return fmt.Sprintf("no copy can be made of %s: %s", e.Folder, e.Why)
}

func (c Copy) name() string      { return filepath.Base(c.Dir) }
func (c Copy) work() string      { return filepath.Join(c.Dir, "work") }
func (c Copy) person() git       { return git{dir: c.Repository, not: []string{c.Repository, c.Dir}} }
func (c Copy) keep() string      { return "refs/pawl/copies/" + c.name() }
func (c Copy) branch() string    { return "pawl/" + c.name() }
func heads(branch string) string { return "refs/heads/" + branch }

// own returns what calls git in the repository of pawl's own.
func (c Copy) own() git {
	g := c.at(filepath.Join(c.Dir, "git"))
	g.alone = true
	return g
}

// at returns what calls git in a repository of pawl's.
func (c Copy) at(dir string) git {
	g := c.person()
	g.dir, g.own = dir, true
	return g
}

const base = "refs/pawl/base" // of the repository of pawl's own

// Exists reports whether the copy exists.
func (c Copy) Exists() bool {
	return isThere(c.Dir, "work")
}

// Make makes the copy, of c.Revision, or the commit that is checked out in c.Repository. The error is an
// [*UnsuitableError] if there can be none of it. A copy that exists is not changed.
func (c Copy) Make(ctx context.Context) (Made, error) {
	from, err := c.look(ctx)
	if err != nil {
		return Made{}, err
	}
	if c.Exists() {
		return c.withNotes(ctx, from)
	}
	temp, err := c.built(ctx, from, func(ctx context.Context, temp Copy, s *source) (err error) {
		switch {
		case c.Remote != "":
			s.From, s.Base, err = temp.upstream(ctx, c.Revision)
		case c.Revision != "":
			s.From, s.Base, err = c.revision(ctx)
		}
		s.tip = s.Base
		return err
	})
	if err == nil {
		err = os.Rename(temp, c.Dir)
	}
	if err != nil && !c.Exists() { // else another process was faster
		return Made{}, errors.Join(err, removeAll(temp))
	}
	return c.withNotes(ctx, from)
}

// revision returns the commit of c.Revision in the person's repository, and the branch if it is one.
func (c Copy) revision(ctx context.Context) (branch, commit string, err error) {
	for _, name := range []string{heads(c.Revision), c.Revision} {
		commit, err = c.person().run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
		if err == nil && name != c.Revision {
			branch = c.Revision
		}
		if !exited(err, 1) {
			return branch, commit, err
		}
	}
	return "", "", &UnsuitableError{c.Repository, fmt.Sprintf("it has no branch, tag or commit %s", visible.Quote(c.Revision))}
}

// withNotes returns what a copy that exists was made from, with what is different in it.
func (c Copy) withNotes(ctx context.Context, from source) (Made, error) {
	m, err := c.made(ctx)
	m.Changed = from.Changed
	if err == nil {
		m.Notes, err = c.notes(ctx, m.Base)
	}
	return m, err
}

// making is in the name of a copy that is being made.
const making = ".making-"

// made returns what a copy that exists was made from.
func (c Copy) made(ctx context.Context) (m Made, err error) {
	own := c.own()
	m.Branch = c.branch()
	if m.Base, err = own.run(ctx, "rev-parse", "--verify", base); err != nil {
		return m, err
	}
	if m.From, err = own.run(ctx, "config", "pawl.from"); err != nil {
		return m, err
	}
	prefix, err := own.run(ctx, "config", "pawl.prefix")
	m.Folder = filepath.Join(c.work(), filepath.FromSlash(prefix))
	return m, err
}

// Objects returns the folders with objects of the person's repository that a copy of it
// reads: its own, and those that it shares in turn.
func (c Copy) Objects() []string {
	var all []string
	pending := alternates(filepath.Join(c.own().dir, "objects"))
	for len(pending) > 0 && len(all) < 10 {
		dir := pending[0]
		if pending = pending[1:]; !slices.Contains(all, dir) {
			all, pending = append(all, dir), append(pending, slices.DeleteFunc(alternates(dir), isNoStore)...)
		}
	}
	return all
}

// isNoStore reports whether a folder is not that of a repository's objects. Alternates may
// have come with the repository, and agents are to read nothing else by them.
func isNoStore(dir string) bool {
	return filepath.Base(dir) != "objects" || !isThere(filepath.Dir(dir), "HEAD") || !isThere(filepath.Dir(dir), "refs")
}

func isThere(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func alternates(objects string) []string {
	content, _ := atomicfile.Read(filepath.Join(objects, "info", "alternates")) // without one there are none
	var dirs []string
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if unquoted, err := strconv.Unquote(line); err == nil {
			line = unquoted
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(objects, line)
		}
		dirs = append(dirs, filepath.Clean(line))
	}
	return dirs
}
