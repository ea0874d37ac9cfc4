package helper

// Numbers of system calls, asm-generic/unistd.h, read 2026-11-20.
const (
	auditArch  = archARM64
	sysSeccomp = 277
	sysClone   = 220
	sysIoctl   = 29
	sysSocket  = 198
)

// refusedHere are the system calls that no command of a sandbox needs.
var refusedHere = []uint32{
	// other processes
	117, // ptrace
	270, // process_vm_readv
	271, // process_vm_writev
	272, // kcmp
	// mounts and namespaces
	40,  // mount
	39,  // umount2
	41,  // pivot_root
	51,  // chroot
	97,  // unshare
	268, // setns
	265, // open_by_handle_at
	262, // fanotify_init
	// the kernel's insides
	280, // bpf
	241, // perf_event_open
	282, // userfaultfd
	116, // syslog
	105, // init_module
	273, // finit_module
	106, // delete_module
	104, // kexec_load
	294, // kexec_file_load
	// keys
	219, // keyctl
	217, // add_key
	218, // request_key
	// the machine
	224, // swapon
	225, // swapoff
	142, // reboot
	161, // sethostname
	162, // setdomainname
	89,  // acct
	60,  // quotactl
	170, // settimeofday
	112, // clock_settime
	58,  // vhangup
}
