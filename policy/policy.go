// Package policy says what holds here: the rules of every scope, from the files they
// are kept in, and what of a workspace's own configuration a person has trusted.
//
// Package permission decides, and opens no file; this package opens them, and decides
// nothing of its own. Its files:
//
//	/etc/pawl/permissions.json        an administrator's (managed); counts only if it is theirs
//	<config>/permissions.json         this user everywhere
//	<config>/trust.json, trust/       what this user trusts: path, owner, file, SHA-256; the content seen
//	<state>/permissions.json          this user in this workspace
//	<state>/rules/<run>.json          one run
//	<workspace>/.pawl/, .mcp.json     the workspace's own configuration, which comes with the repository
//
// What it guarantees:
//
//   - A workspace grants itself nothing. Its configuration counts when its bytes are those
//     that a person was shown: the bytes that are hashed are the bytes that are used,
//     and no file is read a second time. Deny and ask rules always count.
//   - Changes take effect after asking. Until then the deny and ask rules of what was
//     trusted and of what is there now count together.
//   - Nothing is allowed because a file could not be read. While rules are missing that
//     might forbid, [Policy.Check] says so and [Policy.Decide] asks about everything.
//   - A file is replaced whole, under a lock: two who add rules lose none.
package policy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pawl/permission"
	"pawl/run"
)

// ManagedFile is where an administrator's rules are.
const ManagedFile = "/etc/pawl/permissions.json"

// Options say where the files are. The folders need not exist.
type Options struct {
	Workspace string // absolute, links resolved
	ConfigDir string // this user's configuration: absolute
	StateDir  string // of this workspace, in the user's state folder: absolute

	// System is the administrator's file; empty means [ManagedFile]. It need not be
	// there. Managed is a further one, which has to be; empty: none. Both count only
	// if they belong to the user AdminUID (0, root) and nobody else can write them.
	System, Managed string
	AdminUID        int

	// Also are further files and folders of the workspace that need trust, with slashes: what
	// programs beside pawl obey.
	Also []string

	// Given are the rules of flags, environment and configuration.
	Given permission.Rules
	// Shared keeps the rules of runs where other machines find them, too; nil: they are on this machine alone.
	Shared Shared
	// By is who makes the rules that are added here.
	By string
	// History returns what was allowed before in this workspace, which widens what is
	// proposed; nil: nothing.
	History func() []permission.Allowed
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Shared keeps the rules of single runs for several machines.
type Shared interface {
	// RunRules returns what was put last; [fs.ErrNotExist] if nothing was.
	RunRules(ctx context.Context, id run.ID) ([]byte, error)
	// PutRunRules replaces the rules of a run. When it returns nil, that is durable.
	PutRunRules(ctx context.Context, id run.ID, content []byte) error
}

// A Policy is what holds in one workspace. It is safe for concurrent use, and sees
// changes of its files, also those that other processes make.
type Policy struct {
	o Options

	mu     sync.Mutex
	system *ruleFile
	other  *ruleFile // Options.Managed
	user   *ruleFile
	here   *ruleFile
	runs   map[run.ID]*ruleFile
	repo   repository
	trust  trustStore
}

// Open returns the policy of a workspace. An error says that the folders are not what
// they have to be; what is wrong with the rules is for [Policy.Check], so that they
// can be looked at and repaired.
func Open(o Options) (*Policy, error) {
	for what, dir := range map[string]string{"workspace": o.Workspace, "configuration folder": o.ConfigDir, "state folder": o.StateDir} {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("the %s %q is not an absolute path", what, dir)
		}
	}
	root, _, err := enter(o.Workspace)
	if err != nil {
		return nil, err
	}
	root.Close() // nothing was written
	if o.System == "" {
		o.System = ManagedFile
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Policy{o: o, runs: map[run.ID]*ruleFile{}}
	mine := owners{os.Getuid(), 0}
	admin := owners{o.AdminUID}
	p.system = &ruleFile{disk: disk{path: o.System, owners: admin, strict: true}, scope: permission.Managed}
	if o.Managed != "" {
		p.other = &ruleFile{disk: disk{path: o.Managed, owners: admin, strict: true, must: true}, scope: permission.Managed}
	}
	p.user = &ruleFile{disk: disk{path: filepath.Join(o.ConfigDir, "permissions.json"), owners: mine}, scope: permission.ForUser}
	p.here = &ruleFile{disk: disk{path: filepath.Join(o.StateDir, "permissions.json"), owners: mine}, scope: permission.ForWorkspace}
	p.trust = trustStore{dir: o.ConfigDir, disk: disk{path: filepath.Join(o.ConfigDir, "trust.json"), owners: mine}}
	p.Check() // what is trusted now is what counts until somebody is asked
	return p, nil
}

// ofRun returns the file with the rules of one run. The caller holds the lock.
func (p *Policy) ofRun(id run.ID) *ruleFile {
	f := p.runs[id]
	if f == nil {
		f = &ruleFile{scope: permission.ForRun, disk: disk{
			path: runRules(p.o.StateDir, id), owners: owners{os.Getuid(), 0}}}
		p.runs[id] = f
	}
	return f
}

// files returns the files whose rules count for a run ("": outside of runs), the
// strongest first. The caller holds the lock.
func (p *Policy) files(id run.ID) []*ruleFile {
	all := []*ruleFile{p.system}
	if p.other != nil {
		all = append(all, p.other)
	}
	all = append(all, p.user, p.here)
	if plainName(string(id)) {
		all = append(all, p.ofRun(id))
	}
	return all
}

// Rules returns the rules that count for a run; with an empty id those that count for
// any. It looks whether a file has changed, which costs a few stat calls.
//
// With an error a rule that forbids may be missing. The rules returned then allow
// nothing, and hold what was last known to forbid or ask.
func (p *Policy) Rules(id run.ID) (permission.Rules, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lists []permission.Rules
	var wrong []error
	for _, f := range p.files(id) {
		f.refresh()
		lists, wrong = append(lists, f.rules), append(wrong, f.err)
	}
	repo, err := p.repositoryRules()
	lists, wrong = append(lists, repo, p.o.Given), append(wrong, err)
	rules := permission.Merge(lists...)
	if err := errors.Join(wrong...); err != nil {
		return strict(rules), err
	}
	return rules, nil
}

// SetRules sets the rules of flags, environment and configuration, before the policy is
// used: where they come from may itself be the workspace's trusted configuration.
func (p *Policy) SetRules(rules permission.Rules) { p.o.Given = rules }

// SetHistory sets where to learn what was allowed before; see [Options.History].
func (p *Policy) SetHistory(history func() []permission.Allowed) { p.o.History = history }

// Check says what keeps the rules from being relied on: a file that cannot be read and
// may hold rules that forbid. Whoever wants to begin a run does not, and shows it.
func (p *Policy) Check() error {
	_, err := p.Rules("")
	return err
}

// Notes are sentences about rules that do not count, or not as they are written, and
// keep nobody from going on.
func (p *Policy) Notes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var notes []string
	for _, f := range p.files("") {
		f.refresh()
		notes = append(notes, f.notes...)
	}
	p.repositoryRules() // for its notes; what is wrong with it is Check's
	return append(notes, p.repo.notes...)
}

// Decide decides whether a call of a run may run. It reads the rules anew where they
// changed; if that is not possible it asks about whatever is not denied.
func (p *Policy) Decide(id run.ID, m permission.Mode, r permission.Request) permission.Decision {
	rules, err := p.Rules(id)
	d := rules.Decide(r, m)
	if err != nil && d.Verdict != permission.Deny {
		return permission.Decision{Verdict: permission.Ask, Source: "policy", Sandbox: r.Sandbox,
			Reason: "the rules cannot all be read, and one that forbids this may be missing: " + err.Error()}
	}
	return d
}

// Explain judges a call as [Policy.Decide] does and shows all of it. With an error it
// is what the rules that can be read would say.
func (p *Policy) Explain(id run.ID, m permission.Mode, r permission.Request) (permission.Explanation, error) {
	rules, err := p.Rules(id)
	return rules.Explain(r, m), err
}

// Propose returns the rules that a person means by allowing a call for always. Their
// scope is [permission.ForWorkspace].
func (p *Policy) Propose(id run.ID, m permission.Mode, r permission.Request) permission.Proposal {
	rules, err := p.Rules(id)
	if err != nil {
		return permission.Proposal{Reason: "the rules that are there cannot all be read: " + err.Error()}
	}
	var before []permission.Allowed
	if p.o.History != nil {
		before = p.o.History()
	}
	proposal := rules.Propose(r, m, before)
	for _, rules := range []permission.Rules{proposal.Rules, proposal.Deny} {
		for i := range rules {
			rules[i].Scope = permission.ForWorkspace
		}
	}
	return proposal
}

// strict returns the rules that forbid or ask.
func strict(rules permission.Rules) permission.Rules {
	return slices.DeleteFunc(slices.Clone(rules), func(r permission.Rule) bool { return r.Effect == permission.Allow })
}
