//go:build !unix

package atomicfile

import "os"

// SyncDir makes the names in a directory durable. Here it only checks that the directory
// exists: Windows cannot fsync one, and NTFS keeps names in its journal.
func SyncDir(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return syncFailed(dir, err)
	}
	return nil
}
