// Package helper runs before the rest of the program initializes. When the
// program was started as one of its own helpers (argv[1] is [Proc]), its init
// does the helper's work and ends the process: packages that take tens of
// milliseconds to initialize are never reached.
//
// Go initializes packages in the order of their import paths, each as soon as
// what it imports is ready. This one imports nothing but runtime and syscall, so
// it is ready before os, fmt, and everything built on them: those wait for time
// and unicode, whose names sort behind "pawl/". Importing another package here,
// os for one, silently loses that; TestTheHelperInitializesNothingElse in
// internal/proc guards it. A program that was started to run agents begins here to try the
// machine's sandbox too ([TakeAhead]): the rest of it takes as long to initialize.
//
// The helper runs one command, or, as a resident one, many. A command comes as an
// [Order] over a socket, and the helper holds its processes together. When the order
// has a [Confinement] the command runs in the sandbox that it describes; the helper
// itself stays outside, so that it can end what is within.
package helper

// Proc is the first argument of the helper that runs a command as a tree which
// can be ended as a whole; package pawl/internal/proc starts it. Then follows
// the mode.
const Proc = "__proc"

// The modes of the helper.
const (
	// Namespace: the helper is the first process of a pid namespace of its own.
	Namespace = "namespace"
	// Sweep: the helper adopts orphans among its descendants and ends them by
	// looking for them in /proc.
	Sweep = "sweep"
	// Resident: the helper builds a sandbox and starts commands in it until its owner
	// ends. It is the first process of a pid namespace.
	Resident = "resident"
	// Probe: the helper runs nothing. It tries what a sandbox is made of and
	// prints the words below for what works.
	Probe = "probe"
)

// What [Probe] prints, a word each, with blanks between them.
const (
	CanMountProc = "proc"      // a pid namespace with a /proc that shows it
	CanMount     = "mounts"    // a file tree of the command's own
	CanNetwork   = "network"   // a network namespace with a loopback of its own
	CanFilter    = "seccomp"   // a filter of system calls
	Landlock     = "landlock=" // then Landlock's ABI in decimal, 0 for none
)

// Term on the control socket (descriptor 3) asks the helper to end the command:
// processes that handle TERM get it and are waited for, the others end at once. The end of the socket, which comes also when the owner
// dies, asks it to kill them.
const Term = 't'

// NoRoute comes back over the control socket when the command has tried to reach
// a network that it does not have.
const NoRoute = 'n'

// What comes back over the control socket when the helper ends a command because its processes together have more than
// its [Order] says.
const (
	OverMemory    = 'm'
	OverDisk      = 'd'
	OverProcesses = 'p'
)

// What goes over the control socket of a [Resident] helper, after the [Order] with its
// [Confinement] and no arguments.
const (
	// Run starts a command. With it comes a socket, over which its order goes, Term,
	// and back NoRoute and Ended. The end of that socket asks the helper to kill the
	// command.
	Run = 'r'
	// Ended comes back when nothing of a command is left; the next byte is its exit code.
	Ended = 'e'
	// Listen asks for a socket that listens on a free port of 127.0.0.1 in the network of the sandbox. It comes back
	// with Listen; where there is none, Changed comes back.
	Listen = 'l'
	// Check asks whether the sandbox can be used; Intact or Changed comes back. It has
	// changed when it was not built, or when a part of its file tree was covered or was
	// replaced by another file.
	Check   = 'c'
	Intact  = 'i'
	Changed = 'x'
)

// A Confinement is the sandbox of a command. Paths are absolute and have no links
// in them.
type Confinement struct {
	Network string
	// ReadOnly says that the command may change nothing: it has no sockets either,
	// and where there is no file tree none of the system calls that change a file's
	// attributes, which Landlock does not bound. The caller has to leave out what
	// may be written from Mounts and Write.
	ReadOnly bool
	// Mounts is the file tree the command sees, where namespaces are to be had:
	// parents before what is below them. What is in none of them is not there.
	Mounts []Mount
	// Read, List and Write are Landlock's rules where there are no namespaces: what
	// may be read and run, folders whose names may be read and no more, and what may
	// be changed too.
	Read, List, Write []string
	// Profile is the same for macOS, as sandbox-exec takes it.
	Profile string
}

// The networks of a command.
const (
	OpenNetwork   = "open"   // the machine's
	ClosedNetwork = "closed" // none: the helper refuses sockets, or has OwnNetwork
	OwnNetwork    = "own"    // one with nothing but a loopback; the helper was started in it
)

// A Mount is one place in a command's file tree.
type Mount struct {
	Kind string
	// Source is what is shown there; for a Link, where it leads. For Empty and NoFile it is
	// not empty if nothing that comes to be there while a command runs may be read either,
	// as far as Landlock can keep it from that.
	Source string
	Target string // where
	Upper  string // of an Overlay, a folder with folders upper and work for what is changed
}

// The kinds of mounts.
const (
	ReadOnly = "ro"    // Source and all below it, unchangeable
	Writable = "rw"    // Source and all below it
	Empty    = "empty" // an empty folder, unchangeable
	NoFile   = "none"  // a file that cannot be opened
	Link     = "link"  // a symbolic link
	Devices  = "dev"   // /dev with what every program expects, and no disks
	Memory   = "mem"   // an empty folder that can be written, gone with the command
	// Source as it is, changes going to a folder of the command's workspace. Where the
	// system cannot do that it is ReadOnly.
	Overlay = "overlay"
	// Source, a folder of pawl's own: what is needed to mount others below it is
	// made there, and what stands in the way removed.
	Temporary         = "tmp"
	TemporaryReadOnly = "tmp-ro"
)
