package store

import (
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
