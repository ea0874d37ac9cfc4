package sandbox

import "pawl/internal/proc"

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
