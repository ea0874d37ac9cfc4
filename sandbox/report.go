package sandbox

import (
	"fmt"
	"runtime"

	"pawl/internal/proc"
)

// A Report says what of the sandbox is in force on this machine.
type Report struct {
	Abilities proc.Abilities
	Parts     []Part
}

// A Part is one thing the sandbox does.
type Part struct {
	Name    string // what it keeps, in a few words
	InForce bool
	By      string // by what, if it is in force
	Missing string // what is missing and what to do, a sentence; empty if nothing is
}

// Confines reports whether commands can be confined at all: their files bounded and
// their network closed. Without, they have the person's own authority.
func (r Report) Confines() bool {
	a := r.Abilities
	switch a.Isolation {
	case proc.Namespace:
		return (a.Tree || a.Landlock > 0) && (a.Network || a.Filter)
	case proc.Sweeping:
		return a.Landlock > 0 && a.Filter
	}
	return a.Profile
}

// Probe tries what this machine has. The first call takes some milliseconds.
func Probe() Report { return reportOf(proc.Probe(), runtime.GOOS) }

const onlyReads = "read-only commands change nothing and see no secrets"

// What to do where a part is missing.
const (
	wantsNamespaces = "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0; in a container: --security-opt seccomp=unconfined --security-opt systempaths=unconfined)"
	wantsLandlock   = "use Linux 5.13 or newer with landlock in its list of security modules (kernel parameter lsm=)"
	wantsFilter     = "use a kernel with seccomp filters on amd64 or arm64"
)

func reportOf(a proc.Abilities, system string) Report {
	r := Report{Abilities: a}
	add := func(name string, inForce bool, by, missing string) {
		p := Part{Name: name, InForce: inForce}
		if inForce {
			p.By = by
		}
		if !inForce || by == "" {
			p.Missing = missing
		}
		r.Parts = append(r.Parts, p)
	}
	switch {
	case a.Isolation == proc.Group:
		add("child processes end with the command", false, "", "Experimental on macOS: what leaves its process group survives.")
		add(onlyReads, false, "", "Commands that only read ask like the others: it cannot be enforced here.")
		add("files and network", a.Profile, "sandbox-exec (experimental: written for it, and not tried on every version)", "There is no /usr/bin/sandbox-exec: commands run without a sandbox.")
		return r
	case a.Isolation == proc.NoCommands:
		add("commands", false, "", fmt.Sprintf("Commands cannot be run on %s: use Linux, macOS or WSL.", system))
		return r
	}
	inNamespace := a.Isolation == proc.Namespace
	add("child processes end with the command", true, map[bool]string{true: "a pid namespace", false: "a helper that looks for what it started"}[inNamespace], "")
	if !inNamespace {
		r.Parts[0].Missing = "It takes longer than with namespaces, and an unconfined command that kills its helper may leave something behind: " + wantsNamespaces + "."
	}
	switch {
	case a.Tree:
		add("files outside the policy", true, "a file tree of the command's own"+andLandlock(a), "")
	case a.Landlock > 0:
		add("files outside the policy", true, fmt.Sprintf("Landlock, ABI %d", a.Landlock), "")
		r.Parts[len(r.Parts)-1].Missing = "Names, sizes, permissions and times of files outside can be looked at, and permissions changed: " + wantsNamespaces + "."
	default:
		add("files outside the policy", false, "", "Nothing bounds what files commands read and change: "+wantsNamespaces+", or "+wantsLandlock+".")
	}
	add(onlyReads, r.EnforcesReadOnly(), map[bool]string{true: "a read-only file tree without secrets, and no sockets", false: "Landlock's rules without secrets, and a filter of system calls"}[a.Tree],
		"Commands that only read ask like the others: "+wantsNamespaces+", or use Linux 6.12 or newer with Landlock; and "+wantsFilter+".")
	add("git configuration, hooks, .pawl and .mcp.json", a.Tree, "mounted read-only; new files are removed", "They can be changed and are put back after each command: "+wantsNamespaces+".")
	switch {
	case a.Network:
		add("the network", true, "a network of the command's own with a loopback", "")
	case a.Filter:
		add("the network", true, "a filter of system calls", "")
		r.Parts[len(r.Parts)-1].Missing = "Without a network namespace commands have no sockets at all, not even between their own processes: " + wantsNamespaces + "."
	default:
		add("the network", false, "", "Nothing closes the network: "+wantsNamespaces+", or "+wantsFilter+".")
	}
	add("the network by host", r.ByHost(), "a proxy of pawl's, the only way out of a command's own network",
		"Rules that open single hosts open none, and commands ask for the network as a whole: "+wantsNamespaces+".")
	add("sockets of other programs", a.Filter, "unreachable: the helper connects to sockets of the command alone",
		"A command may reach sockets of programs on this machine in the folders that it sees: "+wantsFilter+".")
	add("signals to other programs", inNamespace || a.Landlock >= 6, "the pid namespace or Landlock's scopes",
		"Commands can signal every process of the same user, pawl too: "+wantsNamespaces+", or use Linux 6.12 or newer.")
	add("kernel interfaces (tracing, mounts, namespaces, keys, bpf, io_uring)", a.Filter, "a filter of system calls", "They are open as to the person: "+wantsFilter+".")
	add("disk space", false, "", "Disk is not limited, nor the memory of commands that may write; set quotas if that matters.")
	return r
}

func andLandlock(a proc.Abilities) string {
	if a.Landlock == 0 {
		return ""
	}
	return fmt.Sprintf(", and Landlock, ABI %d", a.Landlock)
}
