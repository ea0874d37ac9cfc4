package gitcopy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/inside"
	"pawl/internal/visible"
)

// A copy with a Remote can be continued on another machine. What is in it, its commits and what is not committed, is
// saved as one commit under the ref refs/pawl/saved/NAME of the remote. Its tree is what was in the work tree, its
// message is the JSON of saved, and all commits that the message names are its parents. What git ignores, empty
// folders and repositories inside of the copy are not saved.
//
// The machine that works in a copy has taken it, which makes the saved commit another one. Each push names the commit
// that it replaces, so a machine that was thought dead saves nothing when another has taken the copy since.

// saved is the message of a saved commit.
type saved struct {
	Head   string            `json:"head"` // what is checked out: refs/heads/NAME, or a commit
	Tip    string            `json:"tip"`  // of the branch in the repository of pawl's own
	Base   string            `json:"base"`
	From   string            `json:"from"`
	Prefix string            `json:"prefix"`
	Heads  map[string]string `json:"heads"` // the commits of the branches
	Writer string            `json:"writer"`
}

// maxSaved bounds the files that are saved, in bytes. Hosts refuse larger ones: GitHub those of more than 100 MB
// (docs.github.com, "About large files", read 2026-11-29).
const maxSaved = 50_000_000

// maxHeads bounds the branches that are saved: agents make some, and nothing stops one from making very many.
const maxHeads = 100

// These are refs of the repository of pawl's own.
const (
	savedRef  = "refs/pawl/saved"  // what the remote has, as far as this machine knows
	savingRef = "refs/pawl/saving" // what is pushed to it, or was
	headsRefs = "refs/pawl/heads/" // the branches of the work tree
)

// remoteRef is where the copy is saved.
func (c Copy) remoteRef() string { return "refs/pawl/saved/" + c.name() }

// How long the remote may take: to answer, and to send or take what may be a whole repository.
const (
	askPatience  = time.Minute
	movePatience = 15 * time.Minute
)

// A TakenError says that another machine has taken a copy: what was changed here since is not in it.
type TakenError struct{ Name string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("another machine has taken the copy of task %s: what was changed here since is not saved", e.Name)
}

// network returns what calls git with the remote. The repository is one of pawl's own, the addresses and
// keys are the user's, whose configuration names programs for them.
func (c Copy) network() git {
	g := c.own()
	if !isThere(g.dir, "HEAD") {
		g.dir, g.alone = string(filepath.Separator), false // ls-remote needs no repository
	}
	g.own, g.network = false, true
	return g
}

// asked returns the commit of a ref of the remote; empty: it has none.
func (c Copy) asked(ctx context.Context, ref string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	out, err := c.network().run(ctx, "ls-remote", "--", c.Remote, ref)
	if err != nil {
		return "", c.away(err)
	}
	for line := range strings.Lines(out) {
		if commit, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); name == ref {
			return commit, nil
		}
	}
	return "", nil
}

func (c Copy) away(err error) error {
	return stateError("the repository %s cannot be used: %w", visible.Escape(c.Remote), err)
}

// push makes ref of the remote the commit next, if it is still was; empty: there is none.
func (c Copy) push(ctx context.Context, ref, was, next string, more ...string) error {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	args := append([]string{"push", "--quiet", "--no-signed", "--no-follow-tags", "--force-with-lease=" + ref + ":" + was}, more...)
	_, err := c.network().run(ctx, append(args, "--", c.Remote, next+":"+ref)...)
	return err
}

// receive fetches a ref of the remote into the repository of pawl's own.
func (c Copy) receive(ctx context.Context, ref, to string) (commit string, err error) {
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	if _, err := c.network().run(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", c.Remote, "+"+ref+":"+to); err != nil {
		return "", c.away(err)
	}
	return c.own().run(ctx, "rev-parse", "--verify", to+"^{commit}")
}

// upstream fetches a revision of the remote, or what is checked out there if that is empty, and returns its branch and commit.
func (c Copy) upstream(ctx context.Context, revision string) (branch, commit string, err error) {
	if revision != "" {
		return c.named(ctx, revision)
	}
	if commit, err = c.receive(ctx, "HEAD", "refs/pawl/upstream"); err != nil {
		return "", "", err
	}
	out, err := c.network().run(ctx, "ls-remote", "--symref", "--", c.Remote, "HEAD")
	if err != nil {
		return "", "", c.away(err)
	}
	if ref, ok := strings.CutPrefix(out, "ref: refs/heads/"); ok {
		branch, _, _ = strings.Cut(ref, "\t")
	}
	return branch, commit, nil
}

// named is upstream for a branch, a tag or a commit.
func (c Copy) named(ctx context.Context, revision string) (branch, commit string, err error) {
	ref := revision
	if !isCommit(revision) {
		ref = ""
		for _, name := range []string{heads(revision), "refs/tags/" + revision} {
			if there, err := c.asked(ctx, name); err != nil {
				return "", "", err
			} else if there != "" {
				ref = name
				break
			}
		}
		switch ref {
		case "":
			return "", "", &UnsuitableError{visible.Escape(c.Remote), fmt.Sprintf("it has no branch or tag %s, and that is no whole id of a commit", visible.Quote(revision))}
		case heads(revision):
			branch = revision
		}
	}
	commit, err = c.receive(ctx, ref, "refs/pawl/upstream")
	return branch, commit, err
}

// Take makes this machine the one that works in the copy, and saves it. It is for who drives the task alone.
func (c Copy) Take(ctx context.Context) error {
	if c.Remote == "" {
		return nil
	}
	if _, err := c.own().run(ctx, "config", "pawl.writer", strings.ToLower(rand.Text()[:12])); err != nil {
		return err
	}
	return c.saveAllBut(ctx)
}

// saveAllBut is Save without the error that large files were not saved.
func (c Copy) saveAllBut(ctx context.Context) error {
	err := c.Save(ctx)
	if _, ok := err.(*LargeError); ok {
		return nil
	}
	return err
}

// Save saves what is in the copy for other machines, if it has a remote. The error is a [*TakenError] if another has
// taken the copy, and a [*LargeError] if all was saved but large files.
func (c Copy) Save(ctx context.Context) error {
	if c.Remote == "" {
		return nil
	}
	return inside.Locked(c.Dir, "saving", func() error { return c.save(ctx) })
}

func (c Copy) save(ctx context.Context) error {
	own := c.own()
	next, remains := c.snapshot(ctx)
	if next == "" {
		return remains
	}
	was, before := own.ref(ctx, savedRef), own.ref(ctx, savingRef)
	if was == next {
		return remains
	}
	if _, err := own.run(ctx, "update-ref", savingRef, next); err != nil {
		return err
	}
	err := c.push(ctx, c.remoteRef(), was, next)
	if err != nil {
		there, askErr := c.asked(ctx, c.remoteRef())
		switch {
		case askErr != nil:
			return askErr
		case there == next: // the answer was lost
			err = nil
		case there == was:
			return c.away(err)
		case there == "" || there != before:
			return &TakenError{c.name()}
		default: // the answer to the push before was lost
			if err = c.push(ctx, c.remoteRef(), there, next); err != nil {
				return c.away(err)
			}
		}
	}
	if _, err = own.run(ctx, "update-ref", savedRef, next); err != nil {
		return err
	}
	return remains
}

// ref returns the commit of a ref; empty: there is none.
func (g git) ref(ctx context.Context, name string) string {
	commit, _ := g.run(ctx, "rev-parse", "--verify", "--quiet", name)
	return commit
}

// snapshot makes the commit to be saved. Of the same copy it is the same, until somebody takes it. With a [*LargeError] it
// returns one, too.
func (c Copy) snapshot(ctx context.Context) (string, error) {
	own := c.own()
	m := saved{Heads: map[string]string{}}
	head, tree, err := c.leftWith(ctx, maxSaved, func(committed string) error {
		m.Head, _ = c.at(committed).run(ctx, "symbolic-ref", "--quiet", "HEAD") // without one it is a commit
		_, err := own.run(ctx, "-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--prune", committed, "+refs/heads/*:"+headsRefs+"*")
		return err
	})
	large, ok := errors.AsType[*LargeError](err)
	if err != nil && !ok {
		return "", err
	}
	if m.Head == "" {
		m.Head = head
	}
	for key, to := range map[string]*string{"pawl.from": &m.From, "pawl.prefix": &m.Prefix, "pawl.writer": &m.Writer} {
		*to, _ = own.run(ctx, "config", key) // one that is missing is empty
	}
	m.Tip, m.Base = own.ref(ctx, heads(c.branch())), own.ref(ctx, base)
	list, err := own.run(ctx, "for-each-ref", "--count", fmt.Sprint(maxHeads), "--format=%(objectname) %(refname)", headsRefs)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(list) {
		commit, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		m.Heads[strings.TrimPrefix(name, headsRefs)] = commit
	}
	if name, ok := strings.CutPrefix(m.Head, heads("")); ok {
		m.Heads[name] = head
	}
	message, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	parents := append([]string{head, m.Tip, m.Base}, slices.Sorted(maps.Values(m.Heads))...)
	args := []string{"commit-tree", tree}
	for i, p := range parents {
		if !slices.Contains(parents[:i], p) {
			args = append(args, "-p", p)
		}
	}
	own.env = []string{"GIT_AUTHOR_NAME=pawl", "GIT_AUTHOR_EMAIL=pawl@localhost", "GIT_COMMITTER_NAME=pawl", "GIT_COMMITTER_EMAIL=pawl@localhost",
		"GIT_AUTHOR_DATE=@0 +0000", "GIT_COMMITTER_DATE=@0 +0000"}
	commit, err := own.input(ctx, string(message)+"\n", args...)
	if err == nil && large != nil {
		err = large
	}
	return commit, err
}

func isCommit(name string) bool {
	return (len(name) == 40 || len(name) == 64) && strings.Trim(name, "0123456789abcdef") == ""
}

// readSaved returns what a saved commit says.
func (c Copy) readSaved(ctx context.Context, commit string) (m saved, err error) {
	text, err := c.own().run(ctx, "cat-file", "commit", commit)
	if err != nil {
		return m, err
	}
	_, message, _ := strings.Cut(text, "\n\n")
	err = json.Unmarshal([]byte(message), &m)
	commits := append(slices.Collect(maps.Values(m.Heads)), m.Tip, m.Base)
	if !strings.HasPrefix(m.Head, heads("")) {
		commits = append(commits, m.Head)
	}
	for _, c := range commits {
		if err == nil && !isCommit(c) {
			err = fmt.Errorf("%s is no commit", visible.Quote(c))
		}
	}
	if err == nil && m.Prefix != "" && !filepath.IsLocal(m.Prefix) {
		err = fmt.Errorf("%s is not a path inside a repository", visible.Quote(m.Prefix))
	}
	if err != nil {
		err = stateError("what was saved of the copy of task %s in %s cannot be read: %w", c.name(), visible.Escape(c.Remote), err)
	}
	return m, err
}

// Update brings the copy up to what was saved last, if that was on another machine, and makes it if it is not there. What
// this machine has changed in it since is removed then. Without a remote, and of a copy that was never saved,
// nothing is done.
func (c Copy) Update(ctx context.Context) error {
	if c.Remote == "" {
		return nil
	}
	there, err := c.asked(ctx, c.remoteRef())
	if err != nil || there == "" {
		return err
	}
	if own := c.own(); c.Exists() && (there == own.ref(ctx, savedRef) || there == own.ref(ctx, savingRef)) {
		return nil
	}
	from, err := c.look(ctx)
	if err != nil {
		return err
	}
	temp, err := c.built(ctx, from, func(ctx context.Context, temp Copy, s *source) error {
		commit, err := temp.receive(ctx, c.remoteRef(), savedRef)
		if err != nil {
			return err
		}
		m, err := temp.readSaved(ctx, commit)
		s.Base, s.From, s.prefix, s.tip, s.saved, s.savedAs = m.Base, m.From, m.Prefix, m.Tip, &m, commit
		return err
	})
	if err != nil {
		return err
	}
	return inside.Locked(filepath.Dir(c.Dir), "updating", func() error {
		if err := removeAll(c.Dir); err != nil {
			return errors.Join(err, removeAll(temp))
		}
		return os.Rename(temp, c.Dir)
	})
}

// publish makes a commit in the repository of pawl's own the branch of the remote; with dry it returns the error that this would.
func (c Copy) publish(ctx context.Context, commit string, dry bool) error {
	ref := heads(c.branch())
	there, err := c.asked(ctx, ref)
	if err != nil || there == commit {
		return err
	}
	own := c.own()
	if _, err := own.run(ctx, "cat-file", "-e", there); there != "" && (err != nil || !own.isAncestor(ctx, there, commit)) {
		return stateError("the branch %s of %s has commits that the copy does not have: rename it there, and merge again", c.branch(), visible.Escape(c.Remote))
	}
	var more []string
	if dry {
		more = []string{"--dry-run"}
	}
	if err := c.push(ctx, ref, there, commit, more...); err != nil {
		return c.away(err)
	}
	return nil
}

// unsave removes what was saved of the copy.
func (c Copy) unsave(ctx context.Context) error {
	there, err := c.asked(ctx, c.remoteRef())
	if err != nil || there == "" {
		return err
	}
	remove := func(c Copy) error {
		if err := c.push(ctx, c.remoteRef(), there, ""); err != nil {
			return c.away(err)
		}
		return nil
	}
	if isThere(c.own().dir, "HEAD") {
		return remove(c)
	}
	return c.elsewhere(ctx, remove) // this machine has never had it, and push needs a repository
}

// elsewhere calls do with the copy in a temporary folder, which has an empty repository of pawl's own and nothing else.
func (c Copy) elsewhere(ctx context.Context, do func(Copy) error) error {
	dir, err := os.MkdirTemp("", "pawl-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c.Dir = filepath.Join(dir, c.name())
	own := c.own()
	if err := os.MkdirAll(own.dir, 0o700); err != nil {
		return err
	}
	if _, err := own.run(ctx, "init", "--quiet", "--bare", "--template=", "."); err != nil {
		return err
	}
	return do(c)
}

// Check returns why copies cannot be made of the repository with an address, and saved there. Nothing is changed in it.
func Check(ctx context.Context, address string) error {
	return Copy{Dir: "check", Remote: address}.elsewhere(ctx, func(c Copy) error {
		_, commit, err := c.upstream(ctx, "")
		if err != nil {
			return err
		}
		if err := c.push(ctx, c.remoteRef(), "", commit, "--dry-run"); err != nil {
			return c.away(err)
		}
		return nil
	})
}

// Clone makes an empty folder, or one that is not there, a clone of the repository with an address.
func Clone(ctx context.Context, address, dir string) error {
	if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, movePatience)
	defer cancel()
	g := git{dir: string(filepath.Separator), network: true}
	if _, err := g.run(ctx, "clone", "--quiet", "--template=", "--", address, dir); err != nil {
		return Copy{Remote: address}.away(err)
	}
	return nil
}
