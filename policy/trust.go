package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/owner"
	"pawl/internal/stable"
	"pawl/permission"
)

// A Change is a configuration file of this workspace that is not as a person has trusted
// it. It holds the bytes that were read: trusting it trusts those, whatever the disk
// has by then.
type Change struct {
	File    string // relative to the workspace, with slashes
	Was     []byte // what was trusted; nil if nothing was, or it is not known any more
	Now     []byte // what is there; nil if it was removed
	Sum     string // SHA-256 of Now; empty if it was removed
	Removed bool
	// Problem says why it cannot be trusted: it is a link, too large, unreadable, or has rules that are none.
	// Such a thing does not count.
	Problem string

	changed bool // something of that name was trusted
}

// Kind says in a word what the change is.
func (c Change) Kind() string {
	switch {
	case c.Problem != "":
		return "unusable"
	case c.Removed:
		return "removed"
	case c.changed, c.Was != nil:
		return "changed"
	}
	return "new"
}

// Trustable returns the changes that can be trusted.
func Trustable(changes []Change) []Change {
	var some []Change
	for _, c := range changes {
		if c.Problem == "" {
			some = append(some, c)
		}
	}
	return some
}

// Pending returns what is not as it was trusted, by name. Each call reads all of its
// configuration.
func (p *Policy) Pending() ([]Change, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pending()
}

func (p *Policy) pending() ([]Change, error) {
	root, record, err := p.trusted()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var changes []Change
	there := map[string]bool{}
	for _, g := range scan(root, p.o.Also) {
		there[g.name] = true
		old := record.sumOf(g.name)
		if g.problem == "" && (g.sum == old || p.repo.trustedHere[g.name] == g.sum) {
			continue
		}
		c := Change{File: g.name, Now: g.content, Sum: g.sum, Problem: g.problem, changed: old != ""}
		c.Problem = c.problem()
		if old != "" {
			c.Was, _ = p.trust.content(old) // without it all of the file is shown
		}
		changes = append(changes, c)
	}
	for _, f := range record.Files {
		if there[f.File] {
			continue
		}
		was, _ := p.trust.content(f.SHA256)
		changes = append(changes, Change{File: f.File, Was: was, Removed: true})
	}
	stable.Sort(changes, func(a, b Change) int { return strings.Compare(a.File, b.File) })
	return changes, nil
}

// Unreviewed returns the files at names in a folder, and in the folders there, that are not as they
// were trusted in the workspace of: the folder is that workspace, or a copy of it.
func (p *Policy) Unreviewed(dir, of string, names []string) ([]string, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return errors.Is(err, fs.ErrNotExist)
	})
	if len(names) == 0 {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	root, uid, err := enter(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if p.trust.refresh(); p.trust.err != nil {
		return nil, p.trust.err
	}
	record := p.trust.of(of, uid)
	var found []string
	for _, f := range scanNames(root, names) {
		here := of == p.o.Workspace && p.repo.trustedHere[f.name] == f.sum
		if f.problem != "" || f.sum != record.sumOf(f.name) && !here {
			found = append(found, f.name)
		}
	}
	return found, nil
}

// Reviewed returns the files of the workspace, or of a folder above it, that were trusted as something, whether or not they
// are there.
func (p *Policy) Reviewed(dir string) (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	root, uid, err := enter(dir)
	if err != nil {
		return nil
	}
	root.Close() // nothing was written
	p.trust.refresh()
	for _, f := range p.trust.of(dir, uid).Files {
		names = append(names, f.File)
	}
	return names
}

// Trust stores a person's word that changes, which they were shown, may count. From
// when it returns they do.
func (p *Policy) Trust(changes []Change) error {
	for _, c := range changes {
		if problem := c.problem(); problem != "" { // whoever made the Change
			return fmt.Errorf("%s cannot be trusted: %s", c.File, problem)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	root, record, err := p.trusted()
	if err != nil {
		return err
	}
	defer root.Close()
	return p.record(record.Owner, slices.Clone(changes))
}

// notTextProblem is the [Change.Problem] of a file that cannot be shown.
const notTextProblem = "it is not text that could be shown: a third of it or more cannot be seen"

// problem is the [Change.Problem] of a change: also of a file that cannot be shown, or of rules that cannot be read.
func (c Change) problem() string {
	var err error
	switch {
	case c.Problem != "":
		return c.Problem
	case NotText(c.Now):
		return notTextProblem
	case c.File == rulesName && !c.Removed:
		_, _, err = parse(c.Now, permission.FromRepository, c.File)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// record stores trust in changes. The caller holds the lock.
func (p *Policy) record(owner int, changes []Change) error {
	contents := map[string][]byte{}
	for i := range changes {
		if c := &changes[i]; !c.Removed {
			c.Sum = sumOf(c.Now) // of what was shown, whatever a caller made of it
			contents[c.Sum] = c.Now
		}
	}
	return p.trust.change(p.o.Workspace, owner, contents, func(r *Record) {
		for _, c := range changes {
			r.Files = slices.DeleteFunc(r.Files, func(f TrustedFile) bool { return f.File == c.File })
			if !c.Removed {
				r.Files = append(r.Files, TrustedFile{File: c.File, SHA256: c.Sum, By: p.o.By, When: p.o.Now().UTC()})
			}
		}
		stable.Sort(r.Files, func(a, b TrustedFile) int { return strings.Compare(a.File, b.File) })
	})
}

// TrustForThisRun lets the configuration that is there now count for as long as this Policy lives, and
// stores nothing: what --trust means where nobody is there to be shown it. It returns
// what it let count, for the record, and what cannot be. What changes afterwards does
// not count.
func (p *Policy) TrustForThisRun() ([]Change, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	changes, err := p.pending()
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if c.Problem == "" && !c.Removed {
			p.repo.trustHere(c)
		}
	}
	return changes, nil
}

// Revoke takes the trust in this workspace back. It reports whether there was any.
func (p *Policy) Revoke() (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trust.refresh()
	if p.trust.err != nil {
		return false, p.trust.err
	}
	was := p.repo.trustedHere != nil || slices.ContainsFunc(p.trust.records, func(r Record) bool { return r.Workspace == p.o.Workspace })
	p.repo.trustedHere = nil
	if !was {
		return false, nil
	}
	return true, p.trust.change(p.o.Workspace, noOwner, nil, func(r *Record) { r.Files = nil })
}

// Records returns what this user trusts, of all workspaces, in the order it was trusted.
func (p *Policy) Records() ([]Record, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trust.refresh()
	return slices.Clone(p.trust.records), p.trust.err
}

// noOwner stands for the owner where there is none to be known.
const noOwner = -1

// enter opens the workspace and says whose it is.
func (p *Policy) enter() (root *os.Root, uid int, err error) { return enter(p.o.Workspace) }

func enter(dir string) (root *os.Root, uid int, err error) {
	root, err = os.OpenRoot(dir)
	if err != nil {
		return nil, 0, fmt.Errorf("the workspace cannot be opened: %w", err)
	}
	info, err := root.Stat(".")
	if err != nil {
		return nil, 0, errors.Join(err, root.Close())
	}
	uid, known := owner.Of(info)
	if !known {
		uid = noOwner
	}
	return root, uid, nil
}

// trusted opens the workspace and returns what is trusted of it, for the user whose it is.
func (p *Policy) trusted() (*os.Root, Record, error) {
	root, owner, err := p.enter()
	if err != nil {
		return nil, Record{}, err
	}
	if p.trust.refresh(); p.trust.err != nil {
		return nil, Record{}, errors.Join(p.trust.err, root.Close())
	}
	return root, p.trust.of(p.o.Workspace, owner), nil
}
