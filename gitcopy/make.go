package gitcopy

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/atomicfile"
)

// A source is what a copy is made from.
type source struct {
	Made
	objects, shallow, format, prefix string
	identity                         [2]string // user.name, user.email
	tip                              string    // of the branch in the repository of pawl's own
	saved                            *saved    // what was saved of the copy; nil: it is a new one
	savedAs                          string    // the commit
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
	if c.Remote == "" { // else it is not made of what is here
		s.Changed, err = c.changed(ctx, true)
	}
	return s, err
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

// notes returns what is different in a copy of a commit.
func (c Copy) notes(ctx context.Context, base string) (notes []string, err error) {
	person, own := c.person(), c.own()
	tree, err := own.run(ctx, "ls-tree", "-r", "-z", "--full-tree", base)
	if err != nil {
		return nil, err
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
		notes = append(notes, "submodules are empty in the copy: "+strings.Join(modules, ", "))
	}
	for _, blob := range attributes {
		content, err := own.run(ctx, "cat-file", "blob", blob)
		if err == nil && strings.Contains(content, "filter=") {
			notes = append(notes, "files with a filter, as those of Git LFS, are in the copy as they are stored: filters do not run for it")
			break
		}
	}
	if sparse, err := person.run(ctx, "config", "--bool", "core.sparseCheckout"); err == nil && sparse == "true" && c.Remote == "" {
		notes = append(notes, "the copy has all files, also those that your sparse checkout leaves out")
	}
	return notes, nil
}

// built makes the copy under another name, and returns its folder. Once its repositories are there find says what it is made of.
func (c Copy) built(ctx context.Context, s source, find func(context.Context, Copy, *source) error) (dir string, err error) {
	if err := os.MkdirAll(filepath.Dir(c.Dir), 0o700); err != nil {
		return "", err
	}
	temp := c
	temp.Dir += making + strings.ToLower(rand.Text()[:8])
	err = temp.init(ctx, s)
	if err == nil {
		err = find(ctx, temp, &s)
	}
	if err == nil && (c.Remote == "" || c.person().ref(ctx, s.Base+"^{commit}") != "") {
		_, err = c.person().run(ctx, "update-ref", c.keep(), s.Base)
	}
	if err == nil {
		err = temp.fill(ctx, c.branch(), s)
	}
	if err != nil {
		return "", errors.Join(err, removeAll(temp.Dir))
	}
	return temp.Dir, nil
}

// init makes both repositories of the copy.
func (c Copy) init(ctx context.Context, s source) error {
	for _, dir := range []string{c.work(), c.own().dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := shared(ctx, c.at(c.work()), filepath.Join(c.work(), ".git"), s); err != nil {
		return err
	}
	return shared(ctx, c.own(), c.own().dir, s, "--bare")
}

// fill makes both repositories what s says, with its branch.
func (c Copy) fill(ctx context.Context, branch string, s source) error {
	work, own := c.at(c.work()), c.own()
	type call struct {
		git
		args []string
	}
	calls := []call{
		{own, []string{"update-ref", base, s.Base}},
		{own, []string{"update-ref", heads(branch), s.tip}},
		{own, []string{"config", "pawl.from", s.From}},
		{own, []string{"config", "pawl.prefix", s.prefix}},
	}
	branches, head := map[string]string{branch: s.Base}, heads(branch)
	if s.From != "" { // as a name for what it was made from
		branches[s.From] = s.Base
	}
	commit := s.Base
	if s.saved != nil {
		branches, head, commit = s.saved.Heads, s.saved.Head, s.savedAs
	}
	if c.Remote != "" { // the objects may not be in the person's repository
		calls = append(calls, call{work, []string{"-c", "protocol.version=2", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", own.dir, commit}})
	}
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		calls = append(calls, call{work, []string{"update-ref", heads(name), branches[name]}})
	}
	if strings.HasPrefix(head, heads("")) {
		calls = append(calls, call{work, []string{"symbolic-ref", "HEAD", head}})
	} else {
		calls = append(calls, call{work, []string{"update-ref", "--no-deref", "HEAD", head}})
	}
	calls = append(calls, call{work, []string{"reset", "--hard", "--quiet"}})
	if s.saved != nil { // with what is not committed
		calls = append(calls, call{work, []string{"read-tree", "--reset", "-u", commit}}, call{work, []string{"reset", "--quiet"}})
	}
	for i, key := range []string{"user.name", "user.email"} {
		if s.identity[i] != "" {
			calls = append(calls, call{work, []string{"config", key, s.identity[i]}}, call{own, []string{"config", key, s.identity[i]}})
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
	content, err := atomicfile.Read(s.shallow)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(gitDir, "shallow"), content, 0o600)
}
