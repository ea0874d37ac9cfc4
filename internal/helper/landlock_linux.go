package helper

import (
	"syscall"
	"unsafe"
)

// Landlock: system calls, rights and ABI versions as in linux/landlock.h and
// docs.kernel.org/userspace-api/landlock.html, read 2026-11-20.
const (
	sysLandlockCreate   = 444
	sysLandlockAdd      = 445
	sysLandlockRestrict = 446

	landlockVersion   = 1 // LANDLOCK_CREATE_RULESET_VERSION
	landlockPathBelow = 1 // LANDLOCK_RULE_PATH_BENEATH
)

// Flags of openat2(2) (linux/openat2.h, read 2026-11-22), which is older than Landlock.
const (
	resolveNoSymlinks = 0x04
	resolveInRoot     = 0x10 // the folder that a path is opened from is its root
)

// openPlainly takes hold of a path in which nothing is a link.
func openPlainly(path string) (int, syscall.Errno) {
	return openResolving(atFDCWD, path, resolveNoSymlinks)
}

// openResolving takes hold of a path, followed as the flags say.
func openResolving(dir int, path string, resolve uint64) (int, syscall.Errno) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, syscall.EINVAL
	}
	how := struct{ flags, mode, resolve uint64 }{flags: oPath | syscall.O_CLOEXEC, resolve: resolve}
	fd, _, errno := syscall.Syscall6(sysOpenat2, uintptr(dir), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	return int(fd), errno
}

// Rights to files. Those of files hold for folders too, not the other way round.
const (
	mayExecute   = 1 << 0
	mayWriteFile = 1 << 1
	mayReadFile  = 1 << 2
	mayReadDir   = 1 << 3
	mayMakeChar  = 1 << 6
	mayMakeBlock = 1 << 11
	mayRefer     = 1 << 13 // ABI 2: link and rename from one folder to another
	mayTruncate  = 1 << 14 // ABI 3
	mayIoctl     = 1 << 15 // ABI 5: of devices

	rightsToFiles = mayExecute | mayWriteFile | mayReadFile | mayTruncate | mayIoctl
	rightsToRead  = mayExecute | mayReadFile | mayReadDir
)

// Rights to the network (ABI 4), and what stays within (ABI 6).
const (
	mayBindTCP    = 1 << 0
	mayConnectTCP = 1 << 1

	scopeAbstractSockets = 1 << 0
	scopeSignals         = 1 << 1
)

// landlockABI returns the version that the kernel knows; 0 if it has none, or it
// is switched off.
func landlockABI() int {
	abi, _, errno := syscall.Syscall(sysLandlockCreate, 0, 0, landlockVersion)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// landlock confines the calling thread, and what it starts, to reading what is
// below the paths read, to the names below the paths list, and changing what is
// below the paths write. Of what is read, nothing comes to be below the paths
// covered. It asks for all
// that the kernel can; what that is depends on abi. Whatever the paths, the thread
// can no longer signal, trace or (by abstract sockets) reach processes outside.
func landlock(abi int, read, list, write, covered []string, closeTCP bool) syscall.Errno {
	handled := uint64(1<<13 - 1)
	if abi >= 2 {
		handled |= mayRefer
	}
	if abi >= 3 {
		handled |= mayTruncate
	}
	if abi >= 5 {
		handled |= mayIoctl
	}
	rules := struct{ fs, net, scoped uint64 }{fs: handled}
	size := unsafe.Sizeof(rules.fs)
	if abi >= 4 {
		size += unsafe.Sizeof(rules.net)
		if closeTCP {
			rules.net = mayBindTCP | mayConnectTCP
		}
	}
	if abi >= 6 {
		size += unsafe.Sizeof(rules.scoped)
		rules.scoped = scopeAbstractSockets | scopeSignals
	}
	set, _, errno := syscall.Syscall(sysLandlockCreate, uintptr(unsafe.Pointer(&rules)), size, 0)
	if errno != 0 {
		return errno
	}
	defer syscall.Close(int(set))
	if len(covered) > 0 {
		if parts, ok := around(read, covered); ok {
			// What lies over the covered paths can be read, and what they are in listed.
			read, list = append(parts, emptyFolder, emptyFile), append(list[:len(list):len(list)], read...)
		}
	}
	for _, path := range read {
		if errno := landlockAdd(int(set), path, handled&rightsToRead); errno != 0 {
			return errno
		}
	}
	for _, path := range list {
		if errno := landlockAdd(int(set), path, mayReadDir); errno != 0 {
			return errno
		}
	}
	for _, path := range write {
		if errno := landlockAdd(int(set), path, handled&^(mayMakeChar|mayMakeBlock)); errno != 0 {
			return errno
		}
	}
	_, _, errno = syscall.Syscall(sysLandlockRestrict, set, 0, 0)
	return errno
}

// maxAround bounds how many rules stand for a folder in which paths are covered: each
// costs some microseconds before every command.
const maxAround = 500

// around returns what of folders is not covered, so that a file that is given the name of
// a covered one, which takes its cover away, has no rule. It reports false if that are too
// many paths.
func around(folders, covered []string) (parts []string, ok bool) {
	above := map[string]bool{} // folders that a covered path is in; false: a covered path
	for _, path := range covered {
		above[path] = false
		for up, _ := cutLast(path); up != ""; up, _ = cutLast(up) {
			above[up] = true
		}
	}
	var walk func(dir string) bool
	walk = func(dir string) bool {
		for _, name := range names(dir) {
			path := dir + "/" + name
			if dir == "/" {
				path = dir + name
			}
			switch in, known := above[path]; {
			case !known:
				parts = append(parts, path)
			case in && !walk(path):
				return false
			}
			if len(parts) > maxAround {
				return false
			}
		}
		return true
	}
	for _, dir := range folders {
		if !walk(dir) {
			return nil, false
		}
	}
	return parts, true
}

// landlockAdd allows rights at a path and below. A path that is not there needs no
// rule, and one that leads through a link by now gets none: what it leads to is not
// what was meant.
func landlockAdd(set int, path string, rights uint64) syscall.Errno {
	fd, err := openPlainly(path)
	switch err {
	case 0:
	case syscall.ENOENT, syscall.EACCES, syscall.ENOTDIR, syscall.ELOOP:
		return 0
	default:
		return err
	}
	defer syscall.Close(fd)
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return errnoOf(err)
	}
	if stat.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		rights &= rightsToFiles
	}
	// The kernel's struct is packed: 12 bytes.
	rule := [3]uint32{uint32(rights), uint32(rights >> 32), uint32(fd)}
	_, _, errno := syscall.Syscall6(sysLandlockAdd, uintptr(set), landlockPathBelow, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	return errno
}
