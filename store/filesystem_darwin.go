package store

import "golang.org/x/sys/unix"

// fileSystem names the file system of dir and says whether it is on the network:
// what macOS does not call local is. statfs(2).
func fileSystem(dir string) (name string, network bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false, err
	}
	return unix.ByteSliceToString(st.Fstypename[:]), st.Flags&unix.MNT_LOCAL == 0, nil
}
