package helper

// Numbers of system calls, arch/x86/entry/syscalls/syscall_64.tbl, read 2026-11-20.
const (
	auditArch     = archAMD64
	sysSeccomp    = 317
	sysClone      = 56
	sysIoctl      = 16
	sysSocket     = 41
	sysPrlimit    = 302
	sysConnect    = 42
	sysSocketpair = 53
)

// setsModeHere: open, creat, openat, mknod, mknodat, chmod, fchmod, fchmodat,
// fchmodat2.
var setsModeHere = []modeCall{{2, 1, 2}, {85, -1, 1}, {257, 2, 3}, {133, -1, 1}, {259, -1, 2}, {90, -1, 1}, {91, -1, 1}, {268, -1, 2}, {sysFchmodat2, -1, 2}}

// changesHere are the system calls that change something without opening it for
// writing: attributes of files, what processes share, how others are scheduled.
var changesHere = []uint32{
	90, 91, 268, sysFchmodat2, // chmod, fchmod, fchmodat
	92, 93, 94, 260, // chown, fchown, lchown, fchownat
	132, 235, 261, 280, // utime, utimes, futimesat, utimensat
	188, 189, 190, 463, // setxattr, lsetxattr, fsetxattr, setxattrat
	197, 198, 199, 466, // removexattr, lremovexattr, fremovexattr, removexattrat
	469,        // file_setattr
	29, 30, 31, // shmget, shmat, shmctl
	64, 65, 66, 220, // semget, semop, semctl, semtimedop
	68, 69, 70, 71, // msgget, msgsnd, msgrcv, msgctl
	240, 241, // mq_open, mq_unlink
	141, 142, 144, 203, 251, 314, // setpriority, sched_setparam, sched_setscheduler, sched_setaffinity, ioprio_set, sched_setattr
}

// refusedHere are the system calls that no command of a sandbox needs.
var refusedHere = []uint32{
	// other processes
	101, // ptrace
	310, // process_vm_readv
	311, // process_vm_writev
	312, // kcmp
	// mounts and namespaces
	165, // mount
	166, // umount2
	155, // pivot_root
	161, // chroot
	272, // unshare
	308, // setns
	304, // open_by_handle_at
	300, // fanotify_init
	// the kernel's insides
	321, // bpf
	298, // perf_event_open
	323, // userfaultfd
	103, // syslog
	175, // init_module
	313, // finit_module
	176, // delete_module
	246, // kexec_load
	320, // kexec_file_load
	// keys
	250, // keyctl
	248, // add_key
	249, // request_key
	// the machine
	167, // swapon
	168, // swapoff
	169, // reboot
	170, // sethostname
	171, // setdomainname
	163, // acct
	179, // quotactl
	164, // settimeofday
	227, // clock_settime
	153, // vhangup
	172, // iopl
	173, // ioperm
}
