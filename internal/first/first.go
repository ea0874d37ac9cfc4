// Package first runs before the rest of the program initializes. When the
// program was started as one of its own helpers (argv[1] is [Proc]), its init
// does the helper's work and ends the process: packages that take tens of
// milliseconds to initialize are never reached.
//
// Go initializes packages in the order of their import paths, each as soon as
// what it imports is ready. This one imports nothing but syscall, so it is ready
// before os, fmt, and everything built on them: those wait for time and unicode,
// whose names sort behind "pawl/". Importing another package here, os for one,
// silently loses that; TestTheHelperInitializesNothingElse in internal/proc
// guards it.
package first

// Proc is the first argument of the helper that runs a command as a tree which
// can be ended as a whole; package pawl/internal/proc starts it. Then follow:
// the mode ([Namespace], [Sweep] or [Probe]), the number of extra descriptors
// for the command in decimal, and the command's own arguments, the first of
// which is the program's path.
const Proc = "__proc"

// The modes of the helper.
const (
	// Namespace: the helper is the first process of a pid namespace of its own.
	Namespace = "namespace"
	// Sweep: the helper adopts orphans among its descendants and ends them by
	// looking for them in /proc.
	Sweep = "sweep"
	// Ready: as Namespace, but started ahead of its command, which comes as an
	// [Order] through the control descriptor, then a socket.
	Ready = "ready"
	// Probe: as Namespace, but it only says by its exit code whether the
	// namespace works.
	Probe = "probe"
)

// Term on the control pipe (descriptor 3) asks the helper to send TERM to every
// process of the command. The end of the pipe, which comes also when the owner
// dies, asks it to kill them.
const Term = 't'
