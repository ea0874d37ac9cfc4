package store

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// networkMagic are the file systems whose locks or memory maps may not hold between
// machines, by the magic number of statfs(2): linux/magic.h, read 2026-11-20. The
// last three are not in it; several public programs agree on them (same date).
var networkMagic = map[uint32]string{
	unix.AFS_SUPER_MAGIC:   "afs",
	unix.AFS_FS_MAGIC:      "afs",
	unix.CEPH_SUPER_MAGIC:  "ceph",
	unix.CIFS_SUPER_MAGIC:  "cifs",
	unix.CODA_SUPER_MAGIC:  "coda",
	unix.NCP_SUPER_MAGIC:   "ncpfs",
	unix.NFS_SUPER_MAGIC:   "nfs",
	unix.OCFS2_SUPER_MAGIC: "ocfs2",
	unix.SMB2_SUPER_MAGIC:  "smb2",
	unix.SMB_SUPER_MAGIC:   "smb",
	unix.V9FS_MAGIC:        "9p",
	0x01161970:             "gfs2",
	0x0BD00BD0:             "lustre",
	0x47504653:             "gpfs",
}

// localFUSE are the FUSE file systems known to be of this machine, by their type
// in /proc/self/mountinfo. Any other may be sshfs under another name.
var localFUSE = map[string]bool{
	"fuseblk": true, "fuse.fuse-overlayfs": true, "fuse.bindfs": true, "fuse.ntfs-3g": true,
	"fuse.gocryptfs": true, "fuse.encfs": true, "fuse.mergerfs": true,
}

// fileSystem names the file system of dir and says whether it is on the network.
func fileSystem(dir string) (name string, network bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false, err
	}
	return fileSystemOf(uint32(st.Type), dir)
}

// fileSystemOf is fileSystem of a folder whose file system has the magic number.
func fileSystemOf(magic uint32, dir string) (name string, network bool, err error) {
	if name, ok := networkMagic[magic]; ok {
		return name, true, nil
	}
	if magic != unix.FUSE_SUPER_MAGIC {
		return "", false, nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "fuse", true, nil // no way to tell: rather refuse
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return "", false, err
	}
	name = mountType(string(mounts), dir)
	return name, !localFUSE[name], nil
}

// mountType returns the type of the mount that dir is in, from the content of
// /proc/self/mountinfo: proc_pid_mountinfo(5), read 2026-11-20. Of several mounts
// on one folder the last one is seen.
func mountType(mountinfo, dir string) string {
	best, typ := "", "fuse"
	lines := bufio.NewScanner(strings.NewReader(mountinfo))
	for lines.Scan() {
		// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(rest) < 1 {
			continue
		}
		point := unescapeMount(fields[4])
		inside := dir == point || strings.HasPrefix(dir, strings.TrimSuffix(point, "/")+"/")
		if inside && len(point) >= len(best) {
			best, typ = point, rest[0]
		}
	}
	return typ
}

// unescapeMount undoes the octal escapes of mountinfo.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
