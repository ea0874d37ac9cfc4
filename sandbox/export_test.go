package sandbox

import (
	"context"

	"pawl/internal/proc"
	"pawl/run"
)

// PrepareNow is [Policy.Prepare], and returns when the tree is built.
func (p *Policy) PrepareNow(ctx context.Context, level run.Confinement) {
	p.prepare(ctx, level, Fence{})
}

// TreeEnded returns what is closed when the helper has ended that has the current tree of a
// level; nil: there is none.
func (p *Policy) TreeEnded(level run.Confinement) <-chan struct{} {
	p.trees.mu.Lock()
	defer p.trees.mu.Unlock()
	if n := p.trees.current[treeKind{level: level}]; n != nil {
		return n.resident.Done()
	}
	return nil
}

// WithoutNamespaces makes the policy do as on a machine that allows none.
func (p *Policy) WithoutNamespaces() {
	a := proc.Probe()
	r := reportOf(proc.Abilities{Isolation: proc.Sweeping, Landlock: a.Landlock, Filter: a.Filter}, "linux")
	p.report = &r
}

// WithoutWatches makes the policy do as on a machine where no folder can be watched.
func (p *Policy) WithoutWatches() { p.index.unwatchable = true }

// LookAtMost bounds the configurations that are looked at while commands run.
func (p *Policy) LookAtMost(n int) { guardOf(p).maxNewConfigs = n }

// WithNothing makes the policy do as on a machine that has nothing to confine with.
func (p *Policy) WithNothing() {
	r := reportOf(proc.Abilities{Isolation: proc.Sweeping}, "linux")
	p.report = &r
}
