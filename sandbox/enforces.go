package sandbox

// EnforcesReadOnly reports whether a command can be run with the workspace mounted
// read-only; see [run.ReadOnly].
func (p *Policy) EnforcesReadOnly() bool { return true }
