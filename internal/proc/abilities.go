package proc

// Abilities are what this machine has to hold commands together and to confine
// them.
type Abilities struct {
	// Isolation is how commands are held together: [Namespace], [Sweeping],
	// [Group] or [NoCommands].
	Isolation string
	// Tree says that a command can have a file tree of its own, and Network that it
	// can have a network of its own; both need namespaces.
	Tree    bool
	Network bool
	// Landlock is its ABI, 0 if there is none: it bounds what files processes read
	// and change.
	Landlock int
	// Filter says that system calls can be filtered (seccomp).
	Filter bool
	// Profile says that there is sandbox-exec (macOS).
	Profile bool
}

// Probe returns what there is on this machine. The first call tries it, which
// takes some milliseconds; the others return the same.
func Probe() Abilities { return probed() }
