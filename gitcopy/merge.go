package gitcopy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/visible"
)

// collect brings the branch in the repository of pawl's own up to what is in the copy. It returns the branch's commit.
// It is an error if the copy does not have the tree seen; empty: whatever it has.
func (c Copy) collect(ctx context.Context, message, seen string) (string, error) {
	tip, next, err := c.commit(ctx, c.own(), message)
	if err == nil && seen != "" {
		var tree string
		if tree, err = c.own().run(ctx, "rev-parse", next+"^{tree}"); err == nil && tree != seen {
			err = stateError("the copy %s was changed since its tree was %.12s: look at what was changed, and merge again", c.name(), seen)
		}
	}
	if err == nil {
		_, err = c.own().run(ctx, "update-ref", heads(c.branch()), next, tip)
	}
	return next, err
}

// commit makes a commit of what is in the copy, its commits and what is not committed, in own, the repository of pawl's own.
// tip is where the branch is there, which stays.
func (c Copy) commit(ctx context.Context, own git, message string) (tip, next string, err error) {
	head, tree, err := c.left(ctx)
	if err != nil {
		return "", "", err
	}
	if tip, err = own.run(ctx, "rev-parse", heads(c.branch())); err != nil {
		return "", "", err
	}
	parents := []string{tip, head}
	switch { // the branch only ever moves forward
	case own.isAncestor(ctx, tip, head):
		parents = []string{head}
	case own.isAncestor(ctx, head, tip):
		parents = []string{tip}
	}
	next = parents[0]
	if same, err := own.run(ctx, "rev-parse", next+"^{tree}"); err != nil {
		return "", "", err
	} else if same != tree || len(parents) > 1 {
		args := []string{"commit-tree", tree}
		for _, p := range parents {
			args = append(args, "-p", p)
		}
		if next, err = own.withIdentity(ctx).input(ctx, message, args...); err != nil {
			return "", "", err
		}
	}
	return tip, next, nil
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

// A Diff is what was changed in a copy.
type Diff struct {
	Commits int    // since it was made
	Tree    string // what is in it now, with what is not committed: another Diff can begin with it
	Files   []File
	Patch   string // as git diff prints it; of a very large one the beginning, with a mark
}

// A File is a file that was changed.
type File struct {
	Name    string `json:"name"`
	Added   int    `json:"added"`   // lines; -1: it is not a text
	Removed int    `json:"removed"` // lines
}

// Diff returns what was changed in the copy since it was made or, if since is not empty, since it had that tree.
// What is not committed counts too.
func (c Copy) Diff(ctx context.Context, since string) (d Diff, err error) {
	head, tree, err := c.left(ctx)
	if err != nil {
		return d, err
	}
	d.Tree = tree
	own, from := c.own(), base
	if since != "" {
		if kind, err := own.run(ctx, "cat-file", "-t", since); err != nil || kind != "tree" {
			return d, stateError("the copy does not have the tree %s any more, so it cannot say what was changed since", visible.Escape(since))
		}
		from = since
	}
	stat, err := own.run(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", from, tree)
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
	d.Patch, err = own.run(ctx, "diff", "--no-ext-diff", "--no-textconv", "--no-color", from, tree)
	if errors.Is(err, errTooMuch) {
		d.Patch, err = fmt.Sprintf("%s\n[cut: the first %d MB are shown]", d.Patch, maxOutput>>20), nil
	}
	return d, err
}

func leftMessage(name, title string) string {
	return visible.Escape(title) + "\n\nWhat task " + name + " left uncommitted in its copy.\n"
}

// Merged says what came of a merge.
type Merged struct {
	Branch string // in the person's repository now
	Commit string
	Meeting
}

// A Meeting is what a merge of the branch meets in the person's repository.
type Meeting struct {
	Into string // the branch that is checked out there; empty: none
	// Head is the commit that is checked out there, which the copy has too; empty: none yet.
	Head string
	// Contained: all of it is in what is checked out already.
	Contained bool
	// Changed are files of the person's that are not committed.
	Changed []string
	// Conflicts are files in which the branch conflicts with what is checked out.
	Conflicts []string
	// Known: there are no other conflicts. Before git 2.38 it is not known.
	Known bool
	Tree  string // what is merged: that of a Diff, if nothing was changed since
}

// replaced adds to the error of a fetch from the copy the setting of the person's repository, if
// there is one, that has another address in the place of the copy's.
func (c Copy) replaced(ctx context.Context, err error) error {
	settings, configErr := c.person().run(ctx, "config", "--null", "--get-regexp", `^url\..*\.insteadof$`)
	if configErr != nil {
		return err
	}
	for setting := range strings.SplitSeq(settings, "\x00") {
		key, prefix, _ := strings.Cut(setting, "\n")
		if key != "" && strings.HasPrefix(c.own().dir, prefix) {
			return stateError("%w\nthe setting %s = %s of your repository replaces the address of the copy: remove it, and merge again", err, visible.Escape(key), visible.Escape(prefix))
		}
	}
	return err
}

// ErrNothing says that nothing was changed in the copy.
var ErrNothing = errors.New("nothing was changed in the copy")

// fetch makes a commit in the repository of pawl's own the branch in the person's. With dry it changes nothing there and
// returns the error that it would.
func (c Copy) fetch(ctx context.Context, commit string, dry bool) error {
	if c.Remote != "" {
		return c.publish(ctx, commit, dry)
	}
	own, person, ref := c.own(), c.person(), heads(c.branch())
	if there, err := person.run(ctx, "rev-parse", "--verify", "--quiet", ref); err == nil && there != commit {
		if _, err := own.run(ctx, "cat-file", "-e", there); err != nil || !own.isAncestor(ctx, there, commit) {
			return stateError("the branch %s of your repository has commits that the copy does not have: rename it with `git branch -m %[1]s NEW`, and merge again", c.branch())
		}
	}
	// The configuration of the user may name a program for the other end. Whether the
	// repository may be used was checked with it above.
	fetch := c.at(c.Repository)
	args := []string{"-c", "safe.directory=*", "-c", "fetch.fsckObjects=true", "-c", "protocol.version=2", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", own.dir, commit + ":" + ref}
	if dry { // git would keep the objects, which come into a folder that is removed
		objects, err := person.run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
		if err != nil {
			return err
		}
		dir, err := os.MkdirTemp(own.dir, "objects-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) // what is left of it is of no use, and is removed with the copy
		fetch.env = []string{"GIT_OBJECT_DIRECTORY=" + dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + strconv.Quote(objects)}
		args = append(args, "--dry-run")
	}
	_, err := fetch.run(ctx, args...)
	if failed, ok := errors.AsType[*Error](err); ok && strings.Contains(failed.Said, "checked out") {
		return stateError("the branch %s is checked out in your repository and is not changed there: switch to another branch, and merge again", c.branch())
	} else if err != nil {
		return c.replaced(ctx, err)
	}
	return nil
}

// Merge commits what is left in the copy, with title as the first line of the message, and
// fetches the branch into the person's repository, where nothing else is changed. If the
// branch there has other commits, it is an error; so it is if the copy does not have the tree
// seen, unless that is empty.
func (c Copy) Merge(ctx context.Context, title, seen string) (m Merged, err error) {
	m.Branch = c.branch()
	before, err := c.own().run(ctx, "rev-parse", heads(m.Branch))
	if err != nil {
		return m, err
	}
	if m.Commit, err = c.collect(ctx, leftMessage(c.name(), title), seen); err != nil {
		return m, err
	}
	own, person := c.own(), c.person()
	if from, err := own.run(ctx, "rev-parse", base); err != nil {
		return m, err
	} else if from == m.Commit {
		return m, ErrNothing
	}
	ref := heads(m.Branch)
	if err := c.fetch(ctx, m.Commit, false); err != nil {
		// What the check refuses may be changed in the copy: then nothing of it stays in the branch.
		_, undone := own.run(ctx, "update-ref", ref, before, m.Commit)
		return m, errors.Join(err, undone)
	}
	// Settings of the repository may replace the address by another.
	if c.Remote != "" {
		err = c.saveAllBut(ctx)
	} else if there, err := person.run(ctx, "rev-parse", "--verify", "--quiet", ref); err != nil || there != m.Commit {
		return m, c.replaced(ctx, stateError("your repository did not fetch the branch %s from the copy: remove the branch, and merge again", m.Branch))
	}
	if err == nil {
		m.Meeting, err = c.meets(ctx, m.Commit)
	}
	return m, err
}

// Meets returns what a merge would meet now, and changes nothing that counts. Where nothing was changed in the copy it is
// [ErrNothing]; another error is the one that the merge would return.
func (c Copy) Meets(ctx context.Context) (Meeting, error) {
	own := c.own()
	own.env = []string{"GIT_AUTHOR_DATE=@0 +0000", "GIT_COMMITTER_DATE=@0 +0000"} // the same is one commit, however often it is asked
	_, commit, err := c.commit(ctx, own, "")
	if err != nil {
		return Meeting{}, err
	}
	if from, err := own.run(ctx, "rev-parse", base); err != nil {
		return Meeting{}, err
	} else if from == commit {
		return Meeting{}, ErrNothing
	}
	if err := c.fetch(ctx, commit, true); err != nil {
		return Meeting{}, err
	}
	return c.meets(ctx, commit)
}

// meets returns what a commit in the repository of pawl's own meets in the person's.
func (c Copy) meets(ctx context.Context, commit string) (m Meeting, err error) {
	own, person := c.own(), c.person()
	if m.Tree, err = own.run(ctx, "rev-parse", commit+"^{tree}"); err != nil {
		return m, err
	}
	var head string
	if c.Remote != "" {
		from, _ := own.run(ctx, "config", "pawl.from") // without a branch it is for what is checked out there
		m.Into, head, err = c.upstream(ctx, from)
		if errors.As(err, new(*UnsuitableError)) { // the branch is not there any more
			m.Into, head, err = c.upstream(ctx, "")
		}
		if err != nil {
			return m, err
		}
	} else {
		if m.Into, err = person.run(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); err != nil {
			m.Into = ""
		}
		if m.Changed, err = c.changed(ctx, false); err != nil {
			return m, err
		}
		if head, err = person.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
			m.Known = true
			return m, nil // it is an unborn branch: there is nothing to conflict with
		}
	}
	m.Head = head
	if m.Contained = own.isAncestor(ctx, commit, head); m.Contained {
		m.Known = true
		return m, nil
	}
	// In the repository of pawl's own, because a merge runs the drivers that a configuration
	// names. Before git 2.38 there is no merge-tree that says it; git merge does then.
	out, err := own.run(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", head, commit)
	if m.Known = err == nil || exited(err, 1); err != nil && m.Known {
		if names := lines(out); len(names) > 1 {
			m.Conflicts = names[1:]
		}
	}
	return m, nil
}
