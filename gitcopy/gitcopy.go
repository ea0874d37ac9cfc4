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
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/internal/visible"
)

// A Copy is a copy of a repository.
type Copy struct {
	Dir        string // absolute; its last element is the copy's name
	Repository string // the folder that it is a copy of: absolute, in the person's repository
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
func (c Copy) own() git          { return c.at(filepath.Join(c.Dir, "git")) }
func (c Copy) person() git       { return git{dir: c.Repository, not: []string{c.Repository, c.Dir}} }
func (c Copy) keep() string      { return "refs/pawl/copies/" + c.name() }
func (c Copy) branch() string    { return "pawl/" + c.name() }
func heads(branch string) string { return "refs/heads/" + branch }

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

// Make makes the copy, of the commit that is checked out in c.Repository. The error is an
// [*UnsuitableError] if there can be none of it. A copy that exists is not changed.
func (c Copy) Make(ctx context.Context) (Made, error) {
	from, err := c.look(ctx)
	if err != nil {
		return Made{}, err
	}
	if c.Exists() {
		m, err := c.made(ctx)
		m.Changed, m.Notes = from.Changed, from.Notes
		return m, err
	}
	if err := os.MkdirAll(filepath.Dir(c.Dir), 0o700); err != nil {
		return Made{}, err
	}
	if _, err := c.person().run(ctx, "update-ref", c.keep(), from.Base); err != nil {
		return Made{}, err
	}
	temp := Copy{Dir: c.Dir + making + strings.ToLower(rand.Text()[:8]), Repository: c.Repository}
	err = temp.build(ctx, c.branch(), from)
	if err == nil {
		err = os.Rename(temp.Dir, c.Dir)
	}
	if err != nil {
		rest := removeAll(temp.Dir)
		if !c.Exists() { // else another process was faster
			return Made{}, errors.Join(err, rest)
		}
	}
	m, err := c.made(ctx)
	m.Changed, m.Notes = from.Changed, from.Notes
	return m, err
}

// making is in the name of a copy that is being made.
const making = ".making-"

// A source is what a copy is made from.
type source struct {
	Made
	objects, shallow, format, prefix string
	identity                         [2]string // user.name, user.email
}

// look returns what there is to make a copy of.
func (c Copy) look(ctx context.Context) (s source, err error) {
	person := c.person()
	unsuitable := func(why string) (source, error) { return s, &UnsuitableError{c.Repository, why} }
	bare, err := person.run(ctx, "rev-parse", "--is-bare-repository", "--is-inside-work-tree")
	var failed *Error
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.Said, "not a git repository"):
		return unsuitable("it is not in a git repository; make one with `git init` and commit, or work without a copy")
	case err != nil:
		return s, err
	case strings.HasPrefix(bare, "true"):
		return unsuitable("the repository is bare, so there are no files to work on")
	case !strings.HasSuffix(bare, "true"):
		return unsuitable("it is in a repository's own folder")
	}
	if s.Base, err = person.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); exited(err, 1) {
		return unsuitable("the repository has no commit yet; commit first")
	} else if err != nil {
		return s, err
	}
	if promisor, err := person.run(ctx, "config", "--get-regexp", `^(extensions\.partialclone|remote\..*\.promisor)$`); err == nil && promisor != "" {
		return unsuitable("the repository is a partial clone, and objects that a copy needs may be missing; fetch them with `git fetch --refetch --no-filter`")
	}
	for _, q := range []struct {
		to   *string
		args []string
		path bool
	}{
		{&s.objects, []string{"rev-parse", "--git-path", "objects"}, true},
		{&s.shallow, []string{"rev-parse", "--git-path", "shallow"}, true},
		{&s.format, []string{"rev-parse", "--show-object-format"}, false},
		{&s.prefix, []string{"rev-parse", "--show-prefix"}, false},
	} {
		if *q.to, err = person.run(ctx, q.args...); err != nil {
			return s, err
		}
		if q.path && !filepath.IsAbs(*q.to) {
			*q.to = filepath.Join(c.Repository, *q.to)
		}
	}
	if s.objects, err = filepath.EvalSymlinks(s.objects); err != nil {
		return s, err
	}
	if s.From, err = person.run(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); err != nil {
		s.From = ""
	}
	for i, key := range []string{"user.name", "user.email"} {
		s.identity[i], _ = person.run(ctx, "config", key) // without one the agent has to give its own
	}
	if s.Changed, err = c.changed(ctx, true); err != nil {
		return s, err
	}
	return s, c.notes(ctx, &s)
}

// changed returns the files of the person that are not as they are committed. Where the
// content has to be compared for it, it is compared without filters.
func (c Copy) changed(ctx context.Context, untracked bool) (names []string, err error) {
	person, err := c.person().withoutFilters(ctx)
	if err != nil {
		return nil, err
	}
	calls := [][]string{{"diff-files", "--name-only", "-z", "--ignore-submodules=all"}, {"diff-index", "--cached", "--name-only", "-z", "--ignore-submodules=all", "HEAD"}}
	if untracked {
		calls = append(calls, []string{"ls-files", "--others", "--exclude-standard", "--directory", "--full-name", "-z"})
	}
	for _, args := range calls {
		out, err := person.run(ctx, args...)
		if err != nil {
			return nil, err
		}
		names = append(names, lines(out)...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// notes adds what is different in a copy.
func (c Copy) notes(ctx context.Context, s *source) error {
	person := c.person()
	tree, err := person.run(ctx, "ls-tree", "-r", "-z", "--full-tree", s.Base)
	if err != nil {
		return err
	}
	var modules, attributes []string
	for _, line := range lines(tree) {
		meta, name, _ := strings.Cut(line, "\t")
		switch {
		case strings.HasPrefix(meta, "160000 "):
			modules = append(modules, name)
		case filepath.Base(name) == ".gitattributes":
			attributes = append(attributes, strings.Fields(meta)[2])
		}
	}
	if len(modules) > 0 {
		s.Notes = append(s.Notes, "submodules are empty in the copy: "+strings.Join(modules, ", "))
	}
	for _, blob := range attributes {
		content, err := person.run(ctx, "cat-file", "blob", blob)
		if err == nil && strings.Contains(content, "filter=") {
			s.Notes = append(s.Notes, "files with a filter, as those of Git LFS, are in the copy as they are stored: filters do not run for it")
			break
		}
	}
	if sparse, err := person.run(ctx, "config", "--bool", "core.sparseCheckout"); err == nil && sparse == "true" {
		s.Notes = append(s.Notes, "the copy has all files, also those that your sparse checkout leaves out")
	}
	return nil
}

// build makes both repositories of the copy.
func (c Copy) build(ctx context.Context, branch string, s source) error {
	for _, dir := range []string{c.work(), c.own().dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	work := c.at(c.work())
	if err := shared(ctx, work, filepath.Join(c.work(), ".git"), s); err != nil {
		return err
	}
	if err := shared(ctx, c.own(), c.own().dir, s, "--bare"); err != nil {
		return err
	}
	type call struct {
		git
		args []string
	}
	calls := []call{
		{c.own(), []string{"update-ref", base, s.Base}},
		{c.own(), []string{"update-ref", heads(branch), s.Base}},
		{c.own(), []string{"config", "pawl.from", s.From}},
		{c.own(), []string{"config", "pawl.prefix", s.prefix}},
		{work, []string{"update-ref", heads(branch), s.Base}},
		{work, []string{"symbolic-ref", "HEAD", heads(branch)}},
		{work, []string{"reset", "--hard", "--quiet"}},
	}
	if s.From != "" && s.From != branch { // as a name for what it was made from
		calls = append(calls, call{work, []string{"update-ref", heads(s.From), s.Base}})
	}
	for i, key := range []string{"user.name", "user.email"} {
		if s.identity[i] != "" {
			calls = append(calls, call{work, []string{"config", key, s.identity[i]}}, call{c.own(), []string{"config", key, s.identity[i]}})
		}
	}
	for _, call := range calls {
		if _, err := call.run(ctx, call.args...); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Join(c.work(), filepath.FromSlash(s.prefix)), 0o700)
}

// shared makes a repository whose objects are also those of the person's.
func shared(ctx context.Context, g git, gitDir string, s source, more ...string) error {
	if _, err := g.run(ctx, append([]string{"init", "--quiet", "--template=", "--object-format=" + s.format, "."}, more...)...); err != nil {
		return err
	}
	info := filepath.Join(gitDir, "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	quoted := s.objects
	if strings.ContainsAny(quoted, "\n\"") || quoted[0] == '#' {
		quoted = strconv.Quote(quoted)
	}
	if err := os.WriteFile(filepath.Join(info, "alternates"), []byte(quoted+"\n"), 0o600); err != nil {
		return err
	}
	content, err := os.ReadFile(s.shallow)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(gitDir, "shallow"), content, 0o600)
}

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
	content, _ := os.ReadFile(filepath.Join(objects, "info", "alternates")) // without one there are none
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

// left returns the commit that is checked out in the copy, and the tree of what is there,
// with what is not committed.
func (c Copy) left(ctx context.Context) (head, tree string, err error) {
	if info, err := os.Lstat(filepath.Join(c.work(), ".git")); err != nil || !info.IsDir() {
		return "", "", stateError("the copy %s is not a repository any more: look at it, or discard it", c.work())
	}
	own := c.own()
	committed, err := c.committed(ctx)
	defer os.RemoveAll(committed) // what is left of it is of no use, and is removed with the copy
	if err == nil {
		_, err = own.run(ctx, "-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", committed, "+HEAD:refs/pawl/head")
	}
	if err != nil {
		return "", "", stateError("the commits of the copy %s cannot be read: %w", c.work(), err)
	}
	if head, err = own.run(ctx, "rev-parse", "refs/pawl/head"); err != nil {
		return "", "", err
	}
	adding := c.at(c.work())
	adding.env = []string{"GIT_DIR=" + own.dir, "GIT_WORK_TREE=" + c.work(), "GIT_INDEX_FILE=" + filepath.Join(own.dir, "index"),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.bare", "GIT_CONFIG_VALUE_0=false"}
	if _, err := adding.run(ctx, "read-tree", "--reset", head); err != nil {
		return "", "", err
	}
	if err := adding.addAll(ctx); err != nil {
		return "", "", err
	}
	tree, err = adding.run(ctx, "write-tree")
	return head, tree, err
}

// addAll brings the index up to what is in the work tree. `git add` does not do: in a
// repository inside of it, it runs git status, which obeys the filters configured there. Of
// such a repository nothing is added; its commit, if there is one in the index, stays.
func (g git) addAll(ctx context.Context) error {
	deleted, err := g.run(ctx, "ls-files", "--deleted", "-z")
	if err != nil {
		return err
	}
	changed, err := g.run(ctx, "diff-files", "--name-status", "--no-renames", "--ignore-submodules=all", "-z")
	if err != nil {
		return err
	}
	others, err := g.run(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return err
	}
	remove, add := lines(deleted), slices.DeleteFunc(lines(others), func(name string) bool { return strings.HasSuffix(name, "/") })
	for pair := range slices.Chunk(lines(changed), 2) {
		if pair[0] == "D" {
			remove = append(remove, pair[1])
		} else {
			add = append(add, pair[1])
		}
	}
	for _, c := range []struct {
		option string
		names  []string
	}{{"--force-remove", remove}, {"--replace", add}} {
		if len(c.names) == 0 {
			continue
		}
		if _, err := g.input(ctx, strings.Join(c.names, "\x00")+"\x00", "update-index", "--add", c.option, "-z", "--stdin"); err != nil {
			return err
		}
	}
	return nil
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

// collect brings the branch in the repository of pawl's own up to what is in the copy: its
// commits, and one more with what is not committed. It returns the branch's commit.
func (c Copy) collect(ctx context.Context, message string) (string, error) {
	head, tree, err := c.left(ctx)
	if err != nil {
		return "", err
	}
	own := c.own()
	tip, err := own.run(ctx, "rev-parse", heads(c.branch()))
	if err != nil {
		return "", err
	}
	parents := []string{tip, head}
	switch { // the branch only ever moves forward
	case own.isAncestor(ctx, tip, head):
		parents = []string{head}
	case own.isAncestor(ctx, head, tip):
		parents = []string{tip}
	}
	next := parents[0]
	if same, err := own.run(ctx, "rev-parse", next+"^{tree}"); err != nil {
		return "", err
	} else if same != tree || len(parents) > 1 {
		args := []string{"commit-tree", tree}
		for _, p := range parents {
			args = append(args, "-p", p)
		}
		if next, err = own.withIdentity(ctx).input(ctx, message, args...); err != nil {
			return "", err
		}
	}
	_, err = own.run(ctx, "update-ref", heads(c.branch()), next, tip)
	return next, err
}

// withIdentity returns g with an author, if its configuration has none.
func (g git) withIdentity(ctx context.Context) git {
	for key, v := range map[string]string{"user.name": "NAME=pawl", "user.email": "EMAIL=pawl@localhost"} {
		if got, err := g.run(ctx, "config", key); err != nil || got == "" {
			g.env = append(slices.Clip(g.env), "GIT_AUTHOR_"+v, "GIT_COMMITTER_"+v)
		}
	}
	return g
}

func (g git) isAncestor(ctx context.Context, a, b string) bool {
	_, err := g.run(ctx, "merge-base", "--is-ancestor", a, b)
	return err == nil
}

// A Diff is what was changed in a copy since it was made.
type Diff struct {
	Commits int // since then
	Files   []File
	Patch   string // as git diff prints it
}

// A File is a file that was changed.
type File struct {
	Name    string `json:"name"`
	Added   int    `json:"added"`   // lines; -1: it is not a text
	Removed int    `json:"removed"` // lines
}

// Diff returns what was changed in the copy. What is not committed counts too.
func (c Copy) Diff(ctx context.Context) (d Diff, err error) {
	head, tree, err := c.left(ctx)
	if err != nil {
		return d, err
	}
	own := c.own()
	stat, err := own.run(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", base, tree)
	if err != nil {
		return d, err
	}
	for _, line := range lines(stat) {
		fields := strings.SplitN(line, "\t", 3)
		if len(fields) != 3 {
			continue
		}
		f := File{Name: fields[2], Added: -1, Removed: -1}
		if n, err := strconv.Atoi(fields[0]); err == nil {
			f.Added = n
			f.Removed, _ = strconv.Atoi(fields[1])
		}
		d.Files = append(d.Files, f)
	}
	count, err := own.run(ctx, "rev-list", "--count", base+".."+head)
	if err != nil {
		return d, err
	}
	d.Commits, _ = strconv.Atoi(count)
	d.Patch, err = own.run(ctx, "diff", "--no-ext-diff", "--no-textconv", "--no-color", base, tree)
	return d, err
}

func leftMessage(name, title string) string {
	return visible.Escape(title) + "\n\nWhat task " + name + " left uncommitted in its copy.\n"
}

// Merged says what came of a merge.
type Merged struct {
	Branch string // in the person's repository now
	Commit string
	Into   string // the branch that is checked out there; empty: none
	// Contained: all of it is in what is checked out already.
	Contained bool
	// Changed are files of the person's that are not committed.
	Changed []string
	// Conflicts are files in which the branch conflicts with what is checked out.
	Conflicts []string
}

// ErrNothing says that nothing was changed in the copy.
var ErrNothing = errors.New("nothing was changed in the copy")

// Merge commits what is left in the copy, with title as the first line of the message, and
// fetches the branch into the person's repository, where nothing else is changed. If the
// branch there has other commits, it is an error.
func (c Copy) Merge(ctx context.Context, title string) (m Merged, err error) {
	m.Branch = c.branch()
	if m.Commit, err = c.collect(ctx, leftMessage(c.name(), title)); err != nil {
		return m, err
	}
	own, person := c.own(), c.person()
	if from, err := own.run(ctx, "rev-parse", base); err != nil {
		return m, err
	} else if from == m.Commit {
		return m, ErrNothing
	}
	ref := heads(m.Branch)
	if there, err := person.run(ctx, "rev-parse", "--verify", "--quiet", ref); err == nil && there != m.Commit {
		if _, err := own.run(ctx, "cat-file", "-e", there); err != nil || !own.isAncestor(ctx, there, m.Commit) {
			return m, stateError("the branch %s of your repository has commits that the copy does not have: rename it with `git branch -m %[1]s NEW`, and merge again", m.Branch)
		}
	}
	// The configuration of the user may name a program for the other end. Whether the
	// repository may be used was checked with it above.
	fetch := c.at(c.Repository)
	if _, err := fetch.run(ctx, "-c", "safe.directory=*", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", own.dir, ref+":"+ref); err != nil {
		var failed *Error
		if errors.As(err, &failed) && strings.Contains(failed.Said, "checked out") {
			return m, stateError("the branch %s is checked out in your repository and is not changed there: switch to another branch, and merge again", m.Branch)
		}
		return m, err
	}
	if m.Into, err = person.run(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); err != nil {
		m.Into = ""
	}
	if m.Changed, err = c.changed(ctx, false); err != nil {
		return m, err
	}
	head, err := person.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return m, nil // it is an unborn branch: there is nothing to conflict with
	}
	if m.Contained = own.isAncestor(ctx, m.Commit, head); m.Contained {
		return m, nil
	}
	// In the repository of pawl's own, because a merge runs the drivers that a configuration
	// names. Before git 2.38 there is no merge-tree that says it; git merge does then.
	out, err := own.run(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", head, m.Commit)
	if exited(err, 1) {
		if names := lines(out); len(names) > 1 {
			m.Conflicts = names[1:]
		}
	}
	return m, nil
}

// Discard removes the copy and what keeps its objects. What was merged stays.
func (c Copy) Discard(ctx context.Context) error {
	if c.name() == "." || c.name() == string(filepath.Separator) {
		return errors.New("a copy without a name")
	}
	err := removeAll(c.Dir)
	if _, statErr := os.Stat(c.Repository); statErr == nil {
		if _, keptErr := c.person().run(ctx, "rev-parse", "--verify", "--quiet", c.keep()); keptErr == nil {
			_, keptErr = c.person().run(ctx, "update-ref", "-d", c.keep())
			err = errors.Join(err, keptErr)
		}
	}
	return err
}

// removeAll removes a folder of which a process that is killed leaves none under its name.
// Folders that the agent has closed to itself are opened.
func removeAll(dir string) error {
	gone := dir + making + strings.ToLower(rand.Text()[:8])
	if strings.Contains(filepath.Base(dir), making) {
		gone = dir
	} else if err := os.Rename(dir, gone); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	err := os.RemoveAll(gone)
	if err == nil || !errors.Is(err, os.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(gone, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // what cannot be removed is reported below
		}
		return nil
	})
	return os.RemoveAll(gone)
}

// Tidy removes from a folder of copies of repository those that needed does not report, and
// what processes that were killed have left there; but nothing that is younger than age,
// because it may be being made. needed is given the names.
func Tidy(ctx context.Context, dir, repository string, age time.Duration, now time.Time, needed func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	problems := []error{err}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || now.Sub(info.ModTime()) <= age {
			continue
		}
		name, _, left := strings.Cut(e.Name(), making)
		c := Copy{filepath.Join(dir, name), repository}
		if left {
			problems = append(problems, removeAll(filepath.Join(dir, e.Name())))
		}
		if !needed(name) && (!left || !c.Exists()) {
			problems = append(problems, c.Discard(ctx))
		}
	}
	return errors.Join(problems...)
}
