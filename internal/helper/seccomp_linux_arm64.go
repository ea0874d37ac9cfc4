package helper

// Numbers of system calls, asm-generic/unistd.h, read 2026-11-20.
const (
	auditArch     = archARM64
	sysSeccomp    = 277
	sysClone      = 220
	sysIoctl      = 29
	sysSocket     = 198
	sysPrlimit    = 261
	sysConnect    = 203
	sysSocketpair = 199
)

// setsModeHere: openat, mknodat, fchmod, fchmodat, fchmodat2.
var setsModeHere = []modeCall{{56, 2, 3}, {33, -1, 2}, {52, -1, 1}, {53, -1, 2}, {sysFchmodat2, -1, 2}}

// changesHere are the system calls that change something without opening it for
// writing: attributes of files, what processes share, how others are scheduled.
var changesHere = []uint32{
	52, 53, sysFchmodat2, // fchmod, fchmodat
	54, 55, // fchownat, fchown
	88,           // utimensat
	5, 6, 7, 463, // setxattr, lsetxattr, fsetxattr, setxattrat
	14, 15, 16, 466, // removexattr, lremovexattr, fremovexattr, removexattrat
	469,                // file_setattr
	194, 195, 196, 197, // shmget, shmctl, shmat, shmdt
	190, 191, 192, 193, // semget, semctl, semtimedop, semop
	186, 187, 188, 189, // msgget, msgctl, msgrcv, msgsnd
	180, 181, // mq_open, mq_unlink
	140, 118, 119, 122, 30, 274, // setpriority, sched_setparam, sched_setscheduler, sched_setaffinity, ioprio_set, sched_setattr
}

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
