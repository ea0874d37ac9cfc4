package store

import (
	"maps"
	"path/filepath"
	"testing"
)

func TestTheMountOfAFolderIsTheInnermost(t *testing.T) {
	t.Parallel()
	const mounts = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:35 / /home/me/far rw,nosuid,nodev - fuse.sshfs me@far:/ rw,user_id=1000
41 22 0:36 / /home/me/with\040space rw master:2 - fuse.bindfs /somewhere rw
42 22 0:37 / /over rw - fuse.sshfs me@far:/ rw
43 42 0:38 / /over rw - fuse.fuse-overlayfs overlay rw
a line that is not one of them
`
	for dir, want := range map[string]string{
		"/home/me":              "ext4",
		"/home/me/far":          "fuse.sshfs",
		"/home/me/far/a/b":      "fuse.sshfs",
		"/home/me/farther":      "ext4",
		"/home/me/with space/x": "fuse.bindfs",
		"/over/x":               "fuse.fuse-overlayfs",
	} {
		if got := mountType(mounts, dir); got != want {
			t.Errorf("%s is on %s, want %s", dir, got, want)
		}
	}
}

func TestTheFolderForTemporaryFilesIsLocal(t *testing.T) {
	t.Parallel()
	name, network, err := fileSystem(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if network {
		t.Skipf("the folder for temporary files is on %s; set TMPDIR to a local folder", name)
	}
	if free, err := freeSpace(filepath.Join(t.TempDir(), "pawl.db")); err != nil || free < lowSpace {
		t.Errorf("%d bytes are free, error %v; want enough for this test to run", free, err)
	}
	if name, _, err := fileSystem("/no such folder"); err == nil {
		t.Errorf("a folder that is not there is on %s", name)
	}
}

// The numbers are those of linux/magic.h, and of the programs that know the last three.
func TestNetworkFileSystemsHaveTheNumbersOfTheKernel(t *testing.T) {
	t.Parallel()
	want := map[uint32]string{
		0x5346414F: "afs", 0x6B414653: "afs", 0x00C36400: "ceph", 0xFF534D42: "cifs", 0x73757245: "coda", 0x564C: "ncpfs", 0x6969: "nfs",
		0x7461636F: "ocfs2", 0xFE534D42: "smb2", 0x517B: "smb", 0x01021997: "9p", 0x01161970: "gfs2", 0x0BD00BD0: "lustre", 0x47504653: "gpfs",
	}
	if !maps.Equal(networkMagic, want) {
		t.Errorf("got %x, want %x", networkMagic, want)
	}
	const ext4 = 0xEF53
	for magic, name := range map[uint32]string{0x6969: "nfs", 0x517B: "smb", ext4: ""} {
		if got, network, err := fileSystemOf(magic, t.TempDir()); got != name || network != (name != "") || err != nil {
			t.Errorf("%x is %q, on the network: %t, %v", magic, got, network, err)
		}
	}
}
