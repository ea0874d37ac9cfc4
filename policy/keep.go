package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/inside"
	"pawl/permission"
	"pawl/run"
)

// lockFile is the name, in the folder that they are in, of what is locked to change rules or trust.
const lockFile = "permissions.lock"

// errNoRule is a rule that was to be removed and is not there.
var errNoRule = errors.New("there is no such rule")

// AddRules stores rules that a person has made by deciding on a call of a run. Those
// without a scope are for this user in this workspace; those with [permission.Once]
// are for nothing beyond the call. When it returns nil they are durable and count.
//
// Of several machines each has rules of its own for its users and workspaces: what was forbidden to the run is forbidden to it on
// all of them.
func (p *Policy) AddRules(id run.ID, rules permission.Rules) error {
	for _, r := range rules {
		if r.Scope == permission.Once {
			continue
		}
		if r.Scope == "" {
			r.Scope = permission.ForWorkspace
		}
		if err := p.Add(r, id); err != nil {
			return err
		}
		if p.o.Shared != nil && r.Effect == permission.Deny && r.Scope != permission.ForRun {
			r.Scope = permission.ForRun
			if err := p.Add(r, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// Fetch makes the rules of a run here what they are on the machine that drove it before. It is for who begins to drive the run.
func (p *Policy) Fetch(ctx context.Context, id run.ID) error {
	if p.o.Shared == nil {
		return nil
	}
	content, err := p.o.Shared.RunRules(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the rules of run %s: %w", id, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.ofRun(id)
	return inside.Locked(p.o.StateDir, lockFile, func() error {
		if here, _, err := f.load(); err == nil && bytes.Equal(here, content) {
			return nil
		}
		f.steady = false
		return replace(f.path, content)
	})
}

// Inherit stores the rules of one run that forbid or ask for another run, a child or a fork of
// it. When it returns nil they are durable and count.
func (p *Policy) Inherit(from, to run.ID) error {
	if err := p.Fetch(context.Background(), from); err != nil { // it may be driven elsewhere
		return err
	}
	p.mu.Lock()
	f := p.ofRun(from)
	f.refresh()
	rules, err := strict(f.rules), f.err
	p.mu.Unlock()
	if err != nil {
		return err
	}
	for _, r := range rules {
		if err := p.Add(r, to); err != nil {
			return err
		}
	}
	return nil
}

// Add stores a rule in the file of its scope; id says which run, for
// [permission.ForRun]. Who and when are filled in where they are empty. A rule that is
// there is not stored twice. It is durable when Add returns.
//
// One for the repository goes into a file meant for git, and counts at once: the
// person who adds it has seen it. So the file must be trusted as it is, or not be there.
func (p *Policy) Add(r permission.Rule, id run.ID) error {
	if r.By == "" {
		r.By = p.o.By
	}
	if r.When.IsZero() {
		r.When = p.o.Now().UTC()
	}
	return p.change(r.Scope, id, func(path string, all []entry) ([]entry, error) {
		e, err := newEntry(r, path)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(old entry) bool { return old.ok && alike(old.rule, r) }) {
			return all, nil
		}
		return append(all, e), nil
	})
}

// Remove takes a rule out of the file of its scope: what has the same effect, tool,
// pattern and sandbox. It is an error if it is not there.
func (p *Policy) Remove(r permission.Rule, id run.ID) error {
	return p.change(r.Scope, id, func(path string, all []entry) ([]entry, error) {
		left := slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return e.ok && alike(e.rule, r) })
		if len(left) == len(all) {
			return nil, fmt.Errorf("%s %s in %s: %w", r.Effect, r, path, errNoRule)
		}
		return left, nil
	})
}

// change replaces the rules of a scope's file by what do makes of them.
func (p *Policy) change(scope permission.Scope, id run.ID, do func(path string, all []entry) ([]entry, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var f *ruleFile
	lock := p.o.StateDir
	switch scope {
	case permission.ForUser:
		f, lock = p.user, p.o.ConfigDir
	case permission.ForWorkspace:
		f = p.here
	case permission.ForRun:
		if !plainName(string(id)) {
			return fmt.Errorf("a rule for one run needs the run: %q is none", id)
		}
		f = p.ofRun(id)
	case permission.FromRepository:
		return p.changeRepository(do)
	case permission.Managed:
		return errors.New("managed rules are an administrator's: they are changed in their file and not here")
	default:
		return fmt.Errorf("rules are not stored with the scope %q; there are user, workspace, repository and run", scope)
	}
	return inside.Locked(lock, lockFile, func() error {
		content, _, err := f.load()
		shared := scope == permission.ForRun && p.o.Shared != nil
		if err == nil && shared {
			var there []byte
			if there, err = p.o.Shared.RunRules(context.Background(), id); err == nil {
				content = there
			} else if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err != nil {
			return err
		}
		all, err := entries(content, f.path)
		if err != nil {
			return err
		}
		if all, err = do(f.path, all); err != nil {
			return err
		}
		f.steady = false
		if content = format(all); shared {
			err = p.o.Shared.PutRunRules(context.Background(), id, content)
		}
		if err == nil {
			err = replace(f.path, content)
		}
		if err != nil {
			return fmt.Errorf("the rule could not be stored: %w", err)
		}
		return nil
	})
}

// plainName reports whether s is the name of a file here and of nothing elsewhere.
func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}

// A Listed is a rule and where it stands.
type Listed struct {
	permission.Rule
	File string // empty: it was given by flag, environment or configuration
	Run  run.ID // for [permission.ForRun]
	// Idle says why the rule does not count; empty: it does.
	Idle string
}

// Place says where the rule stands.
func (l Listed) Place() string {
	if l.File != "" {
		return l.File
	}
	return l.Source
}

// List returns the rules of all scopes and runs, the strongest scope first, those that
// wait for trust too.
func (p *Policy) List() []Listed {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Listed
	add := func(f *ruleFile, id run.ID) {
		f.refresh()
		for _, r := range f.rules {
			l := Listed{Rule: r, File: f.path, Run: id}
			if f.err != nil {
				l.Idle = "its file cannot be read now"
			}
			all = append(all, l)
		}
	}
	for _, f := range p.files("") {
		add(f, "")
	}
	counting, _ := p.repositoryRules()
	file := filepath.Join(p.o.Workspace, rulesName)
	for _, r := range permission.Merge(counting, p.repo.all) {
		l := Listed{Rule: r, File: file}
		if !slices.ContainsFunc(counting, func(q permission.Rule) bool { return alike(q, r) }) {
			l.Idle = "not trusted"
		}
		all = append(all, l)
	}
	for _, id := range p.runsWithRules() {
		add(p.ofRun(id), id)
	}
	for _, r := range p.o.Given {
		all = append(all, Listed{Rule: r})
	}
	return all
}

// runsWithRules returns the runs that have a file of rules, by name. What is wrong with
// the folder is said when a rule is stored.
func (p *Policy) runsWithRules() []run.ID {
	ids, _ := RunsWithRules(p.o.StateDir)
	return ids
}

// Versions identifies, for each of the runs, the rules that count for it: as long as that is
// the same, its calls are decided the same way. The files of all runs are read once.
func (p *Policy) Versions(ids ...run.ID) []string {
	rules, err := p.Rules("")
	all := sumOf(fmt.Append(nil, rules, err))
	p.mu.Lock()
	defer p.mu.Unlock()
	versions := make([]string, len(ids))
	for i, id := range ids {
		versions[i] = all
		if plainName(string(id)) {
			f := p.ofRun(id)
			f.refresh()
			versions[i] += fmt.Sprint(f.rules, f.err)
		}
	}
	return versions
}
