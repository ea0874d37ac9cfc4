package helper

import "syscall"

// bounds are what the processes of one command may take together. They are looked at once a second: what takes more has
// it for that long, and where memory runs out before then, the kernel ends the command before other programs.
//
// Control groups would bound them without a delay. But a program may make one only where the system has given it the
// group that it is in, which a login over ssh and most containers do not (Control Group v2, "Delegation", read
// 2026-11-29); and a limit of each process for itself (RLIMIT_DATA) counts what sanitizers only reserve.
type bounds struct {
	memory    int // bytes; 0: any number
	processes int // 0: any number
	disk      int // bytes that have to stay free on the disk with dir; 0: none
	dir       string
}

// tooManyProcesses is when a command in a sandbox is ended. It is well below maxProcesses, of which the kernel keeps some
// hundred for itself: programs whose forks fail do not end by themselves, and their number goes up and down.
const tooManyProcesses = 3000

// bounds returns those of an order.
func (o Order) bounds(confined bool) bounds {
	b := bounds{memory: o.Memory, disk: o.Disk, dir: o.Dir}
	if confined {
		b.processes = tooManyProcesses
	}
	// Where less is free already, the command may be there to make room.
	if free, ok := freeOf(o.Dir); !ok || free < b.disk {
		b.disk = 0
	}
	return b
}

// exceeded returns which bound some processes are over: 0, [OverMemory], [OverDisk] or [OverProcesses].
func (b bounds) exceeded(pids []int) byte {
	if b.processes > 0 && len(pids) >= b.processes {
		return OverProcesses
	}
	// Memory that several processes share is counted for each of them, which is quick; then exactly.
	if b.memory > 0 && total(pids, "status", held) > b.memory && total(pids, "smaps_rollup", share) > b.memory {
		return OverMemory
	}
	if free, ok := freeOf(b.dir); b.disk > 0 && ok && free < b.disk {
		return OverDisk
	}
	return 0
}

// The fields of two files that together say what memory a process has of its own: what is mapped from files on a disk
// can be dropped. proc_pid_status(5), proc_pid_smaps(5), read 2026-11-29.
var (
	held  = []string{"RssAnon:", "RssShmem:", "VmSwap:"}
	share = []string{"Pss_Anon:", "Pss_Shmem:", "SwapPss:"} // shared memory divided by the number of who shares it
)

// total adds up fields of a file of processes, in bytes. A process that is gone has nothing.
func total(pids []int, file string, fields []string) int {
	sum := 0
	for _, pid := range pids {
		for _, line := range pieces(string(readFile("/proc/"+decimal(pid)+"/"+file, 8192)), "\n") {
			words := pieces(line, " \t")
			if len(words) < 2 {
				continue
			}
			for _, field := range fields {
				if kB, ok := number(words[1]); ok && words[0] == field {
					sum += kB << 10
				}
			}
		}
	}
	return sum
}

// freeOf returns how many bytes of the disk with a folder are free to its user.
func freeOf(folder string) (int, bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0, false
	}
	return int(s.Bavail) * int(s.Bsize), true
}
